"""Cheapest partitions and covers compared with exhaustive search, for random sets."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from spanplat.metrics import column_generation
from spanplat.metrics.column_generation import cheapest_cover_of_many
from spanplat.metrics.covering import cheapest_cover

UNITS = 6
ALONE = 1.0
WeighedSets = dict[frozenset[int], float]

sets_of_units = st.dictionaries(
    st.frozensets(st.integers(0, UNITS - 1), min_size=2, max_size=4),
    st.integers(1, 40).map(lambda n: n / 16),
    max_size=25,
)
ODD_CYCLE = {frozenset({0, 1}): 0.5, frozenset({1, 2}): 0.5, frozenset({0, 2}): 0.5}
"""Half of every set is cheaper than any whole-numbered choice."""


def exhaustive(sets: WeighedSets, *, exact: bool) -> float:
    choices = [*sets.items(), *((frozenset({unit}), ALONE) for unit in range(UNITS))]

    @cache
    def best(open_units: frozenset[int]) -> float:
        if not open_units:
            return 0.0
        first = min(open_units)
        usable = [choice for choice in choices if first in choice[0] and (not exact or choice[0] <= open_units)]
        return min(cost + best(open_units - members) for members, cost in usable)

    return best(frozenset(range(UNITS)))


def as_arrays(sets: WeighedSets) -> tuple[np.ndarray, np.ndarray]:
    rows = [[*sorted(members), *[UNITS] * (4 - len(members))] for members in sets]
    return np.array(rows, dtype=np.int64).reshape(-1, 4), np.array(list(sets.values()), dtype=np.float64)


@pytest.mark.parametrize("exact", [True, False])
@given(sets=sets_of_units)
@example(sets=ODD_CYCLE)
def test_search_and_linear_program_find_the_cheapest(exact: bool, sets: WeighedSets) -> None:
    members, cost = as_arrays(sets)
    expected = exhaustive(sets, exact=exact)
    single = np.full((UNITS, 4), UNITS)
    single[:, 0] = np.arange(UNITS)
    everything = np.concatenate([members, single]), np.concatenate([cost, np.full(UNITS, ALONE)])

    assert cheapest_cover(members, cost, UNITS, ALONE, exact=exact) == pytest.approx(expected)
    assert cheapest_cover_of_many(*everything, UNITS, exact=exact).cost == pytest.approx(expected)


@pytest.mark.parametrize("exact", [True, False])
@given(sets=sets_of_units)
@example(sets=ODD_CYCLE)
def test_sets_that_join_late_are_not_forgotten(exact: bool, sets: WeighedSets) -> None:
    members, cost = as_arrays(sets)
    single = np.full((UNITS, 4), UNITS)
    single[:, 0] = np.arange(UNITS)
    everything = np.concatenate([members, single]), np.concatenate([cost, np.full(UNITS, ALONE)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_generation, "FIRST_SETS", 1)
        patch.setattr(column_generation, "MORE_SETS", 1)
        patch.setattr(column_generation, "MOST_WEIGHED", 2)
        found = cheapest_cover_of_many(*everything, UNITS, exact=exact)

    assert found.cost == pytest.approx(exhaustive(sets, exact=exact))
    taken = everything[0][found.sets]
    covered = np.bincount(taken[taken < UNITS], minlength=UNITS)
    assert (covered == 1).all() if exact else (covered >= 1).all()


def cheapest_by_integer_program(members: np.ndarray, cost: np.ndarray, n_units: int, *, exact: bool) -> float:
    """Give every set at once to SciPy's solver."""
    sets, places = np.nonzero(members < n_units)
    taken_by = coo_array((np.ones(len(sets)), (members[sets, places], sets)), shape=(n_units, len(cost)))
    rows = LinearConstraint(taken_by.tocsr(), 1, 1 if exact else np.inf)
    found = milp(
        cost, constraints=rows, bounds=Bounds(0, 1), integrality=np.ones(len(cost)), options={"mip_rel_gap": 0}
    )
    return float(found.fun)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("first_gap", [1e-9, column_generation.FIRST_GAP, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_what_the_linear_program_takes_in_part_is_mended(exact: bool, first_gap: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    n_units, number = 40, 250
    begin = random.integers(0, n_units - 6, number)  # sets of neighbours, as along a text
    near = np.stack([random.permutation(6)[:3] for _ in range(number)])
    members = np.sort(begin[:, None] + near, axis=1)
    members[random.random(number) < 0.3, 2] = n_units
    cost = random.integers(8, 24, number) / 16
    single = np.full((n_units, 3), n_units)
    single[:, 0] = np.arange(n_units)
    everything = np.concatenate([members, single]), np.concatenate([cost, np.ones(n_units)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_generation, "FIRST_GAP", first_gap)
        found = cheapest_cover_of_many(*everything, n_units, exact=exact)

    assert found.cost == pytest.approx(cheapest_by_integer_program(*everything, n_units, exact=exact), abs=1e-9)
    taken = everything[0][found.sets]
    covered = np.bincount(taken[taken < n_units], minlength=n_units)
    assert (covered == 1).all() if exact else (covered >= 1).all()
    assert found.cost == pytest.approx(everything[1][found.sets].sum())
