"""Performing of jobs: each is performed once, and its row records every outcome."""

import logging
import threading
from collections.abc import Callable

import pytest

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.models import Job, JobState
from spanplat.services.background import jobs
from spanplat.worker.performing import Handler, Performer, Task, WorkWaits


def enqueue(database: Database, kind: str = "count") -> int:
    with database.transaction() as session:
        return jobs.enqueue(session, kind, "the job", {"upto": 3}).id


def job_of(database: Database, job_id: int) -> Job:
    with database.reading() as session:
        return jobs.find_job(session, job_id)


def performer(database: Database, handler: Handler, **options: float) -> Performer:
    return Performer(database, {"count": handler}, "tester", **options)


def count(task: Task) -> None:
    upto: int = task.payload["upto"]
    for done in range(1, upto + 1):
        task.report(done, upto)


def test_a_job_is_done_with_its_progress_recorded(database: Database) -> None:
    job_id = enqueue(database)
    performer(database, count).perform(job_id)
    job = job_of(database, job_id)
    assert (job.state, job.progress, job.total, job.attempts) == (JobState.DONE, 3, 3, 1)


def test_a_job_sent_twice_is_done_once(database: Database) -> None:
    job_id = enqueue(database)
    runs: list[int] = []
    worker = performer(database, lambda _task: runs.append(1))
    worker.perform(job_id)
    worker.perform(job_id)
    assert runs == [1]


def test_a_failure_is_told_in_its_own_words(sqlite_database: Database) -> None:
    def refuse(_task: Task) -> None:
        raise InvalidInput("the key is missing; set OPENAI_API_KEY")

    job_id = enqueue(sqlite_database)
    performer(sqlite_database, refuse).perform(job_id)
    job = job_of(sqlite_database, job_id)
    assert (job.state, job.error) == (JobState.FAILED, "the key is missing; set OPENAI_API_KEY")


def test_an_unexpected_error_is_recorded_and_raised(sqlite_database: Database) -> None:
    def stumble(_task: Task) -> None:
        raise ZeroDivisionError("by zero")

    job_id = enqueue(sqlite_database)
    with pytest.raises(ZeroDivisionError):
        performer(sqlite_database, stumble).perform(job_id)
    job = job_of(sqlite_database, job_id)
    assert job.state == JobState.FAILED
    assert "ZeroDivisionError: by zero" in (job.error or "")


def test_a_kind_nobody_knows_fails_with_a_message(sqlite_database: Database) -> None:
    job_id = enqueue(sqlite_database, kind="dance")
    performer(sqlite_database, count).perform(job_id)
    assert "'dance'" in (job_of(sqlite_database, job_id).error or "")


def test_a_stopping_worker_leaves_its_job_to_be_given_back(sqlite_database: Database) -> None:
    job_id = enqueue(sqlite_database)
    worker: Performer

    def stop_midway(task: Task) -> None:
        task.report(1, 3)
        worker.stop()
        task.report(2, 3)

    worker = performer(sqlite_database, stop_midway)
    worker.perform(job_id)
    job = job_of(sqlite_database, job_id)
    assert (job.state, job.progress) == (JobState.RUNNING, 1)
    with sqlite_database.transaction() as session:
        jobs.release(session, "tester")
    assert job_of(sqlite_database, job_id).state == JobState.QUEUED


def test_a_cancelled_job_stops_at_its_next_report(sqlite_database: Database) -> None:
    def cancelled_midway(task: Task) -> None:
        task.report(1, 3)
        with task.database.transaction() as session:
            jobs.cancel(session, job_id)
        task.report(2, 3)
        raise AssertionError("goes on after it was cancelled")

    job_id = enqueue(sqlite_database)
    performer(sqlite_database, cancelled_midway).perform(job_id)
    job = job_of(sqlite_database, job_id)
    assert (job.state, job.progress) == (JobState.CANCELLED, 1)


def test_the_heart_beats_while_a_handler_is_silent(
    sqlite_database: Database, wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    release = threading.Event()
    job_id = enqueue(sqlite_database)
    worker = performer(sqlite_database, lambda _task: assert_set(release), heartbeat_seconds=0.01)
    thread = threading.Thread(target=worker.perform, args=(job_id,))
    thread.start()
    wait_until(lambda: job_of(sqlite_database, job_id).heartbeat is not None)
    first = job_of(sqlite_database, job_id).heartbeat
    wait_until(lambda: job_of(sqlite_database, job_id).heartbeat != first)
    release.set()
    thread.join()
    assert job_of(sqlite_database, job_id).state == JobState.DONE


def test_each_job_is_logged(sqlite_database: Database, caplog: pytest.LogCaptureFixture) -> None:
    job_id = enqueue(sqlite_database)
    with caplog.at_level(logging.INFO):
        performer(sqlite_database, count).perform(job_id)
    assert [record.getMessage() for record in caplog.records] == [
        f"job {job_id} started: the job",
        f"job {job_id} done: the job",
    ]


def assert_set(event: threading.Event) -> None:
    assert event.wait(180)


def test_work_that_waits_for_something_outside_goes_back_to_the_queue(database: Database) -> None:
    def wait(_task: Task) -> None:
        raise WorkWaits

    job_id = enqueue(database)
    performer(database, wait).perform(job_id)
    job = job_of(database, job_id)
    assert (job.state, job.claimed_by, job.attempts) == (JobState.QUEUED, None, 0)
    performer(database, count).perform(job_id)
    assert job_of(database, job_id).state == JobState.DONE


def test_a_paused_job_stops_at_its_next_report_and_goes_on_when_asked_for_again(database: Database) -> None:
    def paused_midway(task: Task) -> None:
        task.report(1, 3)
        with task.database.transaction() as session:
            jobs.pause(session, job_id)
        task.report(2, 3)
        raise AssertionError("goes on after it was paused")

    job_id = enqueue(database)
    performer(database, paused_midway).perform(job_id)
    assert job_of(database, job_id).state == JobState.PAUSED
    assert enqueue(database) == job_id
    performer(database, count).perform(job_id)
    assert job_of(database, job_id).state == JobState.DONE
