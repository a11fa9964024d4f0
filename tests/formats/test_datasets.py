"""Datasets in the usual layouts of researchers, with their names of columns, folders and files."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.columns import ColumnMapping, guess_mapping
from spanplat.formats.datasets import UNKNOWN_SYSTEM, WHOLE, DatasetEntry, read_dataset
from spanplat.formats.problem import Problem
from spanplat.schemas.dataset import ExampleRecord, OutputRecord


def jsonl(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def entries(path: Path, **options: Any) -> list[tuple[str | None, ExampleRecord | OutputRecord]]:
    read = list(read_dataset(path, **options))
    assert not [entry for entry in read if isinstance(entry, Problem)]
    return [(entry.dataset, entry.record) for entry in read if isinstance(entry, DatasetEntry)]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            ["dataset", "split", "setup_id", "example_idx", "output"],
            ColumnMapping("dataset", "split", "example_idx", "setup_id", "output"),
        ),
        (
            ["ID", "Source Text", "Model name", "Prediction"],
            ColumnMapping(None, None, "ID", "Model name", "Prediction", "Source Text"),
        ),
        (["text", "label"], ColumnMapping(text="text", unused=("label",))),
        (["input", "text", "system", "subset"], ColumnMapping(None, "subset", None, "system", "text", "input")),
    ],
)
def test_columns_are_recognised_by_their_names(columns: list[str], expected: ColumnMapping) -> None:
    assert guess_mapping(columns, [dict.fromkeys(columns, "x")]) == expected


def test_a_column_is_passed_over_when_its_values_do_not_fit() -> None:
    mapping = guess_mapping(["output", "text", "id"], [{"output": {"a": 1}, "text": "x", "id": [1]}])
    assert (mapping.text, mapping.key) == ("text", None)


def test_a_column_asked_for_leaves_the_role_it_was_guessed_for() -> None:
    columns = ["text", "summary"]
    mapping = guess_mapping(columns, []).overridden(columns, {"source": "text", "text": "summary"})
    assert (mapping.source, mapping.text, mapping.unused) == ("text", "summary", ())
    assert guess_mapping(columns, []).overridden(columns, {"source": "text"}).text is None


def test_a_role_or_column_that_does_not_exist_is_refused() -> None:
    mapping = guess_mapping(["text"], [])
    with pytest.raises(InvalidInput, match="no role 'colour'"):
        mapping.overridden(["text"], {"colour": "text"})
    with pytest.raises(InvalidInput, match="no column 'body' for the text; columns are text"):
        mapping.overridden(["text"], {"text": "body"})


def test_rows_with_source_and_text_give_each_example_once(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "mine.jsonl",
        {"split": "Dev", "key": "a", "system": "Phi3.5", "source": {"x": 1}, "text": "one\r\ntwo"},
        {"split": "Dev", "key": "a", "system": "gpt4o", "source": {"x": 1}, "text": "three"},
        {"split": "Dev", "key": 7, "system": "gpt4o", "source": None, "text": ""},
    )
    assert entries(path) == [
        (None, ExampleRecord(split="dev", key="a", source={"x": 1})),
        (None, OutputRecord(split="dev", key="a", system="phi3-5", text="one\ntwo")),
        (None, OutputRecord(split="dev", key="a", system="gpt4o", text="three")),
        (None, OutputRecord(split="dev", key="7", system="gpt4o", text="")),
    ]


def test_bare_texts_are_numbered_and_belong_to_no_known_system(tmp_path: Path) -> None:
    assert entries(jsonl(tmp_path / "mine.jsonl", {"text": "a"}, {"text": "b"})) == [
        (None, OutputRecord(split=WHOLE, key="0", system=UNKNOWN_SYSTEM, text="a")),
        (None, OutputRecord(split=WHOLE, key="1", system=UNKNOWN_SYSTEM, text="b")),
    ]


def test_rows_without_keys_are_numbered_for_each_system(tmp_path: Path) -> None:
    rows = [{"system": system, "text": "t"} for system in ("a", "b", "a", "b")]
    keys = [record.key for _, record in entries(jsonl(tmp_path / "mine-test.jsonl", *rows))]
    assert keys == ["0", "0", "1", "1"]


@pytest.mark.parametrize(("delimiter", "name"), [(",", "d.csv"), (";", "d.csv"), ("\t", "d.tsv"), (",", "d")])
def test_csv_with_any_usual_delimiter(tmp_path: Path, delimiter: str, name: str) -> None:
    path = tmp_path / name
    lines = [["id", "input", "output"], ["1", '"{""a"": [1]}"', '"two\r\nlines; and, more\t"'], ["2", "{plain", "x"]]
    path.write_text("\ufeff" + "\n".join(delimiter.join(line) for line in lines), encoding="utf-8", newline="")
    assert [record for _, record in entries(path)] == [
        ExampleRecord(split=WHOLE, key="1", source={"a": [1]}),
        OutputRecord(split=WHOLE, key="1", system=UNKNOWN_SYSTEM, text="two\nlines; and, more\t"),
        ExampleRecord(split=WHOLE, key="2", source="{plain"),
        OutputRecord(split=WHOLE, key="2", system=UNKNOWN_SYSTEM, text="x"),
    ]


def test_a_json_list_of_rows_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps([{"id": 5, "text": "a"}]))
    assert entries(path) == [(None, OutputRecord(split=WHOLE, key="5", system=UNKNOWN_SYSTEM, text="a"))]


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"forecasts": rows}])
def test_a_json_list_of_sources_is_numbered(tmp_path: Path, wrap: Any) -> None:
    path = tmp_path / "inputs" / "Weather" / "dev.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(wrap([{"id": "x", "city": 1}, {"id": "y", "city": 2}])))
    for place in (path, path.parent, tmp_path):
        assert entries(place) == [
            ("weather", ExampleRecord(split="dev", key="0", source={"id": "x", "city": 1})),
            ("weather", ExampleRecord(split="dev", key="1", source={"id": "y", "city": 2})),
        ]


@pytest.mark.parametrize(
    ("place", "row"),
    [
        ("outputs/phi3-5/d2t-qualification-task-phi3-5-dev.jsonl", {"example_idx": 0, "output": "t"}),
        ("outputs/d2t-qualification-task-phi3-5-dev.jsonl", {"example_idx": 0, "output": "t", "setup_id": "phi3.5"}),
        ("outputs/d2t-qualification-task/dev/phi3.5.jsonl", {"example_idx": 0, "output": "t"}),
        (
            "outputs/x.jsonl",
            {
                "dataset": "d2t-qualification-task",
                "split": "dev",
                "setup_id": "Phi3.5",
                "example_idx": 0,
                "output": "t",
            },
        ),
    ],
)
def test_dataset_split_and_system_may_be_implied_by_folder_and_file_name(tmp_path: Path, place: str, row: Any) -> None:
    jsonl(tmp_path / place, row)
    assert entries(tmp_path) == [
        ("d2t-qualification-task", OutputRecord(split="dev", key="0", system="phi3-5", text="t"))
    ]


def test_rows_that_cannot_be_used_are_reported_by_line(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "d.jsonl",
        {"key": "a", "source": 1, "text": "good"},
        {"key": "a", "source": 2, "text": "good too"},
        {"key": None, "text": "x"},
        {"key": "b"},
        {"key": "c", "text": "fine", "system": "s"},
        {"key": "d", "text": "\x00"},
        {"key": "e", "text": "x", "system": ["s"]},
    )
    with path.open("a") as file:
        file.write('{"key": \n')
    read = list(read_dataset(path))
    problems = [(entry.line, entry.reason.split(":")[0]) for entry in read if isinstance(entry, Problem)]
    assert problems == [
        (2, "has another source for example a than line 1; the first one is kept"),
        (3, "has no usable key (the example's key)"),
        (4, "has neither a text nor a source"),
        (6, "holds a NUL character, which cannot be stored"),
        (7, "has a system that is no name"),
        (8, "is not JSON"),
    ]
    texts = [e.record.text for e in read if isinstance(e, DatasetEntry) and isinstance(e.record, OutputRecord)]
    assert texts == ["good", "good too", "fine"]


def test_csv_rows_of_another_length_and_unstorable_texts_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("key,text\n1,a,b\n2,x\x00\n3,c\n")
    short, nul, good = read_dataset(path)
    assert isinstance(short, Problem)
    assert (short.line, short.reason) == (2, "has 3 cells where the header has 2")
    assert isinstance(nul, Problem)
    assert "a NUL character at position 1" in nul.reason
    assert isinstance(good, DatasetEntry)


def test_a_table_without_anything_like_a_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match=r"no column looks like the text .* Columns are number, word; say which is which"
    ):
        list(read_dataset(jsonl(tmp_path / "d.jsonl", {"number": 1, "word": "x"})))


def test_a_column_may_be_named_where_the_guess_fails(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "d.jsonl", {"number": 1, "word": "x"})
    assert [record for _, record in entries(path, columns={"text": "word", "key": "number"})] == [
        OutputRecord(split=WHOLE, key="1", system=UNKNOWN_SYSTEM, text="x")
    ]


def test_nothing_there_or_nothing_in_it(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file or folder"):
        list(read_dataset(tmp_path / "missing.csv"))
    with pytest.raises(InvalidInput, match="holds neither inputs"):
        list(read_dataset(tmp_path))
    with pytest.raises(InvalidInput, match="holds no rows"):
        list(read_dataset(jsonl(tmp_path / "empty.jsonl")))


@pytest.mark.data
def test_the_published_study_is_read_in_full(research_data: Path) -> None:
    counts = Counter((dataset, type(record).__name__) for dataset, record in entries(research_data / "d2t-eval"))
    assert counts == {
        ("d2t-football", "ExampleRecord"): 109, ("d2t-football", "OutputRecord"): 434,
        ("d2t-gsmarena", "ExampleRecord"): 109, ("d2t-gsmarena", "OutputRecord"): 433,
        ("d2t-openweather", "ExampleRecord"): 109, ("d2t-openweather", "OutputRecord"): 434,
    }  # fmt: skip
