"""Many people taking part in a study over HTTP at the same time, with their pauses and their bad habits.

People are invited until every place is filled: whoever leaves has their lease run out at once and somebody else is invited instead.
"""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from random import Random

from sqlalchemy import select, update

from spanplat.db import Database
from spanplat.models import Assignment, AssignmentStatus, Participation
from spanplat.models.statements import rows_changed
from tests.simulation.annotators import (
    Annotator,
    Ledger,
    Measurements,
    SeatLostError,
    TurnedAwayError,
    UnexpectedAnswerError,
)
from tests.simulation.http_client import Connection, Doubled, Patient, Requester

SAVES_PER_ITEM = 3
IMPATIENCE_SECONDS = 0.003
"""How long somebody who closes the page waits for the answer to what was just sent."""
LAST_ROUNDS = 3
"""How often people are invited to places that somebody turned out to hold who has left."""


class Habit(StrEnum):
    """How somebody takes part."""

    STEADY = "steady"
    VANISH = "vanish"
    """Leave in the middle, half of them while a save is on its way, and never come back."""
    RETURN = "return"
    """Leave in the middle and come back after the lease ran out, half by the start link and half on the page left open."""
    DOUBLE = "double-click"
    """Send every request twice at once."""


TROUBLED = {Habit.VANISH: 0.2, Habit.RETURN: 0.1, Habit.DOUBLE: 0.1}
"""Shares of people with bad habits where a measurement asks for them."""


class _LeftError(Exception):
    """The person has closed the page."""


@dataclass
class Crowd:
    """The people of one study.

    Parameters
    ----------
    url
        The database, in which the leases of those who left are made to run out: the server's clock cannot be moved.
    port
        Where the server listens.
    think
        Shortest and longest pause before each action, in seconds.
    habits
        Shares of people with other habits than steady ones, of those first invited to the study.
    patient
        Whether requests are sent again that nobody answered; else that is an error.
    """

    url: str
    port: int
    think: tuple[float, float]
    habits: dict[Habit, float] = field(default_factory=dict)
    patient: bool = False
    seed: int = 1
    measurements: Measurements = field(default_factory=Measurements)
    annotators: list[Annotator] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    """How many people had each habit, were turned away, and lost their place."""

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self._numbers = itertools.count(1)
        self._vacant = 0
        self._planned: list[Habit] = []

    @property
    def ledgers(self) -> Sequence[Ledger]:
        """What everybody knows."""
        return [annotator.ledger for annotator in self.annotators]

    @property
    def saves(self) -> int:
        """Saves acknowledged so far."""
        return len(self.measurements.seconds["save"])

    async def fill(self, places: int, at_once: int, arrival_seconds: float) -> None:
        """Invite people until so many places are filled; ``at_once`` of them arrive in the first seconds and work side by side."""
        self._vacant = places
        self._planned = [habit for habit, share in self.habits.items() for _ in range(round(share * places))]
        self._planned += [Habit.STEADY] * (places - len(self._planned))
        self._random.shuffle(self._planned)
        await asyncio.gather(*(self._take_turns(arrival_seconds * n / at_once) for n in range(at_once)))
        # A save that somebody did not wait for may have renewed the lease after it was made to run out.
        for _ in range(LAST_ROUNDS):
            self._vacant = await self._let_lapse([ledger for ledger in self.ledgers if not ledger.submitted])
            await asyncio.gather(*(self._take_turns(0) for _ in range(self._vacant)))

    async def _take_turns(self, delay: float) -> None:
        await asyncio.sleep(delay)
        while self._vacant > 0:
            self._vacant -= 1
            await self._visit(self._planned.pop() if self._planned else Habit.STEADY)

    async def _visit(self, habit: Habit) -> None:
        self.seen[habit] += 1
        number = next(self._numbers)
        browser = self._browser(habit)
        annotator = Annotator(
            f"person-{number}", browser, self.measurements, number, places_may_run_out=bool(self.habits)
        )
        self.annotators.append(annotator)
        try:
            await self._carry_out(_Visit(annotator, self.think, Random(number)), habit)
        finally:
            await browser.close()

    async def _carry_out(self, visit: "_Visit", habit: Habit) -> None:
        if habit in (Habit.STEADY, Habit.DOUBLE):
            await self._noting(visit.work())
            return
        with contextlib.suppress(_LeftError):
            await self._noting(visit.work(leaves=True))
        if habit == Habit.VANISH:
            await self._noting(visit.close_page())
        self._vacant += await self._let_lapse([visit.annotator.ledger])
        if habit == Habit.RETURN:
            await asyncio.gather(self._take_turns(0), self._noting(self._return(visit)))

    async def _return(self, visit: "_Visit") -> None:
        await visit.pause()
        try:
            if visit.random.random() < 0.5:
                await visit.go_on()
            else:
                await visit.work()
        except SeatLostError:
            self.seen["lost the place"] += 1
            await visit.work()

    async def _noting(self, doing: Awaitable[None]) -> None:
        """Go on with the others whatever happens to one; what should not have happened stands among the measurements."""
        try:
            await doing
        except TurnedAwayError:
            self.seen["turned away"] += 1
        except UnexpectedAnswerError:  # noted where it came up
            self.seen["gave up"] += 1
        except ConnectionError as error:
            self.measurements.errors.append(str(error))

    def _browser(self, habit: Habit) -> Requester:
        def tab() -> Requester:
            connection = Connection("127.0.0.1", self.port)
            return Patient(connection) if self.patient else connection

        return Doubled(tab(), tab()) if habit == Habit.DOUBLE else tab()

    async def _let_lapse(self, ledgers: Sequence[Ledger]) -> int:
        return await asyncio.to_thread(let_lapse, self.url, [ledger.token for ledger in ledgers if ledger.token])


class _Visit:
    """One person's way through a batch."""

    def __init__(self, annotator: Annotator, think: tuple[float, float], random: Random) -> None:
        self.annotator, self.random = annotator, random
        self._think = think
        self._actions_left: int | None = None

    async def pause(self) -> None:
        """Think before the next action, or leave."""
        if self._actions_left is not None:
            if self._actions_left == 0:
                self._actions_left = None
                raise _LeftError
            self._actions_left -= 1
        await asyncio.sleep(self.random.uniform(*self._think))

    async def work(self, *, leaves: bool = False) -> None:
        """Enter, and do what is left of the batch; or leave at a moment after the first item was read."""
        await self.pause()
        await self.annotator.enter()
        if leaves:
            self._actions_left = self.random.randrange(1, len(self.annotator.positions) * (SAVES_PER_ITEM + 1))
        await self.go_on()

    async def go_on(self) -> None:
        """Do what is left of the batch on the page that is open, and submit it."""
        annotator = self.annotator
        for position in annotator.positions:
            if position not in annotator.texts:
                await self.pause()
                await annotator.read(position)
            while (done := annotator.saves(position)) < SAVES_PER_ITEM:
                await self.pause()
                await annotator.save(position, "complete" if done == SAVES_PER_ITEM - 1 else "draft")
        await self.pause()
        await annotator.submit()

    async def close_page(self) -> None:
        """Close the page, or half of the time send a last save first and wait for no answer."""
        if self.random.random() < 0.5 and self.annotator.texts:
            with contextlib.suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(IMPATIENCE_SECONDS):
                    await self.annotator.save(max(self.annotator.texts))


def let_lapse(url: str, tokens: Sequence[str]) -> int:
    """Make the leases run out by which these hold their places, as if an hour had passed; return how many there were."""
    database = Database(url)
    try:
        with database.transaction() as session:
            lapsed = session.execute(
                update(Assignment)
                .where(
                    Assignment.status == AssignmentStatus.HELD,
                    Assignment.participation_id.in_(select(Participation.id).where(Participation.token.in_(tokens))),
                )
                .values(lease_expires_at=datetime.now(UTC) - timedelta(seconds=1)),
                execution_options={"synchronize_session": False},
            )
            return rows_changed(lapsed)
    finally:
        database.dispose()
