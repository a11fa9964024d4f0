"""How agreement is spread over outputs: numbers of spans side by side, and how many outputs agree how well."""

from dataclasses import dataclass

import numpy as np

from spanplat.services.disagreement import Disagreements

N_BINS = 10


@dataclass(frozen=True)
class CountPair:
    """How many outputs have so many spans on each side."""

    reference: int
    hypothesis: int
    outputs: int


@dataclass(frozen=True)
class Bin:
    """How many outputs have a character F1 from ``low`` (inclusive) to ``high`` (exclusive, but inclusive at 1)."""

    low: float
    high: float
    both: int
    """Outputs on which both sides marked something."""
    one: int
    """Outputs on which one side marked nothing: their F1 is 0."""
    neither: int
    """Outputs on which neither side marked anything: their F1 is 1."""

    @property
    def outputs(self) -> int:
        """All outputs of the bin."""
        return self.both + self.one + self.neither


def count_pairs(found: Disagreements) -> list[CountPair]:
    """Count the outputs by their numbers of spans on both sides, the most frequent pair of numbers first."""
    counts = np.stack([found.pair.reference.counts, found.pair.hypothesis.counts], axis=1)
    pairs, outputs = np.unique(counts, axis=0, return_counts=True)
    order = np.argsort(-outputs, kind="stable")
    return [CountPair(int(pairs[place, 0]), int(pairs[place, 1]), int(outputs[place])) for place in order]


def f1_bins(found: Disagreements) -> list[Bin]:
    """Count the outputs by their character F1 (same category) in ten bins, apart by how many sides marked something."""
    edges = np.linspace(0, 1, N_BINS + 1).round(10)
    place = np.clip(np.searchsorted(edges, found.f1, side="right") - 1, 0, N_BINS - 1)
    sides = (found.pair.reference.counts > 0).astype(np.int64) + (found.pair.hypothesis.counts > 0)
    table = np.zeros((N_BINS, 3), dtype=np.int64)
    np.add.at(table, (place, sides), 1)
    return [
        Bin(float(edges[row]), float(edges[row + 1]), both=int(both), one=int(one), neither=int(neither))
        for row, (neither, one, both) in enumerate(table.tolist())
    ]
