"""Annotations and their spans; what could not be placed; outcomes of checks and qualifications."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.assignment import Assignment
from spanplat.models.base import Base, Id, Now
from spanplat.models.campaign import Category, Item


class Annotation(Base):
    """One annotator's work on one item; complete with no spans means there was nothing to mark."""

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
    """Digest of the body that made this revision, so that the same body again gets the same answer."""
    answers: Mapped[dict[str, Any]] = mapped_column(default=dict)
    late: Mapped[bool] = mapped_column(default=False)
    """Saved after the seat had gone to somebody else: kept, and in no figure."""
    amendment: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of the campaign's amendment that was in force when it was saved last; 0 is the definition it was made with."""
    dismissed: Mapped[list[Any] | None]
    """Suggestions that the annotator turned down, each as it was."""
    extra: Mapped[dict[str, Any] | None]
    """What an import or a run carried beside the spans: reasoning, the record's own metadata."""
    started_at: Mapped[datetime | None]
    completed_at: Mapped[datetime | None]
    seconds: Mapped[float | None]
    assignment: Mapped[Assignment] = relationship()
    item: Mapped[Item] = relationship()
    spans: Mapped[list["Span"]] = relationship(order_by="Span.position", back_populates="annotation")


class Span(Base):
    """A marked stretch of text, in half-open code points."""

    __tablename__ = "span"
    __table_args__ = (
        CheckConstraint("0 <= start_offset AND start_offset <= end_offset", name="offsets"),
        CheckConstraint("side IN ('output', 'source')", name="side"),
    )

    id: Mapped[Id]
    annotation_id: Mapped[int] = mapped_column(ForeignKey("annotation.id", ondelete="CASCADE"), index=True)
    position: Mapped[int]
    """Order in which the annotator's list shows it."""
    category_id: Mapped[int] = mapped_column(ForeignKey("category.id"))
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    """Of an import: as received, ``start + len(text)``, even where the text is not there."""
    text: Mapped[str]
    """The quote: equal to the text between the offsets on every write from a page; as received on import."""
    side: Mapped[str] = mapped_column(default="output")
    output_position: Mapped[int] = mapped_column(default=0)
    source_field: Mapped[str | None]
    subcategory: Mapped[str | None]
    severity: Mapped[str | None]
    reason: Mapped[str | None]
    attributes: Mapped[dict[str, Any] | None]
    origin: Mapped[dict[str, Any] | None]
    """How it came about where that is not plain: differences met on import, the rule that placed a quote, a suggestion."""
    resolved_start: Mapped[int | None]
    resolved_end: Mapped[int | None]
    """Where the quote really stands, if that differs from the offsets received."""
    annotation: Mapped[Annotation] = relationship(back_populates="spans")
    category: Mapped[Category] = relationship()


class Suggestion(Base):
    """A span of another campaign, shown on an item to be accepted, changed or dismissed; taken over when the campaign opens."""

    __tablename__ = "suggestion"
    __table_args__ = (
        UniqueConstraint("item_id", "number"),
        CheckConstraint("0 <= start_offset AND start_offset <= end_offset", name="offsets"),
        CheckConstraint("side IN ('output', 'source')", name="side"),
    )

    id: Mapped[Id]
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"))
    number: Mapped[int]
    """Counts the suggestions of an item from 1, in the order of the text."""
    category_id: Mapped[int] = mapped_column(ForeignKey("category.id"))
    annotator: Mapped[str]
    """Pseudonym of who or what marked it."""
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
    """The span that an item of kind ``span`` asks about."""

    __tablename__ = "judged_span"

    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), primary_key=True)
    span_id: Mapped[int] = mapped_column(ForeignKey("span.id"))


class Unplaced(Base):
    """Something an import or a model gave that has no place in the data, with the reason."""

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
    """What a qualification campaign decided about an annotator."""

    __tablename__ = "qualification"
    __table_args__ = (UniqueConstraint("campaign_id", "annotator_id"),)

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    annotator_id: Mapped[int] = mapped_column(ForeignKey("annotator.id"))
    status: Mapped[str]
    """passed, failed, or pending while the best are not chosen yet."""
    score: Mapped[float | None]
    attempts: Mapped[int] = mapped_column(default=1, server_default="1")
    decided_at: Mapped[Now]
    expires_at: Mapped[datetime | None]
    """Until when a pass counts; without end when empty."""
