"""Rate limits of a run: calls at a time, and requests and tokens per minute. It slows down while the provider is overloaded."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from spanplat.llm.allowance import Allowance
from spanplat.llm.clock import Clock, RealClock

WINDOW = 60.0
"""Seconds over which requests and tokens are counted."""
_INSTANT = 1e-6  # a shorter wait is none: rounding of the clock must not add rounds


class ActiveCall:
    """One call under way."""

    def __init__(self, started: float, tokens: int, slowdowns: int) -> None:
        self.started = started
        self.tokens = tokens
        """Expected tokens at first, then the tokens that the provider counted."""
        self.slowdowns = slowdowns


class Limiter:
    """Gate that lets calls begin when all limits allow it.

    The number of calls at a time halves when the provider is overloaded, once for all calls under way. It grows by one after as many
    successful calls as are allowed at a time. The limiter also respects the remaining allowance that the provider reports.

    Parameters
    ----------
    concurrency
        Most calls at a time.
    requests_per_minute, tokens_per_minute
        Most requests and most tokens within any 60 seconds.
    clock
        Clock to read and to wait on.
    """

    def __init__(
        self,
        concurrency: int,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._most = concurrency
        self._allowed = float(concurrency)
        self._requests_per_minute = requests_per_minute
        self._tokens_per_minute = tokens_per_minute
        self._clock = clock or RealClock()
        self._active = 0
        self._begun: deque[ActiveCall] = deque()
        self._not_before = 0.0
        self._slowdowns = 0
        self._allowance = Allowance()
        # A call before all others, so that the first report counts.
        self._allowance_of = ActiveCall(float("-inf"), 0, 0)
        self._told = 0.0
        self._freed = asyncio.Condition()
        self._entrance = asyncio.Lock()

    @property
    def allowed(self) -> int:
        """Number of calls that are allowed at a time now."""
        return max(1, int(self._allowed))

    @contextlib.asynccontextmanager
    async def acquire(self, tokens: int = 0) -> AsyncIterator[ActiveCall]:
        """Wait until a call of this many tokens may begin, and count it as active until the block ends."""
        # One caller at a time passes this lock, in the order of arrival. So no other call can begin between the check of
        # the limits and the moment when this call is counted.
        async with self._entrance:
            async with self._freed:
                await self._freed.wait_for(lambda: self._active < self.allowed)
            # Asked again after each sleep: a call that ends meanwhile may change the limits in both directions.
            while (wait := self._wait(tokens)) > _INSTANT:
                await self._clock.sleep(wait)
            self._active += 1
            call = ActiveCall(self._clock.now(), tokens, self._slowdowns)
            self._begun.append(call)
        try:
            yield call
        finally:
            self._active -= 1
            async with self._freed:
                self._freed.notify_all()

    def succeeded(self, call: ActiveCall, tokens: int, allowance: Allowance | None = None) -> None:
        """Record that a call was answered, its tokens, and the remaining allowance that the provider reports."""
        call.tokens = tokens
        # Replies arrive out of order. The allowance in the reply to an older call is out of date.
        if allowance is not None and call.started >= self._allowance_of.started:
            self._allowance, self._allowance_of, self._told = allowance, call, self._clock.now()
        # After as many successes as calls are allowed at a time, these fractions add up to one.
        self._allowed = min(self._most, self._allowed + 1 / self.allowed)

    def slow_down(self, call: ActiveCall, pause: float) -> None:
        """Record that the provider is overloaded. No call begins before the pause is over."""
        self._not_before = max(self._not_before, self._clock.now() + pause)
        # Calls that were under way together fail together. Only the first of them halves the limit.
        if call.slowdowns == self._slowdowns:
            self._slowdowns += 1
            self._allowed = max(1.0, self._allowed / 2)

    def _wait(self, tokens: int) -> float:
        """Return the seconds until a call may begin, as far as known now."""
        now = self._clock.now()
        while self._begun and self._begun[0].started + WINDOW <= now + _INSTANT:
            self._begun.popleft()
        wait = max(self._not_before - now, self._allowance_wait(tokens, now))
        if self._requests_per_minute is not None and len(self._begun) >= self._requests_per_minute:
            # When this call has left the window, the number of the others is one below the limit.
            oldest = self._begun[len(self._begun) - self._requests_per_minute]
            wait = max(wait, oldest.started + WINDOW - now)
        if self._tokens_per_minute is not None and self._begun:
            excess = sum(call.tokens for call in self._begun) + tokens - self._tokens_per_minute
            # Calls leave the window in the order in which they began. Wait until enough tokens have left with them.
            for call in self._begun:
                if excess <= 0:
                    break
                excess -= call.tokens
                wait = max(wait, call.started + WINDOW - now)
        return wait

    def _allowance_wait(self, tokens: int, now: float) -> float:
        """Return the seconds until the provider allows a call. Its last report may not count the calls that began later."""
        if self._allowance == Allowance():
            return 0.0
        since = [call for call in self._begun if call.started > self._allowance_of.started]
        waits = [0.0]
        if self._allowance.requests is not None:
            waits.append(self._allowance.requests.wait(len(since) + 1))
        if self._allowance.tokens is not None:
            waits.append(self._allowance.tokens.wait(sum(call.tokens for call in since) + tokens))
        # The waits count from the moment of the report.
        return max(waits) - (now - self._told)
