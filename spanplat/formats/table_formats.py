"""Registry of table formats for the import of datasets, and a reader for all of them.

To add a format, write a module with its reader and add an entry to `TABLE_FORMATS`. The command, the pages and uploads use this list.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.json_lines import MOST_LINE
from spanplat.formats.parquet import MAGIC, read_parquet, require_parquet
from spanplat.formats.problem import Problem
from spanplat.formats.rows import (
    MOST_CELL,
    MOST_COLUMNS,
    Row,
    read_csv_rows,
    read_json_line_rows,
    read_json_list_rows,
    require_text,
)


@dataclass(frozen=True)
class TableFormat:
    """A file format for a table: rows of cells under named columns."""

    name: str
    """Value of ``--format``."""
    title: str
    """Name on pages."""
    extensions: tuple[str, ...]
    """File extensions in lower case, with the dot."""
    recognize: Callable[[bytes], bool]
    """Test of the first line, without surrounding white space; used for files without a known extension."""
    require: Callable[[Path], None]
    """Function that raises `InvalidInput` for a file that cannot have this format; called before an upload is read."""
    read: Callable[[Path], Iterator[Row | Problem]]
    may_list_sources: bool = False
    """Whether a file without a column for a text or a source is a list of sources, like factgenie's inputs."""


def _read_parquet_rows(path: Path) -> Iterator[Row | Problem]:
    for row in read_parquet(path):
        yield row if isinstance(row, Problem) else Row(*row)


CSV = TableFormat(
    name="csv",
    title="CSV",
    extensions=(".csv", ".tsv"),
    recognize=lambda _first: False,  # CSV has no mark: every file that no other format recognizes is read as CSV
    require=require_text,
    read=read_csv_rows,
)
TABLE_FORMATS: tuple[TableFormat, ...] = (
    TableFormat(
        name="jsonl",
        title="JSON lines",
        extensions=(".jsonl", ".ndjson"),
        # Before JSON, which also accepts a first line that begins with a brace.
        recognize=lambda first: first.startswith(b"{") and first.endswith(b"}"),
        require=require_text,
        read=read_json_line_rows,
    ),
    CSV,
    TableFormat(
        name="json",
        title="JSON",
        extensions=(".json",),
        recognize=lambda first: first.startswith((b"[", b"{")),
        require=require_text,
        read=read_json_list_rows,
        may_list_sources=True,
    ),
    TableFormat(
        name="parquet",
        title="Parquet",
        extensions=(".parquet", ".pq"),
        recognize=lambda first: first.startswith(MAGIC),
        require=require_parquet,
        read=_read_parquet_rows,
    ),
)
"""In the order of all lists, and of the attempts to recognize a file."""


def find_table_format(name: str) -> TableFormat:
    """Return the format with a name.

    Raises
    ------
    InvalidInput
        There is none; the message lists the names.
    """
    for entry in TABLE_FORMATS:
        if entry.name == name:
            return entry
    raise InvalidInput(f"{name!r} is not a format of tables; use one of {', '.join(e.name for e in TABLE_FORMATS)}")


def format_of_extension(path: Path) -> TableFormat | None:
    """Return the format of a file extension; None if the extension is unknown."""
    extension = path.suffix.lower()
    return next((entry for entry in TABLE_FORMATS if extension in entry.extensions), None)


def detect_format(path: Path) -> TableFormat:
    """Return the format of a file, by its extension or else by its first line.

    Raises
    ------
    NotFound
        There is no such file.
    """
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    known = format_of_extension(path)
    if known is not None:
        return known
    with path.open("rb") as file:  # with a limit, because a file without line ends is one line
        first = file.readline(MOST_LINE).removeprefix(b"\xef\xbb\xbf").strip()
    return next((entry for entry in TABLE_FORMATS if entry.recognize(first)), CSV)


def read_rows(path: Path, table: TableFormat) -> Iterator[Row | Problem]:
    """Yield the rows of a file; a problem for each row that cannot be read, has too many cells, or a cell that is too large.

    Raises
    ------
    InvalidInput
        A CSV file is not UTF-8, or names a column twice; a Parquet file is not valid, or holds too much.
    """
    for row in table.read(path):
        yield _excess(path, row) or row if isinstance(row, Row) else row


def _excess(path: Path, row: Row) -> Problem | None:
    if len(row.cells) > MOST_COLUMNS:
        return Problem(path, row.line, f"has {len(row.cells):,} columns; at most {MOST_COLUMNS:,} are accepted")
    for name, cell in row.cells.items():
        if isinstance(cell, str) and len(cell) > MOST_CELL:
            reason = f"has {len(cell):,} characters in {name[:100]!r}; at most {MOST_CELL:,} are accepted"
            return Problem(path, row.line, reason)
    return None
