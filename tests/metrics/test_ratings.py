"""Agreement of ratings, compared with other libraries."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from spanplat.errors import InvalidInput
from spanplat.metrics import aggregate, cohen_kappa, judge_correlation, krippendorff_alpha, rating_correlation
from spanplat.metrics.ratings import Level
from spanplat.metrics.spans import FloatArray

RANDOM = np.random.default_rng(9)
LEFT: FloatArray = RANDOM.integers(1, 6, 50).astype(float)
RIGHT: FloatArray = np.clip(LEFT + RANDOM.integers(-1, 3, 50), 1.0, 5.0)


def test_correlations_over_segments() -> None:
    result = rating_correlation(LEFT, RIGHT)

    assert result["pearson"] == pytest.approx(np.corrcoef(LEFT, RIGHT)[0, 1])
    assert result["spearman"] == pytest.approx(np.corrcoef(stats.rankdata(LEFT), stats.rankdata(RIGHT))[0, 1])
    assert result["kendall"] == pytest.approx(stats.kendalltau(LEFT, RIGHT).statistic)


def test_correlations_over_system_means_say_so() -> None:
    systems = np.repeat(np.arange(5), 10)
    result = rating_correlation(LEFT, RIGHT, systems=systems)
    means = [[side[systems == code].mean() for code in range(5)] for side in (LEFT, RIGHT)]

    assert result["pearson"] == pytest.approx(np.corrcoef(means[0], means[1])[0, 1])
    assert (result.options["over"], result.outputs) == ("systems", 5)


def test_ties_count_pairs_tied_on_either_side() -> None:
    assert rating_correlation(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 2.0]))["ties"] == pytest.approx(2 / 3)


def test_missing_ratings_are_left_out() -> None:
    gap = LEFT.copy()
    gap[:5] = np.nan

    assert rating_correlation(gap, RIGHT)["pearson"] == pytest.approx(np.corrcoef(LEFT[5:], RIGHT[5:])[0, 1])


@pytest.mark.parametrize(("left", "right"), [([2.0, 2.0], [1.0, 3.0]), ([1.0], [1.0]), ([], [])])
def test_undefined_correlations_say_why(left: list[float], right: list[float]) -> None:
    result = rating_correlation(np.array(left), np.array(right))

    assert result["kendall"] is None
    assert result.undefined["kendall"]


@pytest.mark.parametrize("weights", ["unweighted", "linear", "quadratic"])
def test_kappa_is_that_of_scikit_learn(weights: str) -> None:
    expected = cohen_kappa_score(LEFT, RIGHT, weights=None if weights == "unweighted" else weights)

    assert cohen_kappa(LEFT, RIGHT, weights=weights)["kappa"] == pytest.approx(expected)  # type: ignore[arg-type]


def test_kappa_of_constant_ratings_is_undefined() -> None:
    result = cohen_kappa(np.array([1.0, 1.0]), np.array([1.0, 1.0]))

    assert result["kappa"] is None
    assert result["agreement"] == 1.0
    assert result.undefined["kappa"]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_is_that_of_krippendorff(level: Level) -> None:
    ratings = np.stack([LEFT, RIGHT, np.where(LEFT > 3, np.nan, LEFT)])

    assert krippendorff_alpha(ratings, level=level)["alpha"] == pytest.approx(
        krippendorff.alpha(reliability_data=ratings, level_of_measurement=level)
    )


@given(
    ratings=arrays(
        float, st.tuples(st.integers(2, 5), st.integers(1, 12)), elements=st.sampled_from([1.0, 2.0, 2.5, 4.0, np.nan])
    ),
    level=st.sampled_from(["nominal", "ordinal", "interval", "ratio"]),
)
def test_alpha_of_any_ratings_is_that_of_krippendorff(ratings: FloatArray, level: Level) -> None:
    result = krippendorff_alpha(ratings, level=level)
    if result["alpha"] is None:
        assert result.undefined["alpha"] in {"no item has two ratings", "all ratings are the same"}
    else:
        assert result["alpha"] == pytest.approx(
            krippendorff.alpha(reliability_data=ratings, level_of_measurement=level), abs=1e-12
        )


def test_alpha_of_published_example() -> None:
    # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, missing data.
    nan = np.nan
    ratings = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
            [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
        ]
    )
    alphas = {level: krippendorff_alpha(ratings, level=level)["alpha"] for level in ("nominal", "interval")}

    assert alphas == {"nominal": pytest.approx(0.743, abs=5e-4), "interval": pytest.approx(0.849, abs=5e-4)}


def test_alpha_of_one_and_the_same_rating_is_undefined() -> None:
    assert krippendorff_alpha(np.ones((2, 3))).undefined == {"alpha": "all ratings are the same"}


def test_a_judge_is_compared_with_the_mean_of_the_others() -> None:
    ratings = np.stack([LEFT, RIGHT, LEFT])
    expected = np.mean(
        [np.corrcoef(ratings[judge], np.delete(ratings, judge, axis=0).mean(axis=0))[0, 1] for judge in range(3)]
    )

    assert judge_correlation(ratings)["pearson"] == pytest.approx(expected)
    with pytest.raises(InvalidInput):
        judge_correlation(ratings[:1])


@pytest.mark.parametrize(
    ("method", "expected"),
    [("mean", 3.75), ("mean_without_outliers", 14 / 3), ("median", 4.5), ("majority", 5.0), ("minimum", 1.0)],
)
def test_one_score_from_several(method: str, expected: float) -> None:
    ratings = np.array([[5.0], [5.0], [4.0], [1.0]])

    assert aggregate(ratings, method=method).tolist() == pytest.approx([expected])  # type: ignore[arg-type]


def test_nobody_rated() -> None:
    assert np.isnan(aggregate(np.full((2, 1), np.nan))).all()


def test_one_judge_against_the_others_says_over_what_and_how_many_pairs_are_tied() -> None:
    ratings = np.array([[1.0, 2.0, 3.0, 3.0], [1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 2.0, 4.0]])
    segments = judge_correlation(ratings)
    systems = judge_correlation(ratings, systems=np.array([0, 0, 1, 1]))

    assert (segments.options["over"], systems.options["over"]) == ("segments", "systems")
    assert segments["ties"] is not None
    assert 0 < segments["ties"] < 1
    assert systems["pearson"] == pytest.approx(1.0)
