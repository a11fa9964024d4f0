"""How fast the server acknowledges saves, measured over HTTP against `spanplat serve`, with the clients on the same machine.

With a pause to think (``--think 1-3``), 200 annotators enter, read, save each item three times and submit: how long does a save take?
Without (``--think 0``), every annotator sends the next save as soon as the last was acknowledged: how many a second?
At the end the database is compared with what was acknowledged.
"""

import argparse
import asyncio
import contextlib
import itertools
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np

from bench.annotators import Annotator, Measurements, UnexpectedAnswerError
from bench.databases import KINDS, fresh_database, kinds_of
from bench.http_client import Connection
from bench.serving import Server
from bench.study import create_study
from bench.verification import find_losses

SAVES_PER_ITEM = 3
WARM_UP_CONNECTIONS = 16
SHORT_ANNOTATORS = 8
SHORT_SECONDS = 3.0


@dataclass(frozen=True)
class Load:
    """What is simulated."""

    annotators: int
    """At work at the same time."""
    think: tuple[float, float]
    """Shortest and longest pause between two actions, in seconds."""
    seconds: float
    """After so long nobody begins anything new."""

    @property
    def arrival_seconds(self) -> float:
        """Time over which people arrive."""
        return self.seconds / 3


@dataclass(frozen=True)
class Outcome:
    """What was measured."""

    measurements: Measurements
    seconds: float
    """Between the first and the last save."""
    saves: int
    """Acknowledged in these seconds."""
    processor_seconds: float
    """Used by the server's processes in these seconds (PostgreSQL's own apart)."""
    problems: list[str]
    """Contradictions between what was acknowledged and what is stored."""

    @property
    def saves_per_second(self) -> float:
        """Acknowledged saves per second."""
        return self.saves / self.seconds


def measure(kind: str, load: Load, processes: int | None = None) -> Outcome:
    """Put a server on a fresh database under load, and compare the database with what it acknowledged."""
    measurements = Measurements()
    with fresh_database(kind) as url:
        rounds = 1 if load.think[1] == 0 else 2 + int(load.seconds / (load.think[0] or 0.1) / 15)
        create_study(url, seats=load.annotators * rounds)
        with Server(url, processes=processes) as server:
            annotators, stretch = asyncio.run(_simulate(server, load, measurements))
        losses = find_losses(url, [annotator.ledger for annotator in annotators])
        return Outcome(measurements, stretch.seconds, stretch.saves, stretch.processor_seconds, losses)


class _Stretch:
    """Measures from its beginning to its end: time, saves, and the server's work."""

    def __init__(self, server: Server, measurements: Measurements) -> None:
        self._server, self._saves = server, measurements.seconds["save"]
        self._began = time.perf_counter(), len(self._saves), server.processor_seconds()
        self.seconds = self.processor_seconds = 0.0
        self.saves = 0

    def end(self) -> "_Stretch":
        began, saves, processor = self._began
        self.seconds, self.saves = time.perf_counter() - began, len(self._saves) - saves
        self.processor_seconds = self._server.processor_seconds() - processor
        return self


async def _simulate(server: Server, load: Load, measurements: Measurements) -> tuple[list[Annotator], _Stretch]:
    annotators: list[Annotator] = []
    people = itertools.count(1)

    def arrive(connection: Connection) -> Annotator:
        number = next(people)
        annotators.append(Annotator(f"person-{number}", connection, measurements, number))
        return annotators[-1]

    await _warm_up(server)
    connections = [Connection("127.0.0.1", server.port) for _ in range(load.annotators)]
    stretch = _Stretch(server, measurements)
    if load.think[1] == 0:
        crowd = [arrive(connection) for connection in connections]
        stretch = await _save_without_pause(crowd, load.seconds, lambda: _Stretch(server, measurements))
    else:
        seats = (_annotate_in_turn(arrive, connection, load, n) for n, connection in enumerate(connections))
        await asyncio.gather(*seats)
        stretch.end()
    for connection in connections:
        await connection.close()
    return annotators, stretch


async def _warm_up(server: Server) -> None:
    """Wait until the server's processes have loaded the application: it accepts connections before."""
    connections = [Connection("127.0.0.1", server.port) for _ in range(WARM_UP_CONNECTIONS)]
    await asyncio.gather(*(connection.request("GET", "/healthz") for connection in connections))
    for connection in connections:
        await connection.close()


async def _annotate_in_turn(
    arrive: Callable[[Connection], Annotator], connection: Connection, load: Load, seed: int
) -> None:
    """Let people take turns at one browser, each for one batch, until the time is up."""
    random = Random(seed)
    end = time.perf_counter() + load.seconds

    async def think() -> bool:
        await asyncio.sleep(random.uniform(*load.think))
        return time.perf_counter() < end

    await asyncio.sleep(random.uniform(0, load.arrival_seconds))
    with contextlib.suppress(UnexpectedAnswerError):  # noted among the measurements
        while await think():
            annotator = arrive(connection)
            await annotator.enter()
            for position in annotator.positions:
                await annotator.read(position)
                for number in range(1, SAVES_PER_ITEM + 1):
                    if not await think():
                        return
                    await annotator.save(position, "complete" if number == SAVES_PER_ITEM else "draft")
            await annotator.submit()


async def _save_without_pause(annotators: list[Annotator], seconds: float, begin: Callable[[], _Stretch]) -> _Stretch:
    """Let everybody enter and read, then save as fast as the server answers, then submit; time the saves alone."""

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
    stretch = begin()
    end = time.perf_counter() + seconds
    await asyncio.gather(*map(save, annotators))
    stretch.end()
    await asyncio.gather(*map(finish, annotators))
    return stretch


def _report(kind: str, load: Load, outcome: Outcome) -> None:
    pause = "no pause" if load.think[1] == 0 else f"{load.think[0]:g} to {load.think[1]:g} s of thought"
    print(f"{kind}: {load.annotators} annotators, {pause}, {outcome.seconds:.0f} s")
    print(f"  {'request':<8} {'count':>7} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'max ms':>8}")
    for name, seconds in outcome.measurements.seconds.items():
        p50, p95, p99 = np.percentile(seconds, [50, 95, 99]) * 1000
        print(f"  {name:<8} {len(seconds):>7} {p50:>8.1f} {p95:>8.1f} {p99:>8.1f} {max(seconds) * 1000:>8.1f}")
    print(
        f"  {outcome.saves_per_second:.0f} acknowledged saves a second; the server worked "
        f"{outcome.processor_seconds / max(outcome.saves, 1) * 1000:.1f} ms on a processor for each, with all that goes with it; "
        f"load average {os.getloadavg()[0]:.1f}"
    )
    wrong = [*outcome.measurements.errors, *outcome.problems]
    print(
        f"  unexpected answers: {len(outcome.measurements.errors)}; contradictions in the database: {len(outcome.problems)}"
    )
    for problem in wrong[:10]:
        print(f"  {problem}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=[*KINDS, "both"], default="both")
    parser.add_argument("--annotators", type=int, help="default: 200, or 32 without thought")
    parser.add_argument("--think", action="append", metavar="SECONDS", help="1-3, or 0; both when left out")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--processes", type=int, help="server processes; spanplat's own choice when left out")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_ANNOTATORS} annotators for {SHORT_SECONDS:g} s")
    options = parser.parse_args()
    sound = True
    for kind in kinds_of(options.database):
        for think in options.think or ["1-3", "0"]:
            low, _, high = think.partition("-")
            pause = float(low), float(high or low)
            load = Load(options.annotators or (200 if pause[1] else 32), pause, options.seconds)
            if options.short:
                load = Load(SHORT_ANNOTATORS, (0.05, 0.2) if pause[1] else pause, SHORT_SECONDS)
            outcome = measure(kind, load, options.processes)
            _report(kind, load, outcome)
            sound = sound and not outcome.measurements.errors and not outcome.problems
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
