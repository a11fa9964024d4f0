"""Decisions after a failed call."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.llm.provider import CallFailed
from spanplat.llm.providers.failures import retry_after
from spanplat.llm.retrying import LONGEST_PAUSE, Decision, GiveUp, Retry, StopRun, decide


def after(status: int | None = None, attempt: int = 1, *, jitter: float = 1.0, **parts: object) -> Decision:
    failure = CallFailed("it failed", status=status, **parts)  # type: ignore[arg-type]
    return decide(failure, attempt, attempts=3, jitter=jitter)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_passing_trouble_is_tried_again(status: int) -> None:
    assert isinstance(after(status), Retry)
    assert after(status, attempt=3) == GiveUp("it failed (tried 3 times)")


@pytest.mark.parametrize("kind", ["timeout", "connection", "unreachable", "unintelligible"])
def test_so_are_time_outs_lost_connections_and_garbled_responses(kind: str) -> None:
    assert after(kind=kind) == Retry(1.0)


@pytest.mark.parametrize("status", [400, 413, 422, None])
def test_what_is_refused_for_good_fails_at_once_and_the_run_goes_on(status: int | None) -> None:
    assert after(status) == GiveUp("it failed")


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_what_would_refuse_every_item_ends_the_run(status: int) -> None:
    assert isinstance(after(status), StopRun)


def test_an_empty_account_ends_the_run_though_it_says_429() -> None:
    assert isinstance(after(429, code="insufficient_quota"), StopRun)


def test_the_providers_wish_is_honoured_to_the_second_and_refused_only_when_it_is_absurd() -> None:
    assert after(429, retry_after=20.0, jitter=0.0) == Retry(20.0, slow_down=True)
    assert after(500, retry_after=3.0, jitter=0.0) == Retry(3.0)
    assert isinstance(after(429, retry_after=7200.0), StopRun)


def test_only_the_provider_having_too_much_slows_all_down() -> None:
    slowed = {status: after(status) for status in (429, 503, 529, 500, 408)}
    assert [status for status, decision in slowed.items() if decision.slow_down] == [429, 503, 529]  # type: ignore[union-attr]


@given(st.integers(1, 40), st.floats(0, 1))
def test_pauses_double_within_their_limits(attempt: int, jitter: float) -> None:
    decision = decide(CallFailed("", status=500), attempt, attempts=50, jitter=jitter)
    assert isinstance(decision, Retry)
    whole = min(LONGEST_PAUSE, 2.0 ** (attempt - 1))
    assert whole / 2 <= decision.pause <= whole


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "Sat, 03 Jan 2026 00:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 03 Jan 2026 00:00:30"}, 30.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_when_to_come_back_is_read_from_any_of_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, datetime(2026, 1, 3, tzinfo=UTC)) == seconds
