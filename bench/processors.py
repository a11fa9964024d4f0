"""How much more this machine's processors do together than one of them alone: those of a virtual machine may share what computes."""

import os
import time
from concurrent.futures import ProcessPoolExecutor
from statistics import median

LOOPS = 3_000_000
ROUNDS = 5


def describe_processors() -> str:
    """Say how many times what one process computes as many processes as there are processors compute in the same time."""
    count = os.cpu_count() or 1
    with ProcessPoolExecutor(count) as pool:
        list(pool.map(_seconds, [1] * count))  # until all have started
        ratios = []
        for _ in range(ROUNDS):
            alone = pool.submit(_seconds, LOOPS).result()
            together = list(pool.map(_seconds, [LOOPS] * count))
            ratios.append(count * alone / (sum(together) / count))
    return f"{count} processors together do {median(ratios):.1f} times what one of them does"


def _seconds(loops: int) -> float:
    began, total = time.perf_counter(), 0
    for number in range(loops):
        total += number * 2
    return time.perf_counter() - began
