"""What happens to a text once, when it is imported, and the hash that names it from then on."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from spanplat.errors import InvalidInput

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(raw: str) -> str:
    r"""Return the text as it is stored: every ``\r\n`` becomes ``\n``, nothing else changes.

    A lone ``\r`` stays, and so do spaces, byte order marks and the Unicode normalisation form, because offsets count
    all of them.

    Parameters
    ----------
    raw
        The text as received.

    Raises
    ------
    InvalidInput
        The text holds a NUL (PostgreSQL cannot store it) or a lone surrogate (UTF-8 cannot encode it).
    """
    found = _UNSTORABLE.search(raw)
    if found:
        what = (
            "a NUL character" if found.group() == "\x00" else f"half of a surrogate pair (U+{ord(found.group()):04X})"
        )
        line = raw.count("\n", 0, found.start()) + 1
        raise InvalidInput(
            f"The text holds {what} at position {found.start()} (line {line}), which cannot be stored. "
            "Remove it, or read the file in the encoding it was written in."
        )
    return raw.replace("\r\n", "\n")


def plain_text(value: Any) -> str:
    r"""Return the texts and numbers in a JSON value, line by line and without names of fields; what cannot be stored is left out.

    >>> plain_text({"city": "Oslo", "days": [{"max": 21.5, "wet": True}, None]})
    'Oslo\n21.5'
    """
    return _UNSTORABLE.sub("", "\n".join(_leaves(value)))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield str(value)


def sha256_of(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8 bytes as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
