"""Annotators, pools, participations, and assignments (seats on batches)."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.base import Base, Id, Now
from spanplat.models.campaign import Batch, Campaign


class AssignmentStatus(StrEnum):
    """Status of a seat: open → held → submitted → accepted or rejected, or held → returned or expired."""

    OPEN = "open"
    HELD = "held"
    SUBMITTED = "submitted"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    RETURNED = "returned"
    EXPIRED = "expired"


FINISHED = (AssignmentStatus.SUBMITTED, AssignmentStatus.ACCEPTED)
COUNTED = (AssignmentStatus.HELD, *FINISHED)
"""Statuses whose completed annotations count in figures."""
REPLACED = (AssignmentStatus.REJECTED, AssignmentStatus.RETURNED, AssignmentStatus.EXPIRED)
"""Statuses of rows that are history. A new row takes the place of the seat."""


class Annotator(Base):
    """Annotator: a person from a platform, or one model with its prompt, parameters and run."""

    __tablename__ = "annotator"
    __table_args__ = (
        UniqueConstraint("source", "external_id"),
        CheckConstraint("kind IN ('human', 'llm')", name="kind"),
    )

    id: Mapped[Id]
    kind: Mapped[str]
    source: Mapped[str]
    """Source of the external id: prolific, mturk, direct, model, import:<campaign>, …"""
    external_id: Mapped[str]
    pseudonym: Mapped[str] = mapped_column(unique=True)
    """Name of the annotator in every export."""
    created_at: Mapped[Now]


class Pool(Base):
    """Pool of annotators that campaigns may require: those who passed a qualification, and those added by hand."""

    __tablename__ = "pool"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[Now]


class PoolMember(Base):
    """Member of a pool."""

    __tablename__ = "pool_member"

    pool_id: Mapped[int] = mapped_column(ForeignKey("pool.id", ondelete="CASCADE"), primary_key=True)
    annotator_id: Mapped[int] = mapped_column(ForeignKey("annotator.id"), primary_key=True, index=True)
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey("campaign.id", ondelete="SET NULL"))
    """Qualification that the annotator passed; None if the annotator was added by hand."""
    added_at: Mapped[Now]
    expires_at: Mapped[datetime | None]


class Participation(Base):
    """One annotator's visit to one campaign. The address of the annotator's page has its token, which nobody can guess."""

    __tablename__ = "participation"
    __table_args__ = (UniqueConstraint("campaign_id", "session_key"),)

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    annotator_id: Mapped[int] = mapped_column(ForeignKey("annotator.id"), index=True)
    token: Mapped[str] = mapped_column(unique=True)
    session_key: Mapped[str]
    """Submission on the platform (study and session on Prolific, assignment on MTurk). A reload finds the same participation."""
    parameters: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Query parameters of the start link, for payment files and for the link back to the platform."""
    group: Mapped[str | None]
    consent_version: Mapped[str | None]
    consented_at: Mapped[datetime | None]
    comprehension_attempts: Mapped[int] = mapped_column(default=0)
    comprehension_passed_at: Mapped[datetime | None]
    practice: Mapped[dict[str, Any] | None]
    """Answers to the practice items by number. They are not work, and no export has them."""
    practised_at: Mapped[datetime | None]
    ended: Mapped[str | None]
    """Reason for an end without submission: no_consent, failed_comprehension, screened_out, withdrawn."""
    created_at: Mapped[Now]
    campaign: Mapped[Campaign] = relationship()
    annotator: Mapped[Annotator] = relationship()


class Assignment(Base):
    """One seat on a batch. It exists with status open before an annotator comes."""

    __tablename__ = "assignment"
    __table_args__ = (
        # A seat has one current row. Returned, expired and rejected rows stay as history.
        Index(
            "uq_assignment_current",
            "batch_id",
            "slot",
            "repeat",
            unique=True,
            sqlite_where=text("status NOT IN ('returned', 'expired', 'rejected')"),
            postgresql_where=text("status NOT IN ('returned', 'expired', 'rejected')"),
        ),
        # Nobody holds two seats on one batch. Repeats of imports and model runs are allowed.
        Index(
            "uq_assignment_annotator",
            "batch_id",
            "annotator_id",
            unique=True,
            sqlite_where=text("status NOT IN ('returned', 'expired', 'rejected') AND repeat = 0"),
            postgresql_where=text("status NOT IN ('returned', 'expired', 'rejected') AND repeat = 0"),
        ),
        # For the search for lapsed leases, which each claim makes.
        Index("ix_assignment_campaign_status", "campaign_id", "status", "lease_expires_at"),
        # Free seats in the order in which they are taken.
        Index("ix_assignment_in_order", "campaign_id", "status", "slot", "batch_id"),
        CheckConstraint("(status = 'open') = (annotator_id IS NULL)", name="holder"),
    )

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"))
    slot: Mapped[int]
    """Number of the seat. It is the annotator order for rules such as ``first``."""
    repeat: Mapped[int] = mapped_column(default=0)
    """Number of the repeat by the same annotator (imported repeats, model runs with several seeds)."""
    group: Mapped[str | None]
    annotator_id: Mapped[int | None] = mapped_column(ForeignKey("annotator.id"), index=True)
    participation_id: Mapped[int | None] = mapped_column(ForeignKey("participation.id"), index=True)
    status: Mapped[str] = mapped_column(default=AssignmentStatus.OPEN)
    claimed_at: Mapped[datetime | None]
    lease_expires_at: Mapped[datetime | None]
    submitted_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    """Outcome that decides the completion code: completed, failed_attention, screened_out."""
    excluded: Mapped[bool] = mapped_column(default=False)
    """Whether figures leave the work out because of a failed check. The work stays stored."""
    extra: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether it is an additional seat, made for an annotator who came when all seats were taken. It is never replaced."""
    batch: Mapped[Batch] = relationship()
    annotator: Mapped[Annotator | None] = relationship()
