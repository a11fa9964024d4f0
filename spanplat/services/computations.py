"""Getting a result computed: at once where it is small work, else by the worker; and how far that is."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict
from spanplat.models import Job, JobState
from spanplat.services.agreement import AGREEMENT
from spanplat.services.distributions import DISTRIBUTION
from spanplat.services.importing.progress import OnProgress
from spanplat.services.jobs import STALE_AFTER, cancel, enqueue
from spanplat.services.leaderboard import LEADERBOARD
from spanplat.services.matrix import MATRIX
from spanplat.services.results import Request, Result, ResultKind, compute, look_up
from spanplat.services.sentinels import SENTINELS
from spanplat.services.systems import SYSTEMS

AT_ONCE_SECONDS = 2.0
"""Work that takes about this long on an idle machine is done while the page waits."""
GRACE = timedelta(seconds=10)
"""How long a job may wait before we say that no worker seems to run; workers look at the queue several times a second."""
TELL_SECONDS = 0.5
"""Pause between two reports of progress, each a transaction of its own; a stopped job ends that much later."""
JOB_KIND = "result"

KINDS: Mapping[str, ResultKind[Any]] = {
    kind.name: kind for kind in (AGREEMENT, DISTRIBUTION, LEADERBOARD, MATRIX, SENTINELS, SYSTEMS)
}


class Situation(StrEnum):
    """What happens to a question."""

    FINISHED = "finished"
    """All of it is stored for the present data, or for data before and nobody has asked for it anew."""
    TO_DO = "to do"
    """Some of it is missing, and nobody works on it."""
    QUEUED = "queued"
    FORSAKEN = "forsaken"
    """It waits for a worker, and none seems to run."""
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Question:
    """What somebody wants to know."""

    kind: ResultKind[Any]
    campaigns: tuple[str, ...]
    options: Any


@dataclass(frozen=True)
class Outlook:
    """What there is of an answer, and what is to be expected."""

    result: Result | None
    situation: Situation
    job: Job | None
    is_small: bool
    """Whether it is computed while somebody waits."""
    others: int
    """Jobs that the workers do at the moment."""
    stage: str
    """The stage that is missing first; empty when none is."""
    now: datetime

    @property
    def is_current(self) -> bool:
        """Whether all figures are there and belong to the present data."""
        return self.result is not None and self.result.is_complete and self.result.change is None

    @property
    def percent(self) -> int:
        """How far the worker is."""
        return round(100 * self.job.progress / self.job.total) if self.job and self.job.total else 0

    @property
    def seconds_left(self) -> float | None:
        """How long the worker still needs if it goes on as it has so far; None while that cannot be told."""
        if self.situation is not Situation.RUNNING or self.job is None or not self.job.started_at:
            return None
        if not self.job.total or not 0 < self.job.progress <= self.job.total:
            return None
        passed = (self.now - self.job.started_at).total_seconds()
        return passed * (self.job.total - self.job.progress) / self.job.progress


def look(session: Session, question: Question) -> Outlook:
    """Tell what is stored for a question and whether somebody works on it.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If the question makes no sense.
    """
    request = _request(session, question)
    result = look_up(session, question.kind, request)
    job = session.scalar(select(Job).where(Job.key == _key(request)))
    now = datetime.now(UTC)
    beating = (Job.state == JobState.RUNNING) & (Job.heartbeat > now - STALE_AFTER)
    others = session.scalar(select(func.count(Job.id)).where(beating)) or 0
    return Outlook(
        result=result,
        situation=_situation(result, job, others, now),
        job=job,
        is_small=question.kind.estimate(session, request) <= AT_ONCE_SECONDS,
        others=others,
        stage=next(
            (s for s in question.kind.stages if result is None or result.change or s not in result.finished), ""
        ),
        now=now,
    )


def answer_now(database: Database, question: Question, *, until: str | None = None) -> dict[str, Any]:
    """Compute what is missing of an answer, up to a stage, while somebody waits; raises as the kind of result does."""
    return compute(database, question.kind, question.campaigns, question.options, until=until)


def answer_if_small(database: Database, question: Question) -> dict[str, Any]:
    """Return the whole answer for the present data: stored, or computed where that is quick.

    Raises
    ------
    Conflict
        If it is not stored and would take too long.
    """
    with database.reading() as session:
        outlook = look(session, question)
    if outlook.result is not None and outlook.is_current:
        return outlook.result.value
    if not outlook.is_small:
        raise Conflict(
            "these figures are not computed yet for the present data, and that takes longer than a download can wait; "
            "open the page they stand on, let it compute them, and download again"
        )
    return answer_now(database, question)


def ask_worker(session: Session, question: Question) -> Job:
    """Have the worker answer; send the job's id to the queue once the transaction is committed."""
    request = _request(session, question)
    payload = {
        "kind": question.kind.name,
        "campaigns": list(question.campaigns),
        "options": asdict(question.options),
    }
    return enqueue(session, JOB_KIND, _key(request), payload)


def withdraw(session: Session, question: Question) -> bool:
    """Stop the worker's work on a question; what is stored of the answer stays. Tell whether there was anything to stop."""
    job = session.scalar(select(Job).where(Job.key == _key(_request(session, question))))
    return job is not None and cancel(session, job.id)


def work_on(database: Database, payload: Mapping[str, Any], on_progress: OnProgress) -> None:
    """Do what `ask_worker` asked for."""
    kind = KINDS[payload["kind"]]
    options = TypeAdapter(kind.options).validate_python(payload["options"])
    campaigns: Sequence[str] = payload["campaigns"]
    told = float("-inf")

    def tell_now_and_then(done: int, total: int | None) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            on_progress(done, total)

    compute(database, kind, campaigns, options, on_progress=tell_now_and_then)


def _situation(result: Result | None, job: Job | None, others: int, now: datetime) -> Situation:
    if result is not None and result.is_complete and result.change is None:
        return Situation.FINISHED
    if job is not None and job.state == JobState.RUNNING:
        return Situation.RUNNING
    if job is not None and job.state == JobState.QUEUED:
        return Situation.FORSAKEN if now - job.created_at > GRACE and not others else Situation.QUEUED
    if job is not None and job.state == JobState.FAILED:
        return Situation.FAILED
    if result is not None and result.is_complete:
        return Situation.FINISHED
    if job is not None and job.state == JobState.CANCELLED:
        return Situation.STOPPED
    return Situation.TO_DO


def _request(session: Session, question: Question) -> Request[Any]:
    return question.kind.request(session, question.campaigns, question.options)


def _key(request: Request[Any]) -> str:
    return f"result:{request.question}"
