"""Computation of results by the page or the worker: states, progress and messages."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Job
from spanplat.services.agreement.comparison import AGREEMENT, AgreementOptions
from spanplat.services.agreement.leaderboard import LEADERBOARD, LeaderboardOptions
from spanplat.services.agreement.matrix import MATRIX, MatrixOptions
from spanplat.services.agreement.result_kinds import RESULT_KINDS
from spanplat.services.agreement.sentinels import SENTINELS
from spanplat.services.agreement.sides import Filters
from spanplat.services.agreement.systems import SYSTEMS, SystemsOptions
from spanplat.services.background import computations, jobs
from spanplat.services.background.computations import (
    ComputationState,
    ComputationStatus,
    ResultQuestion,
    answer_if_small,
    answer_now,
    ask_worker,
    find_status,
    withdraw,
    work_on,
)
from spanplat.services.background.progress import ignore_progress

Import = Callable[..., str]
WORKER = "tester"

FILTERED = Filters(systems=("alder",))
SIDES = ("people", "model")
QUESTION = ResultQuestion(AGREEMENT, SIDES, AgreementOptions(samples=2, bootstrap=20, filters=FILTERED))
QUESTIONS = (
    QUESTION,
    ResultQuestion(RESULT_KINDS["distribution"], SIDES, AgreementOptions(filters=FILTERED)),
    ResultQuestion(SENTINELS, SIDES, AgreementOptions()),
    ResultQuestion(LEADERBOARD, SIDES, LeaderboardOptions(resamples=20, filters=FILTERED)),
    ResultQuestion(MATRIX, SIDES, MatrixOptions("char.hard", LeaderboardOptions(resamples=20))),
    ResultQuestion(SYSTEMS, SIDES, SystemsOptions(resamples=20)),
)


@pytest.fixture(autouse=True)
def sides(imported: Import) -> None:
    """Two campaigns over six outputs."""
    imported("people", ann={output: [(0, 6, "Wrong")] for output in range(6)})
    imported("model", one={output: [(output, 9, "Wrong")] for output in range(6)})


def status(database: Database, question: ResultQuestion[Any] = QUESTION) -> ComputationStatus[Any]:
    with database.reading() as session:
        return find_status(session, question)


def ask(database: Database) -> Job:
    with database.transaction() as session:
        return ask_worker(session, QUESTION)


def date_back(database: Database, **moments: timedelta) -> None:
    with database.transaction() as session:
        session.execute(update(Job).values({name: datetime.now(UTC) - passed for name, passed in moments.items()}))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind.name)
def test_what_the_worker_computes_is_what_is_computed_at_once(
    database: Database, question: ResultQuestion[Any]
) -> None:
    assert status(database, question).state is ComputationState.TO_DO
    with database.transaction() as session:
        payload = ask_worker(session, question).payload
    work_on(database, RESULT_KINDS, payload, ignore_progress)
    found = status(database, question)
    assert found.is_current
    assert found.state is ComputationState.FINISHED
    assert found.result is not None
    assert found.result.report == answer_now(database, question)


def test_asking_twice_is_one_job(database: Database) -> None:
    assert ask(database).id == ask(database).id


def test_a_job_waits_and_runs_and_says_how_long_still(database: Database) -> None:
    job = ask(database)
    assert status(database).state is ComputationState.QUEUED
    with database.transaction() as session:
        jobs.claim(session, job.id, WORKER)
    running = status(database)
    assert (running.state, running.percent, running.seconds_left) == (ComputationState.RUNNING, 0, None)
    with database.transaction() as session:
        jobs.report_progress(session, job.id, WORKER, 400, 1000)
    date_back(database, started_at=timedelta(hours=4))
    running = status(database)
    assert running.percent == 40
    assert running.seconds_left == pytest.approx(6 * 3600, rel=0.1)


def test_a_job_that_nobody_takes_is_called_forsaken_unless_the_worker_is_busy(database: Database) -> None:
    ask(database)
    date_back(database, created_at=timedelta(seconds=30))
    assert status(database).state is ComputationState.NO_WORKER
    with database.transaction() as session:
        other = jobs.enqueue(session, "run-campaign", "other", {})
        jobs.claim(session, other.id, WORKER)
    busy = status(database)
    assert (busy.state, busy.others) == (ComputationState.QUEUED, 1)


def test_a_job_asked_for_again_after_its_end_waits_from_then_on(database: Database) -> None:
    job = ask(database)
    date_back(database, created_at=timedelta(hours=1))
    with database.transaction() as session:
        jobs.cancel(session, job.id)
    ask(database)
    assert status(database).state is ComputationState.QUEUED


def test_a_failed_job_tells_why_and_can_be_asked_for_again(database: Database) -> None:
    job = ask(database)
    with database.transaction() as session:
        jobs.claim(session, job.id, WORKER)
        jobs.fail(session, job.id, WORKER, "the disk is full")
    failed = status(database)
    assert failed.state is ComputationState.FAILED
    assert failed.job is not None
    assert failed.job.error == "the disk is full"
    ask(database)
    assert status(database).state is ComputationState.QUEUED


def test_a_stopped_job_keeps_the_finished_stages(database: Database) -> None:
    ask(database)
    answer_now(database, QUESTION, until="headline")
    with database.transaction() as session:
        assert withdraw(session, QUESTION)
        assert not withdraw(session, QUESTION)
    stopped = status(database)
    assert (stopped.state, stopped.stage) == (ComputationState.STOPPED, "gamma")
    assert stopped.result is not None


def test_a_download_gets_present_figures_or_none(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert status(database).is_small
    assert answer_if_small(database, QUESTION) == answer_now(database, QUESTION)
    other = ResultQuestion(AGREEMENT, SIDES, AgreementOptions(samples=3))
    monkeypatch.setattr(computations, "AT_ONCE_SECONDS", 0.0)
    with pytest.raises(Conflict, match="open the page they stand on"):
        answer_if_small(database, other)
    assert answer_if_small(database, QUESTION) == answer_now(database, QUESTION)


def test_comparing_every_two_of_many_annotators_is_not_small(database: Database, imported: Import) -> None:
    imported("crowd", **{f"a{number}": {0: [(0, 6, "Wrong")]} for number in range(12)})
    pairs = ResultQuestion(AGREEMENT, ("crowd", "crowd"), AgreementOptions("pairs", "pairs"))
    assert not status(database, pairs).is_small
    assert status(
        database, ResultQuestion(AGREEMENT, ("crowd", "crowd"), AgreementOptions("group=0", "group=1"))
    ).is_small


def test_what_cannot_be_compared_is_said_at_once(database: Database) -> None:
    with pytest.raises(InvalidInput, match="compared with itself"):
        answer_now(database, ResultQuestion(AGREEMENT, ("people", "people"), AgreementOptions()))
