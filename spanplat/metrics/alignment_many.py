"""Best alignments of three and more annotators. Groups of overlapping units are independent and are searched exactly.

A unitary alignment joins at most one unit of every annotator. A unit without partners costs Δ∅, so only alignments that save
something are listed. The units that they link form groups, and each group is solved separately, see `spanplat.metrics.covering`.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import scipy  # it loads its submodules on first use; the slow ones are needed for agreement only

from spanplat.errors import InvalidInput
from spanplat.metrics.alignment import Costs, Dissimilarity
from spanplat.metrics.covering import cheapest_cover, cheapest_partition
from spanplat.metrics.spans import FloatArray, IntArray, sum_by
from spanplat.metrics.units import Units

Found = TypeVar("Found")

ALIGNMENTS_LIMIT = 4_000_000
"""Largest number of unitary alignments in one batch."""


class _NearPairs(NamedTuple):
    """Pairs of units near enough to share an alignment, sorted by left and right unit. Those of unit ``u`` begin at ``first[u]``."""

    left: IntArray
    right: IntArray
    apart: FloatArray
    first: IntArray

    @property
    def keys(self) -> IntArray:
        """Sorted numbers of the pairs, for looking up pairs."""
        return self.left * (len(self.first) - 1) + self.right


class _Listing:
    """Unitary alignments of one size: units by annotator, shape (m, size), sums of dissimilarities, and the share of each unit."""

    def __init__(self, units: IntArray, total: FloatArray, per_unit: FloatArray) -> None:
        self.units, self.total, self.per_unit = units, total, per_unit


def best_alignments(units: Units, n_annotators: int, dissimilarity: Dissimilarity) -> Costs:
    """Compute the costs of the best hard and soft alignments of any number of annotators.

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
        If there are too many combinations of units in a single problem.
    """
    parts = _in_parts(units, n_annotators, lambda part: _best_costs(part, n_annotators, dissimilarity))
    return Costs(*(np.concatenate([getattr(costs, side) for _, costs in parts]) for side in ("hard", "soft")))


def best_hard_alignments(units: Units, n_annotators: int, dissimilarity: Dissimilarity) -> IntArray:
    """Find the unitary alignments of two and more units in the best hard alignments of any number of annotators.

    Parameters
    ----------
    units, n_annotators, dissimilarity
        See `best_alignments`.

    Returns
    -------
    array of int, shape (alignments, n_annotators)
        Positions of the aligned units. Free places of smaller alignments are -1. Of several equally good alignments, one is chosen.

    Raises
    ------
    InvalidInput
        As `best_alignments`.
    """
    parts = _in_parts(units, n_annotators, lambda part: _best_partitions(part, n_annotators, dissimilarity))
    return np.concatenate([np.where(aligned < 0, -1, aligned + first) for first, aligned in parts])


class _TooManyError(Exception):
    """Error: a batch would have more than ``ALIGNMENTS_LIMIT`` unitary alignments."""


def _in_parts(units: Units, n_annotators: int, work: Callable[[Units], Found]) -> list[tuple[int, Found]]:
    """Apply a function to all problems, in parts within the limit. Return the answers with the positions of their first units."""
    n_problems = len(units.counts) // n_annotators
    try:
        return [(0, work(units))]
    except _TooManyError as error:
        if n_problems == 1:
            raise InvalidInput(
                f"γ over all annotators would have to weigh more than {ALIGNMENTS_LIMIT:,} combinations of units: too many "
                "annotators marked the same places. Compare them in pairs instead (rule 'pairs'), or name fewer annotators."
            ) from error
    # The number of alignments is known only after the attempt, so a part that is too large is halved and tried again.
    border = n_problems // 2 * n_annotators
    first, second = (units.select(rows) for rows in np.split(np.arange(len(units.counts)), [border]))
    behind = int(units.offsets[border])
    return [
        *_in_parts(first, n_annotators, work),
        *((behind + begin, found) for begin, found in _in_parts(second, n_annotators, work)),
    ]


def _best_costs(units: Units, n_annotators: int, dissimilarity: Dissimilarity) -> Costs:
    alone = dissimilarity.delta_empty
    row = np.repeat(np.arange(len(units.counts)), units.counts)
    problem, n_problems = row // n_annotators, len(units.counts) // n_annotators
    hard = alone * sum_by(problem, np.ones(len(row)), n_problems)
    listed = _list_groups(units, row, n_annotators, dissimilarity)
    if listed is None:
        return Costs(hard, hard.copy())
    of_group = problem[listed.first_unit]
    saved = [sum_by(of_group, listed.saved(exact=exact), n_problems) for exact in (True, False)]
    return Costs(hard - saved[0], hard - saved[1])


def _best_partitions(units: Units, n_annotators: int, dissimilarity: Dissimilarity) -> IntArray:
    row = np.repeat(np.arange(len(units.counts)), units.counts)
    listed = _list_groups(units, row, n_annotators, dissimilarity)
    if listed is None:
        return np.empty((0, n_annotators), dtype=np.int64)
    chosen = listed.units[listed.partition()]
    chosen[chosen == len(row)] = -1
    return np.pad(chosen, ((0, 0), (0, n_annotators - chosen.shape[1])), constant_values=-1)


def _unitary_alignments(
    units: Units, row: IntArray, n_annotators: int, dissimilarity: Dissimilarity
) -> tuple[list[IntArray], list[FloatArray]]:
    """List the unitary alignments of two and more units that become more expensive if any of their units is left out.

    An alignment of t units costs (their dissimilarities + Δ∅ for each pair with an absent annotator) / P, with P = k (k - 1) / 2.
    """
    pairs_total = n_annotators * (n_annotators - 1) / 2
    # The bound grows with the size. An alignment that is too expensive now may become useful with more units, up to this ceiling.
    ceiling = dissimilarity.delta_empty * (pairs_total + n_annotators - 1)
    near = _near_pairs(units, row, n_annotators, dissimilarity, ceiling)
    listing = _Listing(
        np.stack([near.left, near.right], axis=1), near.apart, np.stack([near.apart, near.apart], axis=1)
    )
    members, costs = [], []
    for size in range(2, n_annotators + 1):
        # If unit u leaves an alignment of t units, its dissimilarities d(u) vanish, t - 1 more pairs are absent, and u
        # costs Δ∅ alone. Times P: the alignment is cheaper with u if d(u) < Δ∅ (P + t - 1).
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
    """List the pairs of units of different annotators in one problem that are near enough to share an alignment."""
    pairs = _pairs_within_reach(units, row, n_annotators, dissimilarity.reach(ceiling))
    left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
    columns = (units.start, units.end, units.category.astype(np.float64))
    apart = dissimilarity(tuple(column[left] for column in columns), tuple(column[right] for column in columns))
    near = np.flatnonzero(apart < ceiling)
    near = near[np.lexsort((right[near], left[near]))]
    return _NearPairs(left[near], right[near], apart[near], np.searchsorted(left[near], np.arange(len(row) + 1)))


def _pairs_within_reach(
    units: Units, row: IntArray, n_annotators: int, reach: float
) -> Iterator[tuple[IntArray, IntArray]]:
    """List the pairs of each annotator's units with units of earlier annotators, without those that are too far apart.

    The shift of two units is at least the difference between their sums of start and end. So the partners of a unit have sums in a
    window around its own sum.
    """
    problem, annotator = row // n_annotators, row % n_annotators
    length = units.end - units.start
    longest = np.zeros(len(units.counts) // n_annotators)
    np.maximum.at(longest, problem, length)
    middle = units.start + units.end
    middle = middle - middle.min(initial=np.inf)
    width = middle.max(initial=0.0) + 1
    # The partner's length is not known yet, so the longest unit of the problem stands in for it.
    within = reach * (length + longest[problem]) + 1  # 1 is added because of rounding
    # Within the width of one problem, so that a window does not reach into the next problem.
    from_, to = np.maximum(middle - within, 0), np.minimum(middle + within, width - 1)
    for other in range(1, n_annotators):
        theirs, mine = np.flatnonzero(annotator == other), np.flatnonzero(annotator < other)
        # One sorted search for all problems: the problem counts before the place in the key.
        keys = problem[theirs] * width + middle[theirs]
        order = np.argsort(keys, kind="stable")
        theirs, keys = theirs[order], keys[order]
        first = np.searchsorted(keys, problem[mine] * width + from_[mine], side="left")
        number = np.searchsorted(keys, problem[mine] * width + to[mine], side="right") - first
        yield np.repeat(mine, number), theirs[_ranges(first, number)]


def _ranges(first: IntArray, number: IntArray) -> IntArray:
    """Return ``number`` consecutive integers from each ``first``, concatenated."""
    counted: IntArray = np.arange(number.sum()) + np.repeat(first - (np.cumsum(number) - number), number)
    return counted


def _extend(listing: _Listing, near_pairs: _NearPairs, ceiling: float) -> _Listing:
    """Extend every alignment by each unit of a later annotator that is near all its units."""
    last = listing.units[:, -1]
    first = near_pairs.first
    number = first[last + 1] - first[last]
    if number.sum() > ALIGNMENTS_LIMIT:
        raise _TooManyError
    grown = np.repeat(np.arange(len(last)), number)
    pair = _ranges(first[last], number)
    # A cheap test first: it removes most candidates before the lookups for the other units.
    likely = listing.per_unit[grown, -1] + near_pairs.apart[pair] < ceiling
    grown, pair = grown[likely], pair[likely]
    added, to_added = near_pairs.right[pair], near_pairs.apart[pair]
    keys, n_units = near_pairs.keys, len(first) - 1
    parts = [to_added]
    for column in range(listing.units.shape[1] - 1):
        wanted = listing.units[grown, column] * n_units + added
        # A pair that is not listed may have a key after the last one. The comparison of the keys rejects it.
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        part = near_pairs.apart[at]
        near = (keys[at] == wanted) & (listing.per_unit[grown, column] + part < ceiling) & (to_added + part < ceiling)
        grown, added, to_added, part = grown[near], added[near], (to_added + part)[near], part[near]
        parts = [*(earlier[near] for earlier in parts), part]
    # `parts` begins with the last unit, the columns with the first.
    of_last, *of_others = parts
    per_unit = listing.per_unit[grown] + np.stack([*of_others, of_last], axis=1)
    return _Listing(
        np.concatenate([listing.units[grown], added[:, None]], axis=1),
        listing.total[grown] + to_added,
        np.concatenate([per_unit, to_added[:, None]], axis=1),
    )


def _list_groups(
    units: Units, row: IntArray, n_annotators: int, dissimilarity: Dissimilarity
) -> "_ListedAlignments | None":
    members, costs = _unitary_alignments(units, row, n_annotators, dissimilarity)
    if not members:
        return None
    return _ListedAlignments(members, costs, units.start + units.end, dissimilarity.delta_empty)


class _ListedAlignments:
    """Useful unitary alignments, and the groups of units that they link. Each group is a separate problem.

    Parameters
    ----------
    members : sequence of array of int, each of shape (alignments, size)
        The units of the alignments, by size.
    costs : sequence of array of float
        Costs of the alignments.
    middle : array of float, shape (units,)
        Positions of the units in the text.
    alone : float
        Cost of a unit without partners.
    """

    def __init__(
        self, members: Sequence[IntArray], costs: Sequence[FloatArray], middle: FloatArray, alone: float
    ) -> None:
        n_units = len(middle)
        most = max(block.shape[1] for block in members)
        self.units: IntArray = np.concatenate(
            [np.pad(block, ((0, 0), (0, most - block.shape[1])), constant_values=n_units) for block in members]
        )
        """Units of the alignments, shape (alignments, largest size). Free places have the number of units."""
        self.cost, self.alone = np.concatenate(costs), alone
        others = self.units[:, 1:]
        real = others < n_units
        # Links from the first unit to each other unit are enough to connect them all.
        links = np.repeat(self.units[:, 0], real.sum(axis=1)), others[real]
        linked = scipy.sparse.coo_array((np.ones(len(links[0]), dtype=np.int8), links), shape=(n_units, n_units))
        self.group = scipy.sparse.csgraph.connected_components(linked, directed=False)[1].astype(np.int64)
        self.size = np.bincount(self.group)
        self.first_unit = np.zeros(len(self.size), dtype=np.int64)
        """One unit of each group."""
        self.first_unit[self.group] = np.arange(n_units)
        self.of_group = self.group[self.units[:, 0]]
        # Saving against leaving all its units alone.
        self.gain = (1 + real.sum(axis=1)) * alone - self.cost
        from_left = np.lexsort((middle, self.group))
        of_unit = self.group[from_left]
        # Units are numbered from left to right: the search in `covering` needs neighbours in the text to have neighbouring numbers.
        self.place = np.empty(n_units + 1, dtype=np.int64)
        self.place[from_left] = np.arange(n_units) - np.searchsorted(of_unit, of_unit, side="left")

    def saved(self, *, exact: bool) -> FloatArray:
        """Compute the saving of the best alignment of each group, compared with leaving every unit alone.

        In a group of at most three units any two alignments share a unit, so the best single alignment is the answer. A soft alignment
        may take both, so this is true only for groups of two units.
        """
        simple = self.size[self.of_group] <= (3 if exact else 2)
        saved = np.zeros(len(self.size))
        np.maximum.at(saved, self.of_group[simple], self.gain[simple])
        for number, sets, places in self._problems(np.flatnonzero(~simple)):
            n_units = int(self.size[number])
            cheapest = cheapest_cover(places, self.cost[sets], n_units, self.alone, exact=exact)
            saved[number] = self.alone * n_units - cheapest
        return saved

    def partition(self) -> IntArray:
        """Return the unitary alignments in the best hard alignment of every group."""
        chosen = []
        for number, sets, places in self._problems(np.arange(len(self.cost))):
            taken = cheapest_partition(places, self.cost[sets], int(self.size[number]), self.alone)
            chosen.append(sets[taken])
        return np.concatenate(chosen)

    def _problems(self, alignments: IntArray) -> Iterator[tuple[int, IntArray, IntArray]]:
        """Yield the groups of these alignments: the number, the alignments, and the places of their units in the group."""
        order = alignments[np.argsort(self.of_group[alignments], kind="stable")]
        borders = np.flatnonzero(np.diff(self.of_group[order], prepend=-1, append=-1)).tolist() if len(order) else []
        for low, high in pairwise(borders):
            sets = order[low:high]
            number = int(self.of_group[sets[0]])
            self.place[-1] = self.size[number]  # fills up the rows of smaller alignments
            yield number, sets, self.place[self.units[sets]]
