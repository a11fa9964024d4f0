"""The worker as a process: it performs waiting jobs, and returns unfinished jobs to the queue."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spanplat.db import Database
from spanplat.models import Job, JobState
from spanplat.services.agreement.comparison import AGREEMENT, AgreementOptions
from spanplat.services.background import jobs
from spanplat.services.background.computations import ResultQuestion, ask_worker, find_status
from spanplat.services.background.queue import WorkQueue
from spanplat.services.demo import load_demo
from spanplat.settings import Settings

WaitUntil = Callable[[Callable[[], bool]], None]


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    return Settings(home=tmp_path / "home", database_url=database_url)


def start_worker(settings: Settings) -> "subprocess.Popen[bytes]":
    environment = os.environ | {
        "SPANPLAT_HOME": str(settings.home),
        "SPANPLAT_DATABASE_URL": settings.database_url,
        "SPANPLAT_REDIS_URL": "",
    }
    return subprocess.Popen([sys.executable, "-m", "spanplat", "worker"], env=environment)


def job_of(database: Database, job_id: int) -> Job:
    with database.reading() as session:
        return jobs.find_job(session, job_id)


def test_a_worker_does_what_waited_and_what_is_sent_and_stops_when_told(
    settings: Settings, database: Database, wait_until: WaitUntil
) -> None:
    load_demo(database)
    with database.transaction() as session:
        waiting = jobs.enqueue(session, "run-campaign", "run-campaign:demo-overlap", {"campaign": "demo-overlap"}).id
    worker = start_worker(settings)
    try:
        wait_until(lambda: job_of(database, waiting).state == JobState.DONE)
        question = ResultQuestion(AGREEMENT, ("demo-sample-a", "demo-overlap"), AgreementOptions(bootstrap=50))
        with database.transaction() as session:
            sent = ask_worker(session, question).id
        queue = WorkQueue(settings)
        queue.send(sent)
        queue.close()
        wait_until(lambda: job_of(database, sent).state == JobState.DONE)
        with database.reading() as session:
            assert find_status(session, question).is_current
    finally:
        worker.send_signal(signal.SIGTERM)
        status = worker.wait(60)
    assert status == 0
