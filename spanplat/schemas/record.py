"""The native record: one annotator's work on one item, for import, export and publication."""

from typing import Any, Literal

from pydantic import Field

from spanplat.schemas.base import Strict
from spanplat.schemas.span import MarkedSpan, Side

AnnotatorKind = Literal["human", "llm"]
LeftOut = Literal["excluded", "late", "returned", "expired", "rejected"]
ItemKind = Literal["output", "pair", "aspect", "span"]


class SpanRecord(Strict):
    """One span; offsets are half-open code points over the text of its side."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    category: str
    """Name of the category, as the campaign's definition spells it."""
    subcategory: str | None = None
    severity: str | None = None
    reason: str | None = None
    side: Side = "output"
    output: int = 0
    """Position among the item's outputs (0 unless the item is a pair)."""
    attributes: dict[str, Any] = {}
    origin: dict[str, Any] | None = None
    """Origin of the span: the received offsets if they differ, the rule that placed it, the suggestion from which it started."""

    @classmethod
    def of(cls, span: MarkedSpan, category: str) -> "SpanRecord":
        """Return a span for export, with the name of its category; the resolved place of its quote becomes part of its origin."""
        origin = span.origin
        if span.resolved is not None:
            origin = (origin or {}) | {"resolved": list(span.resolved)}
        return cls(
            start=span.start,
            end=span.end,
            text=span.text,
            category=category,
            subcategory=span.subcategory,
            severity=span.severity,
            reason=span.reason,
            side=span.side,
            output=span.output,
            attributes=span.attributes or {},
            origin=origin,
        )

    def marked(self, category: str) -> MarkedSpan:
        """Return the span for storage, with the key of its category."""
        return MarkedSpan(
            self.start,
            self.end,
            category,
            self.text,
            self.side,
            self.output,
            subcategory=self.subcategory,
            severity=self.severity,
            reason=self.reason,
            attributes=self.attributes or None,
            origin=self.origin,
        )


class ItemRecord(Strict):
    """The item that the annotator was asked about."""

    kind: ItemKind = "output"
    outputs: list[str] = []
    """Systems of the outputs, in the order shown."""
    aspect: str | None = None


class CheckRecord(Strict):
    """Outcome of a check of an item.

    It is the attention check or gold check that the item carries. Otherwise it is a check that applies to all items; a failed one if
    there is one.
    """

    kind: str
    passed: bool


class AnnotationRecord(Strict):
    """One annotator's work on one item."""

    campaign: str
    kind: str
    dataset: str
    split: str
    example: str
    system: str
    text: str
    text_sha256: str
    annotator: str
    annotator_kind: AnnotatorKind
    group: str | None = None
    batch: int | None = None
    status: Literal["draft", "complete"] = "complete"
    amendment: int = 0
    """Number of the campaign's amendment in force; 0 is the original definition."""
    started_at: str | None = None
    completed_at: str | None = None
    seconds: float | None = None
    item: ItemRecord = ItemRecord()
    spans: list[SpanRecord] = []
    dismissed: list[dict[str, Any]] = []
    """Suggestions that the annotator dismissed, unchanged."""
    answers: dict[str, Any] = {}
    check: CheckRecord | None = None
    left_out: LeftOut | None = None
    """Reason why the annotation is in no figure; None if it counts."""
