"""Rows of tables, and what is said of files that are damaged."""

from pathlib import Path

import pytest

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.problem import Problem
from spanplat.formats.rows import Row, detect_table, read_json_list, read_rows


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
    assert detect_table(path) == expected


def test_a_missing_file_has_no_format(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no file .*gone\.csv"):
        detect_table(tmp_path / "gone.csv")


def test_line_numbers_count_lines_inside_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'k,t\n1,"a\n\nb"\n\n2,c\n')
    assert list(read_rows(path, "csv")) == [Row(2, {"k": "1", "t": "a\n\nb"}), Row(6, {"k": "2", "t": "c"})]


def test_a_csv_file_cut_inside_a_cell_says_where(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('k,t\n1,a\n2,"cut')
    first, cut = read_rows(path, "csv")
    assert first == Row(2, {"k": "1", "t": "a"})
    assert isinstance(cut, Problem)
    assert cut.line == 3
    assert cut.reason.startswith("is cut off or not CSV from here on")


def test_a_csv_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,t\n1,caf\u00e9\n", encoding="utf-16")
    with pytest.raises(InvalidInput, match=r"a\.csv is not UTF-8.*Save it as UTF-8"):
        list(read_rows(path, "csv"))


def test_a_header_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("t,t\na,b\n")
    with pytest.raises(InvalidInput, match="names a column twice"):
        list(read_rows(path, "csv"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"a": [1], "b": [2]}', "is neither a JSON list nor an object with one list in it"),
        ('"text"', "is neither a JSON list nor an object with one list in it"),
        ("[1,\n2", "is not JSON: Expecting ',' delimiter (line 2, column 2)"),
        ("[" * 200_000, "is not usable JSON: it is nested too deeply"),
        ('[{"n": -1e400}]', "holds a number too large to be stored: -1e400"),
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
    assert list(read_rows(path, "json")) == [
        Row(1, {"t": "a"}),
        Problem(path, 2, "is a JSON int, not an object of columns and values", "5"),
    ]
