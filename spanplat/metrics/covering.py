"""The cheapest way to cover a few units by overlapping sets: exactly once (a partition) or at least once (a cover).

Sets of units are bit masks. Small groups are searched exactly, unit after unit, with memory and a bound; what remains goes to an
integer program.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

WeighedSet = tuple[int, float]
"""The units of a set as a bit mask, and what the set costs."""

STEPS_LIMIT = 60_000
"""How many choices the exact search of a group may weigh (about 30 ms) before the integer program takes over."""
INFINITE = float("inf")
ROUNDING = 1e-9
"""Costs closer than this count as equal when sets are ruled out."""


def cheapest_cover(sets: list[WeighedSet], n_units: int, alone: float, *, exact: bool) -> float:
    """Find the cost of the cheapest partition or cover of ``n_units`` units.

    Parameters
    ----------
    sets : list of (int, float)
        Sets of two and more units with their costs. Neighbouring units should have neighbouring bits: the search goes from the lowest
        bit to the highest.
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
    >>> sets = [(0b011, 0.5), (0b110, 0.4)]
    >>> cheapest_cover(sets, 3, 1.0, exact=True), cheapest_cover(sets, 3, 1.0, exact=False)
    (1.4, 0.9)
    """
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
    best = _search(useful, floor, ceiling, exact=exact)
    return _integer_program([member for member, _ in useful], n_units, exact=exact) if best is None else best


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


def _integer_program(members: list[_Member], n_units: int, *, exact: bool) -> float:
    """Solve a group as a set partitioning or set covering problem."""
    membership = np.zeros((n_units, len(members)))
    for column, member in enumerate(members):
        membership[member.units, column] = 1.0
    constraint = LinearConstraint(csc_array(membership), 1, 1 if exact else np.inf)
    cost = np.array([member.cost for member in members])
    options = {"mip_rel_gap": 0.0}
    solution = milp(cost, constraints=constraint, integrality=np.ones(len(cost)), bounds=Bounds(0, 1), options=options)
    chosen = np.round(solution.x).astype(bool)
    return float(cost[chosen].sum())


def _units(mask: int) -> list[int]:
    """List the bits that are set, lowest first."""
    units = []
    while mask:
        lowest = mask & -mask
        units.append(lowest.bit_length() - 1)
        mask ^= lowest
    return units
