"""How fast a run may ask: calls at a time, and requests and tokens in any minute, slower while the provider has too much."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from spanplat.llm.allowance import Allowance
from spanplat.llm.clock import Clock, RealClock

WINDOW = 60.0
"""Seconds over which requests and tokens are counted."""
_INSTANT = 1e-6  # shorter than this nobody waits


class Turn:
    """One call under way."""

    def __init__(self, started: float, tokens: int, slowdowns: int) -> None:
        self.started = started
        self.tokens = tokens
        """Expected at first; then what the provider counted."""
        self.slowdowns = slowdowns


class Limiter:
    """Lets calls begin when all limits allow it.

    The number of calls at a time halves when the provider has too much, once for all calls that were under way, and grows by one after
    as many calls as go at a time have succeeded. What the provider says it still allows is kept to as well.

    Parameters
    ----------
    concurrency
        Most calls at a time.
    requests_per_minute, tokens_per_minute
        Most requests begun, and tokens counted, within any 60 seconds.
    clock
        Tells the time.
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
        self._begun: deque[Turn] = deque()
        self._not_before = 0.0
        self._slowdowns = 0
        self._allowance = Allowance()
        self._allowance_of = Turn(float("-inf"), 0, 0)
        self._told = 0.0
        self._freed = asyncio.Condition()
        self._entrance = asyncio.Lock()

    @property
    def allowed(self) -> int:
        """Calls at a time that are allowed now."""
        return max(1, int(self._allowed))

    @contextlib.asynccontextmanager
    async def turn(self, tokens: int = 0) -> AsyncIterator[Turn]:
        """Wait until a call of so many tokens may begin, and hold its place until the block ends."""
        async with self._entrance:  # first come, first served
            async with self._freed:
                await self._freed.wait_for(lambda: self._active < self.allowed)
            while (wait := self._wait(tokens)) > _INSTANT:
                await self._clock.sleep(wait)
            self._active += 1
            turn = Turn(self._clock.now(), tokens, self._slowdowns)
            self._begun.append(turn)
        try:
            yield turn
        finally:
            self._active -= 1
            async with self._freed:
                self._freed.notify_all()

    def succeeded(self, turn: Turn, tokens: int, allowance: Allowance | None = None) -> None:
        """Note that a call was answered, with so many tokens, and what the provider says it still allows."""
        turn.tokens = tokens
        if allowance is not None and turn.started >= self._allowance_of.started:
            self._allowance, self._allowance_of, self._told = allowance, turn, self._clock.now()
        self._allowed = min(self._most, self._allowed + 1 / self.allowed)

    def slow_down(self, turn: Turn, pause: float) -> None:
        """Note that the provider has had too much; nothing begins before the pause is over."""
        self._not_before = max(self._not_before, self._clock.now() + pause)
        if turn.slowdowns == self._slowdowns:
            self._slowdowns += 1
            self._allowed = max(1.0, self._allowed / 2)

    def _wait(self, tokens: int) -> float:
        """Return the seconds until a call may begin, as far as is known now."""
        now = self._clock.now()
        while self._begun and self._begun[0].started + WINDOW <= now + _INSTANT:
            self._begun.popleft()
        wait = max(self._not_before - now, self._allowance_wait(tokens, now))
        if self._requests_per_minute is not None and len(self._begun) >= self._requests_per_minute:
            oldest = self._begun[len(self._begun) - self._requests_per_minute]
            wait = max(wait, oldest.started + WINDOW - now)
        if self._tokens_per_minute is not None and self._begun:
            excess = sum(turn.tokens for turn in self._begun) + tokens - self._tokens_per_minute
            for turn in self._begun:
                if excess <= 0:
                    break
                excess -= turn.tokens
                wait = max(wait, turn.started + WINDOW - now)
        return wait

    def _allowance_wait(self, tokens: int, now: float) -> float:
        """Return the seconds until the provider allows a call; it may not have counted those begun since it was last heard."""
        if self._allowance == Allowance():
            return 0.0
        since = [turn for turn in self._begun if turn.started > self._allowance_of.started]
        waits = [0.0]
        if self._allowance.requests is not None:
            waits.append(self._allowance.requests.wait(len(since) + 1))
        if self._allowance.tokens is not None:
            waits.append(self._allowance.tokens.wait(sum(turn.tokens for turn in since) + tokens))
        return max(waits) - (now - self._told)
