"""Rules for text and JSON values that every database can store, and replacements for those that it cannot.

PostgreSQL cannot store a NUL character. UTF-8 cannot encode half of a surrogate pair. JSON has neither infinities nor NaN.
Input from people is refused (`find_unstorable`), because they can correct it. Output of a model is stored with replacements
(`make_storable`), because nobody can get the same reply again.
"""

import math
import re
from typing import Any, Final

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
DEEPEST: Final = 20
"""Levels of lists and objects that `make_storable` keeps."""


def find_unstorable_character(text: str) -> re.Match[str] | None:
    """Return the first character that cannot be stored; None if there is none."""
    return _UNSTORABLE.search(text)


def describe_character(found: re.Match[str]) -> str:
    r"""Name a character that cannot be stored.

    >>> describe_character(find_unstorable_character("a\x00b"))
    'a NUL character'
    """
    character = found.group()
    return "a NUL character" if character == "\x00" else f"half of a surrogate pair (U+{ord(character):04X})"


def find_unstorable(value: Any) -> str | None:
    """Describe a part of a JSON value that cannot be stored; return None if all of it can.

    The function uses its own stack, so that deep values cannot exhaust Python's.

    >>> find_unstorable({"scores": [1.0, float("inf")]})
    'the number inf'
    """
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if found := _UNSTORABLE.search(part):
                return describe_character(found)
        elif isinstance(part, float):
            if not math.isfinite(part):
                return f"the number {part}"
        elif isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list):
            waiting += part
    return None


def without_unstorable(text: str) -> str:
    """Remove the characters that cannot be stored."""
    return _UNSTORABLE.sub("", text)


def make_storable_text(text: str) -> str:
    """Replace each character that cannot be stored with the replacement character."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def make_storable(value: Any, depth: int = 0) -> Any:
    """Return a JSON value that can be stored.

    Characters are replaced as by `make_storable_text`. Infinities and NaN become words. "…" replaces what is nested deeper than
    `DEEPEST` levels.
    """
    match value:
        case str():
            return make_storable_text(value)
        case float() if not math.isfinite(value):
            return str(value)
        case list() | dict() if depth >= DEEPEST:
            return "…"
        case list():
            return [make_storable(element, depth + 1) for element in value]
        case dict():
            return {make_storable_text(str(name)): make_storable(held, depth + 1) for name, held in value.items()}
        case _:
            return value
