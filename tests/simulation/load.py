"""Annotators in parallel over HTTP against a server of their own on a fresh database; afterwards an audit.

Each follows the start link, reads the items, saves each three times and submits. People are invited until every place is filled, and
then the database must hold what was promised and what was acknowledged (see `tests.simulation.verification`).
"""

import asyncio
import itertools
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from tests.simulation.annotators import Annotator, Measurements
from tests.simulation.databases import fresh_database
from tests.simulation.http_client import Connection
from tests.simulation.serving import Server
from tests.simulation.study import create_study
from tests.simulation.verification import find_losses
from tests.simulation.visits import SAVES_PER_ITEM, TROUBLED, Crowd, Habit

ITEMS = 10
WARM_UP_CONNECTIONS = 16
LONGEST_PAUSE_BEFORE_A_KILL = 0.5


@dataclass(frozen=True)
class Load:
    """What is simulated."""

    batches: int
    per_output: int
    """Annotators promised for each output; batches times this is the number of places."""
    at_once: int
    """People at work at the same time."""
    think: tuple[float, float] = (0.0, 0.0)
    """Shortest and longest pause before each action, in seconds."""
    arrival_seconds: float = 0.0
    """Time over which the first people arrive."""
    items: int = ITEMS
    kills: int = 0
    """How many times the server is killed, spread over the work."""
    habits: dict[Habit, float] = field(default_factory=dict)
    """Shares of people who do not just work to the end."""

    @property
    def places(self) -> int:
        """How many people the study has room for."""
        return self.batches * self.per_output


SHORT = {
    "thought": Load(batches=4, per_output=3, at_once=12, think=(0.05, 0.2), items=4),
    "troubled": Load(batches=5, per_output=4, at_once=20, think=(0.01, 0.1), items=4, kills=1, habits=TROUBLED),
    "haste": Load(batches=5, per_output=4, at_once=10, items=4),
}
SHORT_SAVES_AT_ONCE, SHORT_SAVES_SECONDS = 8, 3.0


@dataclass
class Outcome:
    """What was measured."""

    measurements: Measurements
    people: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    """How many people had each habit, were turned away, and lost their place."""
    kills: int = 0
    seconds: float = 0.0
    """Between the first request and the last."""
    saves: int = 0
    """Acknowledged in these seconds."""
    requests: int = 0
    """Answered in these seconds."""
    processor_seconds: float | None = None
    """Used by the server's processes in these seconds (PostgreSQL's own apart); None if the server was killed."""
    client_seconds: float = 0.0
    """Processor time used by the clients in these seconds."""
    problems: list[str] = field(default_factory=list)
    """Broken promises."""


def measure(kind: str, load: Load, processes: int | None = None) -> Outcome:
    """Fill a study on a fresh database under load, and compare the database with what was promised and acknowledged."""
    with fresh_database(kind) as url:
        create_study(url, batches=load.batches, per_output=load.per_output, items=load.items)
        with Server(url, processes=processes) as server:
            crowd = Crowd(url, server.port, load.think, load.habits, patient=load.kills > 0)
            outcome = Outcome(crowd.measurements)
            asyncio.run(_fill(server, crowd, load, outcome))
        outcome.people, outcome.seen = len(crowd.annotators), crowd.seen
        outcome.problems = find_losses(url, crowd.ledgers, filled=True)
        return outcome


async def _fill(server: Server, crowd: Crowd, load: Load, outcome: Outcome) -> None:
    await _warm_up(server)
    stretch = _Stretch(server, outcome)
    work = asyncio.create_task(crowd.fill(load.places, load.at_once, load.arrival_seconds))
    outcome.kills = await _kill_on_the_way(server, crowd, load, work)
    await work
    stretch.end()


async def _kill_on_the_way(server: Server, crowd: Crowd, load: Load, work: "asyncio.Task[None]") -> int:
    """Kill the server after equal parts of the saves, each time at a random moment, and start it again; tells how often."""
    random = Random(crowd.seed)
    expected = load.places * load.items * SAVES_PER_ITEM
    for kill in range(load.kills):
        while crowd.saves < expected * (kill + 1) / (load.kills + 1):
            if work.done():
                return kill
            await asyncio.sleep(0.005)
        await asyncio.sleep(random.uniform(0, min(LONGEST_PAUSE_BEFORE_A_KILL, load.think[1])))
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
    return load.kills


def measure_saves(kind: str, at_once: int, seconds: float, processes: int | None = None) -> Outcome:
    """Let people enter and read, then save for so long as fast as the server answers, then submit; measure the saves alone."""
    with fresh_database(kind) as url:
        create_study(url, batches=8, per_output=-(-at_once // 8))
        with Server(url, processes=processes) as server:
            outcome = Outcome(Measurements(), people=at_once)
            annotators = asyncio.run(_save_without_pause(server, at_once, seconds, outcome))
        outcome.problems = find_losses(url, [annotator.ledger for annotator in annotators])
        return outcome


async def _save_without_pause(server: Server, at_once: int, seconds: float, outcome: Outcome) -> list[Annotator]:
    await _warm_up(server)
    browsers = [Connection("127.0.0.1", server.port) for _ in range(at_once)]
    annotators = [
        Annotator(f"person-{n}", browser, outcome.measurements, n) for n, browser in enumerate(browsers, start=1)
    ]

    async def prepare(annotator: Annotator) -> None:
        await annotator.enter()
        for position in annotator.positions:
            await annotator.read(position)

    async def save(annotator: Annotator) -> None:
        for position in itertools.cycle(annotator.positions):
            if time.perf_counter() > end:
                return
            await annotator.save(position)

    async def finish(annotator: Annotator) -> None:
        for position in annotator.positions:
            await annotator.save(position, "complete")
        await annotator.submit()

    await asyncio.gather(*map(prepare, annotators))
    stretch, end = _Stretch(server, outcome), time.perf_counter() + seconds
    await asyncio.gather(*map(save, annotators))
    stretch.end()
    await asyncio.gather(*map(finish, annotators))
    for browser in browsers:
        await browser.close()
    return annotators


class _Stretch:
    """Measures from its beginning to its end: time, requests, saves, and the server's work."""

    def __init__(self, server: Server, outcome: Outcome) -> None:
        self._server, self._outcome = server, outcome
        self._processor = server.processor_seconds()
        self._requests, self._saves = self._counts()
        self._client = time.process_time()
        self._began = time.perf_counter()

    def end(self) -> None:
        outcome = self._outcome
        outcome.seconds = time.perf_counter() - self._began
        outcome.client_seconds = time.process_time() - self._client
        requests, saves = self._counts()
        outcome.requests, outcome.saves = requests - self._requests, saves - self._saves
        if not outcome.kills:
            outcome.processor_seconds = self._server.processor_seconds() - self._processor

    def _counts(self) -> tuple[int, int]:
        seconds = self._outcome.measurements.seconds
        return sum(map(len, seconds.values())), len(seconds["save"])


async def _warm_up(server: Server) -> None:
    """Wait until the server's processes have loaded the application: it accepts connections before."""
    connections = [Connection("127.0.0.1", server.port) for _ in range(WARM_UP_CONNECTIONS)]
    await asyncio.gather(*(connection.request("GET", "/healthz") for connection in connections))
    for connection in connections:
        await connection.close()
