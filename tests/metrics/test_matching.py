"""Matchings compared with exhaustive search, and the worked examples of the papers."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanplat.errors import InvalidInput
from spanplat.metrics import Comparison, Span, exact, partial, partial_credit
from spanplat.metrics.matching import greedy
from spanplat.metrics.overlaps import Overlaps, overlaps
from tests.metrics.strategies import spans

crowded = st.lists(st.lists(spans(), max_size=4), min_size=2, max_size=2)
small = st.builds(Comparison.of, crowded, crowded)


def all_matchings(pairs: Overlaps) -> Iterator[list[int]]:
    """Every one-to-one matching of the candidates."""

    def extend(chosen: list[int], place: int) -> Iterator[list[int]]:
        if place == len(pairs.output):
            yield chosen
            return
        yield from extend(chosen, place + 1)
        free = all(
            pairs.hypothesis[other] != pairs.hypothesis[place] and pairs.reference[other] != pairs.reference[place]
            for other in chosen
        )
        if free:
            yield from extend([*chosen, place], place + 1)

    return extend([], 0)


def f1(precision: float, recall: float) -> float:
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def ratio(numerator: float, denominator: int) -> float:
    return numerator / denominator if denominator else 1.0


def best_f1_by_search(pair: Comparison, *, soft: bool, credit: str) -> float:
    """The highest F over all matchings of all outputs together."""
    points = [(0.0, 0.0)]
    for output in range(pair.n_outputs):
        own = pair.select(np.array([output]))
        pairs = overlaps(own, soft=soft)
        shares = pairs.of_hypothesis, pairs.of_reference
        if credit == "partial":
            shares = np.ones(len(pairs.output)), np.ones(len(pairs.output))
        here = {
            (round(float(shares[0][chosen].sum()), 12), round(float(shares[1][chosen].sum()), 12))
            for chosen in all_matchings(pairs)
        }
        points = list({(p + q, r + s) for (p, r), (q, s) in product(points, here)})
    return max(f1(ratio(p, pair.hypothesis.n_spans), ratio(r, pair.reference.n_spans)) for p, r in points)


@pytest.mark.parametrize("credit", ["partial", "partial_credit"])
@pytest.mark.parametrize("soft", [False, True])
@settings(max_examples=60, deadline=None)
@given(pair=small)
def test_optimal_matching_is_as_good_as_exhaustive_search(credit: str, soft: bool, pair: Comparison) -> None:
    measure = {"partial": partial, "partial_credit": partial_credit}[credit]

    assert measure(pair, soft=soft).f1 == pytest.approx(best_f1_by_search(pair, soft=soft, credit=credit), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(pair=small)
def test_macro_matching_is_the_best_of_every_output(pair: Comparison) -> None:
    best = [
        best_f1_by_search(pair.select(np.array([output])), soft=True, credit="partial_credit")
        for output in range(pair.n_outputs)
    ]

    assert partial_credit(pair, soft=True, average="macro").f1 == pytest.approx(np.mean(best), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(pair=small)
def test_optimal_is_never_below_greedy(pair: Comparison) -> None:
    for measure in (exact, partial, partial_credit):
        optimal, by_greed = measure(pair).f1, measure(pair, matching="greedy").f1
        assert optimal is not None
        assert by_greed is not None
        assert optimal >= by_greed - 1e-12


@settings(max_examples=60, deadline=None)
@given(pair=small)
def test_greedy_takes_pairs_one_after_the_other(pair: Comparison) -> None:
    pairs = overlaps(pair, soft=True)
    used: set[tuple[str, int]] = set()
    expected = np.zeros(len(pairs.output), dtype=bool)
    for place in np.argsort(-pairs.dice, kind="stable").tolist():
        ends = {("hypothesis", int(pairs.hypothesis[place])), ("reference", int(pairs.reference[place]))}
        if not ends & used:
            used |= ends
            expected[place] = True

    assert np.array_equal(greedy(pairs), expected)


def test_matching_output_by_output_can_end_below_the_joint_one() -> None:
    # On the first output one wide span could serve either of two; which is better depends on the second output.
    pair = Comparison.of(
        reference=[[(0, 4), (4, 10)], [(20, 30)]], hypothesis=[[(2, 10)], [(20, 22), (24, 26), (28, 30)]]
    )
    micro = partial_credit(pair).f1

    assert micro == pytest.approx(best_f1_by_search(pair, soft=False, credit="partial_credit"))


def test_a_severity_penalty_is_taken_off_both_sides() -> None:
    pair = Comparison.of(reference=[[Span(0, 4, severity=1)]], hypothesis=[[Span(0, 4, severity=2)]])

    assert partial_credit(pair).f1 == 1.0
    assert partial_credit(pair, severity_penalty=0.5).f1 == 0.5
    assert exact(pair, severity_penalty=0.5).precision == 0.5


def test_tau_asks_for_more_characters() -> None:
    pair = Comparison.of(reference=[[(0, 10)]], hypothesis=[[(7, 20)]])

    assert (partial(pair, tau=3).f1, partial(pair, tau=4).f1) == (1.0, 0.0)


def test_spans_on_different_sides_never_match() -> None:
    pair = Comparison.of(reference=[[Span(0, 4, side=0)]], hypothesis=[[Span(0, 4, side=1)]])

    assert [measure(pair, soft=True).f1 for measure in (exact, partial, partial_credit)] == [0.0, 0.0, 0.0]


def test_an_omission_mark_matches_one_at_the_same_place_only() -> None:
    same = Comparison.of(reference=[[(5, 5)]], hypothesis=[[(5, 5)]])
    elsewhere = Comparison.of(reference=[[(5, 5)]], hypothesis=[[(6, 6)]])
    inside = Comparison.of(reference=[[(3, 9)]], hypothesis=[[(5, 5)]])

    assert [partial_credit(pair).f1 for pair in (same, elsewhere, inside)] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "options", [{"tau": 0}, {"severity_penalty": 1.5}, {"matching": "best"}, {"average": "median"}]
)
def test_wrong_options_are_named(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        partial(Comparison.of([[(0, 4)]], [[(0, 4)]]), **options)  # type: ignore[arg-type]
