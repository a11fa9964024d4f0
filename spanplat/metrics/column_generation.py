"""The cheapest way to cover units by more sets than can be searched: a linear program over a growing part of them.

The program starts with a few cheap sets for every unit. Its solution prices every unit; a set that costs less than its units' prices
could lower the total, so the cheapest of those join, until there is none left (column generation). The prices then bound the total
from below, and mostly the solution is whole-numbered already and therefore the answer. Where it is not, it is so in a few places: no
better answer can contain a set whose cost exceeds its units' prices by more than the distance between that bound and a whole-numbered
solution, so the units fall into small groups, and only those with sets taken in part go to an integer program.
"""

from typing import NamedTuple

import highspy
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from spanplat.errors import SpanplatError
from spanplat.metrics.spans import BoolArray, FloatArray, IntArray

FIRST_SETS = 8
"""How many sets of every unit the program starts with."""
MORE_SETS = 8
"""How many sets of every unit join at a time."""
MOST_WEIGHED = 4_000
"""How many sets are looked at for that, the cheapest of all."""
PRICE_TOLERANCE = 1e-9
"""By how much a set must undercut its units' prices to join."""
WHOLE = 1e-6
"""How far from 0 and 1 a variable may lie to count as whole."""
FIRST_GAP = 0.002
"""How far above their units' prices sets may cost to be weighed in the first integer program, and ..."""
WIDENING = 8
"""... how many times as far in the next one."""

SOLVER_OPTIONS: dict[str, bool | float | str] = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",
    "mip_rel_gap": 0.0,
    "mip_heuristic_run_feasibility_jump": False,  # takes longer than solving what is left here
}


class Cover(NamedTuple):
    """What a cover costs, and its sets."""

    cost: float
    sets: IntArray


def cheapest_cover_of_many(members: IntArray, cost: FloatArray, n_units: int, *, exact: bool) -> Cover:
    """Find the cheapest partition or cover of ``n_units`` units by many sets.

    Parameters
    ----------
    members : array of int, shape (sets, size)
        The units of every set; places a smaller set leaves free hold ``n_units``. Every unit has a set of its own.
    cost : array of float, shape (sets,)
        What the sets cost, none negative.
    n_units : int
        Number of units.
    exact : bool
        True for a partition (every unit in exactly one set), False for a cover (in at least one).

    Returns
    -------
    Cover

    Examples
    --------
    >>> members = np.array([[0, 1], [1, 2], [0, 3], [1, 3], [2, 3]])
    >>> cost = np.array([0.5, 0.4, 1.0, 1.0, 1.0])
    >>> [round(cheapest_cover_of_many(members, cost, 3, exact=exact).cost, 9) for exact in (True, False)]
    [1.4, 0.9]
    """
    program = _Program(members, cost, n_units, exact=exact)
    size = _summed(np.append(np.ones(n_units), 0.0), members)
    taken: BoolArray = size == 1
    program.add(np.flatnonzero(taken))
    share = np.full(n_units + 1, np.inf)  # the least each unit can cost: its cheapest share of any set
    np.minimum.at(share, members, (cost / size)[:, None])
    share[n_units] = 0.0
    excess = cost - _summed(share, members)
    joining = _cheapest_of_every_unit(members, excess, np.flatnonzero(~taken), n_units, FIRST_SETS)
    while True:
        program.add(joining)
        taken[joining] = True
        program.solve()
        excess = cost - _summed(program.prices, members)
        candidates = np.flatnonzero(~taken & (excess < -PRICE_TOLERANCE))
        if not len(candidates):
            break
        joining = _cheapest_of_every_unit(members, excess, candidates, n_units, MORE_SETS)
    if not program.is_in_part.any():
        sets = program.whole_sets
        return Cover(float(cost[sets].sum()), sets)
    return _repaired(program, excess, alone=size == 1)


def _summed(values: FloatArray, members: IntArray) -> FloatArray:
    """Sum the values of every set's units, place after place, which is faster than along the short rows."""
    total = values[members[:, 0]]
    for place in range(1, members.shape[1]):
        total += values[members[:, place]]
    return total


def _repaired(program: "_Program", excess: FloatArray, *, alone: BoolArray) -> Cover:
    """Turn the program's solution, taken in part, into the cheapest whole-numbered one.

    Every solution costs the program's total and what its sets cost above their units' prices, or more. So sets far above them can be
    left out, and the others link units into groups. Where the program took every set of a group whole, nothing is better; the rest is
    a small integer program. If that costs more than the least left out would, more sets are let in.
    """
    members, cost, n_units = program.members, program.cost, program.n_units
    gap = FIRST_GAP
    while True:
        near = np.flatnonzero((excess <= gap) & ~alone)
        group = _linked(members[near], n_units)
        broken = np.zeros(n_units, dtype=bool)
        in_part = program.columns[program.is_in_part]
        broken[np.isin(group, group[members[in_part, 0]])] = True
        whole = program.whole_sets
        kept = whole[~broken[members[whole, 0]]]
        open_sets = np.flatnonzero(broken[members[:, 0]] & ((excess <= gap) | alone))
        place = np.append(np.cumsum(broken) - 1, broken.sum())
        small = _Program(place[members[open_sets]], cost[open_sets], int(broken.sum()), exact=program.exact)
        small.add(np.arange(len(open_sets)))
        small.require_whole()
        small.solve()
        found = np.concatenate([kept, open_sets[small.whole_sets]])
        above = float(cost[found].sum()) - program.total
        if above <= gap + PRICE_TOLERANCE:
            return Cover(float(cost[found].sum()), found)
        gap = min(above, gap * WIDENING)


def _linked(members: IntArray, n_units: int) -> IntArray:
    """Tell which group each unit is in: sets link their units."""
    others = members[:, 1:]
    real = others < n_units
    links = np.repeat(members[:, 0], real.sum(axis=1)), others[real]
    graph = coo_array((np.ones(len(links[0]), dtype=np.int8), links), shape=(n_units, n_units))
    groups: IntArray = connected_components(graph, directed=False)[1]
    return groups


class _Program:
    """A set partitioning or covering program that keeps its solution while sets join it."""

    def __init__(self, members: IntArray, cost: FloatArray, n_units: int, *, exact: bool) -> None:
        self.members, self.cost, self.n_units, self.exact = members, cost, n_units, exact
        self.columns: IntArray = np.zeros(0, dtype=np.int64)
        self.solver = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in SOLVER_OPTIONS.items():
            self.solver.setOptionValue(option, value)
        nothing = np.zeros(0, dtype=np.int32)
        most = np.full(n_units, 1.0 if exact else highspy.kHighsInf)
        starts = np.zeros(n_units, dtype=np.int32)
        self.solver.addRows(n_units, np.ones(n_units), most, 0, starts, nothing, np.zeros(0))

    def add(self, sets: IntArray) -> None:
        """Let these sets join."""
        units = self.members[sets]
        real = units < self.n_units
        sizes = real.sum(axis=1)
        starts = (np.cumsum(sizes) - sizes).astype(np.int32)
        total = int(sizes.sum())
        least, most = np.zeros(len(sets)), np.full(len(sets), highspy.kHighsInf)
        rows = units[real].astype(np.int32)
        self.solver.addCols(len(sets), self.cost[sets], least, most, total, starts, rows, np.ones(total))
        self.columns = np.concatenate([self.columns, sets])

    def require_whole(self) -> None:
        """Allow only 0 and 1 from here on."""
        self.solver.setOptionValue("presolve", "choose")  # worth its time before branching, but not for each small step
        number = len(self.columns)
        kinds = np.full(number, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
        self.solver.changeColsIntegrality(number, np.arange(number, dtype=np.int32), kinds)

    def solve(self) -> None:
        """Solve, from the last solution on."""
        self.solver.run()
        status = self.solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise SpanplatError(f"the alignment of {self.n_units} units was not found: the solver says {status}")
        solution = self.solver.getSolution()
        self.share_of = np.array(solution.col_value)
        self.prices = np.append(np.array(solution.row_dual), 0.0)

    @property
    def is_in_part(self) -> BoolArray:
        """Which columns are taken neither whole nor not at all."""
        in_part: BoolArray = np.abs(self.share_of - np.round(self.share_of)) >= WHOLE
        return in_part

    @property
    def total(self) -> float:
        """What the sets taken, wholly or in part, cost."""
        return float(self.cost[self.columns] @ self.share_of)

    @property
    def whole_sets(self) -> IntArray:
        """The sets taken."""
        return self.columns[np.round(self.share_of) > 0]


def _cheapest_of_every_unit(
    members: IntArray, excess: FloatArray, candidates: IntArray, n_units: int, number: int
) -> IntArray:
    """Choose, for every unit, this many of the candidates with the least excess."""
    if len(candidates) > MOST_WEIGHED:
        candidates = candidates[np.argpartition(excess[candidates], MOST_WEIGHED)[:MOST_WEIGHED]]
    units = members[candidates].ravel()
    sets = np.repeat(candidates, members.shape[1])
    real = units < n_units
    units, sets = units[real], sets[real]
    order = np.lexsort((excess[sets], units))
    units, sets = units[order], sets[order]
    place = np.arange(len(units)) - np.searchsorted(units, units, side="left")
    return np.unique(sets[place < number])
