"""Speed of γ compared with pygamma-agreement, at the same seed and with the same figures.

Run ``python -m bench.gamma_speed --data DATA --peer PYTHON``, where PYTHON is an interpreter with pygamma-agreement. Without
``--peer`` the script prints only our own times.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.published_annotations import Spans, people_and_model, triples
from spanplat.metrics import GammaOptions, SpanSet, char, gamma_of_annotators, partial_credit

PEER = Path(__file__).with_name("pygamma_peer.py")


def best_of(runs: int, work: Callable[[], object]) -> float:
    """Return the seconds of the fastest run."""
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def ask_peer(python: Path, problems: list[list[Spans]], options: GammaOptions) -> tuple[float, np.ndarray]:
    """Return the seconds and γ values of the peer for these problems."""
    request = json.dumps({"problems": problems, "samples": options.n_samples, "seed": options.seed})
    done = subprocess.run([python, PEER], input=request, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])  # its solver prints too
    return answer["seconds"], np.array(answer["gamma"])


def compare(title: str, problems: list[list[Spans]], peer: Path | None, share: int) -> None:
    """Print our time for all problems, and the ratio for every ``share``-th of them."""
    options = GammaOptions()

    def ours(chosen: list[list[Spans]]) -> np.ndarray:
        sides = [SpanSet.from_lists([problem[place] for problem in chosen]) for place in range(len(chosen[0]))]
        return gamma_of_annotators(sides, options).per_output["gamma"]

    seconds = best_of(5, lambda: ours(problems))
    print(f"{title}: {len(problems)} outputs, hard and soft together, {seconds * 1000:.0f} ms")
    if peer is None:
        return
    sample = problems[::share]
    peer_seconds, theirs = ask_peer(peer, sample, options)
    per_output = seconds / len(problems)
    same_sample = best_of(5, lambda: ours(sample)) / len(sample)
    print(f"  peer (hard only): {peer_seconds / len(sample) * 1000:.1f} ms an output on {len(sample)} of them")
    ratio = peer_seconds / len(sample) / per_output
    print(
        f"  ratio: {ratio:.0f}; against our time on those outputs alone {peer_seconds / len(sample) / same_sample:.0f}"
    )
    print(f"  largest difference of γ: {np.abs(ours(sample) - theirs).max():.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with d2t-eval")
    parser.add_argument("--peer", type=Path, help="a Python interpreter with pygamma-agreement")
    parser.add_argument("--share", type=int, default=4, help="give the peer every n-th output (default 4)")
    parser.add_argument("--model", default="o3-mini")
    arguments = parser.parse_args()
    pair = people_and_model(arguments.data, arguments.model)
    both = np.flatnonzero((pair.reference.counts > 0) & (pair.hypothesis.counts > 0))
    sides = [
        [[tuple(span[:3]) for span in spans] for spans in side.select(both).to_lists()]
        for side in (pair.hypothesis, pair.reference)
    ]
    two = [list(problem) for problem in zip(*sides, strict=True)]
    compare("two annotators", two, arguments.peer, arguments.share)
    compare("three annotators", triples(arguments.data), arguments.peer, arguments.share)
    for name, work in (("char", lambda: char(pair)), ("partial_credit, optimal", lambda: partial_credit(pair))):
        print(f"{name}: {pair.n_outputs} outputs, {best_of(5, work) * 1000:.1f} ms")


if __name__ == "__main__":
    main()
