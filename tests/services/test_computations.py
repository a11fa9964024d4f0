"""Who computes a result, how far that is, and what is said when nobody does."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Job
from spanplat.services import computations, jobs
from spanplat.services.agreement import AGREEMENT, AgreementOptions
from spanplat.services.computations import (
    Outlook,
    Question,
    Situation,
    answer_if_small,
    answer_now,
    ask_worker,
    look,
    withdraw,
    work_on,
)
from spanplat.services.importing.progress import ignore_progress
from spanplat.services.leaderboard import LEADERBOARD, LeaderboardOptions
from spanplat.services.matrix import MATRIX, MatrixOptions
from spanplat.services.sentinels import SENTINELS
from spanplat.services.sides import Filters
from spanplat.services.systems import SYSTEMS, SystemsOptions

Import = Callable[..., str]
WORKER = "tester"

FILTERED = Filters(systems=("alder",))
SIDES = ("people", "model")
QUESTION = Question(AGREEMENT, SIDES, AgreementOptions(samples=2, bootstrap=20, filters=FILTERED))
QUESTIONS = (
    QUESTION,
    Question(computations.KINDS["distribution"], SIDES, AgreementOptions(filters=FILTERED)),
    Question(SENTINELS, SIDES, AgreementOptions()),
    Question(LEADERBOARD, SIDES, LeaderboardOptions(resamples=20, filters=FILTERED)),
    Question(MATRIX, SIDES, MatrixOptions("char.hard", LeaderboardOptions(resamples=20))),
    Question(SYSTEMS, SIDES, SystemsOptions(resamples=20)),
)


@pytest.fixture(autouse=True)
def sides(imported: Import) -> None:
    """Two campaigns over six outputs."""
    imported("people", ann={output: [(0, 6, "Wrong")] for output in range(6)})
    imported("model", one={output: [(output, 9, "Wrong")] for output in range(6)})


def outlook(database: Database, question: Question = QUESTION) -> Outlook:
    with database.reading() as session:
        return look(session, question)


def ask(database: Database) -> Job:
    with database.transaction() as session:
        return ask_worker(session, QUESTION)


def date_back(database: Database, **moments: timedelta) -> None:
    with database.transaction() as session:
        session.execute(update(Job).values({name: datetime.now(UTC) - passed for name, passed in moments.items()}))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind.name)
def test_what_the_worker_computes_is_what_is_computed_at_once(database: Database, question: Question) -> None:
    assert outlook(database, question).situation is Situation.TO_DO
    with database.transaction() as session:
        payload = ask_worker(session, question).payload
    work_on(database, payload, ignore_progress)
    found = outlook(database, question)
    assert found.is_current
    assert found.situation is Situation.FINISHED
    assert found.result is not None
    assert found.result.value == answer_now(database, question)


def test_asking_twice_is_one_job(database: Database) -> None:
    assert ask(database).id == ask(database).id


def test_a_job_waits_and_runs_and_says_how_long_still(database: Database) -> None:
    job = ask(database)
    assert outlook(database).situation is Situation.QUEUED
    with database.transaction() as session:
        jobs.claim(session, job.id, WORKER)
    running = outlook(database)
    assert (running.situation, running.percent, running.seconds_left) == (Situation.RUNNING, 0, None)
    with database.transaction() as session:
        jobs.report_progress(session, job.id, WORKER, 400, 1000)
    date_back(database, started_at=timedelta(hours=4))
    running = outlook(database)
    assert running.percent == 40
    assert running.seconds_left == pytest.approx(6 * 3600, rel=0.1)


def test_a_job_that_nobody_takes_is_called_forsaken_unless_the_worker_is_busy(database: Database) -> None:
    ask(database)
    date_back(database, created_at=timedelta(seconds=30))
    assert outlook(database).situation is Situation.FORSAKEN
    with database.transaction() as session:
        other = jobs.enqueue(session, "run-campaign", "other", {})
        jobs.claim(session, other.id, WORKER)
    busy = outlook(database)
    assert (busy.situation, busy.others) == (Situation.QUEUED, 1)


def test_a_job_asked_for_again_after_its_end_waits_from_then_on(database: Database) -> None:
    job = ask(database)
    date_back(database, created_at=timedelta(hours=1))
    with database.transaction() as session:
        jobs.cancel(session, job.id)
    ask(database)
    assert outlook(database).situation is Situation.QUEUED


def test_a_failed_job_tells_why_and_can_be_asked_for_again(database: Database) -> None:
    job = ask(database)
    with database.transaction() as session:
        jobs.claim(session, job.id, WORKER)
        jobs.fail(session, job.id, WORKER, "the disk is full")
    failed = outlook(database)
    assert failed.situation is Situation.FAILED
    assert failed.job is not None
    assert failed.job.error == "the disk is full"
    ask(database)
    assert outlook(database).situation is Situation.QUEUED


def test_a_stopped_job_keeps_the_finished_stages(database: Database) -> None:
    ask(database)
    answer_now(database, QUESTION, until="headline")
    with database.transaction() as session:
        assert withdraw(session, QUESTION)
        assert not withdraw(session, QUESTION)
    stopped = outlook(database)
    assert (stopped.situation, stopped.stage) == (Situation.STOPPED, "gamma")
    assert stopped.result is not None


def test_a_download_gets_present_figures_or_none(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert outlook(database).is_small
    assert answer_if_small(database, QUESTION) == answer_now(database, QUESTION)
    other = Question(AGREEMENT, SIDES, AgreementOptions(samples=3))
    monkeypatch.setattr(computations, "AT_ONCE_SECONDS", 0.0)
    with pytest.raises(Conflict, match="open the page they stand on"):
        answer_if_small(database, other)
    assert answer_if_small(database, QUESTION)


def test_comparing_every_two_of_many_annotators_is_not_small(database: Database, imported: Import) -> None:
    imported("crowd", **{f"a{number}": {0: [(0, 6, "Wrong")]} for number in range(12)})
    pairs = Question(AGREEMENT, ("crowd", "crowd"), AgreementOptions("pairs", "pairs"))
    assert not outlook(database, pairs).is_small
    assert outlook(database, Question(AGREEMENT, ("crowd", "crowd"), AgreementOptions("group=0", "group=1"))).is_small


def test_what_cannot_be_compared_is_said_at_once(database: Database) -> None:
    with pytest.raises(InvalidInput, match="compared with itself"):
        answer_now(database, Question(AGREEMENT, ("people", "people"), AgreementOptions()))
