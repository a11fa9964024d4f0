"""Best alignments of three and more annotators: groups of overlapping units are independent and searched exactly.

A unitary alignment joins at most one unit of every annotator. Leaving a unit alone costs Δ∅, so only alignments that save something
are worth listing; units they link form groups that can be solved by themselves. Most groups hold a handful of units and are searched
exactly, with memory; what remains goes to an integer program.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from spanplat.errors import InvalidInput
from spanplat.metrics.alignment import Costs, Dissimilarity
from spanplat.metrics.covering import cheapest_cover
from spanplat.metrics.spans import BoolArray, FloatArray, IntArray, sum_by
from spanplat.metrics.units import Units

ALIGNMENTS_LIMIT = 4_000_000
"""How many unitary alignments one batch may list."""


class _NearPairs(NamedTuple):
    """Pairs of units near enough to share an alignment, sorted by left and right unit; ``first[u]`` is where those of ``u`` begin."""

    left: IntArray
    right: IntArray
    apart: FloatArray
    first: IntArray

    @property
    def keys(self) -> IntArray:
        """One sorted number per pair, to look pairs up by."""
        return self.left * (len(self.first) - 1) + self.right


class _Listing:
    """Unitary alignments of one size: units by annotator, shape (m, size), summed dissimilarities, and each unit's part in them."""

    def __init__(self, units: IntArray, total: FloatArray, per_unit: FloatArray) -> None:
        self.units, self.total, self.per_unit = units, total, per_unit

    def keep(self, mask: BoolArray) -> "_Listing":
        return _Listing(self.units[mask], self.total[mask], self.per_unit[mask])


def best_alignments(units: Units, n_annotators: int, dissimilarity: Dissimilarity) -> Costs:
    """Costs of the best hard and soft alignments of any number of annotators.

    Parameters
    ----------
    units : Units
        Row ``problem * n_annotators + annotator``.
    n_annotators : int
        Annotators per problem.
    dissimilarity : Dissimilarity
        α, β, Δ∅.

    Returns
    -------
    Costs
        One pair of costs per problem.

    Raises
    ------
    InvalidInput
        When too many annotators marked the same places for all their combinations to be listed.
    """
    n_problems = len(units.counts) // n_annotators
    alone = dissimilarity.delta_empty
    row = np.repeat(np.arange(len(units.counts)), units.counts)
    problem = row // n_annotators
    hard = alone * sum_by(problem, np.ones(len(row)), n_problems)
    soft = hard.copy()
    members, costs = _unitary_alignments(units, row, n_annotators, dissimilarity)
    if not members:
        return Costs(hard, soft)
    middle = units.start + units.end
    saved = (
        _saved(problem, middle, members, costs, alone=alone, n_problems=n_problems, exact=exact)
        for exact in (True, False)
    )
    return Costs(hard - next(saved), soft - next(saved))


def _unitary_alignments(
    units: Units, row: IntArray, n_annotators: int, dissimilarity: Dissimilarity
) -> tuple[list[IntArray], list[FloatArray]]:
    """List the unitary alignments of two and more units that cost less than leaving any one of their units alone.

    An alignment of t units costs (their dissimilarities + the pairs that involve nobody, at Δ∅ each) / P, with P = k (k - 1) / 2.
    """
    pairs_total = n_annotators * (n_annotators - 1) / 2
    ceiling = dissimilarity.delta_empty * (pairs_total + n_annotators - 1)
    near = _near_pairs(units, row, n_annotators, dissimilarity, ceiling)
    listing = _Listing(
        np.stack([near.left, near.right], axis=1), near.apart, np.stack([near.apart, near.apart], axis=1)
    )
    members, costs = [], []
    for size in range(2, n_annotators + 1):
        bound = dissimilarity.delta_empty * (pairs_total + size - 1)
        useful = (listing.per_unit < bound).all(axis=1)
        if useful.any():
            members.append(listing.units[useful])
            absent = pairs_total - size * (size - 1) / 2
            costs.append((listing.total[useful] + absent * dissimilarity.delta_empty) / pairs_total)
        if size == n_annotators or not len(listing.total):
            break
        listing = _extend(listing, near, ceiling)
    return members, costs


def _near_pairs(
    units: Units, row: IntArray, n_annotators: int, dissimilarity: Dissimilarity, ceiling: float
) -> _NearPairs:
    """List the pairs of units of different annotators of one problem that are near enough to share an alignment."""
    last_of_problem = units.offsets[(row // n_annotators + 1) * n_annotators]
    first_after = units.offsets[row + 1]
    number = last_of_problem - first_after
    left = np.repeat(np.arange(len(row)), number)
    right = np.arange(len(left)) - np.repeat(np.cumsum(number) - number - first_after, number)
    columns = (units.start, units.end, units.category.astype(np.float64))
    apart = dissimilarity(tuple(column[left] for column in columns), tuple(column[right] for column in columns))
    near = apart < ceiling
    return _NearPairs(left[near], right[near], apart[near], np.searchsorted(left[near], np.arange(len(row) + 1)))


def _extend(
    listing: _Listing,
    near_pairs: "_NearPairs",
    ceiling: float,
) -> _Listing:
    """Add one unit of a later annotator to every alignment, wherever it is near all the others."""
    last = listing.units[:, -1]
    first = near_pairs.first
    number = first[last + 1] - first[last]
    if number.sum() > ALIGNMENTS_LIMIT:
        raise InvalidInput(
            f"γ over all annotators would have to weigh more than {ALIGNMENTS_LIMIT:,} combinations of units: too many "
            "annotators marked the same places. Compare them in pairs instead (rule 'pairs'), or name fewer annotators."
        )
    grown = np.repeat(np.arange(len(last)), number)
    added = near_pairs.right[np.arange(len(grown)) - np.repeat(np.cumsum(number) - number - first[last], number)]
    units, total, per_unit = listing.units[grown], listing.total[grown].copy(), listing.per_unit[grown].copy()
    to_added = np.zeros(len(grown))
    near = np.ones(len(grown), dtype=bool)
    keys, values, n_units = near_pairs.keys, near_pairs.apart, len(first) - 1
    for column in range(units.shape[1]):
        wanted = units[:, column] * n_units + added
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        near &= keys[at] == wanted
        per_unit[:, column] += values[at]
        to_added += values[at]
    total += to_added
    per_unit = np.concatenate([per_unit, to_added[:, None]], axis=1)
    near &= (per_unit < ceiling).all(axis=1)
    return _Listing(np.concatenate([units, added[:, None]], axis=1), total, per_unit).keep(near)


def _saved(
    problem: IntArray,
    middle: FloatArray,
    members: Sequence[IntArray],
    costs: Sequence[FloatArray],
    *,
    alone: float,
    n_problems: int,
    exact: bool,
) -> FloatArray:
    """Find what the best alignment saves over leaving every unit alone; ``exact``: every unit in exactly one."""
    n_units = len(problem)
    linked = coo_array(
        (
            np.ones(sum(block.shape[0] * (block.shape[1] - 1) for block in members), dtype=np.int8),
            (
                np.concatenate([np.repeat(block[:, 0], block.shape[1] - 1) for block in members]),
                np.concatenate([block[:, 1:].ravel() for block in members]),
            ),
        ),
        shape=(n_units, n_units),
    )
    _, group = connected_components(linked, directed=False)
    size = np.bincount(group)
    of_group = np.concatenate([group[block[:, 0]] for block in members])
    cost = np.concatenate(costs)
    width = np.concatenate([np.full(len(block), block.shape[1]) for block in members])
    gain = width * alone - cost
    saved = np.zeros(len(size))
    # Any two alignments of a group of at most three units share a unit: the best one is the answer. For soft alignments two may still
    # both be worth their cost, so only groups of two are so simple.
    simple = size[of_group] <= (3 if exact else 2)
    np.maximum.at(saved, of_group[simple], gain[simple])
    rest = np.flatnonzero(~simple)
    if len(rest):
        flat = [unit for block in members for unit in block.tolist()]
        order = rest[np.argsort(of_group[rest], kind="stable")]
        borders = np.flatnonzero(np.diff(of_group[order], prepend=-1, append=-1)).tolist()
        ordered_cost, where = cost.tolist(), middle.tolist()
        for low, high in pairwise(borders):
            chosen = order[low:high].tolist()
            units = sorted({unit for index in chosen for unit in flat[index]}, key=where.__getitem__)
            bit = {
                unit: 1 << place for place, unit in enumerate(units)
            }  # neighbours in the text stand next to each other
            sets = [(sum(bit[unit] for unit in flat[index]), ordered_cost[index]) for index in chosen]
            number = int(of_group[chosen[0]])
            saved[number] = alone * len(units) - cheapest_cover(sets, len(units), alone, exact=exact)
    first_unit = np.zeros(len(size), dtype=np.int64)
    first_unit[group] = np.arange(n_units)
    return sum_by(problem[first_unit], saved, n_problems)
