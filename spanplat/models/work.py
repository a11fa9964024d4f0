"""Background work, model calls, and computed figures."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now, Sha256


class JobState(StrEnum):
    """The life of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    PAUSED = "paused"
    """Stopped by somebody who means to go on; asking for it again does."""
    CANCELLED = "cancelled"


class Job(Base):
    """The truth about one piece of background work; the queue only carries its id."""

    __tablename__ = "job"

    id: Mapped[Id]
    kind: Mapped[str]
    key: Mapped[str] = mapped_column(unique=True)
    """Names the work, so that asking twice starts it once."""
    payload: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(default=JobState.QUEUED, index=True)
    progress: Mapped[int] = mapped_column(default=0)
    total: Mapped[int | None]
    attempts: Mapped[int] = mapped_column(default=0)
    claimed_by: Mapped[str | None]
    heartbeat: Mapped[datetime | None]
    error: Mapped[str | None]
    created_at: Mapped[Now]
    """When it was asked for; asked for again after it has ended, the time of that."""
    started_at: Mapped[datetime | None]
    """When a worker took it last."""
    finished_at: Mapped[datetime | None]


class Completion(Base):
    """One call of a model: what was asked, what came back, what it cost."""

    __tablename__ = "completion"

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"), index=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignment.id", ondelete="CASCADE"), index=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"))
    request_sha256: Mapped[Sha256]
    request: Mapped[dict[str, Any]]
    response: Mapped[dict[str, Any] | None]
    model_version: Mapped[str | None]
    finish_reason: Mapped[str | None]
    input_tokens: Mapped[int] = mapped_column(default=0)
    output_tokens: Mapped[int] = mapped_column(default=0)
    reasoning_tokens: Mapped[int] = mapped_column(default=0)
    cost: Mapped[float | None]
    """US dollars; None where the model's price is not known, or where nobody can tell whether the call was billed."""
    latency: Mapped[float | None]
    """Seconds."""
    error: Mapped[str | None]
    created_at: Mapped[Now]


class ClaimState(StrEnum):
    """What became of an item that a model was to be asked about."""

    ASKING = "asking"
    """A worker asks, and says so until its lease runs out."""
    SUBMITTED = "submitted"
    """Handed in with a batch."""
    ANSWERED = "answered"
    FAILED = "failed"
    """Given up in its run; the next run asks again."""


class ModelBatch(Base):
    """Questions handed in together through a provider's batch interface."""

    __tablename__ = "model_batch"

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"), index=True)
    key: Mapped[str] = mapped_column(unique=True)
    """Our name for it, known before the provider is asked."""
    external_id: Mapped[str | None]
    """The provider's name for it; None until it has said so."""
    requests: Mapped[int]
    done: Mapped[int] = mapped_column(default=0)
    """Requests the provider says it has dealt with."""
    error: Mapped[str | None]
    created_at: Mapped[Now]
    ended_at: Mapped[datetime | None]
    """When its results were stored."""


class ModelClaim(Base):
    """Who asks the model about an item of a seat, so that several workers ask about nothing twice."""

    __tablename__ = "model_claim"

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignment.id", ondelete="CASCADE"), primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"), index=True)
    batch_id: Mapped[int | None] = mapped_column(ForeignKey("model_batch.id", ondelete="CASCADE"), index=True)
    state: Mapped[str]
    worker: Mapped[str | None]
    lease_expires_at: Mapped[datetime | None]
    reserved: Mapped[float] = mapped_column(default=0.0)
    """US dollars that its call may cost, while it is under way."""
    failure: Mapped[str | None]
    """Kind of the last failure: ``refusal``, ``timeout``, ``status 400``, …"""
    error: Mapped[str | None]
    """The last error, for people."""
    changed_at: Mapped[Now]


class AgreementResult(Base):
    """One stage of computed figures under the signature that says how to compute them again."""

    __tablename__ = "agreement_result"
    __table_args__ = (UniqueConstraint("signature", "stage"),)

    id: Mapped[Id]
    question: Mapped[str] = mapped_column(index=True)
    """What was asked, whatever the data: results that share it differ in their data only."""
    signature: Mapped[str]
    stage: Mapped[str]
    revisions: Mapped[dict[str, Any]]
    """The state of each campaign's data, by slug."""
    value: Mapped[dict[str, Any]]
    created_at: Mapped[Now]
