"""Computation of results: at once if the work is small, else in the worker, with the state and the progress."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Generic

from pydantic import TypeAdapter
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict
from spanplat.models import Job, JobState
from spanplat.services.background.jobs import STALE_AFTER, cancel, enqueue
from spanplat.services.background.progress import OnProgress
from spanplat.services.background.results import ReportType, ResultKind, SignedRequest, StoredResult, compute, look_up

AT_ONCE_SECONDS = 2.0
"""Work with a shorter estimate is done while the page waits."""
GRACE = timedelta(seconds=10)
"""Waiting time after which a page says that no worker runs. Workers look at the queue several times a second."""
PROGRESS_SECONDS = 0.5
"""Pause between two reports of progress. Each report is a transaction. A stopped job notices it at the next report."""
JOB_KIND = "result"
"""Kind of the jobs that compute results."""


class ComputationState(StrEnum):
    """State of the computation of a result."""

    FINISHED = "finished"
    """All stages are stored, for the present data or for older data without a new request."""
    TO_DO = "to do"
    """A stage is missing, and no job computes it."""
    QUEUED = "queued"
    NO_WORKER = "no worker"
    """The job waits for a worker, and no worker seems to run."""
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class ResultQuestion(Generic[ReportType]):
    """Request for a result: its kind, the campaigns and the options."""

    kind: ResultKind[Any, ReportType]
    campaigns: tuple[str, ...]
    options: Any


@dataclass(frozen=True)
class ComputationStatus(Generic[ReportType]):
    """Stored stages of a result, and the state of the computation."""

    result: StoredResult[ReportType] | None
    state: ComputationState
    job: Job | None
    is_small: bool
    """Whether the estimate is short enough to compute the result in the request."""
    others: int
    """Number of jobs that workers perform now."""
    stage: str
    """First missing stage, or an empty string."""
    now: datetime

    @property
    def is_current(self) -> bool:
        """Whether all stages are stored for the present data."""
        return self.result is not None and self.result.is_complete and self.result.change is None

    @property
    def percent(self) -> int:
        """Progress of the worker in percent."""
        return round(100 * self.job.progress / self.job.total) if self.job and self.job.total else 0

    @property
    def seconds_left(self) -> float | None:
        """Remaining time in seconds at the present speed; None if it is not known."""
        if self.state is not ComputationState.RUNNING or self.job is None or not self.job.started_at:
            return None
        if not self.job.total or not 0 < self.job.progress <= self.job.total:
            return None
        passed = (self.now - self.job.started_at).total_seconds()
        return passed * (self.job.total - self.job.progress) / self.job.progress


def find_status(session: Session, question: ResultQuestion[ReportType]) -> ComputationStatus[ReportType]:
    """Return the stored stages of a result and the state of its computation.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If the options or the choice of campaigns are invalid.
    """
    request = _request(session, question)
    result = look_up(session, question.kind, request)
    job = session.scalar(select(Job).where(Job.key == _key(request)))
    now = datetime.now(UTC)
    # A job with an old heartbeat belongs to a dead worker. It does not show that a worker runs.
    beating = (Job.state == JobState.RUNNING) & (Job.heartbeat > now - STALE_AFTER)
    others = session.scalar(select(func.count(Job.id)).where(beating)) or 0
    return ComputationStatus(
        result=result,
        state=_state(result, job, others, now),
        job=job,
        is_small=question.kind.estimate(session, request) <= AT_ONCE_SECONDS,
        others=others,
        stage=next(
            (s for s in question.kind.stages if result is None or result.change or s not in result.finished), ""
        ),
        now=now,
    )


def answer_now(database: Database, question: ResultQuestion[ReportType], *, until: str | None = None) -> ReportType:
    """Compute the missing stages up to a stage in this thread. Raises the errors of the kind of result."""
    return compute(database, question.kind, question.campaigns, question.options, until=until)


def answer_if_small(database: Database, question: ResultQuestion[ReportType]) -> ReportType:
    """Return the complete result for the present data: the stored one, or a new one if the computation is short.

    Raises
    ------
    Conflict
        If the result is not stored and its computation would take too long.
    """
    with database.reading() as session:
        status = find_status(session, question)
    if status.result is not None and status.is_current:
        return status.result.report
    if not status.is_small:
        raise Conflict(
            "these figures are not computed yet for the present data, and that takes longer than a download can wait; "
            "open the page they stand on, let it compute them, and download again"
        )
    return answer_now(database, question)


def ask_worker(session: Session, question: ResultQuestion[Any]) -> Job:
    """Add a job for the worker. The caller sends the job's id to the queue after the commit."""
    request = _request(session, question)
    payload = {
        "kind": question.kind.name,
        "campaigns": list(question.campaigns),
        "options": asdict(question.options),
    }
    return enqueue(session, JOB_KIND, _key(request), payload)


def withdraw(session: Session, question: ResultQuestion[Any]) -> bool:
    """Cancel the job for a result. Stored stages stay. Return whether there was a job to cancel."""
    job = session.scalar(select(Job).where(Job.key == _key(_request(session, question))))
    return job is not None and cancel(session, job.id)


def work_on(
    database: Database, kinds: Mapping[str, ResultKind[Any, Any]], payload: Mapping[str, Any], on_progress: OnProgress
) -> None:
    """Compute the result of a job from `ask_worker`. ``kinds`` maps names to kinds of result."""
    kind = kinds[payload["kind"]]
    # The payload was stored as JSON. Validation restores the nested dataclasses and tuples of the options.
    options = TypeAdapter(kind.options).validate_python(payload["options"])
    campaigns: Sequence[str] = payload["campaigns"]
    # The monotonic clock may begin at any value; with this one, the first report is always stored.
    last = float("-inf")

    def report_now_and_then(done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last >= PROGRESS_SECONDS:
            last = time.monotonic()
            on_progress(done, total)

    compute(database, kind, campaigns, options, on_progress=report_now_and_then)


def _state(result: StoredResult[Any] | None, job: Job | None, others: int, now: datetime) -> ComputationState:
    if result is not None and result.is_complete and result.change is None:
        return ComputationState.FINISHED
    if job is not None and job.state == JobState.RUNNING:
        return ComputationState.RUNNING
    if job is not None and job.state == JobState.QUEUED:
        # A worker may be busy with other jobs. Then a long wait does not mean that no worker runs.
        return ComputationState.NO_WORKER if now - job.created_at > GRACE and not others else ComputationState.QUEUED
    if job is not None and job.state == JobState.FAILED:
        return ComputationState.FAILED
    # A complete result of older data is shown with a note. This comes after the job's states, which are about the present data.
    if result is not None and result.is_complete:
        return ComputationState.FINISHED
    if job is not None and job.state == JobState.CANCELLED:
        return ComputationState.STOPPED
    return ComputationState.TO_DO


def _request(session: Session, question: ResultQuestion[Any]) -> SignedRequest[Any]:
    return question.kind.request(session, question.campaigns, question.options)


def _key(request: SignedRequest[Any]) -> str:
    # The question leaves the data out: while annotations arrive, there is still one job per question.
    return f"result:{request.question}"
