"""Jobs of background work."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now


class JobState(StrEnum):
    """State of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    PAUSED = "paused"
    """A user stopped it for a while. A new request starts it again."""
    CANCELLED = "cancelled"


class Job(Base):
    """Job of background work. The queue carries only its id."""

    __tablename__ = "job"

    id: Mapped[Id]
    kind: Mapped[str]
    key: Mapped[str] = mapped_column(unique=True)
    """Unique name of the work, so that two requests start it only once."""
    payload: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(default=JobState.QUEUED, index=True)
    progress: Mapped[int] = mapped_column(default=0)
    total: Mapped[int | None]
    attempts: Mapped[int] = mapped_column(default=0)
    claimed_by: Mapped[str | None]
    heartbeat: Mapped[datetime | None]
    error: Mapped[str | None]
    created_at: Mapped[Now]
    """Time of the latest request that queued the job."""
    started_at: Mapped[datetime | None]
    """Time when a worker last claimed the job."""
    finished_at: Mapped[datetime | None]
