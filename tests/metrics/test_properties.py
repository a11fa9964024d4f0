"""Properties of every registered measure, for random spans."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanplat.metrics import (
    MEASURES,
    PRECISION_RECALL,
    RANKING_MEASURES,
    Comparison,
    GammaOptions,
    Measure,
    PrecisionRecall,
    Result,
    SpanSet,
    agreement_report,
)
from tests.metrics.strategies import CATEGORIES, Spans, comparisons, side

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
every_score = pytest.mark.parametrize("measure", PRECISION_RECALL.values(), ids=list(PRECISION_RECALL))
few = settings(max_examples=settings().max_examples // 4)  # the tests run for each of the measures


def options_of(measure: Measure) -> list[dict[str, bool]]:
    return [{"soft": False}, {"soft": True}] if measure.has_soft else [{}]


def figures_of(result: Result) -> dict[str, float | None]:
    return dict(result.figures)


@every_measure
@few
@given(pair=comparisons)
def test_figures_stay_in_bounds_and_undefined_ones_say_why(measure: Measure, pair: Comparison) -> None:
    low, high = measure.bounds
    for options in options_of(measure):
        result = measure.compute(pair, **options)
        for name, value in result.figures.items():
            if value is None:
                assert result.undefined[name]
            elif name != "outputs":
                assert low - 1e-12 <= value <= high + 1e-12


@every_measure
@few
@given(spans=side)
def test_a_side_agrees_fully_with_itself(measure: Measure, spans: list[Spans]) -> None:
    unique = [sorted(set(output)) for output in spans]
    result = measure.compute(Comparison.of(unique, unique, CATEGORIES))
    value = result.figures[measure.headline]
    if measure.name == "s_empty":
        assert value is None or value == 1.0
    elif measure.name == "span_average":
        assert value is None or value >= 1.0 - 1e-12
    else:
        assert value is None or value == pytest.approx(1.0)


@every_score
@few
@given(pair=comparisons)
def test_swapping_the_sides_swaps_precision_and_recall(measure: Measure, pair: Comparison) -> None:
    there, back = measure.compute(pair), measure.compute(pair.swap())

    assert there.precision == pytest.approx(back.recall)
    assert there.recall == pytest.approx(back.precision)
    assert there.f1 == pytest.approx(back.f1)


@pytest.mark.parametrize("name", ["s_empty", "count_correlation"])
@few
@given(pair=comparisons)
def test_symmetric_measures_do_not_see_which_side_is_which(name: str, pair: Comparison) -> None:
    there, back = MEASURES[name].compute(pair), MEASURES[name].compute(pair.swap())

    assert figures_of(there) == pytest.approx(figures_of(back))


@few
@given(pair=comparisons)
def test_observed_disorder_does_not_see_which_side_is_which(pair: Comparison) -> None:
    there, back = MEASURES["gamma"].compute(pair), MEASURES["gamma"].compute(pair.swap())

    np.testing.assert_allclose(there.per_output["observed_disorder"], back.per_output["observed_disorder"])


# Clipped counts are left out: where spans of two categories cover one character, hard counts it twice and soft once.
@pytest.mark.parametrize(
    "measure", [measure for name, measure in PRECISION_RECALL.items() if name != "char_binary"], ids=lambda m: m.name
)
@few
@given(pair=comparisons)
def test_hard_scores_are_at_most_soft_ones(measure: Measure, pair: Comparison) -> None:
    hard, soft = measure.compute(pair, soft=False).f1, measure.compute(pair, soft=True).f1

    assert hard is not None
    assert soft is not None
    assert hard <= soft + 1e-12


@every_measure
@few
@given(pair=comparisons, seed=st.integers(0, 100))
def test_the_order_of_spans_does_not_matter(measure: Measure, pair: Comparison, seed: int) -> None:
    random = np.random.default_rng(seed)
    shuffled = []
    for spans in (pair.reference, pair.hypothesis):
        order = random.permutation(spans.n_spans)
        columns = {name: getattr(spans, name)[order] for name in ("start", "end", "category")}
        shuffled.append(SpanSet.from_columns(spans.output[order], n_outputs=spans.n_outputs, **columns))

    result = measure.compute(Comparison(shuffled[0], shuffled[1], CATEGORIES))

    assert figures_of(result) == pytest.approx(figures_of(measure.compute(pair)))


@every_score
@few
@given(pair=comparisons, distance=st.integers(1, 1000))
def test_moving_all_spans_together_changes_no_score(measure: Measure, pair: Comparison, distance: int) -> None:
    moved = Comparison(_moved(pair.reference, distance), _moved(pair.hypothesis, distance), pair.categories)

    assert figures_of(measure.compute(moved)) == pytest.approx(figures_of(measure.compute(pair)))


@few
@given(pair=comparisons, distance=st.integers(1, 1000))
def test_moving_all_spans_together_changes_no_observed_disorder(pair: Comparison, distance: int) -> None:
    moved = Comparison(_moved(pair.reference, distance), _moved(pair.hypothesis, distance), pair.categories)
    before, after = (MEASURES["gamma"].compute(each).per_output["observed_disorder"] for each in (pair, moved))

    np.testing.assert_allclose(before, after)


@every_measure
def test_two_silent_sides(measure: Measure) -> None:
    result = measure.compute(Comparison.of([[], []], [[], []], CATEGORIES))
    defined = isinstance(measure, PrecisionRecall) or measure.name == "s_empty"

    assert result.figures[measure.headline] == (1.0 if defined else None)


@every_measure
def test_no_outputs_at_all(measure: Measure) -> None:
    result = measure.compute(Comparison.of([], [], CATEGORIES))

    assert result.figures[measure.headline] is None
    assert result.undefined[measure.headline]


@every_score
def test_one_silent_side_scores_zero(measure: Measure) -> None:
    missed = measure.compute(Comparison.of([[(0, 4, 0)]], [[]], CATEGORIES))
    invented = measure.compute(Comparison.of([[]], [[(0, 4, 0)]], CATEGORIES))

    assert (missed.precision, missed.recall, missed.f1) == (1.0, 0.0, 0.0)
    assert (invented.precision, invented.recall, invented.f1) == (0.0, 1.0, 0.0)


@every_measure
def test_the_signature_names_measure_options_and_version(measure: Measure) -> None:
    signature = measure.compute(Comparison.of([[(0, 4, 0)]], [[(0, 4, 0)]], CATEGORIES)).signature

    assert signature.startswith(f"{measure.name}|outputs:")
    assert "|v:" in signature


@every_measure
@few
@given(pair=comparisons)
def test_the_headline_follows_from_sums_over_outputs(measure: Measure, pair: Comparison) -> None:
    columns = measure.columns(pair, [variant.is_soft for variant in measure.variants], GammaOptions())

    for options, own in zip(options_of(measure), columns, strict=True):
        value = measure.compute(pair, **options).figures[measure.headline]
        figure = measure.statistic(own.sum(axis=0, keepdims=True))[0, 0]
        assert len(own) == pair.n_outputs
        assert np.isnan(figure) if value is None else figure == pytest.approx(value, abs=1e-9)


@every_score
@few
@given(pair=comparisons)
def test_the_report_shows_what_the_measure_computes(measure: PrecisionRecall, pair: Comparison) -> None:
    report = agreement_report(pair, with_gamma=False)[measure.name]

    for variant, soft in {"hard": False, "soft": True}.items():
        micro = report[variant].get("micro", report[variant])  # those of char stand at the top
        assert micro["f1"] == measure.compute(pair, soft=soft).f1
        assert report[variant]["macro"]["f1"] == measure.compute(pair, soft=soft, average="macro").f1


@every_measure
def test_every_measure_explains_itself(measure: Measure) -> None:
    for variant in measure.variants:
        assert variant.title
        assert variant.explanation.measures.endswith((".", "?"))
        assert variant.explanation.ignores.endswith(".")
    assert measure.explanation.measures.endswith(".")
    assert measure.why_undefined
    assert measure.source


def test_titles_tell_measures_apart() -> None:
    titles = [variant.title for measure in MEASURES.values() for variant in measure.variants]
    rows = [measure.row_title for measure in PRECISION_RECALL.values()]

    assert len(set(titles)) == len(titles)
    assert len(set(rows)) == len(rows)


def test_leaderboards_rank_by_bounded_figures_only() -> None:
    assert all(variant.measure.bounds[1] == 1.0 for variant in RANKING_MEASURES.values())
    assert "span_average.hard" not in RANKING_MEASURES


def _moved(spans: SpanSet, distance: int) -> SpanSet:
    return SpanSet.from_lists(
        [
            [span._replace(start=span.start + distance, end=span.end + distance) for span in output]
            for output in spans.to_lists()
        ]
    )
