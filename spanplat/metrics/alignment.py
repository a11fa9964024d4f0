"""Best alignments of two annotators: a maximum-weight matching for hard γ, a minimum-cost edge cover for soft γ.

Both are the same problem. A unit without a partner costs its *alone* cost. A pair of units saves the sum of their alone costs minus
their dissimilarity. The best alignment is the matching that saves most.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy  # it loads its submodules on first use; the slow ones are needed for agreement only

from spanplat.metrics.spans import BoolArray, FloatArray, IntArray
from spanplat.metrics.units import Units

SMALL = 6
"""Largest number of units on the smaller side for solving a batch at once, over subsets. Larger problems are solved one by one."""
CELLS = 1 << 21
"""Largest number of cells of dissimilarity matrices in one batch."""


class Dissimilarity(NamedTuple):
    """α, β and Δ∅ of the combined dissimilarity (Mathet et al. 2015, eq. 3 to 5).

    As in pygamma-agreement 0.5.9, Δ∅ scales positions and is the cost of a unit without a partner. A different category costs β. With
    the usual Δ∅ = 1 this is the published formula. With other values it is the formula of pygamma-agreement, so that others can
    reproduce the figures.
    """

    alpha: float = 1.0
    beta: float = 1.0
    delta_empty: float = 1.0

    def __call__(self, left: tuple[FloatArray, ...], right: tuple[FloatArray, ...]) -> FloatArray:
        """Return the dissimilarities of broadcast (start, end, category) arrays."""
        shift = np.abs(left[0] - right[0]) + np.abs(left[1] - right[1])
        # Never 0: units have a length (see `units_of`), and so have the padding cells.
        extent = (left[1] - left[0]) + (right[1] - right[0])
        position = self.alpha * (shift / extent) ** 2
        cost: FloatArray = position * self.delta_empty + self.beta * (left[2] != right[2])
        return cost

    def reach(self, ceiling: float) -> float:
        """Return the largest shift of two units that are less dissimilar than ``ceiling``, as a multiple of their summed lengths."""
        weight = self.alpha * self.delta_empty
        return math.sqrt(ceiling / weight) if weight else math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Total costs of the best hard and soft alignments, one per problem. They are not divided by the mean number of units."""

    hard: FloatArray
    soft: FloatArray


def best_pair_alignments(left: Units, right: Units, dissimilarity: Dissimilarity) -> Costs:
    """Compute the costs of the best alignments of two annotators on many outputs or samples.

    Parameters
    ----------
    left, right : Units
        Row ``i`` of both is problem ``i``.
    dissimilarity : Dissimilarity
        α, β, Δ∅.

    Returns
    -------
    Costs
    """
    few, many = np.minimum(left.counts, right.counts), np.maximum(left.counts, right.counts)
    swap = left.counts < right.counts
    costs = Costs(np.empty(len(few)), np.empty(len(few)))
    rounded = _round_up(many)
    # Problems of one shape are solved together. The longer side is padded to few distinct lengths, so that there are few shapes.
    kind = few * (rounded.max(initial=0) + 1) + rounded
    order = np.argsort(kind, kind="stable")
    borders = np.flatnonzero(np.diff(kind[order], prepend=-1, append=-1))
    for low, high in pairwise(borders.tolist()):
        # The subset table has 2 ** few cells for each problem. The product with the matrix bounds both.
        cells = max(1, int(few[order[low]] * rounded[order[low]]) << min(int(few[order[low]]), SMALL))
        for begin in range(low, high, max(1, CELLS // cells)):
            problems = order[begin : min(high, begin + max(1, CELLS // cells))]
            shape = int(rounded[problems[0]]), int(few[problems[0]])
            costs.hard[problems], costs.soft[problems] = _solve(
                problems, (left, right), swap[problems], shape, dissimilarity
            )
    return costs


def _solve(
    problems: IntArray,
    sides: tuple[Units, Units],
    swap: BoolArray,
    shape: tuple[int, int],
    dissimilarity: Dissimilarity,
) -> tuple[FloatArray, FloatArray]:
    """Solve problems of one shape: up to ``shape[0]`` units on the longer side, exactly ``shape[1]`` on the shorter side."""
    alone = dissimilarity.delta_empty
    total = (sides[0].counts[problems] + sides[1].counts[problems]).astype(np.float64)
    if shape[1] == 0:
        return alone * total, alone * total
    (long, there), (short, _) = (
        _gather(problems, sides, swap, long=True, width=shape[0]),
        _gather(problems, sides, swap, long=False, width=shape[1]),
    )
    apart = dissimilarity(tuple(column[:, :, None] for column in long), tuple(column[:, None, :] for column in short))
    apart[~there] = np.inf
    # Pairs that would save nothing get 0, so that the matching is free to take or leave them.
    hard = alone * total - _most_saved(np.maximum(2 * alone - apart, 0.0))
    # In a soft alignment a unit may join another unit's pair, so it never costs more alone than its smallest dissimilarity.
    alone_long = np.where(there, np.minimum(alone, apart.min(axis=2)), 0.0)
    alone_short = np.minimum(alone, apart.min(axis=1))
    saved = np.maximum(alone_long[:, :, None] + alone_short[:, None, :] - apart, 0.0)
    soft = alone_long.sum(axis=1) + alone_short.sum(axis=1) - _most_saved(saved)
    return hard, soft


def _gather(
    problems: IntArray, sides: tuple[Units, Units], swap: BoolArray, *, long: bool, width: int
) -> tuple[tuple[FloatArray, ...], BoolArray]:
    """Return the columns (start, end, category) of the longer or shorter sides, shape (problems, width), and a mask of real cells."""
    # Padding cells are the unit [0, 1). `_solve` gives them an infinite dissimilarity.
    columns = [np.ones((len(problems), width)) for _ in range(3)]
    columns[0][:] = 0.0
    there = np.zeros((len(problems), width), dtype=bool)
    for number, units in enumerate(sides):
        # `swap` is true where the left side is the shorter one. There the right side is the long one.
        rows = np.flatnonzero(swap == (number == int(long)))
        counts = units.counts[problems[rows]]
        real = np.arange(width) < counts[:, None]
        source = (units.offsets[:-1][problems[rows]][:, None] + np.arange(width))[real]
        there[rows] = real
        for column, values in zip(columns, (units.start, units.end, units.category), strict=True):
            block = column[rows]
            block[real] = values[source]
            column[rows] = block
    return tuple(columns), there


def _most_saved(saved: FloatArray) -> FloatArray:
    """Return the largest saving of a matching, per problem. ``saved``: shape (problems, long side, short side), not negative."""
    problems, long, short = saved.shape
    if short > SMALL:
        best = np.empty(problems)
        for number, matrix in enumerate(saved):
            rows, columns = scipy.optimize.linear_sum_assignment(matrix, maximize=True)
            best[number] = matrix[rows, columns].sum()
        return best
    # Dynamic programming over subsets: the largest saving of the long units so far, for each set of allowed short units.
    table = np.zeros((2,) * short + (problems,))
    weights = np.ascontiguousarray(saved.transpose(1, 2, 0))
    for unit in range(long):
        # `before` keeps the savings without this unit, so that the unit is not used twice.
        before = table.copy() if short > 1 else table
        grown = table.copy() if short == 1 else table
        for other in range(short):
            without: tuple[slice | int, ...] = (slice(None),) * other + (0,)
            using: tuple[slice | int, ...] = (slice(None),) * other + (1,)
            np.maximum(grown[using], before[without] + weights[unit, other], out=grown[using])
        table = grown
    full: FloatArray = table[(1,) * short]
    return full


def _round_up(counts: IntArray) -> IntArray:
    """Round up to few distinct sizes, so that few batches are needed: exact up to 4, then in steps of about a quarter."""
    step = np.maximum(1, 2 ** np.maximum(0, np.floor(np.log2(np.maximum(counts, 1))).astype(np.int64) - 2))
    rounded: IntArray = -(-counts // step) * step
    return rounded
