"""Background work: jobs are rows, so that a lost queue or a killed worker loses no work.

A worker takes a job by a compare-and-set on its row and says every few seconds that it still lives. A row whose worker has been
silent for `STALE_AFTER` may be taken by another one.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, NotFound
from spanplat.models import Job, JobState

STALE_AFTER = timedelta(seconds=60)
"""Silence after which a worker counts as dead; several times the pause between its heartbeats."""
MOST_ATTEMPTS = 5
"""Workers that may die over one job before it is given up."""


class JobLost(Conflict):
    """The job was cancelled, or another worker has taken it; what was being done for it is to stop."""


def enqueue(session: Session, kind: str, key: str, payload: Mapping[str, Any]) -> Job:
    """Ask for a piece of work; send the row's id to the queue once the transaction is committed.

    Parameters
    ----------
    session
        A session that may write.
    kind
        Which handler does it.
    key
        Name of the work. While a job of this key is waiting or running, asking again changes nothing; once it has ended, asking
        again starts it anew.
    payload
        What the handler needs to know.

    Returns
    -------
    Job
        The row, new or old.
    """
    job = session.scalar(select(Job).where(Job.key == key))
    if job is None:
        job = Job(kind=kind, key=key, payload=dict(payload), state=JobState.QUEUED, progress=0, attempts=0)
        session.add(job)
    elif job.state not in (JobState.QUEUED, JobState.RUNNING):
        job.kind, job.payload = kind, dict(payload)
        job.state, job.progress, job.total, job.attempts = JobState.QUEUED, 0, None, 0
        job.claimed_by = job.heartbeat = job.error = job.started_at = job.finished_at = None
        job.created_at = datetime.now(UTC)
    session.flush()
    return job


def find_job(session: Session, job_id: int) -> Job:
    """Return a job.

    Raises
    ------
    NotFound
        If there is none with this id.
    """
    job = session.get(Job, job_id)
    if job is None:
        raise NotFound(f"there is no job {job_id}")
    return job


def find_by_key(session: Session, key: str) -> Job | None:
    """Return the job of this name, if there has been one."""
    return session.scalar(select(Job).where(Job.key == key))


def claim(session: Session, job_id: int, worker: str) -> Job | None:
    """Take a job that waits, or whose worker is dead; return None when there is nothing to do.

    A job over which `MOST_ATTEMPTS` workers have died fails instead: it would only kill the next one.
    """
    now = datetime.now(UTC)
    claimed = session.execute(
        update(Job)
        .where(Job.id == job_id, _claimable(now))
        .values(state=JobState.RUNNING, claimed_by=worker, heartbeat=now, started_at=now, attempts=Job.attempts + 1)
    )
    if not _changed(claimed):
        return None
    job = find_job(session, job_id)
    session.refresh(job)
    if job.attempts > MOST_ATTEMPTS:
        fail(session, job_id, worker, f"given up: {MOST_ATTEMPTS} workers stopped while they did this; see their logs")
        return None
    return job


def heartbeat(session: Session, job_id: int, worker: str) -> None:
    """Say that the worker still lives.

    Raises
    ------
    JobLost
        If the job is no longer this worker's.
    """
    _update_own(session, job_id, worker, heartbeat=datetime.now(UTC))


def report_progress(session: Session, job_id: int, worker: str, done: int, total: int | None) -> None:
    """Store how far the work is.

    Raises
    ------
    JobLost
        If the job is no longer this worker's.
    """
    _update_own(session, job_id, worker, progress=done, total=total, heartbeat=datetime.now(UTC))


def finish(session: Session, job_id: int, worker: str) -> None:
    """Mark the work as done.

    Raises
    ------
    JobLost
        If the job is no longer this worker's.
    """
    _update_own(session, job_id, worker, state=JobState.DONE, finished_at=datetime.now(UTC), error=None)


def fail(session: Session, job_id: int, worker: str, error: str) -> None:
    """Mark the work as failed, with a message for people.

    Raises
    ------
    JobLost
        If the job is no longer this worker's.
    """
    _update_own(session, job_id, worker, state=JobState.FAILED, finished_at=datetime.now(UTC), error=error)


def postpone(session: Session, job_id: int, worker: str) -> None:
    """Give a job back that waits for something outside; a worker takes it again within a minute.

    Raises
    ------
    JobLost
        If the job is no longer this worker's.
    """
    _update_own(
        session, job_id, worker, state=JobState.QUEUED, claimed_by=None, heartbeat=None, attempts=Job.attempts - 1
    )


def release(session: Session, worker: str) -> None:
    """Give back what a worker that is about to stop has not finished, so that the next one need not wait for its silence."""
    session.execute(
        update(Job)
        .where(Job.claimed_by == worker, Job.state == JobState.RUNNING)
        .values(state=JobState.QUEUED, claimed_by=None, heartbeat=None, attempts=Job.attempts - 1)
    )


def cancel(session: Session, job_id: int) -> bool:
    """Cancel a job that has not ended; its worker notices at its next heartbeat.

    Returns
    -------
    bool
        Whether there was anything to cancel.
    """
    return _stop(session, job_id, JobState.CANCELLED, (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED))


def pause(session: Session, job_id: int) -> bool:
    """Stop a job that waits or runs, until it is asked for again; its worker notices at its next heartbeat or report.

    Returns
    -------
    bool
        Whether there was anything to pause.
    """
    return _stop(session, job_id, JobState.PAUSED, (JobState.QUEUED, JobState.RUNNING))


def _stop(session: Session, job_id: int, state: JobState, stopped: Sequence[JobState]) -> bool:
    values = {"state": state, "finished_at": datetime.now(UTC), "claimed_by": None}
    return _changed(session.execute(update(Job).where(Job.id == job_id, Job.state.in_(stopped)).values(values)))


def unfinished(session: Session) -> list[int]:
    """Return the ids of jobs that a worker could take now, oldest first."""
    return list(session.scalars(select(Job.id).where(_claimable(datetime.now(UTC))).order_by(Job.id)))


def silent_since(job: Job, now: datetime) -> datetime | None:
    """Return since when no worker has been heard of that is or should be at a job; None where that is not long, and it has ended."""
    if job.state not in (JobState.QUEUED, JobState.RUNNING):
        return None
    last = job.heartbeat if job.state == JobState.RUNNING else job.created_at
    return last if last is not None and last < now - STALE_AFTER else None


def list_silent(session: Session, now: datetime) -> list[Job]:
    """Return the jobs that no worker is at, oldest first; what only waits until a worker has done other work is none of them."""
    started = select(Job).where(Job.state.in_((JobState.QUEUED, JobState.RUNNING))).order_by(Job.id)
    jobs = list(session.scalars(started))
    running = [job for job in jobs if job.state == JobState.RUNNING]
    is_one_at_work = any(silent_since(job, now) is None for job in running)
    return [job for job in (running if is_one_at_work else jobs) if silent_since(job, now)]


def _claimable(now: datetime) -> ColumnElement[bool]:
    abandoned = and_(Job.state == JobState.RUNNING, Job.heartbeat < now - STALE_AFTER)
    return or_(Job.state == JobState.QUEUED, abandoned)


def _update_own(session: Session, job_id: int, worker: str, **values: Any) -> None:
    own = update(Job).where(Job.id == job_id, Job.claimed_by == worker, Job.state == JobState.RUNNING)
    if not _changed(session.execute(own.values(**values))):
        raise JobLost(f"job {job_id} was cancelled or taken by another worker")


def _changed(result: Any) -> bool:
    return int(result.rowcount) > 0
