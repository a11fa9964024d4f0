"""Annotators in parallel over HTTP against `spanplat serve`, with the clients on the same machine; afterwards an audit.

Each follows the start link, reads ten items, saves each three times and submits. People are invited until every place is filled, and
then the database must hold what was promised and what was acknowledged (see `bench.verification`). Four measurements:

- ``thought``: 200 people who pause for 1 to 3 s before every action. How long does a save take?
- ``troubled``: the same, while the server is killed with SIGKILL five times, 20 % of the people vanish, 10 % come back after their
  lease ran out, and 10 % send everything twice at once.
- ``haste``: 100 people at a time who never pause. How many requests and saves a second?
- ``saves``: 64 people who send save after save. How many a second, when nothing else is asked for?

With ``--peer PYTHON``, an interpreter that has factgenie 1.2.1, factgenie comes first: 100 people at once who never pause.
"""

import argparse
import asyncio
import itertools
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from bench.annotators import Annotator, Measurements
from bench.databases import KINDS, fresh_database, kinds_of
from bench.factgenie_load import measure_factgenie
from bench.http_client import Connection
from bench.processors import describe_processors
from bench.serving import Server
from bench.study import create_study
from bench.verification import find_losses
from bench.visits import SAVES_PER_ITEM, TROUBLED, Crowd, Habit

ITEMS = 10
WARM_UP_CONNECTIONS = 16
LONGEST_PAUSE_BEFORE_A_KILL = 0.5
FACTGENIE_REQUESTS_PER_SECOND = 73.0
"""What factgenie answered at best, 100 annotators at a time, on a machine with two cores; ``--peer`` measures it on this one."""
FACTGENIE_PEOPLE = 100


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


LOADS = {
    "thought": Load(batches=50, per_output=4, at_once=200, think=(1, 3), arrival_seconds=10),
    "troubled": Load(batches=50, per_output=4, at_once=200, think=(1, 3), arrival_seconds=10, kills=5, habits=TROUBLED),
    "haste": Load(batches=100, per_output=5, at_once=100),
}
SHORT = {
    "thought": Load(batches=4, per_output=3, at_once=12, think=(0.05, 0.2), items=4),
    "troubled": Load(batches=5, per_output=4, at_once=20, think=(0.01, 0.1), items=4, kills=1, habits=TROUBLED),
    "haste": Load(batches=5, per_output=4, at_once=10, items=4),
}
SAVES = "saves"
SAVES_AT_ONCE, SAVES_SECONDS = 64, 30.0
"""So many that nobody comes near the 600 saves a minute that one annotator may send."""
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


def _measure_peer(python: str) -> float:
    """Return how many requests factgenie answers a second on this machine."""
    outcome = measure_factgenie(python, FACTGENIE_PEOPLE, ITEMS)
    print(
        f"factgenie: {outcome.people} people, {outcome.seconds:.0f} s, {outcome.submitted} submitted\n"
        f"  {outcome.requests_per_second:.0f} requests a second; unexpected answers: {len(outcome.problems)}; "
        f"load average {os.getloadavg()[0]:.1f}"
    )
    for problem in outcome.problems[:10]:
        print(f"  {problem}", file=sys.stderr)
    return outcome.requests_per_second


def _report(title: str, outcome: Outcome, factgenie: float) -> None:
    seen = ", ".join(f"{count} {name}" for name, count in outcome.seen.items())
    print(
        f"{title}: {outcome.people} people{f' ({seen})' if seen else ''}, {outcome.kills} kills, {outcome.seconds:.0f} s"
    )
    print(f"  {'request':<8} {'count':>7} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'max ms':>8}")
    for name, seconds in outcome.measurements.seconds.items():
        p50, p95, p99 = np.percentile(seconds or [0.0], [50, 95, 99]) * 1000
        print(f"  {name:<8} {len(seconds):>7} {p50:>8.1f} {p95:>8.1f} {p99:>8.1f} {max(seconds) * 1000:>8.1f}")
    requests = outcome.requests / outcome.seconds
    print(
        f"  {requests:.0f} requests a second ({requests / factgenie:.1f} times factgenie's {factgenie:.0f}), "
        f"{outcome.saves / outcome.seconds:.0f} acknowledged saves a second"
    )
    if outcome.processor_seconds is not None:
        server, clients = (
            seconds / max(outcome.saves, 1) * 1000 for seconds in (outcome.processor_seconds, outcome.client_seconds)
        )
        print(
            f"  for each save, with all that goes with it, the server worked {server:.1f} ms on a processor, "
            f"the clients {clients:.1f} ms"
        )
    wrong = [*outcome.measurements.errors, *outcome.problems]
    print(
        f"  unexpected answers: {len(outcome.measurements.errors)}; broken promises: {len(outcome.problems)}; "
        f"load average {os.getloadavg()[0]:.1f}"
    )
    for problem in wrong[:10]:
        print(f"  {problem}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "measurements", nargs="*", metavar="MEASUREMENT", help=f"{', '.join(LOADS)}, {SAVES}; all by default"
    )
    parser.add_argument("--database", choices=[*KINDS, "both"], default="both")
    parser.add_argument("--annotators", type=int, help="people at work at the same time")
    parser.add_argument("--processes", type=int, help="server processes; spanplat's own choice when left out")
    parser.add_argument("--short", action="store_true", help="a few people for a few seconds")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has factgenie, to measure it too")
    options = parser.parse_args()
    chosen = options.measurements or [*LOADS, SAVES]
    if unknown := set(chosen) - {*LOADS, SAVES}:
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}; there are {', '.join([*LOADS, SAVES])}")
    print(describe_processors())
    sound = True
    factgenie = _measure_peer(options.peer) if options.peer else FACTGENIE_REQUESTS_PER_SECOND
    for name, kind in itertools.product(chosen, kinds_of(options.database)):
        if name == SAVES:
            people, seconds = (
                (SHORT_SAVES_AT_ONCE, SHORT_SAVES_SECONDS) if options.short else (SAVES_AT_ONCE, SAVES_SECONDS)
            )
            outcome = measure_saves(kind, options.annotators or people, seconds, options.processes)
        else:
            load = (SHORT if options.short else LOADS)[name]
            load = replace(load, at_once=options.annotators or load.at_once)
            outcome = measure(kind, load, options.processes)
        _report(f"{name} on {kind}", outcome, factgenie)
        sound = sound and not outcome.measurements.errors and not outcome.problems
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
