"""Runner of all model work, and the protocol of its targets.

A target is what a run works on: the items of a campaign, or the outputs of a generation.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Unavailable
from spanplat.llm.clock import Clock
from spanplat.llm.limiter import Limiter
from spanplat.llm.provider import Provider
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.model_work.budget import Budget
from spanplat.services.model_work.calls import K, Outcome, PendingRequest
from spanplat.services.model_work.sending import NextStep, RequestSender, StopReason

T = TypeVar("T")
R = TypeVar("R")
"""Result of one piece of work."""

RENEW_SECONDS = 10.0
"""Seconds between two renewals of the lease: far below its length, so that a slow step does not lose it."""
REPORT_SECONDS = 0.25
"""Seconds between two reports of progress."""


@dataclass(frozen=True)
class OpenWork(Generic[K]):
    """Work that has no answer yet."""

    free: list[K]
    """Pieces that may be claimed now, in the order of asking."""
    busy: int
    """Number of pieces that a run has claimed (this one or another) or that a batch holds."""
    failed: int = 0
    """Number of pieces given up since the run began."""

    @property
    def all(self) -> int:
        """Number of pieces without an answer."""
        return len(self.free) + self.busy + self.failed


class Target(Protocol[K, R]):
    """Source of a run's work, and store of its results.

    The runner calls one method at a time, each in a thread. Only `reserve` may run at the same time. It takes the same lock.
    """

    @property
    def settings(self) -> ModelSettings:
        """Settings of the model to ask."""
        ...

    @property
    def budget(self) -> Budget:
        """Budget of the calls."""
        ...

    @property
    def stop_message(self) -> str:
        """Beginning of the message of a run that the provider ended. The reason follows it."""
        ...

    def begin(self) -> None:
        """Prepare the run.

        Raises
        ------
        Conflict
            If another run is under way and the target takes one at a time.
        """
        ...

    def find_open(self) -> OpenWork[K]:
        """Return the work without an answer. The claims of a dead run count as free."""
        ...

    def requests(self, keys: Sequence[K]) -> list[PendingRequest[K]]:
        """Return the requests for some pieces of work, in the same order."""
        ...

    def lock(self, session: Session) -> bool:
        """Make other runs of the target wait until the transaction ends. Return whether this run may go on asking."""
        ...

    def claim(self, session: Session, wanted: Sequence[tuple[K, float]]) -> set[K]:
        """Claim work, each piece with the US dollars to reserve for it. Return the pieces that no other run has."""
        ...

    def reserve(self, session: Session, key: K, cost: float) -> None:
        """Reserve more US dollars for claimed work."""
        ...

    def renew(self, session: Session) -> None:
        """Prolong the lease on what this run has claimed."""
        ...

    def read(self, outcome: Outcome[K]) -> R:
        """Read the reply. This happens before any transaction, because it takes time."""
        ...

    def store(self, session: Session, results: Sequence[R]) -> None:
        """Store results with all their calls, and end their reservations. Free the work whose request was not finished."""
        ...

    def release(self) -> None:
        """End the run: free the remaining claims, and update what depends on the answers."""
        ...


class Runner(Generic[K, R]):
    """Ask about all open work of a target, until nothing is left, the budget is spent, or somebody stops the run.

    Every call that was made is stored, because it is paid for. A step stores and claims in one short transaction. A process that is
    killed therefore loses only the calls under way.

    Parameters
    ----------
    database
        Database with the target.
    target
        Source of the work and store of the results.
    provider
        Provider to ask. It is closed at the end.
    on_progress
        Called with the number of pieces left. When it raises, the calls under way finish and are stored. Then the run raises the same.
    clock
        Clock that the pauses wait on.
    concurrency
        Calls at a time, instead of the number in the settings.
    limit
        Most pieces of work in this run.
    """

    def __init__(
        self,
        database: Database,
        target: Target[K, R],
        provider: Provider,
        on_progress: Callable[[int], None],
        clock: Clock,
        *,
        concurrency: int | None = None,
        limit: int | None = None,
    ) -> None:
        self._database, self._target, self._provider = database, target, provider
        self._on_progress, self._clock, self._limit = on_progress, clock, limit
        self._concurrency = concurrency or target.settings.concurrency
        self._queue: deque[K] = deque()
        self._claimed = self._under_way = 0
        self._renewed = self._reported = 0.0
        self._raised: BaseException | None = None

    def run(self) -> StopReason:
        """Run until the end, and return the reason why it ended.

        Raises
        ------
        Conflict
            If another run is under way and the target takes one at a time.
        Unavailable
            If the provider refuses to go on. The message says why.
        """
        settings = self._target.settings
        limiter = Limiter(
            self._concurrency,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
            clock=self._clock,
        )
        sender = RequestSender(self._provider, settings, limiter, self._step, self._afford, self._clock)
        try:
            # On Ctrl-C, sender.run() stores the calls under way before it raises, so the claims are not released too early.
            reason = run_coroutine(self._ask(sender))
        finally:
            self._target.release()
        # An exception of the callback, such as a cancelled job, comes before a problem of the provider.
        if self._raised is not None:
            raise self._raised
        if sender.hopeless is not None:
            raise Unavailable(self._target.stop_message + sender.hopeless)
        return reason

    async def _ask(self, sender: RequestSender[K]) -> StopReason:
        try:
            # Database work runs in threads: a wait for the write lock must not stop the calls under way.
            await asyncio.to_thread(self._begin)
            return await sender.run(self._concurrency)
        finally:
            await self._provider.close()

    def _begin(self) -> None:
        self._target.begin()
        self._queue.extend(self._target.find_open().free)

    def _step(self, outcomes: Sequence[Outcome[K]], room: int) -> NextStep[K]:
        """Store outcomes, and claim up to ``room`` more pieces of work, in one short transaction."""
        # Parsing replies and rendering prompts takes time, so both come before the transaction, which blocks other writers.
        results = [self._target.read(outcome) for outcome in outcomes]
        wanted = self._next_requests(room)
        following = NextStep[K]()
        now = time.monotonic()
        # An idle step still opens a transaction now and then: it renews the lease and notices that the campaign was paused.
        if results or wanted or now - self._reported > REPORT_SECONDS:
            with self._database.transaction() as session:
                may_ask = self._target.lock(session)
                self._target.store(session, results)
                self._under_way -= len(results)
                if now - self._renewed > RENEW_SECONDS:
                    self._target.renew(session)
                    self._renewed = now
                following = self._claim(session, wanted) if may_ask else NextStep(stop="paused")
        self._report(now)
        if self._raised is not None:
            return NextStep(stop="stopped")
        if room and not wanted and not following.stop:
            following.waiting = self._may_wait()
        return following

    def _next_requests(self, room: int) -> list[PendingRequest[K]]:
        """Return the requests for the next pieces of work. They stay in the queue until they are claimed."""
        if self._limit is not None:
            room = min(room, self._limit - self._claimed)
        keys = [self._queue[place] for place in range(min(room, len(self._queue)))]
        return self._target.requests(keys) if keys else []

    def _claim(self, session: Session, wanted: Sequence[PendingRequest[K]]) -> NextStep[K]:
        affordable, is_reserved = self._target.budget.affordable(session, wanted)
        own = self._target.claim(session, [(pending.key, cost) for pending, cost in affordable])
        for _ in affordable:  # also those that we did not get: another run has claimed them
            self._queue.popleft()
        claimed = [pending for pending, _ in affordable if pending.key in own]
        self._claimed += len(claimed)
        self._under_way += len(claimed)
        # Reserved money comes free when a call costs less than was reserved, so the ceiling is final only without reservations.
        if wanted and not affordable:
            return NextStep(waiting=True) if is_reserved else NextStep(stop="ceiling")
        return NextStep(claimed, waiting=len(claimed) < len(wanted))

    def _afford(self, pending: PendingRequest[K]) -> bool:
        """Reserve the money for another call of a request. Return False if the budget does not allow it."""
        budget = self._target.budget
        # Saves a transaction for each retry of a run without a ceiling.
        if budget.ceiling is None:
            return True
        with self._database.transaction() as session:
            self._target.lock(session)
            affordable, _ = budget.affordable(session, [pending])
            for _, cost in affordable:
                self._target.reserve(session, pending.key, cost)
        return bool(affordable)

    def _may_wait(self) -> bool:
        """Return whether work is free again, or may become free because another run has claimed it."""
        if self._limit is not None and self._claimed >= self._limit:
            return False
        work = self._target.find_open()
        # Work is free again when another run has died or given it back. Our own claims count as busy too.
        self._queue = deque(work.free)
        # More is busy than we have under way, so another run or a batch has claimed the rest and may give it back.
        return bool(work.free) or work.busy > self._under_way

    def _report(self, now: float) -> None:
        if now - self._reported < REPORT_SECONDS or self._raised is not None:
            return
        self._reported = now
        try:
            self._on_progress(self._under_way + len(self._queue))
        except BaseException as raised:  # noqa: BLE001 (run() raises it again, once the calls under way are stored)
            self._raised = raised


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine from synchronous code. If this thread has an event loop already (a notebook), use another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(asyncio.run, coroutine).result()
