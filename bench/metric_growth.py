"""Growth of the measures' time and memory with many outputs, and with many spans in one text. Run ``python -m bench.metric_growth``.

Memory is the peak of the sum over this process and its workers; shared memory pages count for each of them.
"""

import argparse
import threading
import time
from collections.abc import Callable
from typing import Self

import numpy as np
import psutil

from bench.published_annotations import made
from spanplat.errors import InvalidInput
from spanplat.metrics import SpanSet, agreement_report
from spanplat.metrics.mathet import gamma_disorders

LOOK_EVERY_SECONDS = 0.05
MANY_SPANS = 300


class PeakMemory:
    """Monitor of the memory of this process and its children during a block."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while True:
            total = 0
            for process in [me, *me.children(recursive=True)]:
                try:
                    total += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.megabytes = max(self.megabytes, total / 2**20)
            if self._done.wait(LOOK_EVERY_SECONDS):
                return


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds and the peak megabytes of some work."""
    with PeakMemory() as memory:
        begin = time.perf_counter()
        work()
        seconds = time.perf_counter() - begin
    return seconds, memory.megabytes


def crowded(n_spans: int, characters: int, seed: int) -> SpanSet:
    """Mark one text with many spans of 5 to 119 characters."""
    random = np.random.default_rng(seed)
    start = random.integers(0, characters, n_spans)
    end = start + random.integers(5, 120, n_spans)
    category = random.integers(0, 6, n_spans)
    return SpanSet.from_columns(np.zeros(n_spans, dtype=np.int64), n_outputs=1, start=start, end=end, category=category)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--jobs", type=int, default=2, help="processes for γ (default 2)")
    parser.add_argument("--short", action="store_true", help="leave out what takes longer than seconds")
    arguments = parser.parse_args()
    before: tuple[int, float, float] | None = None
    rows = ["| outputs | everything but γ | peak memory | γ | peak memory |", "|---|---|---|---|---|"]
    for outputs in [1_000] if arguments.short else arguments.outputs:
        pair = made(outputs)
        families, families_memory = measured(lambda pair=pair: agreement_report(pair, with_gamma=False))  # type: ignore[misc]
        sides = (pair.hypothesis, pair.reference)
        gammas, gamma_memory = measured(lambda sides=sides: gamma_disorders(sides, n_jobs=arguments.jobs))  # type: ignore[misc]
        print(
            f"{outputs:>7,} outputs: everything but γ {families:6.2f} s ({families_memory:,.0f} MB), "
            f"γ {gammas:6.2f} s ({gamma_memory:,.0f} MB, {arguments.jobs} processes)"
        )
        rows.append(
            f"| {outputs:,} | {families:.2f} s | {families_memory:,.0f} MB | {gammas:.2f} s | {gamma_memory:,.0f} MB |"
        )
        if before is not None:
            times = outputs / before[0]
            print(
                f"{'':>7}  {times:.0f} times the outputs take {families / before[1]:.1f} times as long without γ, "
                f"{gammas / before[2]:.1f} times as long for γ"
            )
        before = outputs, families, gammas
    print("\n".join(rows))
    pair = made(1, spans_per_output=MANY_SPANS)
    seconds, _ = measured(lambda: agreement_report(pair))
    print(f"one text, two annotators, {pair.reference.n_spans} and {pair.hypothesis.n_spans} spans: {seconds:.2f} s")
    for characters in (30_000,) if arguments.short else (60_000, 30_000, 12_000, 1_000):
        three = [crowded(MANY_SPANS, characters, seed) for seed in range(3)]
        begin = time.perf_counter()
        try:
            gamma_disorders(three)
            said = f"{time.perf_counter() - begin:.2f} s"
        except InvalidInput as error:
            said = f"refused after {time.perf_counter() - begin:.2f} s: {error}"
        print(f"one text of {characters:,} characters, γ of three annotators with {MANY_SPANS} spans each: {said}")


if __name__ == "__main__":
    main()
