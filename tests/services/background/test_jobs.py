"""Jobs: each is queued once, performed by one worker, and never lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import Job, JobState
from spanplat.services.background import jobs
from tests.postgresql import is_waiting_for_a_lock


def enqueue(database: Database, key: str = "run:demo", **payload: object) -> int:
    with database.transaction() as session:
        return jobs.enqueue(session, "run", key, payload).id


def claim(database: Database, job_id: int, worker: str) -> bool:
    with database.transaction() as session:
        return jobs.claim(session, job_id, worker) is not None


def job_of(database: Database, job_id: int) -> Job:
    with database.reading() as session:
        return jobs.find_job(session, job_id)


def silence(database: Database, job_id: int) -> None:
    """Make a job's worker look dead."""
    long_ago = datetime.now(UTC) - jobs.STALE_AFTER - timedelta(seconds=1)
    with database.transaction() as session:
        session.execute(update(Job).where(Job.id == job_id).values(heartbeat=long_ago))


def test_asking_twice_for_the_same_work_gives_one_job(database: Database) -> None:
    first = enqueue(database, limit=3)
    assert enqueue(database, limit=5) == first
    assert job_of(database, first).payload == {"limit": 3}


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_two_first_requests_at_once_for_the_same_work_give_one_job(
    database: Database, wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    """On SQLite there is only one writer at a time."""
    with ThreadPoolExecutor(1) as executor:
        with database.transaction() as session:
            first = jobs.enqueue(session, "run", "run:demo", {"limit": 3}).id
            second = executor.submit(enqueue, database, limit=5)
            wait_until(lambda: second.done() or is_waiting_for_a_lock(database.engine))
        assert second.result() == first
    assert job_of(database, first).payload == {"limit": 3}


def test_asking_again_after_the_work_ended_starts_it_anew(database: Database) -> None:
    job_id = enqueue(database)
    claim(database, job_id, "one")
    with database.transaction() as session:
        jobs.fail(session, job_id, "one", "no network")
    assert enqueue(database, limit=5) == job_id
    job = job_of(database, job_id)
    assert (job.state, job.error, job.payload, job.attempts) == (JobState.QUEUED, None, {"limit": 5}, 0)


def test_only_one_worker_gets_a_job(database: Database) -> None:
    job_id = enqueue(database)
    assert claim(database, job_id, "one")
    assert not claim(database, job_id, "two")
    assert job_of(database, job_id).claimed_by == "one"


def test_a_job_whose_worker_is_silent_goes_to_another_and_the_first_is_told(database: Database) -> None:
    job_id = enqueue(database)
    claim(database, job_id, "one")
    with database.reading() as session:
        assert jobs.unfinished(session) == []
    silence(database, job_id)
    with database.reading() as session:
        assert jobs.unfinished(session) == [job_id]
    assert claim(database, job_id, "two")
    acts: list[Callable[[Session], None]] = [
        lambda session: jobs.heartbeat(session, job_id, "one"),
        lambda session: jobs.report_progress(session, job_id, "one", 1, 2),
        lambda session: jobs.finish(session, job_id, "one"),
    ]
    for act in acts:
        with pytest.raises(jobs.JobLost), database.transaction() as session:
            act(session)
    assert job_of(database, job_id).state == JobState.RUNNING


def test_progress_and_the_end_are_recorded(database: Database) -> None:
    job_id = enqueue(database)
    claim(database, job_id, "one")
    with database.transaction() as session:
        jobs.report_progress(session, job_id, "one", 7, 9)
    job = job_of(database, job_id)
    assert (job.progress, job.total) == (7, 9)
    with database.transaction() as session:
        jobs.finish(session, job_id, "one")
    job = job_of(database, job_id)
    assert job.state == JobState.DONE
    assert job.finished_at is not None
    assert not claim(database, job_id, "two")


def test_a_stopping_worker_gives_its_jobs_back(database: Database) -> None:
    mine, other = enqueue(database, "a"), enqueue(database, "b")
    claim(database, mine, "one")
    claim(database, other, "two")
    with database.transaction() as session:
        jobs.release(session, "one")
    with database.reading() as session:
        assert jobs.unfinished(session) == [mine]


def test_a_cancelled_job_is_lost_to_its_worker_and_stays_cancelled(database: Database) -> None:
    job_id = enqueue(database)
    claim(database, job_id, "one")
    with database.transaction() as session:
        assert jobs.cancel(session, job_id)
    with database.transaction() as session:
        assert not jobs.cancel(session, job_id)
    with pytest.raises(jobs.JobLost), database.transaction() as session:
        jobs.heartbeat(session, job_id, "one")
    assert not claim(database, job_id, "two")


def test_a_job_that_kills_its_workers_is_given_up(database: Database) -> None:
    job_id = enqueue(database)
    for attempt in range(jobs.MOST_ATTEMPTS):
        assert claim(database, job_id, f"worker-{attempt}")
        silence(database, job_id)
    assert not claim(database, job_id, "last")
    job = job_of(database, job_id)
    assert job.state == JobState.FAILED
    assert job.error is not None
    assert "given up" in job.error
