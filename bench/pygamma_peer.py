"""Peer process in an interpreter with pygamma-agreement: reads problems from stdin, prints γ of each and the seconds."""

import json
import sys
import time
from typing import Any

import numpy as np
from pyannote.core import Segment  # type: ignore[import-not-found]
from pygamma_agreement import CombinedCategoricalDissimilarity, Continuum, StatisticalContinuumSampler


def gamma(problem: list[list[list[int]]], n_samples: int, seed: int) -> float:
    """Return γ of one problem with the statistical sampler, which is seeded first."""
    np.random.seed(seed)  # noqa: NPY002 (the peer draws from the global state)
    continuum = Continuum()
    for number, spans in enumerate(problem):
        continuum.add_annotator(f"a{number}")
        for start, end, category in spans:
            continuum.add(f"a{number}", Segment(start, end), str(category))
    result: Any = continuum.compute_gamma(
        CombinedCategoricalDissimilarity(alpha=1, beta=1, delta_empty=1),
        n_samples=n_samples,
        sampler=StatisticalContinuumSampler(),
    )
    return float(result.gamma)


def main() -> None:
    request = json.load(sys.stdin)
    problems = request["problems"]
    gamma(problems[0], 2, request["seed"])  # compiles its functions before the time is measured
    begin = time.perf_counter()
    values = [gamma(problem, request["samples"], request["seed"]) for problem in problems]
    sys.stdout.write("\n" + json.dumps({"seconds": time.perf_counter() - begin, "gamma": values}))


if __name__ == "__main__":
    main()
