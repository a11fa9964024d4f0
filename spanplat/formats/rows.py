"""Rows of a table, whatever file they stand in: JSON lines, a JSON list, Parquet, or CSV with commas, semicolons or tabs."""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.json_lines import JsonLine, decode_json, read_json_lines
from spanplat.formats.parquet import MAGIC, read_parquet
from spanplat.formats.problem import Problem

TableFormat = Literal["jsonl", "csv", "json", "parquet"]

_BY_SUFFIX: dict[str, TableFormat] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "csv",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


class Row(NamedTuple):
    """The cells of a row by column, and the line it begins on (in a JSON list or Parquet: its position, counted from 1)."""

    line: int
    cells: dict[str, Any]


def detect_table(path: Path) -> TableFormat:
    """Tell the format of a file from its name, else from its first line.

    Raises
    ------
    NotFound
        There is no such file.
    """
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    known = _BY_SUFFIX.get(path.suffix.lower())
    if known is not None:
        return known
    with path.open("rb") as file:
        if file.read(4) == MAGIC:
            return "parquet"
        file.seek(0)
        first = file.readline().removeprefix(b"\xef\xbb\xbf").strip()
    if first.startswith(b"{") and first.endswith(b"}"):
        return "jsonl"
    return "json" if first.startswith((b"[", b"{")) else "csv"


def read_rows(path: Path, table: TableFormat) -> Iterator[Row | Problem]:
    """Yield the rows of a file; a problem for each that is not a row.

    Raises
    ------
    InvalidInput
        A CSV file is not UTF-8, or names a column twice; a Parquet file is none, or holds too much.
    """
    if table == "csv":
        yield from _csv_rows(path)
        return
    if table == "parquet":
        for row in read_parquet(path):
            yield row if isinstance(row, Problem) else Row(*row)
        return
    for entry in read_json_lines(path) if table == "jsonl" else read_json_list(path):
        if isinstance(entry, Problem):
            yield entry
        elif isinstance(entry.value, dict):
            yield Row(entry.line, entry.value)
        else:
            reason = f"is a JSON {type(entry.value).__name__}, not an object of columns and values"
            yield Problem(path, entry.line, reason, str(entry.value))


def read_json_list(path: Path) -> Iterator[JsonLine | Problem]:
    """Yield the entries of a JSON list, which may be the only list in an object (``{"forecasts": […]}``), with their position."""
    try:
        value = decode_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        yield Problem(path, 0, str(error))
        return
    lists = [inner for inner in value.values() if isinstance(inner, list)] if isinstance(value, dict) else [value]
    if len(lists) != 1 or not isinstance(lists[0], list):
        yield Problem(path, 0, "is neither a JSON list nor an object with one list in it")
        return
    for position, entry in enumerate(lists[0], start=1):
        yield JsonLine(entry, position)


def _csv_rows(path: Path) -> Iterator[Row | Problem]:
    csv.field_size_limit(sys.maxsize)  # texts may be longer than the 128 KB that the csv module allows by default
    with path.open(encoding="utf-8-sig", newline="") as lines:
        start = 1
        try:
            first = lines.readline()
            lines.seek(0)
            rows = csv.reader(lines, delimiter=max(",;\t", key=first.count), strict=True)
            header = next(rows, [])
            if len(set(header)) < len(header):
                raise InvalidInput(f"{path}: the header names a column twice.")
            start = rows.line_num + 1
            for row in rows:
                if row and len(row) != len(header):
                    reason = f"has {len(row)} cells where the header has {len(header)}"
                    yield Problem(path, start, reason, repr(row))
                elif row:
                    yield Row(start, dict(zip(header, row, strict=True)))
                start = rows.line_num + 1
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8. Save it as UTF-8.") from error
        except csv.Error as error:
            yield Problem(path, start, f"is cut off or not CSV from here on: {error}")
