"""What an annotator's page sends: the work on one item."""

import math
import re
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from spanplat.schemas.base import Strict
from spanplat.schemas.record import Side


class SubmittedSpan(Strict):
    """One marked span; ``text`` repeats the characters it covers, so that a shifted offset is noticed."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    category: str
    """Key of the category."""
    text: str
    severity: str | None = None
    subcategory: str | None = None
    reason: str | None = Field(default=None, max_length=5000)
    side: Side = "output"
    output: int = Field(default=0, ge=0)
    """Position among the item's outputs."""
    field: str | None = None
    """Field of the source, for spans on that side."""
    attributes: dict[str, Any] | None = None
    suggestion: int | None = Field(default=None, ge=1)
    """Number of the item's suggestion that it started as."""


class Submission(Strict):
    """One save of one item."""

    revision: int = Field(ge=0)
    """Revision the page started from; 0 before the first save."""
    status: Literal["draft", "complete"]
    spans: list[SubmittedSpan] = Field(default=[], max_length=2000)
    dismissed: list[int] = Field(default=[], max_length=2000)
    """Numbers of the suggestions turned down."""
    answers: dict[str, Any] = {}
    seconds: float | None = Field(default=None, ge=0, le=1_000_000)
    """Time spent on the item so far, idle and hidden time apart."""

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        if _SUSPECT.search(repr(value)) and (problem := _unstorable(value)):
            raise ValueError(f"it holds {problem}, which cannot be stored")
        return value


_SUSPECT: Final = re.compile(r"\\x00|\\ud|\b(?:nan|inf)\b")
"""How what cannot be stored shows in the ``repr`` of a value, as harmless things may too; quicker than to look at each part."""


def _unstorable(value: Any) -> str | None:
    """Return what no database or JSON file takes: a NUL, half of a surrogate pair, a number without an end."""
    if isinstance(value, str) and (found := re.search("[\x00\ud800-\udfff]", value)):
        return (
            "a NUL character" if found.group() == "\x00" else f"half of a surrogate pair (U+{ord(found.group()):04X})"
        )
    if isinstance(value, float) and not math.isfinite(value):
        return f"the number {value}"
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        return next((problem for entry in value if (problem := _unstorable(entry))), None)
    return None
