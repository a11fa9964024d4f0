"""The process that reads a Parquet file: ``python -m spanplat.formats.parquet_process FILE BYTES``.

It limits its own memory to BYTES and writes JSON lines to its standard output: ``{"row", "values"}`` for a row, and
``{"row", "problem", "replaces_row"}`` for a problem. Windows and macOS cannot limit memory in this way. There only the sizes in the
file's footer limit what is read.
"""

import json
import signal
import sys
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from uuid import UUID

BATCH: Final = 100
"""Rows that are unpacked together."""
FOOTER_LIMITS: Final = {"thrift_container_size_limit": 10_000, "schema_depth_limit": 100}
"""Limits of the footer: the number of columns and of row groups, and the depth of the schema."""
_OUT_OF_MEMORY: Final = 3
"""Exit status."""
_ABORTED: Final = -signal.SIGABRT
"""Exit status of a process in whose C++ code an allocation failed."""


class _NoText(Exception):
    """A value consists of bytes that are no text."""


def ended_for_lack_of_memory(status: int) -> bool:
    """Tell from the exit status whether the process needed more memory than its limit."""
    return status in (_OUT_OF_MEMORY, _ABORTED)


def limit_memory(size: int) -> None:
    """Make allocations beyond this number of bytes fail, if the system can."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - not on Windows

        # Not RLIMIT_AS: that would also count libraries and files that are only mapped.
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def messages(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a message for each row of a file, and one for each problem."""
    number = 0
    columns_without_text: set[str] = set()
    batches = _batches(path)
    while True:
        try:
            batch = next(batches, None)
        except _failures() as error:
            yield _problem(number + 1, f"is damaged from here on: {_first_line(error)}")
            return
        if batch is None:
            return
        # Converted one by one, so that a value that cannot be read costs its row and not the batch.
        for row in range(batch.num_rows):
            number += 1
            yield from _row(batch.slice(row, 1), number, columns_without_text)


def _batches(path: Path) -> Iterator[Any]:
    """Yield the rows in batches; open the file again for each row group, because a reader keeps all texts that it has read."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - after the memory is limited

    with pq.ParquetFile(path, **FOOTER_LIMITS) as file:
        footer = file.metadata
        texts = [column.path for column in map(file.schema.column, range(len(file.schema))) if _is_text(column)]
    for group in range(footer.num_row_groups):
        opened = pq.ParquetFile(
            path,
            metadata=footer,
            read_dictionary=texts,  # a text that a million rows repeat is in memory once
            # These two read columns in small pieces, and not a whole row group in advance.
            pre_buffer=False,
            buffer_size=1024**2,
            arrow_extensions_enabled=False,
            **FOOTER_LIMITS,
        )
        with opened as reader:
            yield from reader.iter_batches(batch_size=BATCH, row_groups=[group], use_threads=False)


def _is_text(column: Any) -> bool:
    kinds = ("STRING", "NONE", "JSON", "ENUM")
    return column.physical_type == "BYTE_ARRAY" and column.logical_type.type in kinds


def _row(row: Any, number: int, columns_without_text: set[str]) -> Iterator[dict[str, Any]]:
    """Yield a row, after a problem for each column in which bytes that are no text occur for the first time."""
    try:
        # "strict" refuses a map with the same key twice, instead of keeping one of the values.
        [cells] = row.to_pylist(maps_as_pydicts="strict")
        values = {}
        for name, cell in cells.items():
            try:
                values[name] = _json_value(cell)
            except _NoText:
                values[name] = None
                if name not in columns_without_text:
                    columns_without_text.add(name)
                    reason = f"has bytes that are no text in {name!r}; there and below they are left out"
                    yield _problem(number, reason, replaces_row=False)
    except UnicodeDecodeError:
        yield _problem(number, "holds text that is not UTF-8")
    except (ValueError, KeyError, OverflowError) as error:
        yield _problem(number, f"holds a value that cannot be read: {_first_line(error)}")
    else:
        yield {"row": number, "values": values}


def _problem(row: int, reason: str, *, replaces_row: bool = True) -> dict[str, Any]:
    return {"row": row, "problem": reason, "replaces_row": replaces_row}


def _json_value(value: Any) -> Any:
    match value:
        case float():
            return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124 - not a number
        case None | bool() | int() | str():
            return value
        case bytes():
            try:
                return value.decode("utf-8")
            except UnicodeDecodeError as error:
                raise _NoText from error
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


def _failures() -> tuple[type[Exception], ...]:
    """Return the errors that pyarrow raises for a damaged file; a lack of memory is not among them."""
    import pyarrow as pa  # noqa: PLC0415 - after the memory is limited

    return (
        pa.ArrowInvalid,
        pa.ArrowNotImplementedError,
        pa.ArrowKeyError,
        pa.ArrowIndexError,
        OSError,
        UnicodeDecodeError,
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def main() -> None:
    """Read the file that the arguments name."""
    path, memory = Path(sys.argv[1]), int(sys.argv[2])
    limit_memory(memory)
    try:
        for message in messages(path):
            sys.stdout.write(json.dumps(message, ensure_ascii=True) + "\n")
        sys.stdout.flush()
    except MemoryError:
        sys.exit(_OUT_OF_MEMORY)


if __name__ == "__main__":
    main()
