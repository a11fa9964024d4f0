"""Background work, model calls, and computed figures."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now, Sha256


class JobState(StrEnum):
    """The life of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
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
    cost: Mapped[float] = mapped_column(default=0.0)
    """US dollars."""
    latency: Mapped[float | None]
    """Seconds."""
    error: Mapped[str | None]
    created_at: Mapped[Now]


class AgreementResult(Base):
    """A computed figure under the signature that says how to compute it again."""

    __tablename__ = "agreement_result"

    id: Mapped[Id]
    signature: Mapped[str] = mapped_column(unique=True)
    value: Mapped[dict[str, Any]]
    created_at: Mapped[Now]
