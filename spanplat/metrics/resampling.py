"""Bootstrap intervals over outputs and paired permutation tests, both on counts per output."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.spans import FloatArray

Statistic = Callable[[FloatArray], FloatArray]
"""Function from column sums, shape (resamples, columns), to figures, shape (resamples, figures). An undefined figure is NaN."""

CELLS_AT_ONCE = 4_000_000
"""Largest number of (resample, output) weights in one block. It bounds memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Percentile intervals, one per figure. A bound is NaN if the figure is undefined in every resample.

    Parameters
    ----------
    low, high : array of float, shape (figures,)
        The bounds.
    undefined_share : array of float, shape (figures,)
        Share of the resamples in which the figure was undefined. The interval leaves them out.
    """

    low: FloatArray
    high: FloatArray
    undefined_share: FloatArray


def bootstrap(
    columns: FloatArray,
    statistic: Statistic,
    *,
    n_resamples: int = 1000,
    seed: int = 42,
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> Intervals:
    """Compute percentile bootstrap intervals over outputs (Efron & Tibshirani 1993, chapter 13).

    Parameters
    ----------
    columns : array of float, shape (n, columns)
        Counts per output whose sums over outputs determine the figures.
    statistic : callable
        Function from the sums to the figures.
    n_resamples : int
        Number of resamples, each of ``n`` outputs drawn with replacement.
    seed : int
        Seed of the resampling. The figures do not depend on ``n_jobs``.
    confidence : float
        Coverage of the intervals.
    n_jobs : int, optional
        Number of processes for joblib. By default joblib's configuration decides.

    Returns
    -------
    Intervals

    Raises
    ------
    InvalidInput
        Without outputs, resamples or a confidence between 0 and 1.

    Examples
    --------
    >>> values = np.arange(100.0)
    >>> columns = np.stack([values, np.ones(100)], axis=1)
    >>> intervals = bootstrap(columns, lambda sums: sums[:, :1] / sums[:, 1:], n_resamples=200, seed=1)
    >>> bool(intervals.low[0] < 49.5 < intervals.high[0])
    True
    """
    if len(columns) == 0 or n_resamples < 1 or not 0 < confidence < 1:
        raise InvalidInput("A bootstrap needs at least one output, one resample and a confidence between 0 and 1.")
    per_block = max(1, min(n_resamples, CELLS_AT_ONCE // len(columns)))
    sizes = [min(per_block, n_resamples - begin) for begin in range(0, n_resamples, per_block)]
    # One seed for each block, so that the number of processes does not change the figures.
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))
    from joblib import Parallel, delayed  # noqa: PLC0415 (slow to load, and only intervals need it)

    blocks = Parallel(n_jobs=n_jobs)(
        delayed(_resampled_sums)(columns, size, own) for size, own in zip(sizes, seeds, strict=True)
    )
    figures = statistic(np.concatenate(blocks))
    missing = np.isnan(figures)
    bounds = np.full((2, figures.shape[1]), np.nan)
    for number in np.flatnonzero(~missing.all(axis=0)).tolist():
        defined = figures[~missing[:, number], number]
        bounds[:, number] = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Intervals(bounds[0], bounds[1], missing.mean(axis=0))


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Result of a paired permutation test: the observed difference (first minus second) and its two-sided p-value."""

    difference: float
    p_value: float


def permutation_test(
    first: FloatArray, second: FloatArray, statistic: Statistic, *, n_permutations: int = 1000, seed: int = 42
) -> PermutationTest:
    """Test whether two hypotheses differ against one reference, with random swaps per output (Noreen 1989).

    Parameters
    ----------
    first, second : array of float, shape (n, columns)
        Counts per output of the two hypotheses, on the same outputs.
    statistic : callable
        Function from column sums to figures. The first figure is tested.
    n_permutations : int
        Number of permutations. p is (1 + number of differences at least as large) / (1 + number of permutations).
    seed : int
        Seed of the permutations.

    Returns
    -------
    PermutationTest
        NaN if the figure is undefined for one of the hypotheses.

    Raises
    ------
    InvalidInput
        When the hypotheses do not have the same outputs.
    """
    if first.shape != second.shape or len(first) == 0:
        raise InvalidInput(
            "A paired test needs both hypotheses on the same outputs; align them on what both completed."
        )
    sums = first.sum(axis=0), second.sum(axis=0)
    figures = statistic(np.stack(sums))[:, 0]
    observed = float(figures[0] - figures[1])
    random = np.random.default_rng(seed)
    # Only the sums matter. Swapping an output adds its difference to one sum and takes it from the other.
    change = second - first
    extreme = 0
    per_block = max(1, CELLS_AT_ONCE // len(first))
    for begin in range(0, n_permutations, per_block):
        swaps = (
            random.integers(0, 2, size=(min(per_block, n_permutations - begin), len(first))).astype(np.float64) @ change
        )
        differences = statistic(sums[0] + swaps)[:, 0] - statistic(sums[1] - swaps)[:, 0]
        # The tolerance counts equal differences that rounding makes slightly smaller.
        extreme += int((np.abs(differences) >= abs(observed) - 1e-12).sum())
    # The observed assignment counts as one of the permutations, so that p is never 0.
    p_value = float("nan") if np.isnan(observed) else (1 + extreme) / (1 + n_permutations)
    return PermutationTest(observed, p_value)


def rank_clusters(scores: FloatArray, p_values: FloatArray, *, level: float = 0.05) -> list[int]:
    """Return the ranks of clusters of a leaderboard that differ significantly.

    Entries are sorted by score. An entry begins a new cluster if all entries above are significantly better than it and all below it.

    Parameters
    ----------
    scores : array of float, shape (systems,)
        Higher is better.
    p_values : array of float, shape (systems, systems)
        P-values of the pairwise tests.
    level : float
        Significance level.

    Returns
    -------
    list of int
        The rank of each entry, starting at 1, the same within a cluster.

    Examples
    --------
    >>> p = np.array([[1.0, 0.3, 0.01], [0.3, 1.0, 0.01], [0.01, 0.01, 1.0]])
    >>> rank_clusters(np.array([0.5, 0.6, 0.1]), p)
    [1, 1, 3]
    """
    order = np.argsort(-scores, kind="stable")
    # NaN, where nothing could be tested, compares as not significant.
    significant = p_values[np.ix_(order, order)] < level
    ranks = np.empty(len(scores), dtype=np.int64)
    rank = 1
    for place, entry in enumerate(order.tolist()):
        if place and significant[:place, place:].all():
            rank = place + 1
        ranks[entry] = rank
    return [int(value) for value in ranks]


def f1_statistic(sums: FloatArray) -> FloatArray:
    """Return precision, recall and F1 from sums of (found, hypothesis, covered, reference), shapes (r, 4) to (r, 3)."""
    ratios = [
        np.divide(sums[:, above], sums[:, below], out=np.ones(len(sums)), where=sums[:, below] > 0)
        for above, below in ((0, 1), (2, 3))
    ]
    total = ratios[0] + ratios[1]
    f1 = np.divide(2 * ratios[0] * ratios[1], total, out=np.zeros(len(sums)), where=total > 0)
    return np.stack([*ratios, f1], axis=1)


def mean_statistic(sums: FloatArray) -> FloatArray:
    """Return the mean from sums of (value, whether it is defined), shapes (r, 2) to (r, 1); NaN if no value is defined."""
    mean: FloatArray = np.divide(sums[:, :1], sums[:, 1:2], out=np.full((len(sums), 1), np.nan), where=sums[:, 1:2] > 0)
    return mean


def mean_columns(values: FloatArray) -> FloatArray:
    """Return the columns for `mean_statistic` from values per output, shapes (n,) to (n, 2). NaN stands for no value."""
    defined = ~np.isnan(values)
    return np.stack([np.where(defined, values, 0.0), defined.astype(np.float64)], axis=1)


def pearson_columns(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the columns for `pearson_statistic` from values per output and category, shapes (n, k) to (n, 6)."""
    cells = np.full(len(left), float(left.shape[1]))
    products = (left, right, left * left, right * right, left * right)
    return np.stack([cells, *(product.sum(axis=1) for product in products)], axis=1)


def pearson_statistic(sums: FloatArray) -> FloatArray:
    """Return the Pearson correlation from sums of `pearson_columns`, shapes (r, 6) to (r, 1); NaN if a side is constant."""
    number, left, right, left_squares, right_squares, both = sums.T
    variance = (number * left_squares - left**2) * (number * right_squares - right**2)
    # Rounding can make the variance of a constant side slightly negative, or slightly positive.
    root = np.sqrt(np.maximum(variance, 0.0))
    value: FloatArray = np.divide(number * both - left * right, root, out=np.full(len(sums), np.nan), where=root > 1e-9)
    return value[:, None]


def _resampled_sums(columns: FloatArray, size: int, seed: np.random.SeedSequence) -> FloatArray:
    random = np.random.default_rng(seed)
    n = len(columns)
    # Each resample gets its own range of numbers, so that one `bincount` counts the draws of all resamples.
    drawn = random.integers(0, n, size=(size, n)) + np.arange(size)[:, None] * n
    weights = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
    sums: FloatArray = weights.astype(np.float64) @ columns
    return sums
