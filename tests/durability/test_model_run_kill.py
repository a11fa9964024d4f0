"""A run killed at any moment, and run again: no stored reply is asked for again, no item is missing, none is annotated twice."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from spanplat.db import Database
from spanplat.models import Annotation, Completion, GenerationCall, Output, System
from spanplat.schemas.generation import GenerationDefinition
from spanplat.services.model_work.generations.defining import create_generation
from spanplat.services.model_work.generations.running import run_generation
from spanplat.services.model_work.running import run_campaign
from tests.services.model_work.conftest import KEY, create_study, store_outputs
from tests.simulation.model_run_kill import CONCURRENCY as MOST_AT_A_TIME
from tests.simulation.model_run_kill import Trial
from tests.simulation.provider import KEY_VARIABLE
from tests.standin.script import Call, Hold, Reply
from tests.standin.server import StandIn

OUTPUTS = 80
CONCURRENCY = 8
KILLS = 4
LONGEST_WAIT = 180
"""Seconds that a worker may take to end."""


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with StandIn(key=KEY) as server:
        yield server


def stored(database: Database, table: type) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


Start = Callable[..., "subprocess.Popen[str]"]
WaitUntil = Callable[[Callable[[], bool]], None]


def kill(process: "subprocess.Popen[str]", database: Database, standin: StandIn, wait_until: WaitUntil) -> int:
    """Kill a worker, and wait until nothing that it had sent is on its way any more; return its exit status."""
    process.send_signal(signal.SIGKILL)
    status = process.wait(LONGEST_WAIT)
    wait_until(lambda: standin.connections == 0)
    if database.engine.dialect.name == "postgresql":
        wait_until(lambda: not busy_sessions(database))
    return status


def busy_sessions(database: Database) -> int:
    """Count the PostgreSQL sessions beside this one that do something: of a process that is gone, perhaps its last commit."""
    others = "datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
    with database.reading() as session:
        return session.scalar(text(f"SELECT count(*) FROM pg_stat_activity WHERE {others}")) or 0  # noqa: S608


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a worker of its own process, which has loaded what it needs; all of them are gone when the test ends."""
    program = Path(__file__).with_name("run_until_killed.py")
    environment = os.environ | {"OPENAI_API_KEY": KEY, "PYTHONPATH": str(Path(__file__).parents[2])}
    with contextlib.ExitStack() as started:

        def begin(url: str, what: str = "study") -> "subprocess.Popen[str]":
            command = [sys.executable, str(program), url, str(CONCURRENCY), what]
            worker = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            started.enter_context(worker)
            started.callback(worker.kill)
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
            return worker

        yield begin


def test_killing_a_run_costs_at_most_the_calls_that_were_under_way(
    database: Database, standin: StandIn, start: Start, wait_until: WaitUntil
) -> None:
    store_outputs(database, OUTPUTS)
    create_study(database, f"{standin.url}/v1")
    rng, moment = random.Random(7), threading.Event()  # noqa: S311
    standin.script = lambda _: Reply(delay=rng.uniform(0.02, 0.12))
    for _ in range(KILLS):
        before = len(standin.ledger.calls)
        process = start(database.url)
        # Where this machine is slow, the work may be done before the last kill.
        wait_until(lambda: len(standin.ledger.calls) > before or process.poll() is not None)  # noqa: B023 (called at once)
        moment.wait(rng.uniform(0, 0.2))
        assert kill(process, database, standin, wait_until) in (-signal.SIGKILL, 0)
        assert stored(database, Annotation) == stored(database, Completion)
    lost = len(standin.ledger.calls) - stored(database, Completion)
    assert lost <= KILLS * 2 * CONCURRENCY
    report = run_campaign(database, "study", concurrency=CONCURRENCY)
    assert report.left == 0
    assert stored(database, Annotation) == stored(database, Completion) == OUTPUTS
    assert len(standin.ledger.calls) == OUTPUTS + lost, "only what was never stored was asked for again"


def test_the_measurement_of_kills_finds_nothing_asked_twice(
    make_sqlite: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    trial = Trial(make_sqlite(), outputs=200, kills=1, workers=1, seed=42)
    assert trial.run() == []
    assert trial.kills == 1
    assert 200 <= trial.calls <= 200 + 2 * MOST_AT_A_TIME


def test_of_two_runs_one_may_die_and_the_other_ends_the_work(
    database: Database, standin: StandIn, start: Start, wait_until: WaitUntil
) -> None:
    store_outputs(database, OUTPUTS)
    create_study(database, f"{standin.url}/v1")
    standin.script = slowly
    first, second = start(database.url), start(database.url)
    wait_until(lambda: len(standin.ledger.calls) > 25)
    first.send_signal(signal.SIGKILL)
    first.wait(LONGEST_WAIT)
    assert second.wait(LONGEST_WAIT) == 0
    assert stored(database, Annotation) == OUTPUTS
    assert len(standin.ledger.calls) <= OUTPUTS + 2 * CONCURRENCY


def test_a_killed_generation_asks_again_about_no_output_that_is_there(
    database: Database, standin: StandIn, start: Start, wait_until: WaitUntil
) -> None:
    store_outputs(database, OUTPUTS)
    settings = {
        "provider": "openai",
        "model": "tiny",
        "base_url": f"{standin.url}/v1",
        "key_variable": "OPENAI_API_KEY",
    }
    settings |= {"prompt": "Write about day {{ source.day }}."}
    content = {"slug": "drafts", "system": "oak", "dataset": "many", "model": settings}
    with database.transaction() as session:
        create_generation(session, GenerationDefinition.model_validate(content))

    def written(call: Call) -> Reply:
        return Reply(f"It was {call.prompt[-8:]}", delay=0.05)

    standin.script = lambda call: written(call) if call.number <= OUTPUTS // 2 else Hold(written(call))
    process = start(database.url, "drafts")
    wait_until(lambda: stored(database, GenerationCall) > OUTPUTS // 4)
    process.send_signal(signal.SIGKILL)
    standin.script = written
    standin.release()
    assert kill(process, database, standin, wait_until) == -signal.SIGKILL
    kept = stored(database, GenerationCall)
    assert OUTPUTS // 4 < kept < OUTPUTS
    lost = len(standin.ledger.calls) - kept
    assert lost <= 2 * CONCURRENCY
    report = run_generation(database, "drafts", concurrency=CONCURRENCY)
    assert report.figures is not None
    assert (report.figures.done, report.figures.left, report.problems) == (OUTPUTS, 0, {})
    assert len(standin.ledger.calls) == OUTPUTS + lost, "only what was never stored was asked for again"
    with database.reading() as session:
        texts = select(Output.example_id, Output.text_sha256).join(System, System.id == Output.system_id)
        outputs = session.execute(texts.where(System.slug == "oak").order_by(Output.example_id)).all()
        calls = select(GenerationCall.example_id, GenerationCall.text_sha256).order_by(GenerationCall.example_id)
        assert session.execute(calls).all() == outputs
    assert len({example for example, _ in outputs}) == OUTPUTS


def slowly(call: Call) -> Reply:
    del call
    return Reply(delay=0.05)
