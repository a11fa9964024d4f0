"""Intervals, permutation tests and rank clusters."""

import numpy as np
import pytest

from spanplat.errors import InvalidInput
from spanplat.metrics import Comparison, agreement_report, bootstrap, permutation_test, rank_clusters
from spanplat.metrics.characters import char_counts
from spanplat.metrics.count_correlation import pearson
from spanplat.metrics.resampling import f1_statistic, mean_columns, mean_statistic, pearson_columns, pearson_statistic
from spanplat.metrics.scores import score
from spanplat.metrics.spans import FloatArray


def columns_of(pair: Comparison) -> FloatArray:
    counts = char_counts(pair)
    return np.stack([counts.found, counts.hypothesis, counts.covered, counts.reference], axis=1)


def random_pair(n_outputs: int, seed: int) -> Comparison:
    random = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        starts = random.integers(0, 80, size=(n_outputs, 2))
        sides.append([[(int(start), int(start) + 20, 0) for start in row] for row in starts])
    return Comparison.of(sides[0], sides[1])


def test_statistics_on_sums_are_the_scores() -> None:
    pair = random_pair(20, seed=1)
    scores = score(char_counts(pair))

    assert f1_statistic(columns_of(pair).sum(axis=0, keepdims=True))[0] == pytest.approx(
        [scores.precision, scores.recall, scores.f1]
    )


def test_pearson_on_sums_is_pearson() -> None:
    random = np.random.default_rng(3)
    left, right = random.integers(0, 5, size=(2, 30, 4)).astype(float)

    assert pearson_statistic(pearson_columns(left, right).sum(axis=0, keepdims=True))[0, 0] == pytest.approx(
        pearson(left.ravel(), right.ravel())
    )


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    random = np.random.default_rng(5)
    covered = 0
    for seed in range(100):
        intervals = bootstrap(mean_columns(random.normal(3.0, 1.0, 60)), mean_statistic, n_resamples=200, seed=seed)
        covered += int(intervals.low[0] <= 3.0 <= intervals.high[0])

    assert 85 <= covered <= 100


def test_the_same_seed_gives_the_same_interval() -> None:
    columns = columns_of(random_pair(30, seed=2))
    one, same, other = (bootstrap(columns, f1_statistic, n_resamples=100, seed=seed) for seed in (1, 1, 2))

    assert one.low.tolist() == same.low.tolist()
    assert one.low.tolist() != other.low.tolist()


def test_a_figure_undefined_in_every_resample_has_no_interval() -> None:
    intervals = bootstrap(mean_columns(np.full(5, np.nan)), mean_statistic, n_resamples=20)

    assert np.isnan(intervals.low[0])
    assert intervals.undefined_share[0] == 1.0


def test_no_outputs_cannot_be_resampled() -> None:
    with pytest.raises(InvalidInput):
        bootstrap(np.zeros((0, 4)), f1_statistic)


def test_equal_hypotheses_do_not_differ() -> None:
    columns = columns_of(random_pair(30, seed=2))

    assert permutation_test(columns, columns, f1_statistic, n_permutations=99).p_value == 1.0


def test_a_clear_difference_is_found_and_chance_is_not() -> None:
    random = np.random.default_rng(11)
    good, bad, noise = (mean_columns(random.normal(mean, 1.0, 80)) for mean in (1.0, 0.0, 0.0))

    assert permutation_test(good, bad, mean_statistic).p_value < 0.01
    assert permutation_test(bad, noise, mean_statistic).p_value > 0.05


def test_the_p_value_of_a_small_case_is_close_to_that_of_all_swaps() -> None:
    first, second = np.array([3.0, 2.0, 5.0, 1.0, 4.0]), np.array([1.0, 2.5, 2.0, 0.0, 3.0])
    difference = first - second
    signs = np.array(np.meshgrid(*[[1, -1]] * 5)).reshape(5, -1)
    exact = np.mean(np.abs(difference @ signs) >= abs(difference.sum()) - 1e-12)
    sampled = permutation_test(mean_columns(first), mean_columns(second), mean_statistic, n_permutations=20_000)

    assert sampled.p_value == pytest.approx(exact, abs=0.01)
    assert sampled.difference == pytest.approx(difference.mean())


def test_a_cluster_ends_where_all_above_beat_all_below() -> None:
    scores = np.array([0.9, 0.8, 0.5, 0.4])
    p_values = np.array(
        [[1.0, 0.01, 0.01, 0.01], [0.01, 1.0, 0.2, 0.01], [0.01, 0.2, 1.0, 0.01], [0.01, 0.01, 0.01, 1.0]]
    )

    assert rank_clusters(scores, p_values) == [1, 2, 2, 4]


def test_intervals_surround_the_reported_figures() -> None:
    report = agreement_report(random_pair(40, seed=4), n_bootstrap=200)

    for path, (low, high) in report["intervals"].items():
        if low is None:
            continue
        figure = report
        for key in path.split("."):
            figure = figure[key]
        assert low <= figure <= high, path
