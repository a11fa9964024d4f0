"""Preview of a dataset import: the columns of a file with their guessed roles, and the first items."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from spanplat.errors import InvalidInput
from spanplat.formats.columns import ColumnMapping, guess_mapping
from spanplat.formats.datasets import DETECT, FACTGENIE, DatasetEntry, read_dataset
from spanplat.formats.problem import Problem
from spanplat.formats.rows import Row, column_names
from spanplat.formats.table_formats import detect_format, find_table_format, read_rows
from spanplat.schemas.dataset import ExampleRecord

SAMPLE = 50
"""Number of rows that are read to guess the roles of columns."""


@dataclass
class PreviewItem:
    """Example with those of its outputs that are near the start of the file."""

    dataset: str | None
    split: str
    key: str
    source: Any = None
    outputs: dict[str, str] = field(default_factory=dict)
    """Texts by system."""


@dataclass
class DatasetPreview:
    """Preview of the start of a file."""

    columns: list[str] = field(default_factory=list)
    """Columns in the order of the file; empty for a folder or a list of sources."""
    mapping: ColumnMapping | None = None
    items: list[PreviewItem] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Rows read that could not be used, and the reason why the whole file cannot be read."""
    names_dataset: bool = False
    """Whether the file or its rows name their dataset."""


def sample_columns(
    path: Path, columns: Mapping[str, str | None], layout: str = DETECT
) -> tuple[list[str], ColumnMapping | None]:
    """Return the columns of a file and their roles; a folder has no columns.

    Raises
    ------
    InvalidInput
        If ``columns`` names a role or column that does not exist, or the file cannot be read.
    """
    if path.is_dir() or layout == FACTGENIE:
        return [], None
    table = detect_format(path) if layout == DETECT else find_table_format(layout)
    sample = [row.cells for row in islice(read_rows(path, table), SAMPLE) if isinstance(row, Row)]
    names = column_names(path, sample)
    return names, guess_mapping(names, sample).overridden(names, columns) if names else None


def preview_dataset(path: Path, columns: Mapping[str, str | None], *, most_items: int = 5) -> DatasetPreview:
    """Read the start of a file or folder as `import_dataset` would.

    Parameters
    ----------
    path
        The file or folder.
    columns
        Columns for roles that are guessed wrong; None for a role that no column has.
    most_items
        Maximum number of examples.
    """
    preview = DatasetPreview()
    try:
        preview.columns, preview.mapping = sample_columns(path, columns)
        for entry in islice(read_dataset(path, columns=columns), 4 * SAMPLE):
            _add(preview, entry, most_items)
    except InvalidInput as error:
        # The message must not show the path of the file on the server.
        preview.problems.insert(0, str(error).replace(f"{path}", path.name))
    return preview


def _add(preview: DatasetPreview, entry: DatasetEntry | Problem, most_items: int) -> None:
    if isinstance(entry, Problem):
        preview.problems.append(f"line {entry.line}: {entry.reason}" if entry.line else entry.reason)
        return
    record = entry.record
    preview.names_dataset |= entry.dataset is not None
    place = entry.dataset, record.split, record.key
    item = next((known for known in preview.items if (known.dataset, known.split, known.key) == place), None)
    if item is None:
        if len(preview.items) == most_items:
            return
        item = PreviewItem(*place)
        preview.items.append(item)
    if isinstance(record, ExampleRecord):
        item.source = record.source
    else:
        item.outputs[record.system] = record.text
