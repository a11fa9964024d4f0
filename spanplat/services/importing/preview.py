"""How a file would be read as a dataset: its columns, what each is taken for, and the first items."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from spanplat.errors import InvalidInput
from spanplat.formats.columns import ColumnMapping, guess_mapping
from spanplat.formats.datasets import DatasetEntry, DatasetFormat, read_dataset
from spanplat.formats.problem import Problem
from spanplat.formats.rows import Row, column_names, detect_table, read_rows
from spanplat.schemas.dataset import ExampleRecord

SAMPLE = 50
"""Rows looked at."""


@dataclass
class PreviewItem:
    """An example with the outputs of it that stand near the start of the file."""

    dataset: str | None
    split: str
    key: str
    source: Any = None
    outputs: dict[str, str] = field(default_factory=dict)
    """Texts by system."""


@dataclass
class DatasetPreview:
    """What the start of a file would become."""

    columns: list[str] = field(default_factory=list)
    """In the order of the file; none for a folder or a list of sources."""
    mapping: ColumnMapping | None = None
    items: list[PreviewItem] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Rows among those looked at that could not be used, and what keeps the whole file from being read."""
    names_dataset: bool = False
    """Whether file or rows say to which dataset they belong."""


def sample_columns(
    path: Path, columns: Mapping[str, str | None], layout: DatasetFormat = "auto"
) -> tuple[list[str], ColumnMapping | None]:
    """Return the columns of a file and what they are taken for; a folder has none.

    Raises
    ------
    InvalidInput
        If ``columns`` names a role or column that does not exist, or the file cannot be read.
    """
    if path.is_dir() or layout == "factgenie":
        return [], None
    table = detect_table(path) if layout == "auto" else layout
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
        Columns for roles the guess gets wrong; None for a role that no column has.
    most_items
        Examples shown.
    """
    preview = DatasetPreview()
    try:
        preview.columns, preview.mapping = sample_columns(path, columns)
        for entry in islice(read_dataset(path, columns=columns), 4 * SAMPLE):
            _add(preview, entry, most_items)
    except InvalidInput as error:
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
