"""Cheapest cover of units by very many sets: a linear program with column generation.

The program starts with a few cheap sets for every unit. Its solution gives every unit a price. A set that costs less than the prices
of its units could lower the total, so the cheapest of these sets are added, until there are none. The prices are then a lower bound
for the total. The solution is usually integral, and then it is the answer. Otherwise only a few places are fractional. A better
solution cannot contain a set whose cost exceeds the prices of its units by more than the gap between the bound and an integral
solution. Without these sets the units form small groups, and only the groups with fractional sets go to an integer program.
"""

from typing import NamedTuple

import highspy
import numpy as np
import scipy  # it loads its submodules on first use; the slow ones are needed for agreement only

from spanplat.errors import SpanplatError
from spanplat.metrics.spans import BoolArray, FloatArray, IntArray

FIRST_SETS = 8
"""Number of sets per unit at the start."""
MORE_SETS = 8
"""Number of sets per unit that are added in one round."""
MOST_WEIGHED = 4_000
"""Largest number of candidates in one round. The cheapest are taken."""
PRICE_TOLERANCE = 1e-9
"""Smallest difference between prices and cost for a set to be added."""
WHOLE = 1e-6
"""Tolerance for a variable to count as integral."""
FIRST_GAP = 0.002
"""Largest cost above the prices for a set in the first integer program."""
WIDENING = 8
"""Factor by which this limit grows at most for the next integer program."""

SOLVER_OPTIONS: dict[str, bool | float | str] = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",
    "mip_rel_gap": 0.0,
    "mip_heuristic_run_feasibility_jump": False,  # takes longer than solving these small programs
}


class Cover(NamedTuple):
    """Cost of a cover, and its sets."""

    cost: float
    sets: IntArray


def cheapest_cover_of_many(members: IntArray, cost: FloatArray, n_units: int, *, exact: bool) -> Cover:
    """Find the cheapest partition or cover of ``n_units`` units by many sets.

    Parameters
    ----------
    members : array of int, shape (sets, size)
        The units of every set. Free places of smaller sets are ``n_units``. Every unit has a set of its own.
    cost : array of float, shape (sets,)
        Costs of the sets, not negative.
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
    # With the sets of single units the program always has a solution.
    program.add(np.flatnonzero(taken))
    # The last place of prices and shares is for the free places of small sets, which cost nothing.
    # Lower bound for the cost of each unit: its cheapest share of a set.
    share = np.full(n_units + 1, np.inf)
    np.minimum.at(share, members, (cost / size)[:, None])
    share[n_units] = 0.0
    excess = cost - _summed(share, members)
    # Before there are prices, these lower bounds show which sets are cheap.
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
    """Return the sum of the values of each set's units."""
    # Column by column, which is faster than `sum(axis=1)` over short rows.
    total = values[members[:, 0]]
    for place in range(1, members.shape[1]):
        total += values[members[:, place]]
    return total


def _repaired(program: "_Program", excess: FloatArray, *, alone: BoolArray) -> Cover:
    """Turn a fractional solution of the program into the cheapest integral one.

    A solution costs at least the program's total plus the costs of its sets above the prices. So sets far above the prices can be left
    out. The other sets link units to groups. If the program took every set of a group whole, this part is optimal. The other groups
    form a small integer program. If its solution is further above the total than the limit, sets up to a higher limit are included.
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
        # New numbers for the units of the small program, and for its free places.
        place = np.append(np.cumsum(broken) - 1, broken.sum())
        small = _Program(place[members[open_sets]], cost[open_sets], int(broken.sum()), exact=program.exact)
        small.add(np.arange(len(open_sets)))
        small.require_whole()
        small.solve()
        found = np.concatenate([kept, open_sets[small.whole_sets]])
        above = float(cost[found].sum()) - program.total
        if above <= gap + PRICE_TOLERANCE:
            return Cover(float(cost[found].sum()), found)
        # A limit of `above` is always enough: no solution better than this one has a set beyond it.
        gap = min(above, gap * WIDENING)


def _linked(members: IntArray, n_units: int) -> IntArray:
    """Return the group of each unit. Units of one set are in one group."""
    others = members[:, 1:]
    real = others < n_units
    links = np.repeat(members[:, 0], real.sum(axis=1)), others[real]
    graph = scipy.sparse.coo_array((np.ones(len(links[0]), dtype=np.int8), links), shape=(n_units, n_units))
    groups: IntArray = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    return groups


class _Program:
    """Set partitioning or set covering program that keeps its solution while sets are added."""

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
        """Add sets to the program."""
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
        """Require integral variables from now on."""
        # Presolving pays off before branching, but not in each small step of the column generation.
        self.solver.setOptionValue("presolve", "choose")
        number = len(self.columns)
        kinds = np.full(number, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
        self.solver.changeColsIntegrality(number, np.arange(number, dtype=np.int32), kinds)

    def solve(self) -> None:
        """Solve the program, starting from the last solution."""
        self.solver.run()
        status = self.solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise SpanplatError(f"the alignment of {self.n_units} units was not found: the solver says {status}")
        solution = self.solver.getSolution()
        self.share_of = np.array(solution.col_value)
        self.prices = np.append(np.array(solution.row_dual), 0.0)

    @property
    def is_in_part(self) -> BoolArray:
        """Mask of the columns with a fractional value."""
        in_part: BoolArray = np.abs(self.share_of - np.round(self.share_of)) >= WHOLE
        return in_part

    @property
    def total(self) -> float:
        """Total cost of the solution, including fractional sets."""
        return float(self.cost[self.columns] @ self.share_of)

    @property
    def whole_sets(self) -> IntArray:
        """Sets of the solution, with values rounded to 0 or 1."""
        return self.columns[np.round(self.share_of) > 0]


def _cheapest_of_every_unit(
    members: IntArray, excess: FloatArray, candidates: IntArray, n_units: int, number: int
) -> IntArray:
    """Return the ``number`` candidates with the smallest excess for each unit, without duplicates."""
    if len(candidates) > MOST_WEIGHED:
        candidates = candidates[np.argpartition(excess[candidates], MOST_WEIGHED)[:MOST_WEIGHED]]
    units = members[candidates].ravel()
    sets = np.repeat(candidates, members.shape[1])
    real = units < n_units
    units, sets = units[real], sets[real]
    order = np.lexsort((excess[sets], units))
    units, sets = units[order], sets[order]
    # Rank of each candidate among those of its unit, cheapest first.
    place = np.arange(len(units)) - np.searchsorted(units, units, side="left")
    return np.unique(sets[place < number])
