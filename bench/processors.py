"""How much more this machine's processors do together than one of them alone: those of a virtual machine may share what computes."""

import os
import time
from concurrent.futures import ProcessPoolExecutor
from statistics import median

LOOPS = 3_000_000
ROUNDS = 5


def worth_of_all(count: int | None = None) -> float:
    """Return how many times what one process computes in a time so many processes compute side by side.

    Parameters
    ----------
    count
        Processes; as many as there are processors, when left out. With that many processors of their own, it is returned again.
    """
    count = count or os.cpu_count() or 1
    with ProcessPoolExecutor(count) as pool:
        list(pool.map(_seconds, [1] * count))  # until all have started
        ratios = []
        for _ in range(ROUNDS):
            alone = pool.submit(_seconds, LOOPS).result()
            together = list(pool.map(_seconds, [LOOPS] * count))
            ratios.append(count * alone / (sum(together) / count))
    return median(ratios)


def _seconds(loops: int) -> float:
    began, total = time.perf_counter(), 0
    for number in range(loops):
        total += number * 2
    return time.perf_counter() - began


if __name__ == "__main__":
    print(f"{os.cpu_count()} processors together do {worth_of_all():.1f} times what one of them does")
