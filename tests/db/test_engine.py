"""Transactions and snapshots on both databases, and the queue of writers."""

import multiprocessing
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from spanplat.db import Database, WriteQueue, engine
from spanplat.errors import InvalidInput, Unavailable
from spanplat.models import System


def systems(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(System)) or 0


def test_a_transaction_commits_at_its_end_and_rolls_back_when_it_raises(database: Database) -> None:
    with database.transaction() as session:
        session.add(System(slug="a", name="A"))
    with pytest.raises(IntegrityError), database.transaction() as session:
        session.add_all([System(slug="b", name="B"), System(slug="a", name="Again")])
    assert systems(database) == 1


def test_reading_changes_nothing(database: Database) -> None:
    if database.is_sqlite:
        with database.reading() as session:
            session.add(System(slug="a", name="A"))
            session.flush()
    else:
        with database.reading() as session:
            session.add(System(slug="a", name="A"))
            with pytest.raises(DBAPIError, match="read-only transaction"):
                session.flush()
            session.rollback()
    assert systems(database) == 0


def test_a_trial_sees_what_it_wrote_leaves_nothing_and_lets_others_write(database: Database) -> None:
    with database.trial() as session:
        session.add(System(slug="a", name="A"))
        session.flush()
        assert session.scalar(select(func.count()).select_from(System)) == 1
    assert systems(database) == 0
    with database.transaction() as session:
        session.add(System(slug="a", name="A"))
    assert systems(database) == 1


def test_reading_sees_one_snapshot(database: Database) -> None:
    with database.reading() as session:
        before = session.scalar(select(func.count()).select_from(System))
        with database.transaction() as writer:
            writer.add(System(slug="a", name="A"))
        assert session.scalar(select(func.count()).select_from(System)) == before == 0
    assert systems(database) == 1


def test_writers_at_once_all_get_their_turn(database: Database) -> None:
    def write(number: int) -> None:
        with database.transaction() as session:
            session.add(System(slug=f"s{number}", name="S"))

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(write, range(40)))
    assert systems(database) == 40


def _count_up(queue_path: Path, counter: Path, times: int) -> None:
    queue = WriteQueue(queue_path)
    for _ in range(times):
        with queue.turn():
            value = int(counter.read_text())
            counter.write_text(str(value + 1))


@pytest.mark.slow
def test_the_queue_lets_one_process_write_at_a_time(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_count_up, args=(tmp_path / "queue", counter, 200)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(180)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert counter.read_text() == "600"


def test_the_turn_of_a_process_that_dies_goes_to_the_next(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    holding = context.Event()
    process = context.Process(target=_hold_for_ever, args=(tmp_path / "queue", holding))
    process.start()
    assert holding.wait(180)
    got = threading.Event()

    def take() -> None:
        with WriteQueue(tmp_path / "queue").turn():
            got.set()

    waiting = threading.Thread(target=take)
    waiting.start()
    assert not got.wait(0.1)
    process.kill()
    process.join(180)
    assert got.wait(180)
    waiting.join(30)


def _hold_for_ever(queue_path: Path, holding: "threading.Event") -> None:
    with WriteQueue(queue_path).turn():
        holding.set()
        threading.Event().wait()


def test_a_database_that_does_not_answer_is_said_to_be_unavailable(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/none/x.sqlite3", "postgresql+psycopg://u@127.0.0.1:1/none"):
        with pytest.raises(Unavailable, match="the database does not answer"), Database(url).reading():
            pass


def test_postgresql_without_its_driver_is_answered_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed
    with pytest.raises(InvalidInput, match=r"install it with: pip install 'spanplat\[postgresql\]'"):
        Database("postgresql+psycopg://u@h/n")


def test_an_address_with_a_port_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match="SPANPLAT_DATABASE_URL is not a database address"):
        Database("postgresql+psycopg://u@h:port/n")


def test_a_connection_lost_while_idle_is_replaced_unnoticed(
    postgresql_url: str, postgresql_server: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "IDLE_SECONDS", 0.0)
    database = Database(postgresql_url)
    with database.reading() as session:
        lost = session.scalar(text("SELECT pg_backend_pid()"))
    with postgresql_server.connect() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:lost)"), {"lost": lost})
    with database.reading() as session:
        assert session.scalar(text("SELECT pg_backend_pid()")) != lost
    database.dispose()
