"""Rows of a table, whatever file they stand in: JSON lines, a JSON list, Parquet, or CSV with commas, semicolons or tabs."""

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.json_lines import MOST_OF_ENTRY, JsonLine, decode_json, read_json_lines, require_bounds
from spanplat.formats.parquet import MAGIC, read_parquet
from spanplat.formats.problem import Problem

TableFormat = Literal["jsonl", "csv", "json", "parquet"]

_BY_SUFFIX: dict[str, TableFormat] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "csv",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


MOST_CELL = 5_000_000
"""Characters; the longest novels have as many, and nobody annotates one at once."""
MOST_COLUMNS = 1_000
_MOST_LINE = 16 * 1024**2
"""Characters of a line of CSV."""


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
    """Yield the rows of a file; a problem for each that is not a row, has too many cells, or too large a one.

    Raises
    ------
    InvalidInput
        A CSV file is not UTF-8, or names a column twice; a Parquet file is none, or holds too much.
    """
    for row in _rows(path, table):
        yield _excess(path, row) or row if isinstance(row, Row) else row


def _excess(path: Path, row: Row) -> Problem | None:
    if len(row.cells) > MOST_COLUMNS:
        return Problem(path, row.line, f"has {len(row.cells):,} columns; at most {MOST_COLUMNS:,} are taken")
    for name, cell in row.cells.items():
        if isinstance(cell, str) and len(cell) > MOST_CELL:
            reason = f"has {len(cell):,} characters in {name[:100]!r}; at most {MOST_CELL:,} are taken"
            return Problem(path, row.line, reason)
    return None


def _rows(path: Path, table: TableFormat) -> Iterator[Row | Problem]:
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
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        value = decode_json(content)
    except ValueError as error:
        yield Problem(path, 0, str(error))
        return
    lists = [inner for inner in value.values() if isinstance(inner, list)] if isinstance(value, dict) else [value]
    if len(lists) != 1 or not isinstance(lists[0], list):
        yield Problem(path, 0, "is neither a JSON list nor an object with one list in it")
        return
    may_be_large = content.count(b",") > MOST_OF_ENTRY
    for position, entry in enumerate(lists[0], start=1):
        try:
            if may_be_large:
                require_bounds(entry, MOST_OF_ENTRY)
        except ValueError as error:
            yield Problem(path, position, str(error))
        else:
            yield JsonLine(entry, position)


def _csv_rows(path: Path) -> Iterator[Row | Problem]:
    csv.field_size_limit(MOST_CELL)  # of the whole process; what comes through all the same is counted again
    with path.open(encoding="utf-8-sig", newline="") as file:
        start = 1
        header: list[str] = []
        delimiter, lines = ",", _Lines(file)
        try:
            delimiter = max(",;\t", key=file.readline(_MOST_LINE).count)
            file.seek(0)
            rows = csv.reader(lines, delimiter=delimiter, strict=True)
            header = next(rows, [])
            _require_columns(path, header)
            start = rows.line_num + 1
            lines.of_row.clear()
            for row in rows:
                if row and len(row) != len(header):
                    reason = f"has {len(row)} cells where the header has {len(header)}"
                    yield Problem(path, start, reason, repr(row))
                elif row:
                    yield Row(start, dict(zip(header, row, strict=True)))
                start = rows.line_num + 1
                lines.of_row.clear()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8. Save it as UTF-8.") from error
        except (csv.Error, _LongLine) as error:
            column = _large_cell(lines.of_row, delimiter, header)
            reason = f"is cut off or not CSV from here on: {error}"
            if column is not None:
                reason = f"has more than {MOST_CELL:,} characters in {column}, which are not taken; nothing is read from there on"
            yield Problem(path, start, reason)


class _LongLine(Exception):
    """A line is too long to be read."""

    def __str__(self) -> str:
        return f"a line has more than {_MOST_LINE:,} characters"


class _Lines:
    """The lines of a file one by one, none longer than is taken, and those of the row at hand."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.of_row: list[str] = []

    def __iter__(self) -> Iterator[str]:
        while line := self._file.readline(_MOST_LINE + 1):
            self.of_row.append(line)
            if len(line) > _MOST_LINE:
                raise _LongLine
            yield line


def _require_columns(path: Path, header: list[str]) -> None:
    if len(set(header)) < len(header):
        raise InvalidInput(f"{path}: the header names a column twice.")
    if len(header) > MOST_COLUMNS:
        raise InvalidInput(
            f"{path} has {len(header):,} columns; at most {MOST_COLUMNS:,} are taken, so leave out what is not needed"
        )


def _large_cell(lines: list[str], delimiter: str, header: list[str]) -> str | None:
    """Name the column in which a row holds more than is taken; None if none does."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        cells = next(csv.reader(lines, delimiter=delimiter), [])
    finally:
        csv.field_size_limit(before)
    position = next((number for number, cell in enumerate(cells) if len(cell) > MOST_CELL), None)
    if position is None:
        return None
    return repr(header[position][:100]) if position < len(header) else f"column {position + 1}"


def column_names(path: Path, sample: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the columns of some rows, in their order.

    Raises
    ------
    InvalidInput
        There are more than anybody could choose from.
    """
    names = list(dict.fromkeys(chain.from_iterable(sample)))
    if len(names) > MOST_COLUMNS:
        raise InvalidInput(f"{path} has {len(names):,} columns; at most {MOST_COLUMNS:,} are taken")
    return names
