"""How fast this machine adds at the moment, and how much more its processors do together than one of them alone.

Those of a virtual machine may share what computes. How Python was built does not show in a loop as short as this one.
"""

import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from statistics import median

LOOPS = 3_000_000
ROUNDS = 5


def describe_processors() -> str:
    """Say which Python this is, how fast it adds, and how many times what one processor does all of them do in the same time."""
    count = os.cpu_count() or 1
    with ProcessPoolExecutor(count) as pool:
        list(pool.map(_seconds, [1] * count))  # until all have started
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
