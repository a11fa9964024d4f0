"""Counting what people do: together where there is Redis, each process alone while it does not answer, and told when too much."""

import uuid
from typing import Any

import pytest
import redis
from flask import Flask
from limits import RateLimitItemPerHour

from spanplat.web import limits
from spanplat.web.limits import Counts
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
    one, other = Counts(REDIS_URL), Counts(REDIS_URL)
    assert [one.add(TWO, somebody), other.add(TWO, somebody)] == [True, True]
    assert not one.has_room(TWO, somebody)
    assert [one.add(TWO, somebody), other.add(TWO, somebody)] == [False, False]
    assert 0 < one.seconds_left(TWO, somebody) <= 3600


def test_processes_without_redis_count_for_themselves(somebody: str) -> None:
    one, other = Counts(""), Counts("")
    assert [one.add(TWO, somebody) for _ in range(3)] == [True, True, False]
    assert other.has_room(TWO, somebody)


def test_while_redis_is_away_a_process_counts_for_itself_and_leaves_it_alone_for_a_while(
    app: Flask, somebody: str, caplog: pytest.LogCaptureFixture
) -> None:
    counts = Counts(NOBODY_LISTENS)
    with app.app_context():
        assert [counts.add(TWO, somebody) for _ in range(3)] == [True, True, False]
    assert caplog.text.count("Redis does not answer") == 1


def test_redis_is_asked_again_after_a_pause(
    app: Flask, somebody: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PAUSE_SECONDS", 0.0)
    counts = Counts(NOBODY_LISTENS)
    with app.app_context():
        assert [counts.add(TWO, somebody) for _ in range(3)] == [True, True, False]
    assert caplog.text.count("Redis does not answer") == 3


def test_who_changes_too_much_is_told_how_long_to_wait(app: Flask, stranger: Any) -> None:
    app.config["SPANPLAT_MOST_CHANGES"] = "1 per minute"
    address = stranger.get("/c/demo-people/start").location
    answers = [stranger.client.post(f"{address}/presence", headers={"Accept": "application/json"}) for _ in range(2)]
    assert [answer.status_code == 429 for answer in answers] == [False, True]
    assert answers[1].json == {"error": "at most 1 per 1 minute are taken here"}
    assert 0 < int(answers[1].headers["Retry-After"]) <= 60


def test_addresses_that_lead_nowhere_are_not_counted(app: Flask, stranger: Any) -> None:
    app.config["SPANPLAT_MOST_CHANGES"] = "1 per minute"
    assert [stranger.client.post("/nowhere").status_code for _ in range(3)] == [404] * 3
