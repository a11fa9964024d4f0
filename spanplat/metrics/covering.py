"""The cheapest way to cover a few units by overlapping sets: exactly once (a partition) or at least once (a cover).

A few sets are searched exactly, as bit masks, unit after unit, with memory and a bound; many go to a linear program.
"""

from typing import NamedTuple

import numpy as np

from spanplat.metrics.column_generation import cheapest_cover_of_many
from spanplat.metrics.spans import FloatArray, IntArray

SEARCHED_SETS = 100
"""How many sets are still searched, and ..."""
STEPS_LIMIT = 3_000
"""... how many choices the search may weigh (about 1 ms), before the linear program takes over."""
MASK_BITS = 62
"""Units whose sets fit into a mask of NumPy's."""
INFINITE = float("inf")
ROUNDING = 1e-9
"""Costs closer than this count as equal when sets are ruled out."""


def cheapest_cover(members: IntArray, cost: FloatArray, n_units: int, alone: float, *, exact: bool) -> float:
    """Find the cost of the cheapest partition or cover of ``n_units`` units.

    Parameters
    ----------
    members : array of int, shape (sets, size)
        The units of sets of two and more units; places a smaller set leaves free hold ``n_units``. Neighbouring units should have
        neighbouring numbers: the search goes from the lowest to the highest.
    cost : array of float, shape (sets,)
        What the sets cost.
    n_units : int
        Number of units.
    alone : float
        What a single unit costs by itself.
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
    return cheapest_cover_of_many(*_with_singles(members, cost, n_units, alone), n_units, exact=exact).cost


def cheapest_partition(members: IntArray, cost: FloatArray, n_units: int, alone: float) -> IntArray:
    """Find the sets of the cheapest partition; units in none of them stay alone.

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
    sets = cheapest_cover_of_many(*_with_singles(members, cost, n_units, alone), n_units, exact=True).sets
    return sets[sets < len(cost)]


def _with_singles(members: IntArray, cost: FloatArray, n_units: int, alone: float) -> tuple[IntArray, FloatArray]:
    """Add a set for every unit by itself."""
    single = np.full((n_units, members.shape[1]), n_units)
    single[:, 0] = np.arange(n_units)
    return np.concatenate([members, single]), np.concatenate([cost, np.full(n_units, alone)])


def _searched(sets: list[tuple[int, float]], n_units: int, alone: float, *, exact: bool) -> float | None:
    """Search sets given as masks with their costs; ``None`` when there is too much to weigh."""
    members = [_Member(mask, cost, _units(mask)) for mask, cost in sets]
    members += [_Member(1 << unit, alone, [unit]) for unit in range(n_units)]
    floor = [alone] * n_units  # the least each unit can cost: its cheapest share of any set
    for member in members:
        share = member.cost / len(member.units)
        for unit in member.units:
            floor[unit] = min(floor[unit], share)
    ceiling = _greedy_cost(members, n_units) - sum(floor) + ROUNDING
    above = [member.cost - sum([floor[unit] for unit in member.units]) for member in members]
    useful = [(member, extra) for member, extra in zip(members, above, strict=True) if extra <= ceiling]
    return _search(useful, floor, ceiling, exact=exact)


class _Member(NamedTuple):
    """A set: its units as a mask and as a list, lowest first, and its cost."""

    mask: int
    cost: float
    units: list[int]


def _greedy_cost(members: list[_Member], n_units: int) -> float:
    """Cost of taking sets of open units, those that cost least per unit first."""
    open_units, total = (1 << n_units) - 1, 0.0
    for mask, cost, _ in sorted(members, key=lambda member: member.cost / len(member.units)):
        if mask & open_units == mask:
            open_units ^= mask
            total += cost
    return total


def _search(useful: list[tuple[_Member, float]], floor: list[float], ceiling: float, *, exact: bool) -> float | None:
    """Decide unit after unit which set covers it, remembering the least cost of every set of open units (``None``: too many).

    Costs are counted above the floors; whatever exceeds the ceiling, a greedy solution's cost, is dropped.
    """
    n_units = len(floor)
    of_unit: list[list[tuple[int, float]]] = [[] for _ in range(n_units)]
    for member, extra in useful:
        for unit in (
            member.units[:1] if exact else member.units
        ):  # in a partition, a set is taken at its first unit's turn
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
    """Extend every partial cover by every set; units covered before pay their floor again (remembered in ``twice``)."""
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
