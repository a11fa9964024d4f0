"""Rows of a table, and readers of them from JSON lines, JSON lists, and CSV with commas, semicolons or tabs."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from spanplat.errors import InvalidInput
from spanplat.formats.json_lines import MOST_OF_ENTRY, JsonLine, decode_json, read_json_lines, require_bounds
from spanplat.formats.problem import Problem

MOST_CELL = 5_000_000
"""Characters of a cell: about the length of the longest novels."""
MOST_COLUMNS = 1_000
_MOST_ROW = 16 * 1024**2
"""Characters of a row of CSV, over all its lines."""
_START = 1024**2
"""Bytes at the start that are searched for a NUL character."""


class Row(NamedTuple):
    """Cells of a row by column, and the line on which the row begins (in a JSON list or Parquet: its position, from 1)."""

    line: int
    cells: dict[str, Any]


def require_text(path: Path) -> None:
    """Refuse a binary file, before the user is asked about its columns.

    Raises
    ------
    InvalidInput
        There is a NUL character near the start.
    """
    with path.open("rb") as file:
        start = file.read(_START)
    if b"\0" in start:
        raise InvalidInput(f"{path} is not a text file, whatever its name says; save it as UTF-8 {path.suffix}")


def read_json_line_rows(path: Path) -> Iterator[Row | Problem]:
    """Yield the rows of JSON lines, each an object; a problem for every other line."""
    return _objects(path, read_json_lines(path))


def read_json_list_rows(path: Path) -> Iterator[Row | Problem]:
    """Yield the rows of a JSON list of objects; a problem for every other entry."""
    return _objects(path, read_json_list(path))


def _objects(path: Path, entries: Iterable[JsonLine | Problem]) -> Iterator[Row | Problem]:
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
        elif isinstance(entry.value, dict):
            yield Row(entry.line, entry.value)
        else:
            reason = f"is a JSON {type(entry.value).__name__}, not an object of columns and values"
            yield Problem(path, entry.line, reason, str(entry.value))


def read_json_list(path: Path) -> Iterator[JsonLine | Problem]:
    """Yield the entries of a JSON list with their position; the list may be the only one in an object (``{"forecasts": […]}``)."""
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
    may_be_large = content.count(b",") > MOST_OF_ENTRY  # otherwise no entry can have too many values
    for position, entry in enumerate(lists[0], start=1):
        try:
            if may_be_large:
                require_bounds(entry, MOST_OF_ENTRY)
        except ValueError as error:
            yield Problem(path, position, str(error))
        else:
            yield JsonLine(entry, position)


def read_csv_rows(path: Path) -> Iterator[Row | Problem]:
    """Yield the rows of CSV; a problem for each row with a wrong number of cells, and for the row from which the file is damaged.

    Raises
    ------
    InvalidInput
        The file is not UTF-8, names a column twice, or has too many columns or too long a name of a column.
    """
    lift_cell_limit()
    with path.open(encoding="utf-8-sig", newline="") as file:
        start = 1
        header: list[str] = []
        delimiter, lines = ",", _Lines(file)
        try:
            # The delimiter is the candidate that occurs most often in the header.
            delimiter = max(",;\t", key=file.readline(_MOST_ROW).count)
            file.seek(0)
            rows = csv.reader(lines, delimiter=delimiter, strict=True)
            header = next(rows, [])
            _require_columns(path, header)
            start = rows.line_num + 1
            lines.begin_row()
            for row in rows:  # a blank line gives an empty row
                if row and len(row) != len(header):
                    reason = f"has {len(row)} cells where the header has {len(header)}"
                    yield Problem(path, start, reason, repr(row))
                elif row:
                    yield Row(start, dict(zip(header, row, strict=True)))
                start = rows.line_num + 1
                lines.begin_row()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8. Save it as UTF-8.") from error
        except (csv.Error, _LongRow) as error:
            column = _large_cell(lines.of_row, delimiter, header)
            reason = f"is cut off or not CSV from here on: {error}"
            if column is not None:
                reason = f"has more than {MOST_CELL:,} characters in {column}, which is too long; nothing is read from there on"
            yield Problem(path, start, reason)


def lift_cell_limit() -> None:
    """Let the csv module read cells of any length.

    Its limit belongs to the whole process: if one reader lowered it, another thread could not read its long cells. So readers lift
    the limit, and measure what they read.
    """
    csv.field_size_limit(2**31 - 1)  # the largest value on every system


class _LongRow(Exception):
    """A row is too long to be read."""

    def __str__(self) -> str:
        return f"a row has more than {_MOST_ROW:,} characters"


class _Lines:
    """Iterator over the lines of a file, with a limit for each row; it keeps the lines of the present row for error messages."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.begin_row()

    def begin_row(self) -> None:
        """Forget the lines of the last row, and count from here."""
        self.of_row: list[str] = []
        self._left = _MOST_ROW

    def __iter__(self) -> Iterator[str]:
        # Without this limit, a quotation mark that is never closed would read the rest of the file into memory.
        while line := self._file.readline(self._left + 1):
            self.of_row.append(line)
            self._left -= len(line)
            if self._left < 0:
                raise _LongRow
            yield line


def _require_columns(path: Path, header: list[str]) -> None:
    if len(set(header)) < len(header):
        raise InvalidInput(f"{path}: the header names a column twice.")
    if len(header) > MOST_COLUMNS:
        raise InvalidInput(
            f"{path} has {len(header):,} columns; at most {MOST_COLUMNS:,} are accepted, so leave out what is not needed"
        )
    if any(len(name) > MOST_CELL for name in header):
        raise InvalidInput(f"{path}: the header names a column in more than {MOST_CELL:,} characters.")


def _large_cell(lines: list[str], delimiter: str, header: list[str]) -> str | None:
    """Return the column of a row's cell that is too large; None if there is none."""
    cells = next(csv.reader(lines, delimiter=delimiter), [])
    position = next((number for number, cell in enumerate(cells) if len(cell) > MOST_CELL), None)
    if position is None:
        return None
    return repr(header[position][:100]) if position < len(header) else f"column {position + 1}"


def column_names(path: Path, sample: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the columns of some rows, in their order.

    Raises
    ------
    InvalidInput
        There are too many columns.
    """
    names = list(dict.fromkeys(chain.from_iterable(sample)))
    if len(names) > MOST_COLUMNS:
        raise InvalidInput(f"{path} has {len(names):,} columns; at most {MOST_COLUMNS:,} are accepted")
    return names
