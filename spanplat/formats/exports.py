"""Registry of export formats for annotations, used by the command and the pages.

To add a format, write a module with its writer and add an entry to `EXPORT_FORMATS`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from spanplat.errors import NotFound
from spanplat.formats.native import write_csv, write_jsonl
from spanplat.schemas.record import AnnotationRecord


@dataclass(frozen=True)
class ExportFormat:
    """A file format for annotations."""

    name: str
    """Value of ``--format`` and end of the download's address."""
    title: str
    """Name on pages."""
    purpose: str
    """Meaning of a line or row, and use of the format; begins in lower case, without a full stop."""
    lost: str
    """Data that the file cannot hold, written like ``purpose``; empty if an import restores everything."""
    extension: str
    """File extension without the dot."""
    media_type: str
    write: Callable[[Iterable[AnnotationRecord]], Iterator[str]]
    """Function that yields pieces of the file; open the file with ``newline=""`` to keep their line ends."""


EXPORT_FORMATS: tuple[ExportFormat, ...] = (
    ExportFormat(
        name="jsonl",
        title="JSONL",
        purpose="one line per annotation; for programs, and to import again",
        lost="",
        extension="jsonl",
        media_type="application/x-ndjson",
        write=write_jsonl,
    ),
    ExportFormat(
        name="csv",
        title="CSV",
        purpose="one row per span, and one for an annotation without spans; for spreadsheets",
        lost="",
        extension="csv",
        media_type="text/csv",
        write=write_csv,
    ),
)
"""In the order of all lists."""


def find_export_format(name: str) -> ExportFormat:
    """Return the format with a name.

    Raises
    ------
    NotFound
        There is none; the message lists the names.
    """
    for entry in EXPORT_FORMATS:
        if entry.name == name:
            return entry
    raise NotFound(f"there is no export as {name!r} here; choose one of {', '.join(e.name for e in EXPORT_FORMATS)}")
