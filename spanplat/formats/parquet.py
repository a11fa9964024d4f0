"""Reader of Parquet files, in a separate process with limited memory.

Parquet compresses so well that a small file can unpack to more than any memory holds, and its footer may state false sizes. So the
footer is only a first check, with advice for the author of the file. The memory limit of the reading process (`parquet_process`)
protects this process. This module needs pyarrow, which comes with ``spanplat[parquet]``.
"""

import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from spanplat.errors import InvalidInput
from spanplat.formats.json_lines import MOST_LINE, MOST_OF_ENTRY, decode_json
from spanplat.formats.parquet_process import FOOTER_LIMITS, ended_for_lack_of_memory
from spanplat.formats.problem import Problem

MAGIC = b"PAR1"
MOST_BYTES = 2 * 1024**3
"""Unpacked size of a file."""
MOST_GROUP_BYTES = 512 * 1024**2
"""Unpacked size of a row group: the reading process keeps the texts of one group in memory."""
MOST_ROWS = 10_000_000
MEMORY_LIMIT = 1536 * 1024**2
"""Bytes that the reading process may allocate."""

_MOST_FOOTER = 64 * 1024**2
_TOO_MUCH = "holds more from here on than is accepted; write it as several smaller files"
_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Other memory pools and further threads reserve memory in advance, which would count against the limit."""


def require_parquet(path: Path) -> None:
    """Refuse a file that is no usable Parquet file, by its first and last bytes and its footer.

    Raises
    ------
    InvalidInput
        The file is no Parquet file, cut off, damaged, encrypted, or too large by its footer; or pyarrow is not installed.
    """
    pa = _pyarrow()
    _require_ends(path)
    try:
        with pa.parquet.ParquetFile(path, **FOOTER_LIMITS) as file:
            names, footer = file.schema_arrow.names, file.metadata
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} is no usable Parquet file ({_first_line(error)}); write it again, or save it as JSON lines or CSV"
        ) from error
    if len(set(names)) < len(names):
        raise InvalidInput(f"{path}: the schema names a column twice.")
    _require_fitting(path, footer)


def read_parquet(path: Path) -> Generator[tuple[int, dict[str, Any]] | Problem, None, None]:
    """Yield the rows of a file as JSON values by column, with their number, counted from 1.

    Lists, structures and maps become lists and objects. Dates and times become ISO 8601, and decimal fractions become text. Bytes
    become text if they are UTF-8, and null otherwise. Numbers that JSON does not have become null.

    Yields
    ------
    tuple or Problem
        The rows; a problem for a row that cannot be read, for a column with bytes that are no text, and for the row from which the
        file is damaged or too large.

    Raises
    ------
    InvalidInput
        As `require_parquet` does.
    """
    require_parquet(path)
    command = [sys.executable, "-m", "spanplat.formats.parquet_process", str(path), str(MEMORY_LIMIT)]
    with subprocess.Popen(  # noqa: S603 - our own module, and a path as one argument
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=os.environ | _ENVIRONMENT,
    ) as process:
        try:
            yield from _rows(path, process)
        finally:
            process.kill()  # the caller may stop before the last row


def _rows(path: Path, process: subprocess.Popen[bytes]) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """Yield the rows that the reading process writes, up to the limits, and a problem if it ends too early."""
    if process.stdout is None:
        raise ValueError("the process was started without a pipe for what it writes")
    number, taken = 0, 0
    # The limits hold on this side of the pipe too: damaged data may have taken over the reading process.
    for line in iter(partial(process.stdout.readline, MOST_LINE + 1), b""):
        taken += len(line)
        if len(line) > MOST_LINE or taken > MOST_BYTES:
            yield Problem(path, number + 1, _TOO_MUCH)
            return
        try:
            message = decode_json(line, most_values=MOST_OF_ENTRY)
        except ValueError as error:
            number += 1
            yield Problem(path, number, str(error))
            continue
        if "problem" in message:
            yield Problem(path, message["row"], message["problem"])
            number = message["row"] if message["replaces_row"] else number
        else:
            number = message["row"]
            yield number, message["values"]
    status = process.wait()
    if ended_for_lack_of_memory(status):
        yield Problem(path, number + 1, _TOO_MUCH)
    elif status != 0:
        yield Problem(path, number + 1, "is damaged from here on: reading it ended the process that read it")


def _require_ends(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(4)
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read()
    if start == b"PARE" or end[4:] == b"PARE":  # the mark of a file with an encrypted footer
        raise InvalidInput(f"{path} is encrypted; write it without a key")
    if start != MAGIC:
        raise InvalidInput(f"{path} is not a Parquet file, whatever its name says")
    # The smallest file has the mark twice and the length of its footer, four bytes each.
    if end[4:] != MAGIC or size < 12:
        raise InvalidInput(f"{path} is cut off: a Parquet file ends with {MAGIC.decode()}; send it again whole")
    if int.from_bytes(end[:4], "little") > _MOST_FOOTER:
        raise InvalidInput(
            f"{path} has a footer of more than {_MOST_FOOTER // 1024**2} MB; write it with fewer row groups"
        )


def _require_fitting(path: Path, footer: Any) -> None:
    """Refuse a file that is too large by its footer, with advice on how to write it."""
    sizes = [footer.row_group(position).total_byte_size for position in range(footer.num_row_groups)]
    unpacked, rows = sum(sizes), footer.num_rows
    if unpacked > MOST_BYTES or rows > MOST_ROWS:
        raise InvalidInput(
            f"{path} unpacks to {unpacked / 1024**2:,.0f} MB in {rows:,} rows; at most {MOST_BYTES // 1024**2:,} MB and "
            f"{MOST_ROWS:,} rows are accepted, so write it as several files, without the columns that are not needed"
        )
    largest = max(sizes, default=0)
    if largest > MOST_GROUP_BYTES:
        raise InvalidInput(
            f"{path} has a row group that unpacks to {largest / 1024**2:,.0f} MB; at most {MOST_GROUP_BYTES // 1024**2:,} MB are "
            "accepted, so write it with smaller ones (pandas and pyarrow: row_group_size=10000)"
        )


def _pyarrow() -> ModuleType:
    """Import pyarrow, which is optional and slow to import."""
    try:
        import pyarrow.parquet  # noqa: PLC0415 - an optional dependency, and slow to import
    except ImportError as error:
        raise InvalidInput(
            "reading Parquet files needs pyarrow, which is not installed here: pip install 'spanplat[parquet]', then try again; "
            "or save the file as JSON lines or CSV"
        ) from error
    module: ModuleType = pyarrow
    return module


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
