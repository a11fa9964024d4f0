"""Annotators, their participations, and the slots they hold."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.base import Base, Id, Now
from spanplat.models.campaign import Batch, Campaign


class AssignmentStatus(StrEnum):
    """The life of a slot: open → held → submitted → accepted or rejected; or held → returned or expired, replaced by an open one."""

    OPEN = "open"
    HELD = "held"
    SUBMITTED = "submitted"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    RETURNED = "returned"
    EXPIRED = "expired"


FINISHED = (AssignmentStatus.SUBMITTED, AssignmentStatus.ACCEPTED)
COUNTED = (AssignmentStatus.HELD, *FINISHED)
"""States whose completed annotations enter figures."""
REPLACED = (AssignmentStatus.REJECTED, AssignmentStatus.RETURNED, AssignmentStatus.EXPIRED)
"""States of history rows: another row holds the seat."""


class Annotator(Base):
    """Who annotates: a person of a platform, or one model with its prompt, parameters and run."""

    __tablename__ = "annotator"
    __table_args__ = (
        UniqueConstraint("source", "external_id"),
        CheckConstraint("kind IN ('human', 'llm')", name="kind"),
    )

    id: Mapped[Id]
    kind: Mapped[str]
    source: Mapped[str]
    """Where the id comes from: prolific, mturk, direct, model, import:<campaign>, …"""
    external_id: Mapped[str]
    pseudonym: Mapped[str] = mapped_column(unique=True)
    """Stands for the annotator in every export."""
    created_at: Mapped[Now]


class Pool(Base):
    """People whom campaigns may require: those who passed a qualification, and whoever was added by hand."""

    __tablename__ = "pool"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[Now]


class PoolMember(Base):
    """An annotator in a pool."""

    __tablename__ = "pool_member"

    pool_id: Mapped[int] = mapped_column(ForeignKey("pool.id", ondelete="CASCADE"), primary_key=True)
    annotator_id: Mapped[int] = mapped_column(ForeignKey("annotator.id"), primary_key=True, index=True)
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey("campaign.id", ondelete="SET NULL"))
    """The qualification passed; empty for whoever was added by hand."""
    added_at: Mapped[Now]
    expires_at: Mapped[datetime | None]


class Participation(Base):
    """One annotator's visit to one campaign: what the unguessable token of the annotator's page stands for."""

    __tablename__ = "participation"
    __table_args__ = (UniqueConstraint("campaign_id", "session_key"),)

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    annotator_id: Mapped[int] = mapped_column(ForeignKey("annotator.id"), index=True)
    token: Mapped[str] = mapped_column(unique=True)
    session_key: Mapped[str]
    """The platform's submission (study and session on Prolific, assignment on MTurk); a reload finds the same participation."""
    parameters: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Query parameters of the start link, kept for pay files and the way back."""
    group: Mapped[str | None]
    consent_version: Mapped[str | None]
    consented_at: Mapped[datetime | None]
    comprehension_attempts: Mapped[int] = mapped_column(default=0)
    comprehension_passed_at: Mapped[datetime | None]
    practice: Mapped[dict[str, Any] | None]
    """Answers to the practice items by their number; no work, and in no export."""
    practised_at: Mapped[datetime | None]
    ended: Mapped[str | None]
    """Why it ended without submission: no_consent, failed_comprehension, screened_out, withdrawn."""
    created_at: Mapped[Now]
    campaign: Mapped[Campaign] = relationship()
    annotator: Mapped[Annotator] = relationship()


class Assignment(Base):
    """One seat on a batch; exists, open, before anyone comes."""

    __tablename__ = "assignment"
    __table_args__ = (
        # A seat has one current row; returned, expired and rejected rows stay beside it as history.
        Index(
            "uq_assignment_current",
            "batch_id",
            "slot",
            "repeat",
            unique=True,
            sqlite_where=text("status NOT IN ('returned', 'expired', 'rejected')"),
            postgresql_where=text("status NOT IN ('returned', 'expired', 'rejected')"),
        ),
        # Nobody holds two seats on one batch.
        Index(
            "uq_assignment_annotator",
            "batch_id",
            "annotator_id",
            unique=True,
            sqlite_where=text("status NOT IN ('returned', 'expired', 'rejected') AND repeat = 0"),
            postgresql_where=text("status NOT IN ('returned', 'expired', 'rejected') AND repeat = 0"),
        ),
        Index("ix_assignment_campaign_status", "campaign_id", "status", "lease_expires_at"),
        # Free seats in the order in which they are taken.
        Index("ix_assignment_in_order", "campaign_id", "status", "slot", "batch_id"),
        CheckConstraint("(status = 'open') = (annotator_id IS NULL)", name="holder"),
    )

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"))
    slot: Mapped[int]
    """Number of the seat; annotator order for rules such as ``first``."""
    repeat: Mapped[int] = mapped_column(default=0)
    """Counts repeats by the same annotator (imported repeats, model runs with several seeds)."""
    group: Mapped[str | None]
    annotator_id: Mapped[int | None] = mapped_column(ForeignKey("annotator.id"), index=True)
    participation_id: Mapped[int | None] = mapped_column(ForeignKey("participation.id"), index=True)
    status: Mapped[str] = mapped_column(default=AssignmentStatus.OPEN)
    claimed_at: Mapped[datetime | None]
    lease_expires_at: Mapped[datetime | None]
    submitted_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    """Which completion code was earned: completed, failed_attention, screened_out."""
    excluded: Mapped[bool] = mapped_column(default=False)
    """Left out of every figure, because a check that says so was failed; kept all the same."""
    extra: Mapped[bool] = mapped_column(default=False, server_default=false())
    """A seat beyond those promised, made for somebody who came when all were taken; nobody takes its place."""
    batch: Mapped[Batch] = relationship()
    annotator: Mapped[Annotator | None] = relationship()
