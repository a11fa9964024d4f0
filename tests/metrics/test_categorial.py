"""Agreement on the categories of aligned spans."""

import numpy as np
import pytest

from spanplat.metrics import Comparison, GammaOptions, SpanSet, gamma_cat, gamma_cat_of_annotators

PLACES = [(0, 9), (20, 31), (50, 64), (80, 88)]
NAMES = ["wrong", "unclear", "other"]


def labelled(categories: list[int]) -> list[tuple[int, int, int]]:
    return [(start, end, category) for (start, end), category in zip(PLACES, categories, strict=True)]


def test_equal_categories_agree_fully() -> None:
    result = gamma_cat(Comparison.of([labelled([0, 1, 0, 1])], [labelled([0, 1, 0, 1])], NAMES))

    assert result.overall.mean == 1.0
    assert result.per_category["wrong"].mean == 1.0


def test_exchanged_categories_are_worse_than_chance() -> None:
    result = gamma_cat(Comparison.of([labelled([0, 1, 0, 1])], [labelled([1, 0, 1, 0])], NAMES))

    assert result.overall.mean is not None
    assert result.overall.mean < 0


def test_a_category_that_is_confused_agrees_less_than_one_that_is_not() -> None:
    result = gamma_cat(Comparison.of([labelled([0, 1, 2, 1])], [labelled([0, 2, 1, 1])], NAMES)).per_category

    assert result["wrong"].mean == 1.0
    assert result["other"].mean is not None
    assert result["other"].mean < 1.0


def test_a_category_nobody_used_is_undefined_with_a_reason() -> None:
    unused = gamma_cat(Comparison.of([labelled([0, 1, 0, 1])], [labelled([0, 1, 0, 1])], NAMES)).per_category["other"]

    assert unused.mean is None
    assert unused.outputs == 0
    assert "aligned" in unused.undefined["mean"]


def test_units_without_a_counterpart_do_not_count() -> None:
    aligned = [(0, 9, 0), (20, 31, 1)]
    lonely = gamma_cat(Comparison.of([[*aligned, (500, 503, 2)]], [aligned], NAMES))

    assert lonely.overall.mean == 1.0


def test_outputs_are_independent() -> None:
    one, other = (labelled([0, 1, 0, 1]), labelled([0, 0, 0, 1])), (labelled([1, 1, 0, 0]), labelled([1, 0, 0, 1]))
    both = gamma_cat(Comparison.of([one[0], other[0]], [one[1], other[1]], NAMES), GammaOptions(n_samples=15))
    alone = [
        gamma_cat(Comparison.of([left], [right], NAMES), GammaOptions(n_samples=15)) for left, right in (one, other)
    ]

    np.testing.assert_allclose(
        both.overall.per_output["gamma_cat"], [result.overall.per_output["gamma_cat"][0] for result in alone]
    )
    assert both.overall.mean == pytest.approx(np.mean(both.overall.per_output["gamma_cat"]))


def several(*categories: list[int]) -> list[SpanSet]:
    return [SpanSet.from_lists([labelled(row)]) for row in categories]


def test_many_annotators_who_agree_agree_fully() -> None:
    result = gamma_cat_of_annotators(several(*[[0, 1, 0, 1]] * 4), NAMES)

    assert result.overall.mean == 1.0
    assert result.per_category["wrong"].mean == 1.0
    assert result.per_category["other"].mean is None


def test_every_dissenter_costs_agreement() -> None:
    one, other = [0, 1, 0, 1], [1, 0, 1, 0]
    values = [
        gamma_cat_of_annotators(several(*rows), NAMES).overall.mean
        for rows in ([one] * 4, [one, one, one, other], [one, one, other, other])
    ]

    assert None not in values
    assert values == sorted(values, key=lambda value: value or 0.0, reverse=True)
    assert len(set(values)) == 3


def test_a_category_that_several_confuse_agrees_less_than_one_that_none_does() -> None:
    result = gamma_cat_of_annotators(several([0, 1, 2, 1], [0, 2, 1, 1], [0, 1, 1, 2]), NAMES).per_category

    assert result["wrong"].mean == 1.0
    assert result["other"].mean is not None
    assert result["other"].mean < 1.0


def test_an_annotator_who_marked_nothing_changes_nothing_that_was_observed() -> None:
    silent = SpanSet.from_lists([[]])
    result = gamma_cat_of_annotators([*several([0, 1, 0, 1], [0, 1, 0, 1]), silent], NAMES)

    assert result.overall.mean == 1.0
