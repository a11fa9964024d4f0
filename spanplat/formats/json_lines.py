"""Reader of JSON lines and JSON from researchers' files, with limits on size and depth.

Such files may contain NaN, a byte order mark, or a line that is cut in half.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from spanplat.formats.problem import Problem
from spanplat.text.storable import find_unstorable

# Escapes of characters that UTF-8 or PostgreSQL cannot store. Only decoding shows whether a pair of surrogates is complete. Files
# without such escapes skip the walk over all values.
_SUSPECT_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
MOST_LINE = 64 * 1024**2
"""Bytes of a line."""
MOST_VALUES = 5_000_000
"""Values in one document: ten bytes of JSON become a hundred bytes in memory."""
MOST_OF_ENTRY = 100_000
"""Values in one line, or in one entry of a list: a page that shows it has an element for each value."""
DEEPEST = 100
"""Levels of nested lists and objects: code that shows them needs one or more nested calls per level."""
MOST_DIGITS = 1_000
"""Digits of a whole number; Python refuses only longer ones, with its own message."""


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A JSON value and its line number."""

    value: Any
    line: int


def read_json_lines(path: Path) -> Iterator[JsonLine | Problem]:
    """Read a file with one JSON value per line; blank lines are skipped.

    ``NaN`` and ``Infinity`` are not JSON but occur in files; they are read as null.

    Parameters
    ----------
    path
        A UTF-8 file, with or without a byte order mark.

    Yields
    ------
    JsonLine or Problem
        The value of each line; a problem for a line that is not UTF-8, not JSON, or holds a character that cannot be
        stored.
    """
    with path.open("rb") as lines:
        # `readline` with a limit: a file without line ends must not be read into memory as one line.
        for number, line in enumerate(iter(lambda: lines.readline(MOST_LINE + 1), b""), start=1):
            if len(line) > MOST_LINE:
                reason = f"has more than {MOST_LINE // 1024**2} MB; nothing is read from there on"
                yield Problem(path, number, reason)
                return
            content = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not content.strip():
                continue
            try:
                value = decode_json(content.strip(), most_values=MOST_OF_ENTRY)
            except ValueError as error:
                yield Problem(path, number, str(error), content.decode("utf-8", "backslashreplace").rstrip("\r\n"))
            else:
                yield JsonLine(value, number)


def decode_json(content: bytes, *, most_values: int = MOST_VALUES) -> Any:
    """Decode one JSON value from UTF-8; ``NaN`` and ``Infinity`` become null.

    Raises
    ------
    ValueError
        The content is not UTF-8, not JSON, holds too many values, is nested too deeply, has a duplicate name, or holds a NUL, a lone
        surrogate, or a number that no database can store.
    """
    # Counting bytes is cheap and gives upper bounds, so most content needs no walk over its values.
    openings = content.count(b"[") + content.count(b"{")
    most_possible = openings + content.count(b",")  # commas of texts included
    if most_possible > MOST_VALUES:
        raise ValueError(f"holds more than {MOST_VALUES:,} values")
    try:
        value = json.loads(
            content.decode("utf-8"),
            parse_constant=lambda _: None,
            parse_float=_finite,
            parse_int=_of_few_digits,
            object_pairs_hook=_without_repeats,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8: byte {error.object[error.start]:#04x} at position {error.start}") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        raise ValueError(f"is not JSON: {error.msg.removesuffix(' at')} ({place})") from error
    except RecursionError as error:
        raise ValueError("is not usable JSON: it is nested too deeply") from error
    if openings > DEEPEST or most_possible > most_values:
        require_bounds(value, most_values)
    if _SUSPECT_ESCAPE.search(content):
        problem = find_unstorable(value)
        if problem:
            raise ValueError(f"holds {problem}, which cannot be stored")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # Python's parser would silently keep the last value
        counted = Counter(name for name, _value in pairs)
        [(twice, _times)] = counted.most_common(1)
        raise ValueError(f"names {twice[:100]!r} twice in one object; only one of the values could be kept")
    return found


def require_bounds(value: Any, most_values: int) -> None:
    """Refuse a value that is nested too deeply or holds too many values.

    The walk goes level by level. A recursive function would fail on the deep values that it must refuse.

    Raises
    ------
    ValueError
        The value is nested too deeply, or holds too many values.
    """
    level, values = [value], 1
    for _ in range(DEEPEST):
        inner = [
            entry.values() if isinstance(entry, dict) else entry for entry in level if isinstance(entry, dict | list)
        ]
        level = [entry for entries in inner for entry in entries]
        values += len(level)
        if values > most_values:
            raise ValueError(f"holds more than {most_values:,} values")
        if not level:
            return
    if any(isinstance(entry, dict | list) for entry in level):
        raise ValueError("is not usable JSON: it is nested too deeply")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):  # "1e999" becomes infinity
        raise ValueError(f"holds a number too large to be stored: {digits[:20]}")
    return number


def _of_few_digits(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"holds a number of {len(digits)} digits, which cannot be stored: {digits[:20]}…")
    return int(digits)
