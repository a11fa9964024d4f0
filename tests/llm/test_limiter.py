"""Rate limits of a run, on a simulated clock that advances only when every task waits."""

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spanplat.llm.allowance import Allowance, Remaining
from spanplat.llm.limiter import WINDOW, Limiter
from tests.asynchronous import run


class MadeClock:
    """A clock whose time goes to the next thing somebody sleeps for, once nobody can go on without it."""

    def __init__(self) -> None:
        self._now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, self._count, woken))
        await woken

    async def run(self, *works: Coroutine[Any, Any, None]) -> None:
        tasks = [asyncio.ensure_future(work) for work in works]
        while not all(task.done() for task in tasks):
            for _ in range(20):  # as many turns of the loop as any step between two sleeps needs
                await asyncio.sleep(0)
            if self._sleepers:
                moment, _, woken = heapq.heappop(self._sleepers)
                self._now = max(self._now, moment)
                woken.set_result(None)
        await asyncio.gather(*tasks)


def at_made_time(work: Callable[[MadeClock], Coroutine[Any, Any, None]]) -> None:
    run(work(MadeClock()))


def begins(calls: int, seconds: float, tokens: list[int] | None = None, **limits: Any) -> tuple[list[float], int]:
    """Let calls of so many seconds go through a limiter; return when each began, and how many went at a time."""
    starts: list[float] = []
    most = 0

    async def all_calls(clock: MadeClock) -> None:
        limiter = Limiter(clock=clock, **limits)
        active = 0

        async def call(number: int) -> None:
            nonlocal active, most
            asked = tokens[number] if tokens else 0
            async with limiter.acquire(asked) as call:
                starts.append(clock.now())
                active += 1
                most = max(most, active)
                await clock.sleep(seconds)
                active -= 1
                limiter.succeeded(call, asked)

        await clock.run(*(call(number) for number in range(calls)))

    at_made_time(all_calls)
    return starts, most


def test_no_more_calls_than_allowed_go_at_a_time_and_all_go_soon() -> None:
    starts, most = begins(10, 1.0, concurrency=4)
    assert most == 4
    assert starts == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]


@settings(max_examples=40)
@given(st.integers(1, 40), st.floats(0, 90), st.integers(1, 8), st.integers(1, 12))
def test_no_minute_has_more_requests_than_allowed(calls: int, seconds: float, concurrency: int, limit: int) -> None:
    starts, _ = begins(calls, seconds, concurrency=concurrency, requests_per_minute=limit)
    assert len(starts) == calls
    assert all(later - sooner >= WINDOW - 1e-5 for sooner, later in zip(starts, starts[limit:], strict=False))


@settings(max_examples=40)
@given(st.lists(st.integers(1, 120), min_size=1, max_size=25), st.integers(1, 6))
def test_no_minute_has_more_tokens_than_allowed_but_for_a_request_that_is_larger_alone(
    tokens: list[int], concurrency: int
) -> None:
    limit = 100
    starts, _ = begins(len(tokens), 1.0, tokens, concurrency=concurrency, tokens_per_minute=limit)
    assert len(starts) == len(tokens)
    for first, start in enumerate(starts):
        minute = [
            asked for begun, asked in zip(starts[first:], tokens[first:], strict=True) if begun - start < WINDOW - 1e-5
        ]
        assert sum(minute) <= limit or len(minute) == 1


def test_too_much_halves_the_calls_once_for_all_under_way_and_success_brings_them_back() -> None:
    async def work(clock: MadeClock) -> None:
        limiter = Limiter(8, clock=clock)

        async def refused() -> None:
            async with limiter.acquire() as call:
                await clock.sleep(1)
                limiter.slow_down(call, 5)

        await clock.run(*(refused() for _ in range(8)))
        assert limiter.allowed == 4
        begun: list[float] = []

        async def answered() -> None:
            async with limiter.acquire() as call:
                begun.append(clock.now())
                await clock.sleep(1)
                limiter.succeeded(call, 1)

        await clock.run(*(answered() for _ in range(4)))
        assert begun == [6.0] * 4
        assert limiter.allowed == 5
        await clock.run(*(answered() for _ in range(60)))
        assert limiter.allowed == 8

    at_made_time(work)


def test_it_never_stops_altogether() -> None:
    async def work(clock: MadeClock) -> None:
        limiter = Limiter(2, clock=clock)

        async def refused() -> None:
            async with limiter.acquire() as call:
                limiter.slow_down(call, 1)

        for _ in range(5):
            await clock.run(refused())
        assert limiter.allowed == 1

    at_made_time(work)


def allowed_begins(allowance: Allowance, tokens: int = 0) -> list[float]:
    """Let one call bring an allowance after a second, then four more go; return when those began."""
    starts: list[float] = []

    async def all_calls(clock: MadeClock) -> None:
        limiter = Limiter(8, clock=clock)

        async def first() -> None:
            async with limiter.acquire() as call:
                await clock.sleep(1)
                limiter.succeeded(call, 0, allowance)
            await asyncio.gather(*(later() for _ in range(4)))

        async def later() -> None:
            async with limiter.acquire(tokens):
                starts.append(clock.now())

        await clock.run(first())

    at_made_time(all_calls)
    return starts


def test_what_the_provider_still_allows_is_asked_at_once_and_the_rest_as_it_refills() -> None:
    two_left = Allowance(requests=Remaining(left=2, limit=62, refilled=60))
    assert allowed_begins(two_left) == [1.0, 1.0, 2.0, 3.0]
    tokens_left = Allowance(tokens=Remaining(left=100, limit=700, refilled=60))
    assert allowed_begins(tokens_left, tokens=50) == [1.0, 1.0, 6.0, 11.0]


def test_an_allowance_that_does_not_say_when_it_refills_holds_nobody_up() -> None:
    assert allowed_begins(Allowance(requests=Remaining(left=0))) == [1.0] * 4


def test_a_call_larger_than_the_whole_limit_waits_until_all_of_it_is_there_and_then_goes() -> None:
    small = Allowance(tokens=Remaining(left=0, limit=100, refilled=30))
    assert allowed_begins(small, tokens=500)[0] == 31.0
