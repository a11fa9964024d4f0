"""What a model is asked to reply: spans as quotes, the reason before the quote before the category."""

from pydantic import Field

from spanplat.schemas.base import Strict


class QuotedSpan(Strict):
    """One span as a model gives it; it quotes, because models cannot count."""

    reason: str | None = None
    text: str
    """The passage, word for word."""
    category: str
    """Key or name of a category."""
    occurrence: int | None = Field(default=None, ge=0)
    """Which occurrence of the passage is meant, counted from 0."""
    severity: str | None = None


class ModelReply(Strict):
    """All spans of one text; an empty list says there is nothing to mark."""

    annotations: list[QuotedSpan]
