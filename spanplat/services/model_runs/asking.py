"""Asking about many items at once: within the provider's limits, trying again what passes, stopping within one request."""

import asyncio
import contextlib
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from spanplat.llm.clock import Clock
from spanplat.llm.dialogue import Dialogue
from spanplat.llm.limiter import Limiter, Turn
from spanplat.llm.provider import CallFailed, Completion, Provider, Request
from spanplat.llm.retrying import AskAgain, GiveUp, StopRun, decide
from spanplat.llm.tokens import estimate_messages
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.model_runs.questions import Question
from spanplat.services.model_runs.recording import NOBODY_KNOWS, Call, Outcome

TICK = 0.25
"""Most seconds between two looks at whether the run is to stop."""
WAIT = 1.0
"""Seconds between two looks at items that others ask about."""
SAME_REFUSALS = 10
"""Items that must be refused, before any is answered, for the run to end: a parameter is wrong, not a text."""
FIRST_SILENT, SILENT = 3, 10
"""Items in a row without a reply, before any was answered and after, for the run to end: the server is not there."""
MOST_STORED = 64
"""Outcomes stored in one transaction."""

Why = Literal["done", "ceiling", "paused", "stopped", "hopeless", "waiting"]


@dataclass(frozen=True)
class Prepared:
    """A question ready to be asked."""

    question: Question
    request: Request
    input_tokens: int
    """Estimate."""
    tokens: int
    """Estimate of its input and output."""


@dataclass
class Next:
    """What the run is to do next, after outcomes were stored and items claimed."""

    claimed: Sequence[Prepared] = ()
    stop: Why | None = None
    waiting: bool = False
    """Whether nothing can be claimed now, but perhaps later: others ask about what is left, or money is reserved."""


Step = Callable[[Sequence[Outcome], int], Next]
"""Stores outcomes, claims up to so many more items, and tells what to do next; runs in a thread."""


@dataclass
class Asker:
    """Asks until there is nothing left, or the run is to stop.

    Parameters
    ----------
    provider
        Who is asked.
    settings
        How often and for how long to try.
    limiter
        How fast to ask.
    step
        Called whenever there are outcomes to store or items to claim, and every quarter of a second.
    clock
        Lets pauses pass.
    """

    provider: Provider
    settings: ModelSettings
    limiter: Limiter
    step: Step
    clock: Clock
    afford: Callable[[Prepared], bool] = lambda _: True
    """Tells whether another call about an item may be paid for, after one that may have been billed; runs in a thread."""
    hopeless: str | None = None
    """Why asking on would be in vain."""
    _outcomes: deque[Outcome] = field(default_factory=deque)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _calling: set[asyncio.Task[None]] = field(default_factory=set)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _answered: int = 0
    _refused: int = 0
    _silent: int = 0
    """Items given up in a row because nothing came from the server."""
    _stopping: bool = False
    _interrupted: bool = False
    _error: BaseException | None = None

    async def run(self, concurrency: int) -> Why:
        """Ask; return why it ended. When cancelled, calls under way end and are stored first, because they are paid for."""
        asking = asyncio.create_task(self._run(concurrency))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            self._interrupted = True
            await asking
            raise

    async def _run(self, concurrency: int) -> Why:
        stop: Why | None = None
        while True:
            outcomes = [self._outcomes.popleft() for _ in range(min(MOST_STORED, len(self._outcomes)))]
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

    def _start(self, claimed: Sequence[Prepared]) -> None:
        for prepared in claimed:
            task = asyncio.create_task(self._ask_and_tell(prepared))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = self._error or error
        self._woken.set()

    def _stop(self) -> None:
        """Let calls under way end, and nothing else begin."""
        self._stopping = True
        for task in self._tasks - self._calling:
            task.cancel()

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TICK):
                await self._woken.wait()
        self._woken.clear()

    async def _ask_and_tell(self, prepared: Prepared) -> None:
        calls: list[Call] = []
        failed = False
        try:
            failed = await self._ask(prepared, calls)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        finally:
            self._outcomes.append(Outcome(prepared.question, calls, failed))
            self._woken.set()

    async def _ask(self, prepared: Prepared, calls: list[Call]) -> bool:
        """Ask until a reply comes or it is in vain; tell whether the item is given up."""
        body = self.provider.body(prepared.request)
        for attempt in range(1, self.settings.attempts + 1):
            async with self.limiter.turn(prepared.tokens) as turn:
                if self._stopping or self.hopeless:
                    return False
                call = await self._call(prepared, body)
                calls.append(call)
                if isinstance(call.result, Completion):
                    usage, allowance = call.result.usage, call.result.allowance
                    self.limiter.succeeded(turn, usage.input_tokens + usage.output_tokens, allowance)
                    self._answered += 1
                    self._silent = 0
                    return False
                pause = self._after(call.result, attempt, turn)
            if pause is None:
                return self.hopeless is None
            if call.result.kind in NOBODY_KNOWS and not await asyncio.to_thread(self.afford, prepared):
                return False
            await self.clock.sleep(pause)
        return True

    async def _call(self, prepared: Prepared, body: dict[str, Any]) -> Call:
        task: Any = asyncio.current_task()
        self._calling.add(task)
        started = time.perf_counter()
        result: Completion | CallFailed
        try:
            async with asyncio.timeout(self.settings.timeout):
                result = await self.provider.complete(prepared.request)
        except CallFailed as failure:
            result = failure
        except TimeoutError:
            result = CallFailed(f"no answer within {self.settings.timeout:g} seconds (model.timeout)", kind="timeout")
        finally:
            self._calling.discard(task)
        return Call(prepared.question, body, result, time.perf_counter() - started)

    def _after(self, failure: CallFailed, attempt: int, turn: Turn) -> float | None:
        """Return the pause before the next try; None where there is none."""
        decision = decide(failure, attempt, attempts=self.settings.attempts, jitter=random.random())  # noqa: S311
        match decision:
            case AskAgain():
                if decision.slow_down:
                    self.limiter.slow_down(turn, decision.pause)
                return decision.pause
            case StopRun():
                self.hopeless = self.hopeless or decision.reason
            case GiveUp():
                self.hopeless = self.hopeless or self._why_hopeless(failure)
        return None

    def _why_hopeless(self, failure: CallFailed) -> str | None:
        """Tell why all other items would meet what the last ones met; None where they may not."""
        if failure.status is not None and failure.status < 500:
            self._refused, self._silent = self._refused + 1, 0
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


def prepare(dialogue: Dialogue, question: Question, output_tokens: int) -> Prepared:
    """Make the request about a question, and estimate its tokens."""
    request = dialogue.request(question.item, question.repeat)
    input_tokens = estimate_messages(request.messages)
    return Prepared(question, request, input_tokens, input_tokens + output_tokens)
