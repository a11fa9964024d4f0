"""Scores of ensembles: outliers by both rules, agreement of pairs of annotators, correlations by size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.errors import InvalidInput
from spanplat.metrics.ensembles import figures_by_size, outlier_shares, outliers, pairwise_agreement
from spanplat.metrics.ratings import aggregate

NAN = float("nan")


def column(*values: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array([[value] for value in values])


def test_an_outlier_is_two_standard_deviations_and_a_point_away_from_the_mean_of_all() -> None:
    # The mean of 5 5 5 5 1 is 4.2 and its standard deviation 1.6: the last is exactly two of them away.
    assert outliers(column(5, 5, 5, 5, 1))[:, 0].tolist() == [False, False, False, False, True]
    # Among four, no rating can be two standard deviations away from the mean of all.
    assert not outliers(column(5, 5, 5, 1)).any()
    # Far in standard deviations, but by less than a point.
    assert not outliers(column(5, 5, 5, 5, 4.5)).any()


def test_compared_with_the_others_a_single_rating_stands_out_sooner() -> None:
    assert outliers(column(5, 5, 5, 1), rule="others")[:, 0].tolist() == [False, False, False, True]
    assert not outliers(column(5, 1), rule="others").any()


def test_the_mean_without_outliers_leaves_out_what_the_rule_of_the_others_finds() -> None:
    ratings = np.array([[5, 4, 1], [5, 4, 3], [4, 4, 3], [1, 3, NAN]], dtype=np.float64)
    kept = np.where(outliers(ratings, rule="others"), NAN, ratings)
    assert aggregate(ratings, method="mean_without_outliers").tolist() == pytest.approx(aggregate(kept).tolist())


@given(st.lists(st.integers(1, 5), min_size=3, max_size=8), st.randoms())
def test_outliers_do_not_depend_on_the_order_of_annotators(values: list[int], random: object) -> None:
    del random
    ratings = column(*map(float, values))
    assert outliers(ratings)[::-1].tolist() == outliers(ratings[::-1]).tolist()
    assert outliers(ratings).sum() <= len(values) // 4


def test_missing_ratings_are_nobodys() -> None:
    ratings = np.array([[5.0, NAN], [5, NAN], [5, 2], [5, 2], [1, NAN], [NAN, NAN]])
    assert outlier_shares(ratings) == [0, 0, 0, 0, 1, None]


def test_every_two_annotators_are_compared_on_what_both_rated() -> None:
    ratings = np.array([[1.0, 2, 3, NAN], [1, 2, 3, 4], [3, 2, 1, NAN]])
    pairs = {(pair.first, pair.second): (pair.items, pair.spearman) for pair in pairwise_agreement(ratings)}
    assert pairs == {(0, 1): (3, 1.0), (0, 2): (3, -1.0), (1, 2): (3, -1.0)}
    kappas = [pair.kappa for pair in pairwise_agreement(ratings)]
    assert kappas == pytest.approx([1.0, 0.0, 0.0])


def test_averaging_more_annotators_of_independent_error_comes_nearer_to_the_truth() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=300)
    ratings = truth + rng.normal(size=(6, 300))
    figures = figures_by_size(ratings, truth)
    means = [figure.mean for figure in figures if figure.mean is not None]
    assert [figure.size for figure in figures] == [1, 2, 3, 4, 5, 6]
    assert [figure.subsets for figure in figures] == [6, 15, 20, 15, 6, 1]
    assert means == sorted(means)
    assert all(figure.exhaustive for figure in figures)


def test_many_subsets_are_drawn_by_seed() -> None:
    rng = np.random.default_rng(1)
    ratings, truth = rng.normal(size=(8, 20)), rng.normal(size=20)
    one, again, other = (figures_by_size(ratings, truth, most_subsets=10, seed=seed)[3] for seed in (1, 1, 2))
    assert (one.subsets, one.exhaustive) == (10, False)
    assert one == again != other


def test_a_reference_of_another_length_is_refused() -> None:
    with pytest.raises(InvalidInput, match="one score for each item"):
        figures_by_size(np.ones((2, 3)), np.ones(2))
