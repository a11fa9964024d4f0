"""Prompt studies from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanplat.schemas import yaml_documents

from .conftest import Run

STUDY = {
    "slug": "baselines",
    "title": "Baselines",
    "gold": "demo-sample-a",
    "like": "demo-overlap",
    "variants": {"as-it-is": {}, "again": {"concurrency": 2}},
}


@pytest.mark.usefixtures("demo_loaded")
def test_without_a_gold_campaign_a_study_asks_and_puts_the_answers_together(
    run: Run, run_json: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "study.yaml"
    content = {name: value for name, value in STUDY.items() if name != "gold"} | {"ensemble": True}
    file.write_text(yaml_documents.dump(content), encoding="utf-8")
    assert run_json("study", "create", file)["gold"] is None
    assert run_json("study", "list")[0]["gold"] is None
    ran = run("study", "run", "baselines")
    assert "All variants together: spanplat campaign show baselines-ensemble" in ran.stderr
    assert run_json("campaign", "show", "baselines-ensemble")["status"] == "closed"
    shown = run("study", "show", "baselines")
    assert "There is no gold campaign, so nothing is compared." in shown.stderr
    assert "again" in shown.stdout
    assert run_json("study", "show", "baselines")["figures"] is None


@pytest.mark.usefixtures("initialised")
def test_protocols_are_listed_with_what_they_set(run: Run, run_json: Callable[..., Any]) -> None:
    listed = run_json("campaign", "protocols")
    assert [entry["protocol"] for entry in listed] == ["three-seeds", "three-seeds-short", "reasoning"]
    assert "seeds 42, 1738 and 1234" in run("campaign", "protocols").stdout


@pytest.mark.usefixtures("demo_loaded")
def test_a_study_is_created_priced_run_and_shown_in_one_table(
    run: Run, run_json: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(yaml_documents.dump(STUDY), encoding="utf-8")
    made = run_json("study", "create", file)
    assert made["variants"]["again"]["campaign"] == "baselines-again"
    assert "already" in run("study", "create", file, status=1).stderr
    assert run_json("study", "list") == [{"slug": "baselines", "title": "Baselines", "gold": "demo-sample-a"}]
    assert "Nothing was answered yet" in run("study", "show", "baselines").stderr
    assert "The whole study: 0.00 US dollars." in run("study", "run", "baselines", "--dry-run").stdout
    assert run_json("study", "run", "baselines")["left"] == 0
    shown = run_json("study", "show", "baselines", "--measure", "char.soft")
    assert [row["variant"] for row in shown["rows"]] == ["as-it-is", "again"]
    assert shown["rows"][1]["p_best"] == 1
    assert shown["rows"][0]["figures"]["gamma.hard"]["value"] is not None
    table = run("study", "show", "baselines")
    assert table.stdout.splitlines()[0].split()[:2] == ["variant", "model"]
    assert "paired permutation test of char.hard" in table.stderr
    file.write_text(yaml_documents.dump(STUDY | {"golds": "x"}), encoding="utf-8")
    assert "unknown key 'golds'" in run("study", "create", file, status=1).stderr
