"""Cleaning of a text at its import, and the hash that identifies it afterwards."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from spanplat.errors import InvalidInput
from spanplat.text.storable import describe_character, find_unstorable_character, without_unstorable


def clean_text(raw: str) -> str:
    r"""Return the text as it is stored: every ``\r\n`` becomes ``\n``, and nothing else changes.

    A lone ``\r``, spaces, byte order marks and the Unicode normalisation form stay, because offsets count all of them.

    Parameters
    ----------
    raw
        The text as received.

    Raises
    ------
    InvalidInput
        The text holds a NUL (PostgreSQL cannot store it) or a lone surrogate (UTF-8 cannot encode it).
    """
    if found := find_unstorable_character(raw):
        line = raw.count("\n", 0, found.start()) + 1
        raise InvalidInput(
            f"The text holds {describe_character(found)} at position {found.start()} (line {line}), which cannot be stored. "
            "Remove it, or read the file in the encoding it was written in."
        )
    return raw.replace("\r\n", "\n")


def plain_text(value: Any) -> str:
    r"""Return the texts and numbers in a JSON value, one per line, without field names and without characters that cannot be stored.

    >>> plain_text({"city": "Oslo", "days": [{"max": 21.5, "wet": True}, None]})
    'Oslo\n21.5'
    """
    return without_unstorable("\n".join(_leaves(value)))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    # Truth values are integers in Python, but "True" is no text of the source.
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield str(value)


def sha256_of(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8 bytes as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
