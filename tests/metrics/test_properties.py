"""What holds for every registered measure, whatever the spans."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanplat.metrics import MEASURES, Comparison, Measure, Result, SpanSet
from tests.metrics.strategies import CATEGORIES, Spans, comparisons, side

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
SCORED = [measure for measure in MEASURES.values() if measure.kind == "precision and recall"]
every_score = pytest.mark.parametrize("measure", SCORED, ids=[measure.name for measure in SCORED])
few = settings(max_examples=25, deadline=None)


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
    "measure", [measure for measure in SCORED if measure.name != "char_binary"], ids=lambda m: m.name
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
    expected = {"precision and recall": 1.0, "agreement": None, "correlation": None}[measure.kind]

    assert result.figures[measure.headline] == (1.0 if measure.name == "s_empty" else expected)


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
def test_every_measure_explains_itself(measure: Measure) -> None:
    assert measure.explanation.endswith(".")
    assert measure.ignores.endswith(".")
    assert measure.source


def _moved(spans: SpanSet, distance: int) -> SpanSet:
    return SpanSet.from_lists(
        [
            [span._replace(start=span.start + distance, end=span.end + distance) for span in output]
            for output in spans.to_lists()
        ]
    )
