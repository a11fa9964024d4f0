"""Cheapest cover of units by overlapping sets: each unit exactly once (a partition) or at least once (a cover).

A few sets are searched exactly: a dynamic program over bit masks with a bound. Many sets go to a linear program.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanplat.metrics.spans import FloatArray, IntArray

if TYPE_CHECKING:
    from spanplat.metrics.column_generation import Cover

SEARCHED_SETS = 100
"""Largest number of sets for the search. Above it the linear program is used."""
STEPS_LIMIT = 3_000
"""Largest number of choices in the search (about 1 ms). Above it the linear program is used."""
MASK_BITS = 62
"""Largest number of units whose sets fit into an integer of NumPy as a bit mask."""
INFINITE = float("inf")
ROUNDING = 1e-9
"""Tolerance when sets are excluded by their cost."""


def cheapest_cover(members: IntArray, cost: FloatArray, n_units: int, alone: float, *, exact: bool) -> float:
    """Find the cost of the cheapest partition or cover of ``n_units`` units.

    Parameters
    ----------
    members : array of int, shape (sets, size)
        The units of sets of two and more units. Free places of smaller sets are ``n_units``. Neighbouring units should have
        neighbouring numbers, because the search goes from the lowest to the highest number.
    cost : array of float, shape (sets,)
        Costs of the sets.
    n_units : int
        Number of units.
    alone : float
        Cost of a single unit.
    exact : bool
        True for a partition (every unit in exactly one set), False for a cover (in at least one).

    Returns
    -------
    float

    Examples
    --------
    >>> members, cost = np.array([[0, 1], [1, 2]]), np.array([0.5, 0.4])
    >>> cheapest_cover(members, cost, 3, 1.0, exact=True), cheapest_cover(members, cost, 3, 1.0, exact=False)
    (1.4, 0.9)
    """
    if len(cost) <= SEARCHED_SETS and n_units <= MASK_BITS:
        bits = np.append(1 << np.arange(n_units), 0)
        found = _searched(
            list(zip(bits[members].sum(axis=1).tolist(), cost.tolist(), strict=True)), n_units, alone, exact=exact
        )
        if found is not None:
            return found
    return _solved(members, cost, n_units, alone, exact=exact).cost


def cheapest_partition(members: IntArray, cost: FloatArray, n_units: int, alone: float) -> IntArray:
    """Find the sets of the cheapest partition. The other units stay alone.

    Parameters
    ----------
    members, cost, n_units, alone
        See `cheapest_cover`.

    Returns
    -------
    array of int
        Positions of the sets.

    Examples
    --------
    >>> cheapest_partition(np.array([[0, 1], [1, 2]]), np.array([0.5, 0.4]), 3, 1.0).tolist()
    [1]
    """
    sets = _solved(members, cost, n_units, alone, exact=True).sets
    return sets[sets < len(cost)]


def _solved(members: IntArray, cost: FloatArray, n_units: int, alone: float, *, exact: bool) -> "Cover":
    """Solve the linear program, with an additional set for every single unit."""
    from spanplat.metrics.column_generation import cheapest_cover_of_many  # noqa: PLC0415 (loads the solver, rarely needed)

    single = np.full((n_units, members.shape[1]), n_units)
    single[:, 0] = np.arange(n_units)
    sets, costs = np.concatenate([members, single]), np.concatenate([cost, np.full(n_units, alone)])
    return cheapest_cover_of_many(sets, costs, n_units, exact=exact)


def _searched(sets: list[tuple[int, float]], n_units: int, alone: float, *, exact: bool) -> float | None:
    """Search sets given as masks with their costs. Return ``None`` if there are too many choices."""
    members = [_Member(mask, cost, _units(mask)) for mask, cost in sets]
    members += [_Member(1 << unit, alone, [unit]) for unit in range(n_units)]
    # Lower bound for the cost of each unit: its cheapest share of a set.
    floor = [alone] * n_units
    for member in members:
        share = member.cost / len(member.units)
        for unit in member.units:
            floor[unit] = min(floor[unit], share)
    # No part of the best solution can exceed the floors by more than a known solution does. This excludes most sets.
    ceiling = _greedy_cost(members, n_units) - sum(floor) + ROUNDING
    above = [member.cost - sum([floor[unit] for unit in member.units]) for member in members]
    useful = [(member, extra) for member, extra in zip(members, above, strict=True) if extra <= ceiling]
    return _search(useful, floor, ceiling, exact=exact)


class _Member(NamedTuple):
    """Set of units: the units as a bit mask and as a list, lowest first, and the cost."""

    mask: int
    cost: float
    units: list[int]


def _greedy_cost(members: list[_Member], n_units: int) -> float:
    """Return the cost of a greedy partition: sets with the lowest cost per unit first."""
    open_units, total = (1 << n_units) - 1, 0.0
    for mask, cost, _ in sorted(members, key=lambda member: member.cost / len(member.units)):
        if mask & open_units == mask:
            open_units ^= mask
            total += cost
    return total


def _search(useful: list[tuple[_Member, float]], floor: list[float], ceiling: float, *, exact: bool) -> float | None:
    """Decide for one unit after the other which set covers it. Return ``None`` if there are too many choices.

    The dynamic program keeps the lowest cost for each set of open units. Costs are counted above the floors, and states above the
    ceiling, the cost of a greedy solution, are dropped.
    """
    n_units = len(floor)
    of_unit: list[list[tuple[int, float]]] = [[] for _ in range(n_units)]
    for member, extra in useful:
        # In a partition, a set is taken at the turn of its first unit.
        for unit in member.units[:1] if exact else member.units:
            of_unit[unit].append((member.mask, extra))
    states = {(1 << n_units) - 1: 0.0}
    twice: dict[int, float] = {}
    steps = 0
    for unit in range(n_units):
        steps += len(states) * len(of_unit[unit])
        if steps > STEPS_LIMIT:
            return None
        here = 1 << unit
        after = {open_units: spent for open_units, spent in states.items() if not open_units & here}
        undecided = [(open_units, spent) for open_units, spent in states.items() if open_units & here]
        if exact:
            _take_whole(undecided, of_unit[unit], ceiling, after)
        else:
            _take_what_is_open(undecided, of_unit[unit], ceiling, after, floor=floor, twice=twice)
        states = after
    # The greedy partition is not above the ceiling, so at least one state without open units is left.
    return states[0] + sum(floor)


def _take_whole(
    undecided: list[tuple[int, float]], choices: list[tuple[int, float]], ceiling: float, after: dict[int, float]
) -> None:
    """Extend every partial partition by every set whose units are all open."""
    for open_units, spent in undecided:
        for mask, extra in choices:
            if mask & open_units == mask:
                above = spent + extra
                rest = open_units ^ mask
                if above <= ceiling and above < after.get(rest, INFINITE):
                    after[rest] = above


def _take_what_is_open(
    undecided: list[tuple[int, float]],
    choices: list[tuple[int, float]],
    ceiling: float,
    after: dict[int, float],
    *,
    floor: list[float],
    twice: dict[int, float],
) -> None:
    """Extend every partial cover by every set. ``twice`` caches the floors of units that are covered again.

    ``extra`` leaves out the floors of all units of the set, and the total adds the floor of each unit once. The floors of units
    that are covered again are added here.
    """
    for open_units, spent in undecided:
        for mask, extra in choices:
            above = spent + extra
            if above > ceiling:
                continue
            again = mask & ~open_units
            if again:
                known = twice.get(again)
                if known is None:
                    known = twice[again] = sum([floor[place] for place in _units(again)])
                above += known
            rest = open_units & ~mask
            if above <= ceiling and above < after.get(rest, INFINITE):
                after[rest] = above


def _units(mask: int) -> list[int]:
    """List the bits that are set, lowest first."""
    units = []
    while mask:
        lowest = mask & -mask
        units.append(lowest.bit_length() - 1)
        mask ^= lowest
    return units
