"""Rows of tables, and the messages about damaged files."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats import json_lines
from spanplat.formats.problem import Problem
from spanplat.formats.rows import (
    MOST_CELL,
    MOST_COLUMNS,
    Row,
    column_names,
    read_json_list,
)
from spanplat.formats.table_formats import detect_format, find_table_format, read_rows


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.NDJSON", "", "jsonl"), ("a.tsv", "", "csv"), ("a.json", "", "json"),
        ("a", '\ufeff{"a": 1}\n{"a": 2}', "jsonl"), ("a", '{\n"a": [1]}', "json"), ("a.txt", "[1]", "json"), ("a.txt", "a,b\n", "csv"),
    ],
)  # fmt: skip
def test_a_format_is_told_by_name_or_first_line(tmp_path: Path, name: str, content: str, expected: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert detect_format(path).name == expected


def test_a_missing_file_has_no_format(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no file .*gone\.csv"):
        detect_format(tmp_path / "gone.csv")


def test_line_numbers_count_lines_inside_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'k,t\n1,"a\n\nb"\n\n2,c\n')
    assert list(read_rows(path, find_table_format("csv"))) == [
        Row(2, {"k": "1", "t": "a\n\nb"}),
        Row(6, {"k": "2", "t": "c"}),
    ]


def test_a_csv_file_cut_inside_a_cell_says_where(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('k,t\n1,a\n2,"cut')
    first, cut = read_rows(path, find_table_format("csv"))
    assert first == Row(2, {"k": "1", "t": "a"})
    assert isinstance(cut, Problem)
    assert cut.line == 3
    assert cut.reason.startswith("is cut off or not CSV from here on")


def test_a_csv_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,t\n1,caf\u00e9\n", encoding="utf-16")
    with pytest.raises(InvalidInput, match=r"a\.csv is not UTF-8.*Save it as UTF-8"):
        list(read_rows(path, find_table_format("csv")))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("t,t", "names a column twice"),
        (f"{'t' * (MOST_CELL + 1)},u", "names a column in more than 5,000,000 characters"),
    ],
    ids=["twice", "too-long"],
)
def test_a_header_with_a_column_twice_or_a_name_without_end_is_refused(
    tmp_path: Path, header: str, message: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\na,b\n")
    with pytest.raises(InvalidInput, match=message):
        list(read_rows(path, find_table_format("csv")))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"a": [1], "b": [2]}', "is neither a JSON list nor an object with one list in it"),
        ('"text"', "is neither a JSON list nor an object with one list in it"),
        ("[1,\n2", "is not JSON: Expecting ',' delimiter (line 2, column 2)"),
        ("[" * 200_000, "is not usable JSON: it is nested too deeply"),
        ('[{"n": -1e400}]', "holds a number too large to be stored: -1e400"),
        ("[" * 101 + "]" * 101, "is not usable JSON: it is nested too deeply"),
        ("[" + "[]," * 5_000_000 + "1]", "holds more than 5,000,000 values"),
        ('[{"text": "a", "text": "b"}]', "names 'text' twice in one object; only one of the values could be kept"),
        (f"[{'7' * 5000}]", "holds a number of 5000 digits, which cannot be stored: 77777777777777777777…"),
    ],
)  # fmt: skip
def test_a_json_file_without_one_list_is_a_problem(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    assert list(read_json_list(path)) == [Problem(path, 0, reason)]


def test_an_entry_that_is_no_row_is_a_problem_at_its_position(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"t": "a"}, 5]')
    assert list(read_rows(path, find_table_format("json"))) == [
        Row(1, {"t": "a"}),
        Problem(path, 2, "is a JSON int, not an object of columns and values", "5"),
    ]


@pytest.mark.parametrize(
    ("large", "reason"),
    [
        ("x" * (MOST_CELL + 1), "has 5,000,001 characters in 'text'; at most 5,000,000 are accepted"),
        ("x" * 100_000_000, "has more than 5,000,000 characters in 'text', which is too long"),
        ('"' + ("x" * 999 + "\n") * 6_000 + '"', "has 6,000,000 characters in 'text'; at most 5,000,000 are accepted"),
        ('"' + ("x" * 999 + "\n") * 20_000, "has more than 5,000,000 characters in 'text', which is too long"),
        ('"', "is cut off or not CSV from here on"),
        ("x," * 10_000_000, "is cut off or not CSV from here on: a row has more than 16,777,216 characters"),
    ],
    ids=["one-more", "100-MB", "of-many-lines", "20-MB-of-lines", "cut-off", "many-cells"],
)
def test_a_csv_cell_without_end_is_named_by_row_and_column(tmp_path: Path, large: str, reason: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id,text\n1,a\n2,{large}\n")
    first, problem = read_rows(path, find_table_format("csv"))
    assert first == Row(2, {"id": "1", "text": "a"})
    assert isinstance(problem, Problem)
    assert (problem.line, problem.reason[: len(reason)]) == (3, reason)
    assert len(problem.raw) < 1000


def test_the_largest_cell_is_taken_and_only_the_row_with_a_larger_one_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id,text\n1,{'x' * MOST_CELL}\n2,{'x' * (MOST_CELL + 1)}\n3,b\n")
    assert [len(row.cells["text"]) for row in read_rows(path, find_table_format("csv")) if isinstance(row, Row)] == [
        MOST_CELL,
        1,
    ]


@pytest.mark.parametrize("table", ["jsonl", "json"])
def test_a_text_without_end_is_named_by_row_and_column_and_the_others_are_taken(tmp_path: Path, table: str) -> None:
    rows = [{"text": "a"}, {"text": "x" * (MOST_CELL + 1)}, {"text": "b"}]
    path = tmp_path / f"a.{table}"
    path.write_text(json.dumps(rows) if table == "json" else "\n".join(map(json.dumps, rows)))
    first, problem, last = read_rows(path, find_table_format(table))
    assert (first, last) == (Row(1, {"text": "a"}), Row(3, {"text": "b"}))
    assert problem == Problem(path, 2, "has 5,000,001 characters in 'text'; at most 5,000,000 are accepted")


def test_a_line_without_end_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "MOST_LINE", 1024**2)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": "' + b"x" * 50 * 1024**2 + b'"}\n{"text": "b"}\n')
    tracemalloc.start()
    try:
        first, problem = read_rows(path, find_table_format("jsonl"))
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 10 * 1024**2
    assert first == Row(1, {"text": "a"})
    assert problem == Problem(path, 2, "has more than 1 MB; nothing is read from there on")


def test_a_million_columns_are_refused_and_counted(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(1_000_000)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + "1," * 999_999 + "1\n")
    with pytest.raises(InvalidInput, match="has 1,000,000 columns; at most 1,000 are accepted"):
        list(read_rows(tmp_path / "a.csv", find_table_format("csv")))
    (tmp_path / "a.jsonl").write_text(json.dumps(dict.fromkeys(names[:50_000], 1)))
    [problem] = read_rows(tmp_path / "a.jsonl", find_table_format("jsonl"))
    assert isinstance(problem, Problem)
    assert problem.reason == "has 50,000 columns; at most 1,000 are accepted"


def test_rows_that_each_name_other_columns_are_refused_together(tmp_path: Path) -> None:
    rows = [{f"c{row}-{number}": 1 for number in range(MOST_COLUMNS // 2)} for row in range(3)]
    assert len(column_names(tmp_path, rows[:2])) == MOST_COLUMNS
    with pytest.raises(InvalidInput, match="has 1,500 columns"):
        column_names(tmp_path, rows)


def test_json_may_be_nested_a_hundred_deep(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[" * 100 + "]" * 100)
    assert len(list(read_json_list(path))) == 1


@pytest.mark.parametrize("table", ["jsonl", "json"])
def test_an_entry_of_more_values_than_a_page_can_show_is_refused_and_the_others_are_taken(
    tmp_path: Path, table: str
) -> None:
    rows: list[dict[str, Any]] = [{"text": "a"}, {"text": "b", "source": [1.5] * 100_000}, {"text": "," * 200_000}]
    path = tmp_path / f"a.{table}"
    path.write_text(json.dumps(rows) if table == "json" else "\n".join(map(json.dumps, rows)))
    first, problem, last = read_rows(path, find_table_format(table))
    assert (first, last) == (Row(1, rows[0]), Row(3, rows[2])), "commas of a text are no values"
    assert isinstance(problem, Problem)
    assert (problem.line, problem.reason) == (2, "holds more than 100,000 values")
