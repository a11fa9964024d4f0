"""Datasets from the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import Run

RunJson = Callable[..., Any]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "weather.csv"
    file.write_text("id,model,prediction,grade\n1,a,Sun.,x\n2,a,Rain.,y\n1,b,Fog.,z\n", encoding="utf-8")
    return file


@pytest.mark.usefixtures("initialised")
def test_the_guessed_columns_are_shown_and_can_be_changed(run: Run, table: Path) -> None:
    shown = run("dataset", "import", table, "--name", "weather")
    assert "key is id, system is model, text is prediction; not used: grade" in shown.stderr
    shown = run("dataset", "import", table, "--name", "grades", "--column", "text=grade")
    assert "text is grade" in shown.stderr


@pytest.mark.usefixtures("initialised")
def test_a_second_import_adds_nothing(run_json: RunJson, table: Path) -> None:
    first = run_json("dataset", "import", table, "--name", "weather", "--rename-system", "b=c")
    assert first["datasets"]["weather"]["outputs"] == 3
    again = run_json("dataset", "import", table, "--name", "weather", "--rename-system", "b=c")
    assert again["datasets"]["weather"]["outputs"] == 0
    shown = run_json("dataset", "show", "weather")
    assert shown["systems"] == {"a": 2, "c": 1}
    assert [entry["slug"] for entry in run_json("dataset", "list")] == ["weather"]


@pytest.mark.usefixtures("initialised")
def test_rows_that_cannot_be_used_are_told_with_their_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    rows = [{"id": "1", "system": "a", "output": "Sun."}, {"id": "2", "system": "a", "output": 7}]
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    shown = run("dataset", "import", file, "--name", "data")
    assert "data.jsonl" in shown.stderr
    assert "2" in shown.stderr
    assert "1" in shown.stdout


@pytest.mark.usefixtures("initialised")
def test_parquet_is_read_and_a_damaged_file_leaves_nothing(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    file = tmp_path / "weather.parquet"
    pq.write_table(pa.table({"id": [1, 2], "model": ["a", "a"], "prediction": ["Sun.", "Rain."]}), file)
    content = file.read_bytes()
    file.write_bytes(content[:-10])
    assert "is cut off" in run("dataset", "import", file, "--name", "weather", status=1).stderr
    assert run_json("dataset", "list") == []
    file.write_bytes(content)
    shown = run("dataset", "import", file, "--name", "weather", "--format", "parquet")
    assert "key is id, system is model, text is prediction" in shown.stderr
    assert run_json("dataset", "show", "weather")["outputs"] == 2


@pytest.mark.usefixtures("initialised")
def test_an_unknown_dataset_and_a_malformed_option_are_told(run: Run, table: Path) -> None:
    assert "no dataset 'nonsense'" in run("dataset", "show", "nonsense", status=1).stderr
    assert "OLD=NEW" in run("dataset", "import", table, "--rename-system", "nonsense", status=2).stderr
