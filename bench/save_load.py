"""Load test of `spanplat serve` with parallel annotators over HTTP, with the clients on the same machine, followed by an audit.

Each annotator follows the start link, reads ten items, saves each three times and submits. People come until every seat is filled.
Then the database must contain all planned and all acknowledged work (see `tests.simulation.verification`). Four measurements:

- ``thought``: 200 people who pause for 1 to 3 s before every action. How long does a save take?
- ``troubled``: the same, but the server is killed five times with SIGKILL, 20 % of the people vanish, 10 % come back after the end of
  their lease, and 10 % send everything twice at once.
- ``haste``: 100 people at a time who never pause. How many requests and saves per second?
- ``saves``: 64 people who only send saves. How many saves per second?

With ``--peer PYTHON``, an interpreter that has factgenie 1.2.1, factgenie runs first: 100 people at once who never pause.
"""

import argparse
import itertools
import os
import sys
from dataclasses import replace

import numpy as np

from bench.factgenie_load import measure_factgenie
from bench.processors import describe_processors
from tests.simulation.databases import KINDS, kinds_of
from tests.simulation.load import (
    ITEMS,
    SHORT,
    SHORT_SAVES_AT_ONCE,
    SHORT_SAVES_SECONDS,
    Load,
    Outcome,
    measure,
    measure_saves,
)
from tests.simulation.visits import TROUBLED

FACTGENIE_REQUESTS_PER_SECOND = 73.0
"""Best rate of factgenie with 100 annotators at a time, on a machine with two cores; ``--peer`` measures it on this one."""
FACTGENIE_PEOPLE = 100
LOADS = {
    "thought": Load(batches=50, per_output=4, at_once=200, think=(1, 3), arrival_seconds=10),
    "troubled": Load(batches=50, per_output=4, at_once=200, think=(1, 3), arrival_seconds=10, kills=5, habits=TROUBLED),
    "haste": Load(batches=100, per_output=5, at_once=100),
}
SAVES = "saves"
SAVES_AT_ONCE, SAVES_SECONDS = 64, 30.0
"""Number of people; large enough that nobody reaches the limit of 600 saves per minute for one annotator."""


def _measure_peer(python: str) -> float:
    """Return the number of requests that factgenie answers per second on this machine."""
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
