"""Systems, false positives, choices and sentinels."""

import numpy as np
import pytest

from spanplat.errors import InvalidInput, NotFound
from spanplat.metrics import Comparison, Span, SpanSet, measure_named, partial, partial_credit
from spanplat.metrics.choices import BestWorst, Choice, best_worst_scores, majority_votes, win_rates
from spanplat.metrics.false_positives import false_positives, perfect_outputs
from spanplat.metrics.sentinels import imprecise, low_recall, remove_one
from spanplat.metrics.systems import ErrorWeights, system_ranking_agreement, system_report


def annotated_systems() -> tuple[SpanSet, np.ndarray, np.ndarray]:
    """A good, a middling and a bad system on forty examples."""
    random = np.random.default_rng(3)
    outputs, system, example = [], [], []
    for code, rate in enumerate((0.2, 1.0, 3.0)):
        for number in range(40):
            outputs.append([(9 * place, 9 * place + 4, 0) for place in range(random.poisson(rate))])
            system.append(code)
            example.append(number)
    return SpanSet.from_lists(outputs), np.array(system), np.array(example)


def test_better_systems_rank_first() -> None:
    report = system_report(*annotated_systems(), ["good", "middling", "bad"], n_resamples=300)

    assert report.ranks == (1, 2, 3)
    assert report.errors[0].error_free > report.errors[2].error_free
    for errors in report.errors:
        assert errors.score_interval[0] <= errors.score <= errors.score_interval[1]
        assert errors.per_output == pytest.approx(sum(errors.by_category.values()))


def test_weights_make_the_derived_score() -> None:
    spans = SpanSet.from_lists([[Span(0, 4, 0, severity=1), Span(5, 6, 1, severity=2)]])
    weights = ErrorWeights(categories={1: 0.5}, severities={1: 1, 2: 5})
    report = system_report(spans, np.array([0]), np.array([0]), ["only"], weights=weights, n_resamples=10)

    assert report.errors[0].score == -3.5


def test_an_unnamed_system_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="System 3 has no name"):
        system_report(SpanSet.from_lists([[]]), np.array([3]), np.array([0]), ["a"])


def test_annotators_who_rank_systems_alike() -> None:
    spans, system, _ = annotated_systems()
    doubled = SpanSet.from_lists([output * 2 for output in spans.to_lists()])
    result = system_ranking_agreement(spans, doubled, system)

    assert result["spearman"] == pytest.approx(1.0)
    assert result.options["over"] == "systems"


def test_only_outputs_everyone_found_perfect_can_have_false_positives() -> None:
    ratings = np.array([[5.0, 5.0, np.nan, np.nan], [5.0, 4.0, 5.0, np.nan]])

    assert perfect_outputs(ratings, best=5, levels=5).tolist() == [True, False, True, False]
    with pytest.raises(InvalidInput, match="at least three levels"):
        perfect_outputs(ratings, best=1, levels=2)


def test_no_perfect_output_leaves_the_share_undefined() -> None:
    assert false_positives(SpanSet.from_lists([[(0, 3)]]), np.array([False])).share is None


def test_win_rates_add_up() -> None:
    rates = win_rates([Choice("1", "a", "b", "a"), Choice("1", "a", "c", None), Choice("2", "b", "c", "c")])

    assert sum(rate.rate * (rate.wins + rate.ties + rate.losses) for rate in rates.values()) == pytest.approx(3)
    with pytest.raises(InvalidInput, match="neither"):
        win_rates([Choice("1", "a", "b", "c")])


def test_no_majority_is_a_tie() -> None:
    assert majority_votes([Choice("1", "a", "b", "a"), Choice("1", "a", "b", "b")])[0].winner is None


def test_best_and_worst_must_differ() -> None:
    with pytest.raises(InvalidInput):
        best_worst_scores([BestWorst(("a", "b"), "a", "a")])


def test_widened_spans_raise_partial_and_lower_its_credit() -> None:
    random = np.random.default_rng(2)
    sides = [[[(int(s), int(s) + 8, 0) for s in row] for row in random.integers(0, 190, (40, 3))] for _ in range(2)]
    pair = Comparison.of(sides[0], sides[1])
    lengths = np.full(40, 200)
    wide = Comparison(pair.reference, imprecise(pair.hypothesis, 30, text_lengths=lengths), pair.categories)
    before, after = partial(pair).f1, partial(wide).f1
    exact_hypothesis = Comparison(pair.reference, pair.reference, pair.categories)
    widened = Comparison(pair.reference, imprecise(pair.reference, 30, text_lengths=lengths), pair.categories)

    assert before is not None
    assert after is not None
    assert after > before
    assert (partial_credit(exact_hypothesis).f1, partial_credit(widened).f1 < 0.7) == (1.0, True)  # type: ignore[operator]


def test_dropping_more_keeps_a_subset() -> None:
    spans = SpanSet.from_lists([[(place, place + 1) for place in range(50)]])
    few, fewer = (set(low_recall(spans, p, seed=4).start.tolist()) for p in (0.3, 0.6))

    assert fewer < few
    assert low_recall(spans, 0.0, seed=4).n_spans == 50


def test_widening_stops_at_the_text() -> None:
    wide = imprecise(SpanSet.from_lists([[(2, 5)], [Span(0, 2, side=1)]]), 100, text_lengths=np.array([9, 9]))

    assert (wide.start.tolist(), wide.end.tolist()) == ([0, 0], [9, 2])


def test_outputs_with_a_single_span_are_emptied() -> None:
    assert remove_one(SpanSet.from_lists([[(0, 1)], [], [(0, 1), (2, 3)]])).counts.tolist() == [0, 0, 2]


def test_an_unknown_measure_is_named() -> None:
    with pytest.raises(NotFound, match="choose one of char"):
        measure_named("kappa")
