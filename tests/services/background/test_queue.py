"""Queue of job ids on each of its three servers."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from spanplat.errors import InvalidInput, Unavailable
from spanplat.services.background.queue import WorkQueue
from spanplat.settings import Settings
from tests.conftest import REDIS_URL, skip_or_fail


@pytest.fixture(params=["sqlite", "postgresql", "redis"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    if request.param == "postgresql":
        return Settings(home=tmp_path, database_url=request.getfixturevalue("postgresql_url"))
    if request.param == "redis":
        try:
            redis.Redis.from_url(REDIS_URL).ping()
        except redis.exceptions.ConnectionError as error:
            skip_or_fail(f"Redis does not answer at {REDIS_URL} (set SPANPLAT_TEST_REDIS_URL): {error}")
        return Settings(home=tmp_path, redis_url=REDIS_URL)
    return Settings(home=tmp_path)


@pytest.fixture
def done() -> list[int]:
    return []


@pytest.fixture
def queue(settings: Settings, done: list[int]) -> Iterator[WorkQueue]:
    queue = WorkQueue(settings, done.append, name=f"test{uuid.uuid4().hex}")
    yield queue
    queue.huey.storage.flush_all()
    queue.close()


def test_what_one_process_sends_another_performs(settings: Settings, queue: WorkQueue, done: list[int]) -> None:
    sender = WorkQueue(settings, name=queue.huey.name)
    sender.send(7)
    sender.send(8)
    sender.close()
    assert len(queue) == 2
    for _ in range(2):
        queue.huey.execute(queue.huey.dequeue())
    assert done == [7, 8]
    assert len(queue) == 0


def test_messages_are_json(queue: WorkQueue) -> None:
    queue.send(7)
    message = queue.huey.storage.dequeue()
    assert bytes(message).startswith(b'{"id"')
    assert b'"args": [7]' in bytes(message)


def test_a_wrong_address_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="SPANPLAT_REDIS_URL"):
        WorkQueue(Settings(home=tmp_path, redis_url="http://localhost"))


def test_a_queue_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        WorkQueue(Settings(home=tmp_path, redis_url="redis://127.0.0.1:1/0"))
