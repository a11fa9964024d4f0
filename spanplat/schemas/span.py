"""A marked span: the common value between input (pages, files, model replies) and the table of spans."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Side = Literal["output", "source"]

_STATED: Final = (
    "start",
    "end",
    "text",
    "category",
    "side",
    "output",
    "field",
    "subcategory",
    "severity",
    "reason",
    "attributes",
)


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """A span that a person or a model marked, with half-open offsets in code points."""

    start: int
    end: int
    """For an import, both offsets are as received, even if the text is not there; see `place`."""
    category: str
    """Key of the category."""
    text: str
    """The quote: the characters between the offsets, or the quote in an import."""
    side: Side = "output"
    output: int = 0
    """Position among the item's outputs."""
    field: str | None = None
    """Field of the source, for spans on that side."""
    subcategory: str | None = None
    severity: str | None = None
    reason: str | None = None
    attributes: dict[str, Any] | None = None
    origin: dict[str, Any] | None = None
    """Origin of the span, if not marked directly: differences at import, the rule that placed a quote, a suggestion."""
    resolved: tuple[int, int] | None = None
    """Actual place of the quote, if it differs from the received offsets."""

    @classmethod
    def from_row(cls, row: Any, category: str) -> "MarkedSpan":
        """Create a span from a row of the table.

        Parameters
        ----------
        row
            A `spanplat.models.Span`, or a row with the columns `spanplat.models.SPAN_COLUMNS`.
        category
            Key of the category; the table has only its id.
        """
        return cls(
            row.start_offset,
            row.end_offset,
            category,
            row.text,
            row.side,
            row.output_position,
            row.source_field,
            row.subcategory,
            row.severity,
            row.reason,
            row.attributes,
            row.origin,
            None if row.resolved_start is None else (row.resolved_start, row.resolved_end),
        )

    def row(self, category_id: int) -> dict[str, Any]:
        """Return the columns of the table of spans, except for the annotation and the position."""
        resolved_start, resolved_end = self.resolved or (None, None)
        return {
            "category_id": category_id,
            "start_offset": self.start,
            "end_offset": self.end,
            "text": self.text,
            "side": self.side,
            "output_position": self.output,
            "source_field": self.field,
            "subcategory": self.subcategory,
            "severity": self.severity,
            "reason": self.reason,
            "attributes": self.attributes,
            "origin": self.origin,
            "resolved_start": resolved_start,
            "resolved_end": resolved_end,
        }

    @property
    def place(self) -> tuple[int, int]:
        """Start and end of the quote in the text: the resolved place, else the received offsets."""
        return self.resolved or (self.start, self.end)

    def stated(self) -> dict[str, Any]:
        """Return the values that the annotator stated, by the names on pages, without empty ones."""
        values = ((name, getattr(self, name)) for name in _STATED)
        return {name: value for name, value in values if value is not None}


def rows_of_spans(
    annotation_id: int, spans: Iterable[MarkedSpan], category_ids: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return the spans of one annotation as rows of the table of spans, in the order of the annotator's list."""
    return [
        {"annotation_id": annotation_id, "position": position, **span.row(category_ids[span.category])}
        for position, span in enumerate(spans)
    ]
