"""Rate limits: shared counts in Redis, counts per process while Redis fails, and the answer above a limit."""

import time
import uuid
from typing import Any

import pytest
import redis
from flask import Flask
from limits import RateLimitItemPerHour

from spanplat.web import counts as counting
from spanplat.web.counts import ProcessMemory, SharedCounts
from tests.conftest import REDIS_URL, skip_or_fail

NOBODY_LISTENS = "redis://127.0.0.1:1/0"
TWO = RateLimitItemPerHour(2)


@pytest.fixture
def somebody() -> str:
    """Return a name that nobody was counted by before."""
    return uuid.uuid4().hex


def test_processes_that_share_redis_count_together(somebody: str) -> None:
    try:
        redis.Redis.from_url(REDIS_URL).ping()
    except redis.exceptions.ConnectionError as error:
        skip_or_fail(f"Redis does not answer at {REDIS_URL} (set SPANPLAT_TEST_REDIS_URL): {error}")
    one, other = SharedCounts(REDIS_URL), SharedCounts(REDIS_URL)
    assert [one.add(TWO, somebody), other.add(TWO, somebody)] == [True, True]
    assert not one.has_room(TWO, somebody)
    assert [one.add(TWO, somebody), other.add(TWO, somebody)] == [False, False]
    assert 0 < one.seconds_left(TWO, somebody) <= 3600


def test_processes_without_redis_count_for_themselves(somebody: str) -> None:
    one, other = SharedCounts(""), SharedCounts("")
    assert [one.add(TWO, somebody) for _ in range(3)] == [True, True, False]
    assert other.has_room(TWO, somebody)


def test_a_count_begins_anew_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    memory = ProcessMemory()
    assert [memory.incr("a", 60), memory.incr("a", 60), memory.incr("b", 600)] == [1, 2, 1]
    assert memory.get_expiry("a") == 1_060
    clock[0] = 1_061
    assert [memory.get("a"), memory.get("b")] == [0, 1]
    assert [memory.incr("a", 60), memory.incr("b", 600)] == [1, 2]


def test_counts_that_are_over_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    memory = ProcessMemory()
    for number in range(100):
        memory.incr(str(number), 30)
    clock[0] = 1_061
    memory.incr("later", 30)
    assert memory.reset() == 1


def test_while_redis_is_away_a_process_counts_for_itself_and_leaves_it_alone_for_a_while(
    somebody: str, caplog: pytest.LogCaptureFixture
) -> None:
    counts = SharedCounts(NOBODY_LISTENS)
    assert [counts.add(TWO, somebody) for _ in range(3)] == [True, True, False]
    assert caplog.text.count("Redis does not answer") == 1


def test_redis_is_asked_again_after_a_pause(
    somebody: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "PAUSE_SECONDS", 0.0)
    counts = SharedCounts(NOBODY_LISTENS)
    assert [counts.add(TWO, somebody) for _ in range(3)] == [True, True, False]
    assert caplog.text.count("Redis does not answer") == 3


def test_who_changes_too_much_is_told_how_long_to_wait(app: Flask, stranger: Any) -> None:
    app.config["SPANPLAT_MOST_CHANGES"] = "1 per minute"
    address = stranger.get("/c/demo-people/start").location
    answers = [stranger.client.post(f"{address}/presence", headers={"Accept": "application/json"}) for _ in range(2)]
    assert [answer.status_code == 429 for answer in answers] == [False, True]
    assert answers[1].json == {"error": "too many requests; at most 1 per 1 minute are accepted here"}
    assert 0 < int(answers[1].headers["Retry-After"]) <= 60


def test_addresses_that_lead_nowhere_are_not_counted(app: Flask, stranger: Any) -> None:
    app.config["SPANPLAT_MOST_CHANGES"] = "1 per minute"
    assert [stranger.client.post("/nowhere").status_code for _ in range(3)] == [404] * 3
