"""One-to-one matchings of spans: a greedy matching, or the matching with the highest reported F."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy  # it loads its submodules on first use; the slow ones are needed for agreement only

from spanplat.metrics.overlaps import Overlaps
from spanplat.metrics.spans import BoolArray, FloatArray, IntArray, sum_by

ROUNDS = 24
"""Largest number of rounds of the search for the best F. Real and random data never needed as many."""
PARETO_LIMIT = 4096
"""Largest number of (precision, recall) points in the exact search of one group."""


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """Gains in precision and recall of every candidate pair.

    Parameters
    ----------
    precision, recall : array of float, shape (pairs,)
        What the pair adds to precision and to recall. The values are divided by the group's number of spans.
    group : array of int, shape (pairs,)
        Group of outputs that are scored together: one group for micro averages, one group per output for macro averages.
    n_groups : int
        Number of groups.
    """

    precision: FloatArray
    recall: FloatArray
    group: IntArray
    n_groups: int

    def points(self, chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the precision and recall of every group with a matching."""
        groups = self.group[chosen]
        return (
            sum_by(groups, self.precision[chosen], self.n_groups),
            sum_by(groups, self.recall[chosen], self.n_groups),
        )


def greedy(pairs: Overlaps) -> BoolArray:
    """Take pairs by 2|∩| / (|ŝ| + |s|) in descending order, each span at most once. Ties are taken in input order.

    Parameters
    ----------
    pairs : Overlaps
        The candidates.

    Returns
    -------
    array of bool, shape (pairs,)
        Mask of the taken candidates.
    """
    rank = np.empty(len(pairs.output), dtype=np.int64)
    rank[np.argsort(-pairs.dice, kind="stable")] = np.arange(len(rank))
    taken = np.zeros(len(rank), dtype=bool)
    open_pairs = np.arange(len(rank))
    n_hypothesis, n_reference = (int(side.max(initial=-1)) + 1 for side in (pairs.hypothesis, pairs.reference))
    # A pair with the best rank for both of its spans is taken in any case. So each round takes many pairs at once.
    while len(open_pairs):
        hypothesis, reference, ranks = pairs.hypothesis[open_pairs], pairs.reference[open_pairs], rank[open_pairs]
        best_hypothesis, best_reference = np.full(n_hypothesis, len(rank)), np.full(n_reference, len(rank))
        np.minimum.at(best_hypothesis, hypothesis, ranks)
        np.minimum.at(best_reference, reference, ranks)
        first = (best_hypothesis[hypothesis] == ranks) & (best_reference[reference] == ranks)
        taken[open_pairs[first]] = True
        used_hypothesis, used_reference = np.zeros(n_hypothesis, dtype=bool), np.zeros(n_reference, dtype=bool)
        used_hypothesis[hypothesis[first]] = True
        used_reference[reference[first]] = True
        open_pairs = open_pairs[~used_hypothesis[hypothesis] & ~used_reference[reference]]
    return taken


def optimal(pairs: Overlaps, gains: Gains) -> BoolArray:
    """Find the matching with the highest F of every group.

    F is concave and homogeneous in (P, R). The gradient of F at the point of a matching gives weights for precision and recall. If the
    matching is the heaviest with these weights, no other matching has a higher F. The search starts with equal weights and refines
    them until this holds. It may never hold, because the best point may be inside the convex hull of the others. Then small groups are
    searched exactly.

    Parameters
    ----------
    pairs : Overlaps
        The candidates.
    gains : Gains
        Gains of each candidate.

    Returns
    -------
    array of bool, shape (pairs,)
        Mask of the taken candidates.
    """
    if not len(pairs.output):
        return np.zeros(0, dtype=bool)
    problem = MatchingProblem(pairs.hypothesis, pairs.reference)
    chosen = problem.heaviest(gains.precision + gains.recall, np.ones(len(pairs.output), dtype=bool))
    if np.array_equal(gains.precision, gains.recall):
        return chosen
    precision, recall = gains.points(chosen)
    # A group with at most one pair has nothing to choose.
    searching = np.bincount(gains.group, minlength=gains.n_groups) > 1
    slope = _gradient(precision, recall)
    for _ in range(ROUNDS):
        active = searching[gains.group]
        if not active.any():
            break
        weight = slope[0][gains.group] * gains.precision + slope[1][gains.group] * gains.recall
        proposal = problem.heaviest(weight, active)
        new_precision, new_recall = gains.points(proposal)
        reachable = slope[0] * new_precision + slope[1] * new_recall
        # The tolerances keep rounding errors from counting as progress.
        better = searching & (_f1(new_precision, new_recall) > _f1(precision, recall) + 1e-15)
        settled = searching & ~better & (reachable <= slope[0] * precision + slope[1] * recall + 1e-12)
        # With these weights the old and the new point are equally heavy, so that a point between them can be found.
        secant = new_recall - recall, precision - new_precision
        usable = (secant[0] > 0) & (secant[1] > 0)
        chosen = np.where(better[gains.group], proposal, chosen)
        precision, recall = np.where(better, new_precision, precision), np.where(better, new_recall, recall)
        gradient = _gradient(precision, recall)
        slope = (
            np.where(better, gradient[0], np.where(usable, secant[0], slope[0])),
            np.where(better, gradient[1], np.where(usable, secant[1], slope[1])),
        )
        searching = searching & ~settled & (better | usable)
    return _refine(problem, gains, chosen)


class MatchingProblem:
    """Maximum-weight matchings over a fixed set of candidate pairs, solved for each connected component.

    Parameters
    ----------
    left, right : array of int, shape (pairs,)
        The two spans of every candidate pair.
    """

    def __init__(self, left: IntArray, right: IntArray) -> None:
        n_left = int(left.max(initial=-1)) + 1
        size = n_left + int(right.max(initial=-1)) + 1
        edges = scipy.sparse.coo_array((np.ones(len(left), dtype=np.int8), (left, right + n_left)), shape=(size, size))
        _, labels = scipy.sparse.csgraph.connected_components(edges, directed=False)
        self.component: IntArray = labels[left].astype(np.int64)
        self.left, self.right = left, right
        self.star = self._is_star(size)
        order = np.argsort(self.component, kind="stable")
        order = order[~self.star[order]]
        borders = np.flatnonzero(np.diff(self.component[order], prepend=-1, append=-1)).tolist() if len(order) else []
        self.blocks = [order[low:high] for low, high in pairwise(borders)]

    def _is_star(self, n_components: int) -> BoolArray:
        """Return for every pair whether all pairs of its component share a span."""
        # At most one pair of such a component can be taken. It is found without solving an assignment problem.
        stars = np.zeros(n_components, dtype=bool)
        for side in (self.left, self.right):
            low, high = np.full(n_components, np.iinfo(np.int64).max), np.full(n_components, -1)
            np.minimum.at(low, self.component, side)
            np.maximum.at(high, self.component, side)
            stars |= low == high
        shared: BoolArray = stars[self.component]
        return shared

    def heaviest(self, weight: FloatArray, active: BoolArray) -> BoolArray:
        """Find the matching of highest weight among the active pairs. A component is active as a whole or not at all."""
        chosen = np.zeros(len(weight), dtype=bool)
        stars = np.flatnonzero(self.star & active & (weight > 0))
        order = stars[np.lexsort((stars, -weight[stars], self.component[stars]))]
        # The pairs are in order of weight within each component, so the first one is the heaviest.
        chosen[order[np.diff(self.component[order], prepend=-1) != 0]] = True
        for block in self.blocks:
            if active[block[0]]:
                chosen[self.heaviest_in(block, weight[block])] = True
        return chosen

    def heaviest_in(self, block: IntArray, weight: FloatArray) -> IntArray:
        """Solve the assignment problem of one component. Pairs without weight are not taken."""
        row, column = self.left[block], self.right[block]
        # Spans of a component belong to one output and so have near positions. The matrix stays small without a renumbering.
        row, column = row - row.min(), column - column.min()
        matrix = np.zeros((row.max() + 1, column.max() + 1))
        matrix[row, column] = weight
        pair_at = np.full(matrix.shape, -1, dtype=np.int64)
        pair_at[row, column] = block
        best = scipy.optimize.linear_sum_assignment(matrix, maximize=True)
        taken: IntArray = pair_at[best][matrix[best] > 0]
        return taken


def _gradient(precision: FloatArray, recall: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gradient of F up to a factor: the weight of precision is R², the weight of recall is P²."""
    nothing = (precision + recall) == 0
    return np.where(nothing, 1.0, recall**2), np.where(nothing, 1.0, precision**2)


def _f1(precision: FloatArray, recall: FloatArray) -> FloatArray:
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)


def _refine(problem: MatchingProblem, gains: Gains, chosen: BoolArray) -> BoolArray:
    """Search the groups exactly whose matching may not be the best, if they are small enough."""
    precision, recall = gains.points(chosen)
    slope = _gradient(precision, recall)
    weight = slope[0][gains.group] * gains.precision + slope[1][gains.group] * gains.recall
    bound = gains.points(problem.heaviest(weight, np.ones(len(weight), dtype=bool)))
    # Without a gap, the matching is the heaviest at its own gradient, and then no other has a higher F.
    gap = slope[0] * (bound[0] - precision) + slope[1] * (bound[1] - recall)
    for group in np.flatnonzero(gap > 1e-12).tolist():
        mine = np.flatnonzero(gains.group == group)
        best = _exact(problem, gains, mine)
        if best is not None:
            chosen[mine] = False
            chosen[best] = True
    return chosen


def _exact(problem: MatchingProblem, gains: Gains, pairs: IntArray) -> list[int] | None:
    """Combine the undominated (P, R) points of all components. Return ``None`` if there are too many."""
    # F rises with P and with R, so a point with a lower P and a lower R than another is never the best.
    points: list[tuple[float, float, list[int]]] = [(0.0, 0.0, [])]
    for component in np.unique(problem.component[pairs]).tolist():
        mine = pairs[problem.component[pairs] == component].tolist()
        # All matchings of the component: each pair is added to every matching in which both of its spans are free.
        choices: list[tuple[float, float, list[int]]] = [(0.0, 0.0, [])]
        for pair in mine:
            free = [
                choice
                for choice in choices
                if all(
                    problem.left[other] != problem.left[pair] and problem.right[other] != problem.right[pair]
                    for other in choice[2]
                )
            ]
            choices += [
                (p + float(gains.precision[pair]), r + float(gains.recall[pair]), [*taken, pair])
                for p, r, taken in free
            ]
            if len(choices) > PARETO_LIMIT:
                return None
        choices = _undominated(choices)
        if len(points) * len(choices) > 16 * PARETO_LIMIT:
            return None
        points = _undominated([(p + q, r + s, had + more) for p, r, had in points for q, s, more in choices])
    return max(points, key=lambda point: 0.0 if point[0] == 0 else 2 * point[0] * point[1] / (point[0] + point[1]))[2]


def _undominated(points: list[tuple[float, float, list[int]]]) -> list[tuple[float, float, list[int]]]:
    kept: list[tuple[float, float, list[int]]] = []
    best = -1.0
    for point in sorted(points, key=lambda point: (-point[0], -point[1])):
        if point[1] > best:
            kept.append(point)
            best = point[1]
    return kept
