"""Rows of Parquet files, one row group after the other; a file that holds more than fits is refused.

Parquet packs well enough that a small file can hold what no memory holds: what its footer and the headers of its pages state is
looked at before anything is unpacked, and text stays in its dictionary until one row is taken out. Needs pyarrow, which comes with
``spanplat[parquet]``.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

from spanplat.errors import InvalidInput
from spanplat.formats.parquet_pages import BadHeader, read_pages
from spanplat.formats.problem import Problem

MAGIC = b"PAR1"
MOST_BYTES = 2 * 1024**3
"""Of a file's data, unpacked."""
MOST_GROUP_BYTES = 512 * 1024**2
"""Of a row group, unpacked: pyarrow keeps the texts of the one that is read."""
MOST_ROWS = 10_000_000
MOST_VALUES = 50_000_000
"""In one column of one row group; a list has several in a row."""
MOST_PAGES = 200_000
MOST_BATCH_BYTES = 256 * 1024**2
"""Of the rows that are taken out together."""
BATCH = 100
"""Rows taken out together."""

_MOST_FOOTER = 64 * 1024**2
_LIMITS = {"thrift_container_size_limit": 10_000, "schema_depth_limit": 100}
"""The first is of columns, and of row groups."""
_BUFFER = 1024**2
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
"""Bytes of a value."""
_INDEX_BYTES = 4
"""Of a text, which stays in its dictionary; and of where a value stands in its list."""
_ENTRY_BYTES = 32
"""Of an entry of a dictionary, beside its text."""
_ELEMENT_BYTES, _MAPPING_BYTES = 32, 192
"""Of an element of a list, and of a structure, once they are taken out; nulls and truth values take none before."""
_MISSING = "spanplat[parquet]"


def require_parquet(path: Path) -> None:
    """Refuse what is no usable Parquet file, from its first and last bytes and its footer.

    Raises
    ------
    InvalidInput
        It is no Parquet file, cut off, damaged, encrypted, or holds more than is taken; or pyarrow is not installed.
    """
    _inspect(path)


def read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """Yield the rows of a file with their number, counted from 1, as JSON values by column.

    Lists, structures and maps become lists and objects; dates and times are written as ISO 8601, decimal fractions as text, bytes as
    text where they are UTF-8 and as null elsewhere, numbers that JSON does not know as null.

    Yields
    ------
    tuple or Problem
        The rows; a problem for a row that cannot be read, for a column with bytes that are no text, and for the place from which on
        the file is damaged.

    Raises
    ------
    InvalidInput
        As `require_parquet` does.
    """
    number, taken = 0, 0
    not_text: set[str] = set()
    batches = _batches(_inspect(path))
    while True:
        try:
            batch = next(batches, None)
        except _failures() as error:
            yield Problem(path, number + 1, f"is damaged from here on: {_first_line(error)}")
            return
        if batch is None:
            return
        size = sum(_expanded(column) for column in batch.columns)
        taken += size
        if size > MOST_BATCH_BYTES or taken > MOST_BYTES:
            yield Problem(path, number + 1, "holds more from here on than is taken; write it as several smaller files")
            return
        for row in range(batch.num_rows):
            number += 1
            yield from _row(path, batch.slice(row, 1), number, not_text)


@dataclass(frozen=True)
class _Inspected:
    """A file whose footer states nothing that is refused."""

    path: Path
    footer: Any
    texts: list[str]
    """Paths of the columns of text."""


def _batches(file: _Inspected) -> Iterator[Any]:
    """Yield the rows by the hundred; each row group is opened anew, for a reader keeps all texts that it has met."""
    for group in range(file.footer.num_row_groups):
        opened = _pyarrow().parquet.ParquetFile(
            file.path,
            metadata=file.footer,
            read_dictionary=file.texts,
            pre_buffer=False,
            buffer_size=_BUFFER,
            arrow_extensions_enabled=False,
            **_LIMITS,
        )
        with opened as reader:
            yield from reader.iter_batches(batch_size=BATCH, row_groups=[group], use_threads=False)


def _row(path: Path, row: Any, number: int, not_text: set[str]) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """Yield a row, after a problem for each column that is the first time met with bytes that are no text."""
    try:
        [cells] = row.to_pylist(maps_as_pydicts="strict")
        values = {}
        for name, cell in cells.items():
            try:
                values[name] = _json_value(cell)
            except _NoText:
                values[name] = None
                if name not in not_text:
                    not_text.add(name)
                    yield Problem(
                        path, number, f"has bytes that are no text in {name!r}; there and below they are left out"
                    )
    except UnicodeDecodeError:
        yield Problem(path, number, "holds text that is not UTF-8")
    except (ValueError, KeyError, OverflowError) as error:
        yield Problem(path, number, f"holds a value that cannot be read: {_first_line(error)}")
    else:
        yield number, values


class _NoText(Exception):
    """A value is made of bytes that are no text."""


def _json_value(value: Any) -> Any:  # noqa: PLR0911 - one line for each kind
    match value:
        case float():
            return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124 - not a number
        case None | bool() | int():
            return value
        case str():
            if "\0" in value:
                raise ValueError("a NUL, which cannot be stored")
            return value
        case bytes():
            return _text_of(value)
        case Decimal():
            return int(value) if value.is_finite() and value == value.to_integral_value() else str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta() | UUID():
            return str(value)
        case list() | tuple():
            return [_json_value(entry) for entry in value]
        case Mapping():
            return {str(_json_value(key)): _json_value(entry) for key, entry in value.items()}
    raise ValueError(f"a {type(value).__name__}")


def _text_of(value: bytes) -> Any:
    try:
        return _json_value(value.decode("utf-8"))
    except ValueError as error:
        raise _NoText from error


def _expanded(array: Any) -> int:
    """Return the bytes that a column of a batch makes as values: text counts as often as it is repeated."""
    pa = _pyarrow()
    types = pa.types
    if types.is_dictionary(array.type) and _is_binary(types, array.dictionary.type):
        lengths = pa.compute.binary_length(array.dictionary).take(array.indices)
        return int(pa.compute.sum(lengths.cast("int64")).as_py() or 0) + 4 * len(array)
    if types.is_map(array.type):
        return (
            _expanded(array.keys)
            + _expanded(array.items)
            + _MAPPING_BYTES * len(array)
            + _ELEMENT_BYTES * len(array.keys)
        )
    if types.is_struct(array.type):
        fields = [array.field(position) for position in range(array.type.num_fields)]
        return sum(_expanded(field) for field in fields) + _MAPPING_BYTES * len(array)
    if types.is_list(array.type) or types.is_large_list(array.type) or types.is_fixed_size_list(array.type):
        elements = array.flatten()
        return _expanded(elements) + _ELEMENT_BYTES * (len(elements) + len(array))
    return int(array.nbytes)


def _is_binary(types: Any, kind: Any) -> bool:
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    )


def _inspect(path: Path) -> _Inspected:
    pa = _pyarrow()
    _require_ends(path)
    try:
        with pa.parquet.ParquetFile(path, **_LIMITS) as file:
            columns = [file.schema.column(position) for position in range(len(file.schema))]
            texts = [
                column.path
                for column in columns
                if column.physical_type == "BYTE_ARRAY"
                and column.logical_type.type in ("STRING", "NONE", "JSON", "ENUM")
            ]
            _require_fitting(path, file, texts)
            return _Inspected(path, file.metadata, texts)
    except _failures() as error:
        raise InvalidInput(
            f"{path} is no usable Parquet file ({_first_line(error)}); write it again, or save it as JSON lines or CSV"
        ) from error


def _require_ends(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(4)
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read()
    if start == b"PARE" or end[4:] == b"PARE":
        raise InvalidInput(f"{path} is encrypted; write it without a key")
    if start != MAGIC:
        raise InvalidInput(f"{path} is not a Parquet file, whatever its name says")
    if end[4:] != MAGIC or size < 12:
        raise InvalidInput(f"{path} is cut off: a Parquet file ends with {MAGIC.decode()}; send it again whole")
    if int.from_bytes(end[:4], "little") > _MOST_FOOTER:
        raise InvalidInput(
            f"{path} has a footer of more than {_MOST_FOOTER // 1024**2} MB; write it with fewer row groups"
        )


def _require_fitting(path: Path, file: Any, texts: Container[str]) -> None:
    """Refuse a file whose footer, or one of whose pages, states more than is taken."""
    names = file.schema_arrow.names
    if len(set(names)) < len(names):
        raise InvalidInput(f"{path}: the schema names a column twice.")
    rows = sum(file.metadata.row_group(position).num_rows for position in range(file.metadata.num_row_groups))
    with path.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as content:
        groups = list(_group_sizes(content, file, texts))
    unpacked = sum(group.unpacked for group in groups)
    most_values = max((group.most_values for group in groups), default=0)
    if unpacked > MOST_BYTES or rows > MOST_ROWS or most_values > MOST_VALUES:
        raise InvalidInput(
            f"{path} unpacks to {unpacked / 1024**2:,.0f} MB in {rows:,} rows; at most {MOST_BYTES // 1024**2:,} MB and "
            f"{MOST_ROWS:,} rows are taken, so write it as several files, without the columns that are not needed"
        )
    largest = max((max(group.unpacked, group.room) for group in groups), default=0)
    if largest > MOST_GROUP_BYTES:
        raise InvalidInput(
            f"{path} has a row group that unpacks to {largest / 1024**2:,.0f} MB; at most {MOST_GROUP_BYTES // 1024**2:,} MB are "
            "taken, so write it with smaller ones (pandas and pyarrow: row_group_size=10000)"
        )


@dataclass(frozen=True)
class _Sizes:
    """Of a column of a row group, or of the whole group; of footer and page headers, whichever states more."""

    unpacked: int = 0
    """Bytes of its pages."""
    most_values: int = 0
    """In a column."""
    room: int = 0
    """Bytes that reading a batch takes beside the pages: a dictionary's entry, or the start of the text before, may be repeated."""
    pages: int = 0


def _group_sizes(content: mmap, file: Any, texts: Container[str]) -> Iterator[_Sizes]:
    """Yield the sizes of the row groups."""
    pages = 0
    for position in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(position)
        columns = []
        for number in range(group.num_columns):
            column = _column_sizes(content, group.column(number), file.schema.column(number), texts)
            pages += column.pages
            if pages > MOST_PAGES:
                raise BadHeader(f"its texts are in more than {MOST_PAGES:,} pages")
            columns.append(column)
        yield _Sizes(
            unpacked=sum(column.unpacked for column in columns),
            most_values=max((column.most_values for column in columns), default=0),
            room=sum(column.room for column in columns),
        )


def _column_sizes(content: mmap, chunk: Any, column: Any, texts: Container[str]) -> _Sizes:
    start, first = chunk.data_page_offset, chunk.dictionary_page_offset
    if first is not None and 0 < first < start:
        start = first
    pages = list(islice(read_pages(content, start, chunk.total_compressed_size, chunk.num_values), MOST_PAGES + 1))
    dictionaries = [page for page in pages if page.is_dictionary]
    values = max(chunk.num_values, sum(page.values for page in pages if not page.is_dictionary))
    width = _WIDTHS.get(chunk.physical_type, column.length)
    if chunk.physical_type == "BYTE_ARRAY":
        repeated = [page.unpacked for page in pages if page.has_shared_prefixes]
        if column.path not in texts:
            repeated += [page.unpacked for page in dictionaries]
        width = max(repeated, default=_INDEX_BYTES)
    at_once = values if column.max_repetition_level else min(values, BATCH)
    return _Sizes(
        unpacked=max(chunk.total_uncompressed_size, sum(page.unpacked for page in pages)),
        most_values=values,
        room=(width + _INDEX_BYTES) * at_once + _ENTRY_BYTES * sum(page.values for page in dictionaries),
        pages=len(pages),
    )


def _pyarrow() -> ModuleType:
    """Import pyarrow, which takes a while and is not everywhere."""
    try:
        import pyarrow.compute  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise InvalidInput(
            f"reading Parquet files needs pyarrow, which is not installed here: pip install '{_MISSING}', then try again; "
            "or save the file as JSON lines or CSV"
        ) from error
    module: ModuleType = pyarrow
    return module


def _failures() -> tuple[type[Exception], ...]:
    """Return what pyarrow raises on a damaged file."""
    return (_pyarrow().ArrowException, OSError, UnicodeDecodeError, BadHeader)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
