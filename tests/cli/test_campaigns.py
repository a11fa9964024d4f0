"""Campaigns from the command line: create, open, run models, import."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanplat import paths
from spanplat.cli.database import open_database
from spanplat.schemas import yaml_documents
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.amendments import put_in_force
from spanplat.services.campaigns.lifecycle import find_campaign

from .conftest import Run

RunJson = Callable[..., Any]

DEFINITION = {
    "slug": "mine",
    "title": "Mine",
    "data": {"dataset": "demo", "splits": ["test"]},
    "categories": [{"name": "Error"}],
}


@pytest.fixture
def definition(tmp_path: Path) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml_documents.dump(DEFINITION), encoding="utf-8")
    return file


@pytest.mark.usefixtures("demo_loaded")
def test_a_dry_run_checks_and_creates_nothing(run: Run, run_json: RunJson, definition: Path) -> None:
    checked = run_json("campaign", "create", definition, "--dry-run")
    assert checked["created"] is False
    assert checked["items"] == 36
    assert "is valid; mine would have 36 items" in run("campaign", "create", definition, "--dry-run").stdout
    assert "mine" not in {entry["slug"] for entry in run_json("campaign", "list")}


@pytest.mark.usefixtures("demo_loaded")
def test_a_campaign_is_created_opened_paused_and_closed(run: Run, run_json: RunJson, definition: Path) -> None:
    assert run_json("campaign", "create", definition)["created"] is True
    assert run_json("campaign", "show", "mine")["status"] == "draft"
    for command, status in (("open", "open"), ("pause", "paused"), ("open", "open"), ("close", "closed")):
        assert run_json("campaign", command, "mine") == {"slug": "mine", "status": status}
    assert "closed and cannot become paused" in run("campaign", "pause", "mine", status=1).stderr


@pytest.mark.usefixtures("demo_loaded")
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_what_the_platforms_rules_refuse_is_not_made(
    run: Run, run_json: RunJson, tmp_path: Path, options: tuple[str, ...]
) -> None:
    file = tmp_path / "mine.yaml"
    platform = {"service": "prolific", "reward": "£0.10", "minutes": 60}
    file.write_text(yaml_documents.dump(DEFINITION | {"platform": platform}), encoding="utf-8")
    message = run("campaign", "create", file, *options, status=1).stderr
    assert "platform.reward: £0.10 an hour is below the minimum of £6" in message
    assert "mine" not in {entry["slug"] for entry in run_json("campaign", "list")}


@pytest.mark.usefixtures("demo_loaded")
def test_a_mistake_is_told_with_file_line_and_path(run: Run, definition: Path) -> None:
    definition.write_text(definition.read_text("utf-8").replace("Error", "Error\n  colour: red"), encoding="utf-8")
    message = run("campaign", "create", definition, status=1).stderr
    assert f"{definition}:9: categories.0.colour: unknown key 'colour'" in message


@pytest.mark.usefixtures("demo_loaded")
@pytest.mark.parametrize(
    "command",
    ["create", "lint", "import campaign.jsonl --slug copy --format native --definition", "amend mine --note Why"],
)
def test_a_definition_that_is_not_utf_8_is_told(run: Run, definition: Path, command: str) -> None:
    definition.with_name("campaign.jsonl").touch()
    run("campaign", "create", definition)
    definition.write_text(yaml_documents.dump(DEFINITION | {"title": "Größe"}), encoding="latin-1")
    message = run("campaign", *command.split(), definition, status=1).stderr
    assert f"{definition} is not UTF-8 text (byte " in message


@pytest.mark.usefixtures("demo_loaded")
def test_a_dataset_that_is_not_there_is_told_with_those_that_are(run: Run, definition: Path) -> None:
    definition.write_text(definition.read_text("utf-8").replace("dataset: demo", "dataset: demi"), encoding="utf-8")
    message = run("campaign", "create", definition, "--dry-run", status=1).stderr
    assert "data.dataset" in message
    assert "demo" in message


@pytest.mark.usefixtures("demo_loaded")
def test_the_link_for_annotators_has_the_public_address(
    run: Run, run_json: RunJson, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_json("campaign", "links", "demo-people")["start"] == "http://127.0.0.1:8000/c/demo-people/start"
    monkeypatch.setenv("SPANPLAT_BASE_URL", "https://annotate.example.org")
    assert run("campaign", "links", "demo-people").stdout == "https://annotate.example.org/c/demo-people/start\n"


@pytest.mark.usefixtures("demo_loaded")
def test_a_clone_has_the_definition_and_nothing_else(run: Run, run_json: RunJson) -> None:
    run("campaign", "clone", "demo-overlap", "again")
    first, second = (run_json("campaign", "show", slug)["definition"] for slug in ("demo-overlap", "again"))
    assert {**first, "slug": "again"} == second
    assert run_json("stats", "again")["annotations"] == 0


@pytest.mark.usefixtures("demo_loaded")
def test_a_clone_that_the_rules_refuse_is_told_with_what_to_do(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    content = run_json("campaign", "show", "demo-people")["definition"] | {"slug": "study"}
    content["platform"] |= {"service": "prolific", "reward": "£9.00", "minutes": 60}
    file.write_text(json.dumps(content), encoding="utf-8")
    run("campaign", "create", file)
    content["platform"] |= {"reward": "£0.10"}
    with open_database() as database, database.transaction() as session:
        found = find_campaign(session, "study")
        put_in_force(session, found, CampaignDefinition.model_validate(content), "as it was allowed once")
    refused = run("campaign", "clone", "study", "again", status=1).stderr
    for said in ("platform.reward: £0.10 an hour is below", "Nothing was made", "spanplat campaign show study --json"):
        assert said in refused
    assert "again" not in [entry["slug"] for entry in run_json("campaign", "list")]


@pytest.mark.usefixtures("demo_loaded")
def test_a_model_campaign_runs_and_is_resumed(run: Run, run_json: RunJson) -> None:
    run("campaign", "clone", "demo-overlap", "again")
    assert run_json("campaign", "run", "again", "--dry-run")["left"] == 36
    assert run_json("campaign", "run", "again", "--limit", "5")["asked"] == 5
    assert run_json("campaign", "run", "again")["asked"] == 31
    assert run_json("campaign", "run", "again")["asked"] == 0
    assert "fill" in run("campaign", "run", "demo-people", status=1).stderr


@pytest.mark.usefixtures("demo_loaded")
def test_an_export_imports_again(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    exported = tmp_path / "a.jsonl"
    run("export", "demo-sample-a", "--format", "jsonl", "--output", exported)
    definition = tmp_path / "definition.yaml"
    definition.write_text(json.dumps(run_json("campaign", "show", "demo-sample-a")["definition"]), encoding="utf-8")
    arguments = ("campaign", "import", exported, "--slug", "copy", "--format", "native", "--definition", definition)
    report = run_json(*arguments)
    before, after = run_json("stats", "demo-sample-a"), run_json("stats", "copy")
    assert (report["annotations"], report["spans"]) == (before["annotations"], before["spans"])
    assert after["spans_per_annotation"] == before["spans_per_annotation"]
    assert "imported already" in run(*arguments).stdout
    assert run_json("agreement", "demo-sample-a", "copy")["char"]["hard"]["f1"] == 1


@pytest.mark.usefixtures("demo_loaded")
def test_what_an_import_cannot_place_is_told_with_the_rename_that_places_it(
    run: Run, run_json: RunJson, tmp_path: Path
) -> None:
    exported = tmp_path / "a.jsonl"
    run("export", "demo-sample-a", "--format", "jsonl", "--output", exported)
    lines = exported.read_text("utf-8").splitlines()
    renamed = [
        line.replace('"system": "marram"', '"system": "maram"').replace('"text": "', '"text": "', 1) for line in lines
    ]
    exported.write_text("\n".join(renamed), encoding="utf-8")
    arguments = (
        "campaign",
        "import",
        exported,
        "--slug",
        "copy",
        "--format",
        "native",
        "--rename-system",
        "maram=marram",
    )
    report = run_json(*arguments)
    assert report["unplaced_annotations"] == {}
    assert report["outputs"] == 36


def test_the_shipped_schema_is_the_one_of_this_version(run: Run) -> None:
    assert run("campaign", "schema").stdout == (paths.CAMPAIGNS / "definition.schema.json").read_text("utf-8"), (
        "bring it up to date with: spanplat campaign schema > campaigns/definition.schema.json"
    )


def test_starters_are_listed_and_printed(run: Run, run_json: RunJson) -> None:
    names = [entry["name"] for entry in run_json("campaign", "starter")]
    assert "data-to-text-errors" in names
    assert (
        yaml_documents.load(run("campaign", "starter", "data-to-text-errors").stdout)["slug"] == "data-to-text-errors"
    )
    assert "no starter 'nonsense'" in run("campaign", "starter", "nonsense", status=1).stderr


@pytest.mark.usefixtures("demo_loaded")
def test_what_another_campaign_cannot_suggest_is_said_when_a_campaign_is_created_and_opened(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "edit.yaml"
    file.write_text(
        "slug: edit\ntitle: Post-editing\ndata: {dataset: demo, splits: [test]}\n"
        "spans: {suggestions_from: demo-sample-a}\ncategories: [{name: Not in the data, key: unsupported}]\n"
    )
    created = run("campaign", "create", file)
    opened = run("campaign", "open", "edit")
    for result in (created, opened):
        assert "this campaign does not have their category" in result.stderr
    assert "edit is open." in opened.stdout


@pytest.mark.usefixtures("demo_loaded")
def test_a_definition_is_amended_from_a_file_with_a_note(run: Run, run_json: RunJson, definition: Path) -> None:
    run("campaign", "create", definition)
    definition.write_text(yaml_documents.dump(DEFINITION | {"guidelines": "Read twice."}), encoding="utf-8")
    run("campaign", "amend", "mine", definition, status=2)
    amended = run_json("campaign", "amend", "mine", definition, "--note", "people hurried")
    assert (amended["amendment"], amended["changes"]) == (1, ["guidelines"])
    assert amended["definition_sha256"] == run_json("campaign", "show", "mine")["definition_sha256"]
    definition.write_text(yaml_documents.dump(DEFINITION | {"categories": [{"name": "Slip"}]}), encoding="utf-8")
    refused = run("campaign", "amend", "mine", definition, "--note", "x", status=1)
    assert "mine.yaml:8: categories.0.key: may not change after the launch" in refused.stderr
