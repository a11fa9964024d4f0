"""Jobs of background work. Each job is a database row, so that a lost queue or a killed worker loses no work.

A worker claims a job with a compare-and-set on its row, and then updates the row's heartbeat every few seconds. If the heartbeat is
older than `STALE_AFTER`, another worker may claim the job.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, NotFound
from spanplat.models import Job, JobState
from spanplat.models.statements import add_absent

STALE_AFTER = timedelta(seconds=60)
"""Age of the heartbeat after which a worker counts as dead. It is several times the pause between heartbeats."""
MOST_ATTEMPTS = 5
"""Largest number of workers that may die during one job. Then the job fails."""


class JobLost(Conflict):
    """Error: the job was cancelled, or another worker has claimed it. The handler must stop."""


def enqueue(session: Session, kind: str, key: str, payload: Mapping[str, Any]) -> Job:
    """Add a job. The caller sends the row's id to the queue after the commit.

    Parameters
    ----------
    session
        A writing session.
    kind
        Name of the handler.
    key
        Unique name of the work. If a job with this key is waiting or running, nothing changes. If it has ended, it starts again.
    payload
        Arguments of the handler.

    Returns
    -------
    Job
        The new or existing row.
    """
    # Inserted first, because two requests may come at once: the second waits until the first is committed, and then finds its job.
    job = add_absent(session, Job, {"kind": kind, "key": key, "payload": dict(payload)})
    if job is not None:
        return job
    job = session.scalars(select(Job).where(Job.key == key)).one()
    if job.state not in (JobState.QUEUED, JobState.RUNNING):
        job.kind, job.payload = kind, dict(payload)
        job.state, job.progress, job.total, job.attempts = JobState.QUEUED, 0, None, 0
        job.claimed_by = job.heartbeat = job.error = job.started_at = job.finished_at = None
        # A job that starts again waits from now on. An old time would look as if no worker ran.
        job.created_at = datetime.now(UTC)
    session.flush()
    return job


def find_job(session: Session, job_id: int) -> Job:
    """Return a job.

    Raises
    ------
    NotFound
        If there is no job with this id.
    """
    job = session.get(Job, job_id)
    if job is None:
        raise NotFound(f"there is no job {job_id}")
    return job


def find_by_key(session: Session, key: str) -> Job | None:
    """Return the job with this key, or None."""
    return session.scalar(select(Job).where(Job.key == key))


def claim(session: Session, job_id: int, worker: str) -> Job | None:
    """Claim a job that waits, or whose worker is dead. Return None if the job cannot be claimed.

    After `MOST_ATTEMPTS` dead workers the job fails, because it would probably stop the next worker too.
    """
    now = datetime.now(UTC)
    # One UPDATE with the condition, not a read and then a write: two workers can receive the same id.
    claimed = session.execute(
        update(Job)
        .where(Job.id == job_id, _claimable(now))
        .values(state=JobState.RUNNING, claimed_by=worker, heartbeat=now, started_at=now, attempts=Job.attempts + 1)
    )
    if not _changed(claimed):
        return None
    job = find_job(session, job_id)
    # The session may hold the row as it was before the UPDATE.
    session.refresh(job)
    # Claims are counted, not failures: a worker that was killed could not record anything.
    if job.attempts > MOST_ATTEMPTS:
        fail(session, job_id, worker, f"given up: {MOST_ATTEMPTS} workers stopped while they did this; see their logs")
        return None
    return job


def heartbeat(session: Session, job_id: int, worker: str) -> None:
    """Update the heartbeat of a job.

    Raises
    ------
    JobLost
        If the worker no longer has the job.
    """
    _update_own(session, job_id, worker, heartbeat=datetime.now(UTC))


def report_progress(session: Session, job_id: int, worker: str, done: int, total: int | None) -> None:
    """Store the progress of a job, and update its heartbeat.

    Raises
    ------
    JobLost
        If the worker no longer has the job.
    """
    _update_own(session, job_id, worker, progress=done, total=total, heartbeat=datetime.now(UTC))


def finish(session: Session, job_id: int, worker: str) -> None:
    """Mark a job as done.

    Raises
    ------
    JobLost
        If the worker no longer has the job.
    """
    _update_own(session, job_id, worker, state=JobState.DONE, finished_at=datetime.now(UTC), error=None)


def fail(session: Session, job_id: int, worker: str, error: str) -> None:
    """Mark a job as failed, with an error message for users.

    Raises
    ------
    JobLost
        If the worker no longer has the job.
    """
    _update_own(session, job_id, worker, state=JobState.FAILED, finished_at=datetime.now(UTC), error=error)


def postpone(session: Session, job_id: int, worker: str) -> None:
    """Return a job to the queue because it waits for an external event. A worker claims it again within a minute.

    Raises
    ------
    JobLost
        If the worker no longer has the job.
    """
    # Waiting is no failed attempt. A batch may take a day, and the job is claimed every minute until then.
    _update_own(
        session, job_id, worker, state=JobState.QUEUED, claimed_by=None, heartbeat=None, attempts=Job.attempts - 1
    )


def release(session: Session, worker: str) -> None:
    """Return the unfinished jobs of a stopping worker to the queue. Other workers need not wait for `STALE_AFTER`."""
    session.execute(
        update(Job)
        .where(Job.claimed_by == worker, Job.state == JobState.RUNNING)
        .values(state=JobState.QUEUED, claimed_by=None, heartbeat=None, attempts=Job.attempts - 1)
    )


def cancel(session: Session, job_id: int) -> bool:
    """Cancel a job that has not ended. Its worker notices at its next heartbeat or report.

    Returns
    -------
    bool
        Whether there was a job to cancel.
    """
    return _stop(session, job_id, JobState.CANCELLED, (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED))


def pause(session: Session, job_id: int) -> bool:
    """Pause a job that waits or runs. `enqueue` starts it again. Its worker notices at its next heartbeat or report.

    Returns
    -------
    bool
        Whether there was a job to pause.
    """
    return _stop(session, job_id, JobState.PAUSED, (JobState.QUEUED, JobState.RUNNING))


def _stop(session: Session, job_id: int, state: JobState, stopped: Sequence[JobState]) -> bool:
    # Without `claimed_by` the worker's next update matches no row, and the worker gets `JobLost`.
    values = {"state": state, "finished_at": datetime.now(UTC), "claimed_by": None}
    return _changed(session.execute(update(Job).where(Job.id == job_id, Job.state.in_(stopped)).values(values)))


def unfinished(session: Session) -> list[int]:
    """Return the ids of the jobs that a worker can claim now, oldest first."""
    return list(session.scalars(select(Job.id).where(_claimable(datetime.now(UTC))).order_by(Job.id)))


def silent_since(job: Job, now: datetime) -> datetime | None:
    """Return the time of the last sign of work on a job; None if it is recent, or if the job has ended."""
    if job.state not in (JobState.QUEUED, JobState.RUNNING):
        return None
    last = job.heartbeat if job.state == JobState.RUNNING else job.created_at
    return last if last is not None and last < now - STALE_AFTER else None


def list_silent(session: Session, now: datetime) -> list[Job]:
    """Return the jobs that no worker performs, oldest first. While a worker is busy, queued jobs do not count."""
    started = select(Job).where(Job.state.in_((JobState.QUEUED, JobState.RUNNING))).order_by(Job.id)
    jobs = list(session.scalars(started))
    running = [job for job in jobs if job.state == JobState.RUNNING]
    is_one_at_work = any(silent_since(job, now) is None for job in running)
    return [job for job in (running if is_one_at_work else jobs) if silent_since(job, now)]


def _claimable(now: datetime) -> ColumnElement[bool]:
    abandoned = and_(Job.state == JobState.RUNNING, Job.heartbeat < now - STALE_AFTER)
    return or_(Job.state == JobState.QUEUED, abandoned)


def _update_own(session: Session, job_id: int, worker: str, **values: Any) -> None:
    # The condition protects the row: a worker that was silent for too long must not overwrite its successor's state.
    own = update(Job).where(Job.id == job_id, Job.claimed_by == worker, Job.state == JobState.RUNNING)
    if not _changed(session.execute(own.values(**values))):
        raise JobLost(f"job {job_id} was cancelled or taken by another worker")


def _changed(result: Any) -> bool:
    return int(result.rowcount) > 0
