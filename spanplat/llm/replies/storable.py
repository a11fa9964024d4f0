"""What a model writes, made fit for every database: text without NUL and lone surrogates, numbers that JSON has."""

import math
import re
from typing import Any

DEEPEST = 20

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def storable_text(text: str) -> str:
    """Replace characters that no database stores by the replacement character."""
    return _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def storable(value: Any, depth: int = 0) -> Any:
    """Return a JSON value that can be stored: see `storable_text`; infinities and NaN become words, what is nested too deep "…"."""
    match value:
        case str():
            return storable_text(value)
        case float() if not math.isfinite(value):
            return str(value)
        case list() | dict() if depth >= DEEPEST:
            return "…"
        case list():
            return [storable(element, depth + 1) for element in value]
        case dict():
            return {storable_text(str(name)): storable(held, depth + 1) for name, held in value.items()}
        case _:
            return value
