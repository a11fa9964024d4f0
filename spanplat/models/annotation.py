"""Annotations and spans, suggestions, records without a place in the data, and outcomes of checks and qualifications."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.assignment import Assignment
from spanplat.models.base import Base, Id, Now
from spanplat.models.campaign import Category, Item


class Annotation(Base):
    """Annotation of one item by one annotator. A complete annotation without spans means that there was nothing to mark."""

    __tablename__ = "annotation"
    __table_args__ = (
        UniqueConstraint("assignment_id", "item_id"),
        CheckConstraint("status IN ('draft', 'complete')", name="status"),
    )

    id: Mapped[Id]
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignment.id", ondelete="CASCADE"))
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), index=True)
    status: Mapped[str] = mapped_column(default="draft")
    revision: Mapped[int] = mapped_column(default=0)
    request_sha256: Mapped[str | None]
    """Digest of the request that made this revision. If a browser sends the same request again, it gets the same answer."""
    answers: Mapped[dict[str, Any]] = mapped_column(default=dict)
    late: Mapped[bool] = mapped_column(default=False)
    """Whether it was saved after another annotator had got the seat. Late annotations are stored, but figures leave them out."""
    amendment: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of the campaign's amendment in force at the last save. 0 is the original definition."""
    dismissed: Mapped[list[Any] | None]
    """Suggestions that the annotator dismissed, as they were shown."""
    extra: Mapped[dict[str, Any] | None]
    """Further data of an import or a model run: reasoning, metadata of the record."""
    started_at: Mapped[datetime | None]
    completed_at: Mapped[datetime | None]
    seconds: Mapped[float | None]
    assignment: Mapped[Assignment] = relationship()
    item: Mapped[Item] = relationship()
    spans: Mapped[list["Span"]] = relationship(order_by="Span.position", back_populates="annotation")


class Span(Base):
    """Marked part of a text, as a half-open range of code points."""

    __tablename__ = "span"
    __table_args__ = (
        CheckConstraint("0 <= start_offset AND start_offset <= end_offset", name="offsets"),
        CheckConstraint("side IN ('output', 'source')", name="side"),
    )

    id: Mapped[Id]
    annotation_id: Mapped[int] = mapped_column(ForeignKey("annotation.id", ondelete="CASCADE"), index=True)
    position: Mapped[int]
    """Position in the annotator's list."""
    category_id: Mapped[int] = mapped_column(ForeignKey("category.id"))
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    """End of the span. Imported spans have ``start + len(text)`` as received, even if the text is not at this place."""
    text: Mapped[str]
    """Quote. A span from a page has the text between its offsets. An imported span has the text as received."""
    side: Mapped[str] = mapped_column(default="output")
    output_position: Mapped[int] = mapped_column(default=0)
    source_field: Mapped[str | None]
    subcategory: Mapped[str | None]
    severity: Mapped[str | None]
    reason: Mapped[str | None]
    attributes: Mapped[dict[str, Any] | None]
    origin: Mapped[dict[str, Any] | None]
    """Origin of the span, if it was not simply marked: differences found on import, the rule that placed a quote, a suggestion."""
    resolved_start: Mapped[int | None]
    resolved_end: Mapped[int | None]
    """End of the place where the quote was found, if it differs from the received offsets."""
    annotation: Mapped[Annotation] = relationship(back_populates="spans")
    category: Mapped[Category] = relationship()


SPAN_COLUMNS: Final = (
    Span.start_offset,
    Span.end_offset,
    Span.text,
    Span.side,
    Span.output_position,
    Span.source_field,
    Span.subcategory,
    Span.severity,
    Span.reason,
    Span.attributes,
    Span.origin,
    Span.resolved_start,
    Span.resolved_end,
)
"""Columns that `spanplat.schemas.span.MarkedSpan.from_row` reads."""


class Suggestion(Base):
    """Suggested span from another campaign. It is copied when the campaign opens. Annotators accept, change or dismiss it."""

    __tablename__ = "suggestion"
    __table_args__ = (
        UniqueConstraint("item_id", "number"),
        CheckConstraint("0 <= start_offset AND start_offset <= end_offset", name="offsets"),
        CheckConstraint("side IN ('output', 'source')", name="side"),
    )

    id: Mapped[Id]
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"))
    number: Mapped[int]
    """Number of the suggestion in the item, from 1, in the order of the text."""
    category_id: Mapped[int] = mapped_column(ForeignKey("category.id"))
    annotator: Mapped[str]
    """Pseudonym of the person or model that marked it."""
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    text: Mapped[str]
    side: Mapped[str] = mapped_column(default="output")
    output_position: Mapped[int] = mapped_column(default=0)
    source_field: Mapped[str | None]
    subcategory: Mapped[str | None]
    severity: Mapped[str | None]
    reason: Mapped[str | None]
    attributes: Mapped[dict[str, Any] | None]


class JudgedSpan(Base):
    """Span that an item of kind ``span`` asks about."""

    __tablename__ = "judged_span"

    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), primary_key=True)
    span_id: Mapped[int] = mapped_column(ForeignKey("span.id"))


class Unplaced(Base):
    """Record of an import or a model that has no place in the data, with the reason."""

    __tablename__ = "unplaced"

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"), index=True)
    annotation_id: Mapped[int | None] = mapped_column(ForeignKey("annotation.id", ondelete="CASCADE"))
    kind: Mapped[str]
    """``annotation`` or ``span``."""
    record: Mapped[dict[str, Any]]
    reason: Mapped[str]
    created_at: Mapped[Now]


class CheckResult(Base):
    """Outcome of one check for one assignment."""

    __tablename__ = "check_result"
    __table_args__ = (UniqueConstraint("assignment_id", "name", "item_id"),)

    id: Mapped[Id]
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignment.id", ondelete="CASCADE"))
    item_id: Mapped[int | None] = mapped_column(ForeignKey("item.id"))
    name: Mapped[str]
    kind: Mapped[str]
    passed: Mapped[bool]
    detail: Mapped[dict[str, Any] | None]


class Qualification(Base):
    """Decision of a qualification campaign about an annotator."""

    __tablename__ = "qualification"
    __table_args__ = (UniqueConstraint("campaign_id", "annotator_id"),)

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    annotator_id: Mapped[int] = mapped_column(ForeignKey("annotator.id"))
    status: Mapped[str]
    """passed, failed, or pending until the best are chosen."""
    score: Mapped[float | None]
    attempts: Mapped[int] = mapped_column(default=1, server_default="1")
    decided_at: Mapped[Now]
    expires_at: Mapped[datetime | None]
    """End of the validity of a pass; None if it has no end."""
