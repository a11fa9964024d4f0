"""Prompts and replies of model campaigns from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanplat.db import Database
from spanplat.llm.prompts.library import PRESETS
from spanplat.schemas import yaml_documents
from spanplat.services.campaigns.lifecycle import find_campaign

from .conftest import Run

RunJson = Callable[..., Any]


@pytest.mark.usefixtures("initialised")
def test_presets_are_listed_with_what_they_ask_for(run: Run, run_json: RunJson) -> None:
    assert [entry["preset"] for entry in run_json("campaign", "prompt")] == list(PRESETS)
    assert all(entry["summary"].endswith(".") for entry in run_json("campaign", "prompt"))
    lines = [line.split(maxsplit=1) for line in run("campaign", "prompt").stdout.splitlines()]
    assert ["fewshot", "base, with worked examples from a gold campaign."] in lines


@pytest.mark.usefixtures("demo_loaded")
def test_a_prompt_is_printed_with_its_length_and_price(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    path = tmp_path / "llm.yaml"
    path.write_text(run("campaign", "starter", "data-to-text-llm").stdout, encoding="utf-8")
    run("campaign", "create", path)
    shown = run("campaign", "prompt", "data-to-text-llm", "--item", "2")
    assert shown.stdout.startswith("You annotate a text.")
    assert "Item 2 of 30" in shown.stderr
    assert "US dollars" in shown.stderr
    document = run_json("campaign", "prompt", "data-to-text-llm", "--item", "2")
    assert document["prompt"] in shown.stdout
    assert document["cost"] > 0
    assert document["schema"]["required"] == ["annotations"]
    assert "there is no item 31" in run("campaign", "prompt", "data-to-text-llm", "--item", "31", status=1).stderr


TOLD = """
slug: told
title: Told
kind: llm
data: {dataset: demo}
questions: [{key: fluent, type: slider, label: The text is fluent.}]
model: {provider: openai, model: gpt-4o-mini, preset: verbatim, instructions_from: demo-people, protocol: reasoning}
"""


@pytest.mark.usefixtures("demo_loaded")
def test_it_is_told_where_a_model_is_asked_with_other_instructions_than_people(
    run: Run, run_json: RunJson, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-0123456789")
    path = tmp_path / "told.yaml"
    path.write_text(TOLD, encoding="utf-8")
    run("campaign", "create", path)
    asking = (("campaign", "prompt", "told"), ("campaign", "run", "told", "--dry-run"))
    for command in asking:
        assert "demo-people" not in run(*command).stderr
    shown = run_json("campaign", "prompt", "told")
    assert shown["parameters"] == {"max_completion_tokens": 32768, "reasoning_effort": "medium"}
    assert shown["inputs"] == "same"
    people = run_json("campaign", "show", "demo-people")["definition"] | {"guidelines": "Read twice."}
    path.write_text(yaml_documents.dump(people), encoding="utf-8")
    run("campaign", "amend", "demo-people", path, "--note", "clearer")
    for command in asking:
        assert "People in demo-people read other instructions by now" in run(*command).stderr
    with Database(f"sqlite:///{home / 'spanplat.sqlite3'}").transaction() as session:
        told = find_campaign(session, "told")
        told.definition = told.definition | {"model": told.definition["model"] | {"taken": None}}
        told.definition_sha256 = "2" * 64
    for command in asking:
        said = " ".join(run(*command).stderr.split())
        assert "Nothing was kept of demo-people when this campaign was created" in said
        assert "spanplat campaign clone told NEW" in said
    assert run_json("campaign", "prompt", "told")["inputs"] == "live"


@pytest.mark.usefixtures("demo_loaded")
def test_where_nobody_is_asked_in_words_there_is_no_prompt(run: Run) -> None:
    assert "the offline annotator" in run("campaign", "prompt", "demo-overlap", status=1).stderr
    assert "filled by people" in run("campaign", "prompt", "demo-people", status=1).stderr


@pytest.mark.usefixtures("demo_loaded")
def test_replies_are_read_again(run: Run, run_json: RunJson) -> None:
    assert (
        "demo-overlap: 36 replies read again, 36 say what is stored, 0 changed"
        in run("campaign", "reparse", "demo-overlap").stdout
    )
    report = run_json("campaign", "reparse", "demo-overlap", "--dry-run")
    assert (report["applied"], report["unchanged"], report["examples"]) == (False, 36, [])
    assert "not filled by a model" in run("campaign", "reparse", "demo-people", status=1).stderr


@pytest.mark.usefixtures("demo_loaded")
def test_an_ensemble_is_made_of_campaigns_that_ask_the_same(run: Run, run_json: RunJson) -> None:
    members = ("--of", "demo-sample-a", "--of", "demo-sample-b")
    trial = run_json("campaign", "ensemble", "together", *members, "--dry-run")
    assert (trial["written"], trial["items"]) == (False, 36)
    shown = run("campaign", "ensemble", "together", *members, "--least-votes", "2").stdout
    assert "Created together of 2 annotators: 36 items" in shown
    assert run_json("campaign", "show", "together")["status"] == "closed"
    assert (
        "there is a campaign 'together' already" in run("campaign", "ensemble", "together", *members, status=1).stderr
    )
    assert "at least two annotators" in run("campaign", "ensemble", "new", "--of", "together", status=1).stderr
