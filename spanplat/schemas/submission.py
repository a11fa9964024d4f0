"""Submission of an annotator's page: the work on one item."""

import re
from typing import Any, Final, Literal

from pydantic import Field, model_validator

from spanplat.schemas.base import Strict
from spanplat.schemas.span import MarkedSpan, Side
from spanplat.text.storable import find_unstorable


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

    def marked(self, origin: dict[str, Any] | None = None) -> MarkedSpan:
        """Return the span for storage, with its origin."""
        return MarkedSpan(
            self.start,
            self.end,
            self.category,
            self.text,
            self.side,
            self.output,
            self.field,
            self.subcategory,
            self.severity,
            self.reason,
            self.attributes,
            origin,
        )


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
        if _SUSPECT.search(repr(value)) and (problem := find_unstorable(value)):
            raise ValueError(f"it holds {problem}, which cannot be stored")
        return value


_SUSPECT: Final = re.compile(r"\\x00|\\ud|\b(?:nan|inf)\b")
"""Pattern of values in a ``repr`` that cannot be stored; harmless values may match as well.

One search in the whole text is much faster than a check of every part, and nearly every save passes it.
"""
