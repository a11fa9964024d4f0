"""``spanplat demo``, and its figures and exports."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

RunJson = Callable[..., Any]


def test_the_demo_prints_its_agreement_the_addresses_and_the_password_once(run: Run) -> None:
    first = run("demo", "--no-serve", "--port", "8123").stdout
    table = [line.split() for line in first.splitlines() if line.startswith("demo-")]
    assert [row[:3] for row in table] == [
        ["demo-sample-a", "demo-sample-b", "36"],
        ["demo-sample-a", "demo-overlap", "36"],
        ["demo-sample-b", "demo-overlap", "36"],
    ]
    assert "http://127.0.0.1:8123/c/demo-people/start" in first
    assert "shown only now" in first
    again = run("demo", "--no-serve", "--port", "8123").stdout
    assert [line.split() for line in again.splitlines() if line.startswith("demo-")] == table
    assert "shown only now" not in again


def test_the_demo_goes_to_a_folder_of_its_own(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANPLAT_HOME", "")
    monkeypatch.delenv("SPANPLAT_HOME")
    run("demo", "--no-serve")
    assert (tmp_path / "spanplat-demo" / "spanplat.sqlite3").exists()


@pytest.mark.usefixtures("demo_loaded")
def test_agreement_is_printed_as_a_table_and_as_json(run: Run, run_json: RunJson) -> None:
    shown = run("agreement", "demo-sample-a", "demo-sample-b", "--samples", "5").stdout
    assert "outputs compared: 36" in shown
    report = run_json("agreement", "demo-sample-a", "demo-sample-b", "--samples", "5", "--system", "marram")
    assert report["outputs"] == 12
    assert report["gamma"]["samples"] == 5
    assert set(report) >= {"reference", "hypothesis", "char", "gamma", "s_empty", "pearson", "undefined", "signature"}


@pytest.mark.usefixtures("demo_loaded")
def test_campaigns_that_share_nothing_or_do_not_exist_are_told(run: Run) -> None:
    assert "no completed annotation" in run("agreement", "demo-people", "demo-sample-a", status=1).stderr
    assert "no campaign 'nonsense'" in run("agreement", "nonsense", "demo-sample-a", status=1).stderr
    assert "no rule" in run("agreement", "demo-sample-a", "demo-sample-b", "--ref-rule", "last", status=1).stderr


@pytest.mark.usefixtures("demo_loaded")
def test_different_categories_are_named_with_what_to_do(run: Run, tmp_path: Path) -> None:
    exported = tmp_path / "sample.jsonl"
    run("export", "demo-sample-b", "--format", "jsonl", "--output", str(exported))
    records = [json.loads(line) for line in exported.read_text("utf-8").splitlines()]
    for record in records:
        record["spans"] = [{**span, "category": "Odd one"} for span in record["spans"]]
    exported.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    run("campaign", "import", str(exported), "--slug", "odd", "--format", "native")
    told = run("agreement", "demo-sample-a", "odd", "--samples", "2").stderr
    assert "only odd has the categories: Odd one" in told
    assert "no category in common: read the soft figures" in told


@pytest.mark.usefixtures("demo_loaded")
def test_statistics_are_printed_as_a_table_and_as_json(run: Run, run_json: RunJson) -> None:
    document = run_json("stats", "demo-sample-a")
    assert document["annotations"] == 36
    shown = run("stats", "demo-sample-a").stdout
    assert any(line.split() == ["spans", str(document["spans"])] for line in shown.splitlines())
    assert all(name in shown for name in document["categories"])


@pytest.mark.usefixtures("demo_loaded")
def test_both_export_formats_hold_every_annotation_and_span(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    document = run_json("stats", "demo-sample-a")
    records = [
        json.loads(line)
        for line in run("export", "demo-sample-a", "--format", "jsonl", "--output", "-").stdout.splitlines()
    ]
    assert len(records) == document["annotations"]
    assert sum(len(record["spans"]) for record in records) == document["spans"]
    file = tmp_path / "a.csv"
    written = run_json("export", "demo-sample-a", "--format", "csv", "--output", file)
    assert written["annotations"] == document["annotations"]
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert sum(row["span_start"] != "" for row in rows) == document["spans"]


@pytest.mark.usefixtures("demo_loaded")
def test_a_failed_export_leaves_the_old_file_alone(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("precious", encoding="utf-8")
    run("export", "nonsense", "--format", "jsonl", "--output", file, status=1)
    assert file.read_text("utf-8") == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "home"]
    assert "cannot write" in run("export", "demo-sample-a", "--format", "jsonl", "--output", "no/a", status=1).stderr
