"""What happens to a text once, when it is imported, and the hash that names it from then on."""

import hashlib
import re

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


def sha256_of(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8 bytes as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
