"""Form of a model's reply: spans as quotes. The reason comes before the quote, and the quote before the category."""

from typing import Literal

from pydantic import Field

from spanplat.schemas.base import Strict


class QuotedSpan(Strict):
    """One span as a model gives it; it quotes, because models cannot count."""

    reason: str | None = None
    text: str
    """The passage, word for word."""
    context: str | None = None
    """The same passage with what stands around it, where the passage alone occurs more than once."""
    category: str
    """Key or name of a category, or its place in the list, counted from 0."""
    subcategory: str | None = None
    occurrence: int | None = Field(default=None, ge=0)
    """Which occurrence of the passage is meant, counted from 0."""
    severity: str | None = None
    side: Literal["output", "source"] | None = None
    """Where the passage stands; by default where the category's spans stand."""
