"""Scores of ensembles of annotators: outliers, agreement between annotators, and correlation by size of the ensemble."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.ratings import Aggregation, aggregate, cohen_kappa, rating_correlation
from spanplat.metrics.spans import BoolArray, FloatArray

OutlierRule = Literal["all", "others"]

TOLERANCE = 1e-9
"""Tolerance of both limits, because of rounding."""
LEAST_SPREADS = 2.0
"""Smallest distance of an outlier from the mean, in standard deviations."""
LEAST_POINTS = 1.0
"""Smallest distance of an outlier from the mean, in points."""


def outliers(ratings: FloatArray, *, rule: OutlierRule = "all") -> BoolArray:
    """Find the ratings that are outliers among the ratings of the same item.

    Parameters
    ----------
    ratings : array of float, shape (annotators, n)
        NaN where an annotator did not rate.
    rule : {"all", "others"}
        Whether a rating is compared with the mean and standard deviation (ddof 0) of all ratings of the item, or of the others only.

    Returns
    -------
    array of bool, shape (annotators, n)
        True if a rating differs from that mean by at least two standard deviations and by at least one point (tolerance 1e-9). An item
        with fewer than three ratings has no outliers.

    Examples
    --------
    >>> ratings = np.array([[5.0], [5.0], [5.0], [5.0], [1.0]])
    >>> outliers(ratings)[:, 0].tolist()
    [False, False, False, False, True]
    """
    found = np.zeros(ratings.shape, dtype=np.bool_)
    for item in range(ratings.shape[1]):
        rated = np.flatnonzero(~np.isnan(ratings[:, item]))
        # With two ratings, each would be the outlier of the other.
        if len(rated) < 3:
            continue
        values = ratings[rated, item]
        for place, annotator in enumerate(rated):
            compared = values if rule == "all" else np.delete(values, place)
            distance = abs(values[place] - compared.mean())
            found[annotator, item] = (
                distance >= LEAST_SPREADS * compared.std() - TOLERANCE and distance >= LEAST_POINTS - TOLERANCE
            )
    return found


def outlier_shares(ratings: FloatArray, *, rule: OutlierRule = "all") -> list[float | None]:
    """Return the share of outliers among the ratings of each annotator; None for an annotator without ratings.

    Parameters
    ----------
    ratings : array of float, shape (annotators, n)
        NaN where an annotator did not rate.
    rule : {"all", "others"}
        See `outliers`.
    """
    found, rated = outliers(ratings, rule=rule), ~np.isnan(ratings)
    return [float(found[row].sum() / rated[row].sum()) if rated[row].any() else None for row in range(len(ratings))]


def score_spread(ratings: FloatArray) -> float | None:
    """Return the mean standard deviation (ddof 0) of an item's ratings, over items with at least two ratings, or None.

    Parameters
    ----------
    ratings : array of float, shape (annotators, n)
        NaN where an annotator did not rate.

    Examples
    --------
    >>> score_spread(np.array([[1.0, 4.0, np.nan], [3.0, 4.0, 5.0]]))
    0.5
    """
    several = ratings[:, (~np.isnan(ratings)).sum(axis=0) >= 2]
    return float(np.nanstd(several, axis=0).mean()) if several.size else None


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of two annotators' ratings."""

    first: int
    second: int
    items: int
    """Number of items that both rated."""
    spearman: float | None
    kappa: float | None
    """Cohen's κ, unweighted."""


def pairwise_agreement(ratings: FloatArray) -> list[PairAgreement]:
    """Compute Spearman's ρ and Cohen's κ of all pairs of annotators.

    Parameters
    ----------
    ratings : array of float, shape (annotators, n)
        NaN where an annotator did not rate.

    Examples
    --------
    >>> (pair,) = pairwise_agreement(np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 4.0]]))
    >>> round(pair.spearman, 4), round(pair.kappa, 4)
    (0.9487, 0.6667)
    """
    found = []
    for first, second in combinations(range(len(ratings)), 2):
        correlation = rating_correlation(ratings[first], ratings[second])
        kappa = cohen_kappa(ratings[first], ratings[second])
        found.append(PairAgreement(first, second, correlation.outputs, correlation["spearman"], kappa["kappa"]))
    return found


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """Correlations of ensembles of one size."""

    size: int
    subsets: int
    """Number of evaluated ensembles."""
    exhaustive: bool
    """Whether these are all ensembles of this size."""
    mean: float | None
    lowest: float | None
    highest: float | None
    """Highest correlation. The three figures leave out ensembles with an undefined correlation."""


def figures_by_size(
    ratings: FloatArray,
    reference: FloatArray,
    *,
    figure: Literal["pearson", "spearman", "kendall"] = "spearman",
    method: Aggregation = "mean",
    most_subsets: int = 500,
    seed: int = 42,
) -> list[SizeFigures]:
    """Correlate ensembles of every size with a reference.

    Parameters
    ----------
    ratings : array of float, shape (annotators, n)
        NaN where an annotator did not rate.
    reference : array of float, shape (n,)
        Scores to correlate with. NaN stands for no score.
    figure : {"pearson", "spearman", "kendall"}
        The correlation.
    method
        Aggregation of the ratings of an ensemble to one score.
    most_subsets
        Largest number of ensembles per size. If there are more, this many are drawn at random.
    seed
        Seed of the drawing.

    Returns
    -------
    list of SizeFigures
        One for each size from 1 to the number of annotators.

    Raises
    ------
    InvalidInput
        If the reference does not have one score for each item.
    """
    if reference.shape != ratings.shape[1:]:
        raise InvalidInput("The reference must have one score for each item; put NaN where it has none.")
    figures = []
    for size in range(1, len(ratings) + 1):
        chosen = list(_subsets(len(ratings), size, most_subsets, seed))
        values = [
            value
            for subset in chosen
            if (value := rating_correlation(reference, aggregate(ratings[list(subset)], method=method))[figure])
            is not None
        ]
        exhaustive = len(chosen) == comb(len(ratings), size)
        figures.append(
            SizeFigures(
                size,
                len(chosen),
                exhaustive,
                float(np.mean(values)) if values else None,
                min(values, default=None),
                max(values, default=None),
            )
        )
    return figures


def _subsets(annotators: int, size: int, most: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Yield the subsets of one size: all of them, or ``most`` different ones drawn at random."""
    if comb(annotators, size) <= most:
        yield from combinations(range(annotators), size)
        return
    # The size is part of the seed, so that the subsets of one size do not depend on the other sizes.
    rng, drawn = np.random.default_rng([seed, size]), set[tuple[int, ...]]()
    while len(drawn) < most:
        subset = tuple(sorted(int(place) for place in rng.choice(annotators, size, replace=False)))
        if subset not in drawn:
            drawn.add(subset)
            yield subset
