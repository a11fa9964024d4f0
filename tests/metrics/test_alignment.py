"""Best alignments compared with exhaustive search, and the random stream compared with NumPy's."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanplat.errors import InvalidInput
from spanplat.metrics import GammaOptions, SpanSet, covering, gamma_of_annotators
from spanplat.metrics import alignment_many as many
from spanplat.metrics.alignment import Dissimilarity, best_pair_alignments
from spanplat.metrics.mathet import Disorders
from spanplat.metrics.sampling import draw, draw_one_by_one
from spanplat.metrics.units import Units, fit, units_of
from tests.metrics.strategies import spans

Annotators = list[list[tuple[int, int, int]]]


def annotators(number: int, most: int) -> st.SearchStrategy[Annotators]:
    return st.lists(st.lists(spans(), max_size=most, unique=True), min_size=number, max_size=number)


weights = st.builds(
    Dissimilarity, st.sampled_from([0.5, 1.0, 3.0]), st.sampled_from([0.0, 1.0, 2.0]), st.sampled_from([0.5, 1.0])
)


def exhaustive_cost(problem: Annotators, dissimilarity: Dissimilarity, *, soft: bool) -> float:
    """Cost of the best partition (hard) or cover (soft) of all units by unitary alignments."""
    units = [(number, unit) for number, spans in enumerate(problem) for unit in spans]
    pairs = len(problem) * (len(problem) - 1) / 2

    def apart(left: tuple[int, int, int], right: tuple[int, int, int]) -> float:
        columns = ([np.array(float(value)) for value in unit] for unit in (left, right))
        return float(dissimilarity(*(tuple(column) for column in columns)))

    alignments = []
    for chosen in product(
        *([None, *(place for place, unit in enumerate(units) if unit[0] == a)] for a in range(len(problem)))
    ):
        present = [place for place in chosen if place is not None]
        if present:
            real = sum(apart(units[i][1], units[j][1]) for i, j in combinations(present, 2))
            absent = pairs - len(present) * (len(present) - 1) / 2
            alignments.append((frozenset(present), (real + absent * dissimilarity.delta_empty) / pairs))

    @cache
    def best(open_units: frozenset[int]) -> float:
        if not open_units:
            return 0.0
        first = min(open_units)
        usable = [a for a in alignments if first in a[0] and (soft or a[0] <= open_units)]
        return min(cost + best(open_units - members) for members, cost in usable)

    return best(frozenset(range(len(units))))


def as_units(problem: Annotators) -> Units:
    return units_of([SpanSet.from_lists([sorted(spans)]) for spans in problem])


@settings(max_examples=settings().max_examples // 2)
@given(problem=annotators(2, 4), dissimilarity=weights)
def test_two_annotators(problem: Annotators, dissimilarity: Dissimilarity) -> None:
    units = as_units(problem)
    costs = best_pair_alignments(units.select(np.array([0])), units.select(np.array([1])), dissimilarity)

    assert costs.hard[0] == pytest.approx(exhaustive_cost(problem, dissimilarity, soft=False))
    assert costs.soft[0] == pytest.approx(exhaustive_cost(problem, dissimilarity, soft=True))


@settings(max_examples=settings().max_examples // 4)
@given(problem=annotators(2, 12), dissimilarity=weights)
def test_subsets_and_assignment_give_the_same_costs(problem: Annotators, dissimilarity: Dissimilarity) -> None:
    units = as_units(problem)
    pairwise = best_pair_alignments(units.select(np.array([0])), units.select(np.array([1])), dissimilarity)
    general = many.best_alignments(units, 2, dissimilarity)

    assert pairwise.hard[0] == pytest.approx(general.hard[0])
    assert pairwise.soft[0] == pytest.approx(general.soft[0])


@pytest.mark.parametrize("number", [3, 4])
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data(), dissimilarity=weights)
def test_more_annotators(number: int, data: st.DataObject, dissimilarity: Dissimilarity) -> None:
    problem = data.draw(annotators(number, 3 if number == 3 else 2))
    costs = many.best_alignments(as_units(problem), number, dissimilarity)

    assert costs.hard[0] == pytest.approx(exhaustive_cost(problem, dissimilarity, soft=False))
    assert costs.soft[0] == pytest.approx(exhaustive_cost(problem, dissimilarity, soft=True))


@pytest.mark.parametrize("number", [3, 5])
@settings(max_examples=settings().max_examples // 4)
@given(data=st.data(), dissimilarity=weights)
def test_the_linear_program_finds_what_exhaustive_search_finds(
    number: int, data: st.DataObject, dissimilarity: Dissimilarity
) -> None:
    problem = data.draw(annotators(number, 3 if number == 3 else 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covering, "SEARCHED_SETS", 0)
        costs = many.best_alignments(as_units(problem), number, dissimilarity)

    assert costs.hard[0] == pytest.approx(exhaustive_cost(problem, dissimilarity, soft=False))
    assert costs.soft[0] == pytest.approx(exhaustive_cost(problem, dissimilarity, soft=True))


@pytest.mark.parametrize("number", [3, 4])
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data(), dissimilarity=weights)
def test_the_best_hard_alignments_cost_what_the_best_costs_say(
    number: int, data: st.DataObject, dissimilarity: Dissimilarity
) -> None:
    problems = data.draw(st.lists(annotators(number, 4), min_size=1, max_size=3))
    units = units_of([SpanSet.from_lists([sorted(p[place]) for p in problems]) for place in range(number)])
    aligned = many.best_hard_alignments(units, number, dissimilarity)
    used = aligned[aligned >= 0]
    annotator = np.repeat(np.arange(len(units.counts)), units.counts)
    total = dissimilarity.delta_empty * (len(annotator) - len(used))
    pairs = number * (number - 1) / 2
    for row in aligned:
        members = row[row >= 0]
        assert len(np.unique(annotator[members])) == len(members)
        assert len(np.unique(annotator[members] // number)) == 1
        columns = [(units.start[u], units.end[u], units.category[u]) for u in members]
        real = sum(float(dissimilarity(one, other)) for one, other in combinations(columns, 2))
        total += (real + (pairs - len(members) * (len(members) - 1) / 2) * dissimilarity.delta_empty) / pairs

    assert len(np.unique(used)) == len(used)
    assert total == pytest.approx(many.best_alignments(units, number, dissimilarity).hard.sum())


@settings(max_examples=settings().max_examples // 2)
@given(data=st.data(), dissimilarity=weights, ceiling=st.sampled_from([0.5, 1.0, 5.0, 12.0]))
def test_every_pair_of_units_near_enough_is_listed(
    data: st.DataObject, dissimilarity: Dissimilarity, ceiling: float
) -> None:
    problems = data.draw(st.lists(annotators(3, 4), min_size=1, max_size=3))
    units = units_of([SpanSet.from_lists([sorted(p[place]) for p in problems]) for place in range(3)])
    row = np.repeat(np.arange(len(units.counts)), units.counts)
    columns = [(units.start[u], units.end[u], units.category[u]) for u in range(len(row))]
    expected = {
        (one, other): pytest.approx(float(dissimilarity(columns[one], columns[other])))
        for one, other in combinations(range(len(row)), 2)
        if row[one] // 3 == row[other] // 3
        and row[one] != row[other]
        and dissimilarity(columns[one], columns[other]) < ceiling
    }

    near = many._near_pairs(units, row, 3, dissimilarity, ceiling)

    assert dict(zip(zip(near.left.tolist(), near.right.tolist(), strict=True), near.apart, strict=True)) == expected
    assert (np.diff(near.keys) > 0).all()
    assert (near.left[near.first[near.left]] == near.left).all()


def test_batches_that_list_too_much_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = [SpanSet.from_lists([[(s, s + 9, 0), (s + 4, s + 30, 1)]] * 4) for s in (0, 3, 5)]
    units = units_of(sides)
    whole = many.best_alignments(units, 3, Dissimilarity())
    partition = many.best_hard_alignments(units, 3, Dissimilarity())
    monkeypatch.setattr(many, "ALIGNMENTS_LIMIT", 8)
    split = many.best_alignments(units, 3, Dissimilarity())

    np.testing.assert_allclose(split.hard, whole.hard)
    np.testing.assert_allclose(split.soft, whole.soft)
    assert many.best_hard_alignments(units, 3, Dissimilarity()).tolist() == partition.tolist()
    monkeypatch.setattr(many, "ALIGNMENTS_LIMIT", 1)
    with pytest.raises(InvalidInput, match="too many annotators marked the same places"):
        many.best_alignments(units, 3, Dissimilarity())


def test_the_linear_program_agrees_with_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(7)
    starts = random.integers(0, 60, size=(3, 8))
    problem = [sorted({(int(s), int(s) + 9, int(s) % 3) for s in row}) for row in starts]
    monkeypatch.setattr(covering, "SEARCHED_SETS", 10**6)
    monkeypatch.setattr(covering, "STEPS_LIMIT", 10**7)
    searched = many.best_alignments(as_units(problem), 3, Dissimilarity())
    monkeypatch.setattr(covering, "SEARCHED_SETS", 0)
    programmed = many.best_alignments(as_units(problem), 3, Dissimilarity())

    assert searched.hard[0] == pytest.approx(programmed.hard[0])
    assert searched.soft[0] == pytest.approx(programmed.soft[0])


@pytest.mark.parametrize("seed", [0, 42])
@settings(max_examples=settings().max_examples // 4)
@given(problem=annotators(3, 6).filter(any))
def test_the_tabulated_stream_is_numpys_own(seed: int, problem: Annotators) -> None:
    fits = fit(as_units(problem), 3)
    drawn = draw(fits, n_annotators=3, n_samples=5, seed=seed)
    expected = draw_one_by_one(fits, 0, n_annotators=3, n_samples=5, seed=seed)

    assert drawn.counts.tolist() == [len(row) for row in expected]
    flat = [unit for row in expected for unit in row]
    np.testing.assert_allclose(drawn.start, [unit[0] for unit in flat], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(drawn.end, [unit[1] for unit in flat], rtol=1e-9, atol=1e-9)
    assert drawn.category.tolist() == [unit[2] for unit in flat]


def test_categories_are_drawn_in_the_order_of_their_names_as_strings() -> None:
    codes = [2, 10, 1, 11]
    units = units_of([SpanSet.from_lists([[(9 * code, 9 * code + 5, code) for code in codes]])] * 2)
    fits = fit(units, 2)

    assert [code for code in fits.labels.tolist() if code in codes] == [1, 10, 11, 2]


def test_exact_duplicates_collapse() -> None:
    once, twice = (
        [SpanSet.from_lists([[(0, 9, 0), (20, 24, 1)]]), SpanSet.from_lists([other])]
        for other in (
            [(1, 9, 0)],
            [(1, 9, 0), (1, 9, 0)],
        )
    )

    assert gamma_of_annotators(once).mean == gamma_of_annotators(twice).mean


def test_names_of_annotators_do_not_change_the_observed_disorder() -> None:
    sides = [SpanSet.from_lists([[(start, start + 7, 0), (30, 40, 1)]]) for start in (0, 2, 9)]
    there, back = (gamma_of_annotators(order).per_output["observed_disorder"] for order in (sides, sides[::-1]))

    np.testing.assert_allclose(there, back)


def test_a_wanted_precision_draws_more_samples() -> None:
    sides = [
        SpanSet.from_lists([[(0, 9, 0), (20, 60, 1), (70, 71, 0)]]),
        SpanSet.from_lists([[(3, 9, 1), (50, 90, 1)]]),
    ]
    rough, fine = (
        gamma_of_annotators(sides, GammaOptions(n_samples=5, precision=precision)).per_output["expected_disorder"][0]
        for precision in (None, 0.01)
    )
    many_samples = gamma_of_annotators(sides, GammaOptions(n_samples=4000)).per_output["expected_disorder"][0]

    assert abs(fine - many_samples) / many_samples < 0.02
    assert rough != fine


def test_a_positive_disorder_over_none_expected_is_undefined() -> None:
    gamma = Disorders(observed=np.array([0.0, 0.5, 0.0]), expected=np.array([0.0, 0.0, 1.0])).gamma

    assert gamma[0] == 1.0
    assert np.isnan(gamma[1])
    assert gamma[2] == 1.0
