"""Present speed of this machine, and the speed-up of all its processors together over one of them.

The processors of a virtual machine may share one core. The loop is too short to show how Python was built.
"""

import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from statistics import median

LOOPS = 3_000_000
ROUNDS = 5


def describe_processors() -> str:
    """Return the version of Python, its speed, and the speed-up of all processors over one, as a sentence."""
    count = os.cpu_count() or 1
    with ProcessPoolExecutor(count) as pool:
        list(pool.map(_seconds, [1] * count))  # so that starting the processes does not count
        ratios, times = [], []
        for _ in range(ROUNDS):
            alone = pool.submit(_seconds, LOOPS).result()
            together = list(pool.map(_seconds, [LOOPS] * count))
            times.append(alone)
            ratios.append(count * alone / (sum(together) / count))
    return (
        f"Python {platform.python_version()} adds {LOOPS / 1e6:.0f} million numbers in {median(times):.2f} s; "
        f"{count} processors together do {median(ratios):.1f} times what one of them does"
    )


def _seconds(loops: int) -> float:
    began, total = time.perf_counter(), 0
    for number in range(loops):
        total += number * 2
    return time.perf_counter() - began
