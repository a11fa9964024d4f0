"""Commands about a campaign's people, from the rules before launch to the pay file."""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanplat.paths import CAMPAIGNS

from .conftest import Run

pytestmark = pytest.mark.usefixtures("demo_loaded")

STUDY = """
slug: crowd
title: Crowd
data: {dataset: demo}
categories: [{name: Wrong}]
batches: {regular: 3, attention: 1}
platform:
  service: prolific
  reward: £REWARD
  minutes: 10
  codes: {completed: DONE, screened_out: OUT}
checks:
  - name: clean
    type: must_abstain
    item: {split: test, example: "0", system: larkspur}
    on_fail: screen_out
"""


@pytest.fixture
def definition(tmp_path: Path) -> Callable[[str], Path]:
    """Write the definition of a campaign that pays so much."""

    def write(reward: str) -> Path:
        path = tmp_path / "crowd.yaml"
        path.write_text(STUDY.replace("REWARD", reward), encoding="utf-8")
        return path

    return write


def test_what_the_rules_ask_about_opens_only_when_it_is_confirmed(run: Run, definition: Callable[[str], Path]) -> None:
    created = run("campaign", "create", definition("1.60"))
    assert "confirm: checks.0:" in created.stderr
    refused = run("campaign", "open", "crowd", status=1)
    assert "open it with --confirm if this is meant" in refused.stderr
    assert "is open" in run("campaign", "open", "crowd", "--confirm").stdout


def test_what_the_rules_refuse_is_not_made(
    run: Run, run_json: Callable[..., Any], definition: Callable[[str], Path]
) -> None:
    path = definition("0.40")
    weights = {finding["rule"]: finding["weight"] for finding in run_json("campaign", "lint", path)}
    assert weights["pay-minimum"] == "refuse"
    assert "£2.40 an hour is below the minimum of £6" in run("campaign", "create", path, status=1).stderr
    assert "crowd" not in run("campaign", "list").stdout


def test_people_checks_and_pay_of_a_campaign_nobody_came_to(
    run: Run, run_json: Callable[..., Any], definition: Callable[[str], Path], tmp_path: Path
) -> None:
    run("campaign", "create", definition("1.60"))
    assert run_json("campaign", "people", "crowd")["people"] == []
    assert run_json("campaign", "checks", "crowd")["checks"] == []
    file = tmp_path / "pay.csv"
    assert "do not publish it" in run("campaign", "pay", "crowd", "--output", file).stdout
    assert file.read_text("utf-8").startswith("platform_id,submission,annotator,outcome")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    run("campaign", "pay", "crowd", "--rejections", "--output", file)
    assert file.read_text("utf-8") == "platform_id,submission,reason\n"
    run("campaign", "pay", "crowd", "--approvals", "--output", file)
    assert file.read_text("utf-8") == ""
    both = run("campaign", "pay", "crowd", "--approvals", "--bonuses", "--output", file, status=2)
    assert "one of --bonuses, --approvals and --rejections" in both.stderr
    missing = run("campaign", "pay", "crowd", "--output", "no/pay.csv", status=1)
    assert "cannot write no/pay.csv (No such file or directory)" in missing.stderr


def test_a_campaign_is_extended_and_personal_links_are_made(run: Run, run_json: Callable[..., Any]) -> None:
    tried = run_json("campaign", "extend", "demo-people", "--per-output", "4", "--dry-run")
    made = run_json("campaign", "extend", "demo-people", "--per-output", "4")
    assert made["seats"] > 0
    assert (tried, made["dry_run"]) == (made | {"dry_run": True}, False)
    links = run_json("campaign", "links", "demo-people", "--for", "ann", "--for", "bob")["personal"]
    assert set(links) == {"ann", "bob"}
    assert run_json("campaign", "links", "demo-people", "--for", "ann")["personal"]["ann"] == links["ann"]
    assert "--per-output N, --add-outputs, or both" in run("campaign", "extend", "demo-people", status=2).stderr
    assert run_json("pool", "list") == []


MODEL_TAKES_IT = """
slug: candidate
title: A model takes the qualification
kind: llm
data: {dataset: demo, splits: [test]}
categories: [{key: contradicts, name: Contradicts the data}, {key: unsupported, name: Not in the data}]
model: {provider: overlap}
batches: {regular: 10}
qualification_taken: data-to-text-qualification
"""


def test_a_model_takes_the_shipped_qualification_and_stands_in_its_table(
    run: Run, run_json: Callable[..., Any], tmp_path: Path
) -> None:
    run("campaign", "create", CAMPAIGNS / "starters" / "data-to-text-qualification.yaml")
    run("campaign", "open", "data-to-text-qualification")
    candidate = tmp_path / "candidate.yaml"
    candidate.write_text(MODEL_TAKES_IT, encoding="utf-8")
    run("campaign", "create", candidate)
    run("campaign", "open", "candidate")
    run("campaign", "run", "candidate")
    table = run_json("qualify", "data-to-text-qualification")
    assert [(worker["kind"], worker["outputs"]) for worker in table["workers"]] == [("llm", 5)]
    assert table["passed"] + table["failed"] == 1
    assert table["workers"][0]["passed"] == (table["workers"][0]["score"] > table["threshold"])


def test_people_are_put_into_a_pool_by_their_ids(run: Run, run_json: Callable[..., Any], tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("PID-2\nPID-3\n", encoding="utf-8")
    assert "3 people were added to experts." in run("pool", "add", "experts", "PID-1", "--file", ids).stdout
    assert "0 people were added" in run("pool", "add", "experts", "PID-1").stdout
    members = run_json("pool", "show", "experts")
    assert [(member["source"], member["score"]) for member in members] == [("prolific", None)] * 3
    assert "PID" not in str(members)
    run("pool", "remove", "experts", members[0]["annotator"])
    assert run_json("pool", "list") == [{"pool": "experts", "members": 2}]
    assert "name at least one person" in run("pool", "add", "experts", status=1).stderr
    ids.write_text("PID-é\n", encoding="latin-1")
    assert "is not UTF-8 text (byte 4)" in run("pool", "add", "experts", "--file", ids, status=1).stderr
