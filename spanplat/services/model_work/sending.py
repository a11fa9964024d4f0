"""Sending many requests at once, within the provider's limits, with retries. A stop takes no longer than one request."""

import asyncio
import contextlib
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal

from spanplat.llm.clock import Clock
from spanplat.llm.limiter import ActiveCall, Limiter
from spanplat.llm.provider import CallFailed, ModelReply, Provider
from spanplat.llm.retrying import GiveUp, Retry, StopRun, decide
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.model_work.calls import MAYBE_BILLED, Call, K, Outcome, PendingRequest

TICK = 0.25
"""Longest pause, in seconds, between two checks whether the run is to stop."""
WAIT = 1.0
"""Seconds between two searches for items that other runs have claimed."""
SAME_REFUSALS = 10
"""A run ends after this many refused items if none was answered: then a parameter is wrong, not a text."""
FIRST_SILENT, SILENT = 3, 10
"""A run ends after this many items in a row without a reply (before the first answer, and after it): the server is not there."""
MOST_STORED = 64
"""Most outcomes stored in one transaction."""

StopReason = Literal["done", "ceiling", "paused", "stopped", "hopeless", "waiting"]


@dataclass
class NextStep(Generic[K]):
    """Next step of the run, after outcomes were stored and work was claimed."""

    claimed: Sequence[PendingRequest[K]] = ()
    stop: StopReason | None = None
    waiting: bool = False
    """Whether work may be free later: other runs have claimed the rest, or money is reserved."""


@dataclass
class RequestSender(Generic[K]):
    """Send requests until nothing is left, or the run is to stop.

    Parameters
    ----------
    provider
        Provider to ask.
    settings
        Number of attempts, and time limit of a call.
    limiter
        Rate limits.
    step
        Function that stores outcomes, claims up to the given number of pieces of work, and returns the next step. It is called in a
        thread, whenever there is something to store or to claim, and every quarter of a second.
    afford
        Function that returns whether the budget allows another call, after one that may have been billed. It is called in a thread.
    clock
        Clock that the pauses wait on.
    """

    provider: Provider
    settings: ModelSettings
    limiter: Limiter
    step: Callable[[Sequence[Outcome[K]], int], NextStep[K]]
    afford: Callable[[PendingRequest[K]], bool]
    clock: Clock
    hopeless: str | None = None
    """Reason why further requests would fail too."""
    _outcomes: deque[Outcome[K]] = field(default_factory=deque)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _calling: set[asyncio.Task[None]] = field(default_factory=set)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _answered: int = 0
    _refused: int = 0
    _silent: int = 0
    """Number of items given up in a row because nothing came from the server."""
    _stopping: bool = False
    _interrupted: bool = False
    _error: BaseException | None = None

    async def run(self, concurrency: int) -> StopReason:
        """Send requests, and return why it ended.

        When cancelled, first let the calls under way finish and store them, because they are paid for.
        """
        asking = asyncio.create_task(self._run(concurrency))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            # The next step of _run sees this, and lets the calls under way end.
            self._interrupted = True
            await asking
            raise

    async def _run(self, concurrency: int) -> StopReason:
        stop: StopReason | None = None
        while True:
            outcomes = [self._outcomes.popleft() for _ in range(min(MOST_STORED, len(self._outcomes)))]
            # Claim twice as much as may be called at a time, so that the next requests are ready when a call ends.
            room = 0 if stop else max(0, min(concurrency, self.limiter.allowed) * 2 - len(self._tasks))
            following = await asyncio.to_thread(self.step, outcomes, room)
            stop = (
                stop
                or following.stop
                or ("hopeless" if self.hopeless else "stopped" if self._interrupted or self._error else None)
            )
            if stop:
                self._stop()
            else:
                self._start(following.claimed)
            # Store the next outcomes without a pause. If the last tasks ended since room was computed, there is room again.
            if self._outcomes or (not self._tasks and room == 0 and not stop):
                continue
            if not self._tasks:
                if self._error is not None:
                    raise self._error
                if stop or not following.waiting:
                    return stop or "done"
                await self.clock.sleep(WAIT)
                continue
            await self._wait()

    def _start(self, claimed: Sequence[PendingRequest[K]]) -> None:
        for pending in claimed:
            task = asyncio.create_task(self._ask_and_tell(pending))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # A task cannot raise into _run. Keep its first error, a defect of our own, and raise it when all calls are stored.
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = self._error or error
        self._woken.set()

    def _stop(self) -> None:
        """Let the calls under way finish, and start no others."""
        self._stopping = True
        # Tasks outside a call wait for the limiter or for a retry. They are cancelled, because both can take minutes.
        for task in self._tasks - self._calling:
            task.cancel()

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TICK):
                await self._woken.wait()
        self._woken.clear()

    async def _ask_and_tell(self, pending: PendingRequest[K]) -> None:
        calls: list[Call] = []
        failed = False
        try:
            failed = await self._ask(pending, calls)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        finally:
            # Also without a call: the outcome frees the claim.
            self._outcomes.append(Outcome(pending, calls, failed))
            self._woken.set()

    async def _ask(self, pending: PendingRequest[K], calls: list[Call]) -> bool:
        """Send a request until a reply comes or retries are useless. Return whether the item is given up."""
        body = self.provider.body(pending.request)
        for attempt in range(1, self.settings.attempts + 1):
            async with self.limiter.acquire(pending.tokens) as active:
                # The wait for the limiter may have been long, so the state of the run is checked again.
                if self._stopping or self.hopeless:
                    return False
                call = await self._call(pending, body)
                calls.append(call)
                if isinstance(call.result, ModelReply):
                    usage, allowance = call.result.usage, call.result.allowance
                    self.limiter.succeeded(active, usage.input_tokens + usage.output_tokens, allowance)
                    self._answered += 1
                    self._silent = 0
                    return False
                pause = self._after(call.result, attempt, active)
            # If the whole run is hopeless, this item is not to blame, and the next run asks about it again.
            if pause is None:
                return self.hopeless is None
            if call.result.kind in MAYBE_BILLED and not await asyncio.to_thread(self.afford, pending):
                return False
            await self.clock.sleep(pause)
        return True

    async def _call(self, pending: PendingRequest[K], body: dict[str, Any]) -> Call:
        task: Any = asyncio.current_task()
        self._calling.add(task)
        started = time.perf_counter()
        result: ModelReply | CallFailed
        try:
            # The SDK's limit is for each wait on the connection. A server that sends a byte now and then would never
            # reach it.
            async with asyncio.timeout(self.settings.timeout):
                result = await self.provider.complete(pending.request)
        except CallFailed as failure:
            result = failure
        except TimeoutError:
            result = CallFailed(f"no answer within {self.settings.timeout:g} seconds (model.timeout)", kind="timeout")
        finally:
            self._calling.discard(task)
        return Call(body, result, time.perf_counter() - started)

    def _after(self, failure: CallFailed, attempt: int, active: ActiveCall) -> float | None:
        """Return the seconds before the next attempt, or None if there is none."""
        decision = decide(failure, attempt, attempts=self.settings.attempts, jitter=random.random())  # noqa: S311
        match decision:
            case Retry():
                if decision.slow_down:
                    self.limiter.slow_down(active, decision.pause)
                return decision.pause
            case StopRun():
                self.hopeless = self.hopeless or decision.reason
            case GiveUp():
                self.hopeless = self.hopeless or self._why_hopeless(failure)
        return None

    def _why_hopeless(self, failure: CallFailed) -> str | None:
        """Return why all other items would fail like the last ones, or None if they may not."""
        if failure.status is not None and failure.status < 500:
            # A refusal is an answer too: the server is there.
            self._refused, self._silent = self._refused + 1, 0
            # Once an item was answered, the parameters are right, and refusals are about single texts.
            if self._answered or self._refused < SAME_REFUSALS:
                return None
            return f"the first {self._refused} items were all refused ({failure})"
        self._silent += 1
        if self._silent < (SILENT if self._answered else FIRST_SILENT):
            return None
        which = "last" if self._answered else "first"
        return (
            f"the {which} {self._silent} items brought no reply ({failure}); "
            "see whether the server runs and can be reached from here, and check model.base_url"
        )
