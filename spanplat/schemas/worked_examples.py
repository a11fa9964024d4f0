"""Worked examples: correctly annotated texts with reasons, as a part of the instructions."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field, model_validator

from spanplat.schemas.base import PathInValue, Strict, refuse
from spanplat.text import NotLocated, QuoteLocation, locate_quote
from spanplat.text.counting import count_of


class WorkedSpan(Strict):
    """One span of a worked example."""

    quote: str = Field(min_length=1)
    """The characters it covers, exactly as they stand in the text."""
    occurrence: int | None = Field(default=None, ge=1)
    """Number of the occurrence, counted from 1, if the quote is in the text more than once."""
    category: str
    """Key or name of the category."""
    severity: str | None = None
    """Key or name of a level of the severity scale."""
    why: str = ""
    """Reason for the mark and for its category."""


class WorkedExample(Strict):
    """A text with the spans that should be marked in it; without spans it shows a text in which there is nothing to mark."""

    text: str = Field(min_length=1)
    source: Any = None
    """Source of the text, if the example needs it: a text, or any structure."""
    spans: list[WorkedSpan] = []
    note: str = ""
    """Lesson of the example as a whole."""

    @model_validator(mode="after")
    def _quotes_stand_in_the_text(self) -> "WorkedExample":
        refuse(self._mistakes())
        return self

    def _mistakes(self) -> Iterator[tuple[PathInValue, str]]:
        for position, span in enumerate(self.spans):
            try:
                self.place(span)
            except ValueError as error:
                yield ("spans", position, "occurrence" if span.quote in self.text else "quote"), str(error)

    def place(self, span: WorkedSpan) -> tuple[int, int]:
        """Return start and end of a span, in code points.

        Raises
        ------
        ValueError
            If its quote is not in the text, or in several places of which none is named.
        """
        times = self.text.count(span.quote)
        if span.occurrence is not None and span.occurrence > times:
            raise ValueError(
                f"{span.quote!r} stands in the text {count_of(times, 'time')}, so there is no occurrence {span.occurrence}"
            )
        if times > 1 and span.occurrence is None:
            raise ValueError(f"{span.quote!r} stands in the text {times} times; say which is meant (occurrence: 1)")
        found = locate_quote(self.text, span.quote, occurrence=(span.occurrence or 1) - 1)
        match found:
            case QuoteLocation(start=start, end=end, rule="exact"):
                return start, end
            case QuoteLocation(start=start, end=end):
                raise ValueError(f"{span.quote!r} is not in the text; did you mean {self.text[start:end]!r}?")
            case NotLocated(reason=reason):
                raise ValueError(f"the quote {span.quote!r} {reason}")
