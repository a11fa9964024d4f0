"""Reader of datasets from JSON lines, JSON, CSV and Parquet files, and from factgenie's folders of inputs and outputs.

A row may hold a source, an output, or both. Names of datasets, splits and systems are slugified, so that different spellings match.
Texts go through :func:`~spanplat.text.clean_text`. Keys stay unchanged.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.columns import ColumnMapping, guess_mapping
from spanplat.formats.json_lines import MOST_OF_ENTRY, decode_json
from spanplat.formats.problem import Problem
from spanplat.formats.rows import Row, column_names, read_json_list
from spanplat.formats.table_formats import TABLE_FORMATS, TableFormat, detect_format, find_table_format, read_rows
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from spanplat.schemas.slug import slugify
from spanplat.text import clean_text, sha256_of

DETECT = "auto"
"""Value instead of a format: detect it from the file."""
FACTGENIE = "factgenie"
DATASET_FORMATS: tuple[str, ...] = (DETECT, *(entry.name for entry in TABLE_FORMATS), FACTGENIE)
"""Names of all import formats."""

UNKNOWN_SYSTEM = "unknown"
WHOLE = "all"
"""Split of rows without one, if the file name does not end with a usual split either."""

_SAMPLE = 50
_USUAL_SPLITS = frozenset({"train", "training", "dev", "devel", "val", "valid", "validation", "test", "eval"})


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """An example or an output, with its file and line."""

    dataset: str | None
    """Slug of the dataset; None if neither the row nor the file names one."""
    record: ExampleRecord | OutputRecord
    file: Path
    line: int
    """Counted from 1; in a JSON list or Parquet, the position of the entry counted from 1."""


@dataclass(frozen=True, slots=True)
class _Names:
    """Names from the path of a file, for rows that do not state them."""

    dataset: str | None = None
    split: str | None = None
    system: str | None = None


def read_dataset(
    path: Path, *, layout: str = DETECT, columns: Mapping[str, str | None] | None = None
) -> Iterator[DatasetEntry | Problem]:
    """Read a dataset from a file or a factgenie folder.

    Parameters
    ----------
    path
        A file; or a folder: factgenie's ``inputs`` or ``outputs``, a folder inside them, or a folder that contains them (also in
        ``data``).
    layout
        One of `DATASET_FORMATS`; ``auto`` reads a folder as factgenie's and detects the format of a file by its name or first line.
    columns
        Columns for the roles dataset, split, key, system, text and source, if
        :func:`~spanplat.formats.columns.guess_mapping` guesses wrong.

    Yields
    ------
    DatasetEntry or Problem
        Examples before their outputs, each once per file; a problem for each row, line or file that cannot be used.

    Raises
    ------
    NotFound
        There is nothing at the path.
    InvalidInput
        No column can be the text or the source, a column named in ``columns`` does not exist, or a folder holds no
        dataset.
    """
    if path.is_dir():
        yield from _read_folder(path, columns or {})
    elif not path.exists():
        raise NotFound(f"There is no file or folder {path}.")
    elif layout == FACTGENIE:
        yield from _read_file(path, find_table_format("json" if path.suffix == ".json" else "jsonl"), columns or {})
    else:
        table = detect_format(path) if layout == DETECT else find_table_format(layout)
        yield from _read_file(path, table, columns or {})


def _read_folder(folder: Path, columns: Mapping[str, str | None]) -> Iterator[DatasetEntry | Problem]:
    named = [folder / name for name in ("inputs", "data/inputs", "outputs", "data/outputs")]
    roots = [root for root in named if root.is_dir()] or [folder]
    found = False
    for file in chain.from_iterable(sorted(root.rglob("*")) for root in roots):
        if not file.is_file() or file.name.startswith("."):
            continue
        if file.suffix == ".jsonl":
            found = True
            yield from _read_file(file, find_table_format("jsonl"), columns)
        elif file.suffix == ".json":
            found = True
            yield from _inputs(file, _Names(slugify(file.parent.name), slugify(file.stem)))
        else:
            yield Problem(file, 0, "is neither a list of inputs (.json) nor of outputs (.jsonl)")
    if not found:
        raise InvalidInput(f"{folder} holds neither inputs (.json) nor outputs (.jsonl).")


def _read_file(path: Path, table: TableFormat, columns: Mapping[str, str | None]) -> Iterator[DatasetEntry | Problem]:
    rows = read_rows(path, table)
    first = list(islice(rows, _SAMPLE))
    sample = [row.cells for row in first if isinstance(row, Row)]
    if not sample and not first:
        raise InvalidInput(f"{path} holds no rows.")
    names = column_names(path, sample)
    mapping = guess_mapping(names, sample).overridden(names, columns)
    # Without a readable row nothing is known about the columns; the problems of the rows are then the report.
    if mapping.text is None and mapping.source is None and sample:
        if table.may_list_sources and not columns:  # a list of sources, as factgenie keeps them
            yield from _inputs(path, _names_of(path))
            return
        raise InvalidInput(
            f"{path}: no column looks like the text to annotate or its source. "
            f"Columns are {', '.join(names)}; say which is which."
        )
    reader = _RowReader(path, mapping, _names_of(path))
    for row in chain(first, rows):
        if isinstance(row, Problem):
            yield row
        else:
            yield from reader.read(row)


def _inputs(path: Path, names: _Names) -> Iterator[DatasetEntry | Problem]:
    """Read a list of sources; their key is their position, because outputs refer to it."""
    for entry in read_json_list(path):
        if isinstance(entry, Problem):
            yield entry
        else:
            # factgenie counts positions from 0.
            record = ExampleRecord(split=names.split or WHOLE, key=str(entry.line - 1), source=entry.value)
            yield DatasetEntry(names.dataset, record, path, entry.line)


@dataclass(slots=True)
class _RowReader:
    """Converter of the rows of one file to examples and outputs."""

    path: Path
    mapping: ColumnMapping
    names: _Names
    _counts: dict[tuple[str | None, ...], int] = field(default_factory=dict)
    _sources: dict[tuple[str | None, ...], tuple[str, int]] = field(default_factory=dict)

    def read(self, row: Row) -> Iterator[DatasetEntry | Problem]:
        raw = json.dumps(row.cells, ensure_ascii=False)
        try:
            system = self._name(row, "system") or self.names.system or UNKNOWN_SYSTEM
            # A file name such as `dataset-system-split` can be split only if the system is known.
            by_file = self.names if self.names.dataset else _split_stem(self.path, system)
            dataset = self._name(row, "dataset") or by_file.dataset
            split = self._name(row, "split") or by_file.split or self.names.split or WHOLE
            key = self._key(row, (dataset, split, system))
            source, text = self._source(row), self._text(row)
        except InvalidInput as error:
            yield Problem(self.path, row.line, str(error), raw)
            return
        if source is not None:
            # The digest and not the source itself, because a file may have many large sources.
            digest = sha256_of(json.dumps(source, sort_keys=True))
            before = self._sources.setdefault((dataset, split, key), (digest, row.line))
            if before[1] == row.line:  # the entry of this row: the example is new
                yield DatasetEntry(dataset, ExampleRecord(split=split, key=key, source=source), self.path, row.line)
            elif before[0] != digest:
                reason = f"has another source for example {key} than line {before[1]}; the first one is kept"
                yield Problem(self.path, row.line, reason, raw)
        if text is not None:
            record = OutputRecord(split=split, key=key, system=system, text=text)
            yield DatasetEntry(dataset, record, self.path, row.line)
        elif source is None:
            yield Problem(self.path, row.line, "has neither a text nor a source", raw)

    def _value(self, row: Row, role: str) -> Any:
        column = getattr(self.mapping, role)
        return None if column is None else row.cells.get(column)

    def _name(self, row: Row, role: str) -> str | None:
        value = self._value(row, role)
        if value is None or value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise InvalidInput(f"has a {role} that is no name: {value!r}")
        return slugify(str(value))

    def _key(self, row: Row, group: tuple[str | None, ...]) -> str:
        if self.mapping.key is None:  # without keys, the n-th row of each system belongs to the n-th example
            position = self._counts[group] = self._counts.get(group, -1) + 1
            return str(position)
        value = self._value(row, "key")
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise InvalidInput(f"has no usable {self.mapping.key} (the example's key): {value!r}")
        return clean_text(str(value))

    def _source(self, row: Row) -> Any:
        value = self._value(row, "source")
        if not isinstance(value, str):
            return value
        # CSV cells hold nested data as JSON text.
        if self.path.suffix != ".jsonl" and value.lstrip().startswith(("{", "[")):
            try:
                return decode_json(value.encode("utf-8"), most_values=MOST_OF_ENTRY)
            except ValueError:
                return clean_text(value)
        return clean_text(value) if value else None

    def _text(self, row: Row) -> str | None:
        value = self._value(row, "text")
        if value is None:
            return None
        if not isinstance(value, str):
            raise InvalidInput(f"has a {type(value).__name__} where the text should stand, in {self.mapping.text}")
        return clean_text(value)


def _names_of(path: Path) -> _Names:
    """Return the names in a path ``<system>/<dataset>-<system>-<split>.jsonl`` or ``outputs/<dataset>/<split>/<system>.jsonl``."""
    by_stem = _split_stem(path, path.parent.name)
    if by_stem.dataset:
        return _Names(by_stem.dataset, by_stem.split, slugify(path.parent.name))
    folders = path.absolute().parts[:-1]
    if folders[-3:-2] == ("outputs",):
        return _Names(slugify(folders[-2]), slugify(folders[-1]), slugify(path.stem))
    if folders[-2:-1] == ("inputs",):
        return _Names(slugify(path.parent.name), slugify(path.stem))
    ending = slugify(path.stem).rpartition("-")[2]
    return _Names(split=ending if ending in _USUAL_SPLITS else None)


def _split_stem(path: Path, system: str) -> _Names:
    dataset, _, split = slugify(path.stem).partition(f"-{slugify(system)}-") if system else ("", "", "")
    return _Names(dataset, split) if dataset and split else _Names()
