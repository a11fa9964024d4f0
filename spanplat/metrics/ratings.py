"""Agreement of ratings: correlations over segments or systems, chance-corrected agreement, and aggregation of several raters."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy  # it loads its submodules on first use; the slow ones are needed for agreement only

from spanplat.errors import InvalidInput
from spanplat.metrics.result import Result
from spanplat.metrics.spans import FloatArray, IntArray

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["unweighted", "linear", "quadratic"]
Aggregation = Literal["mean", "mean_without_outliers", "median", "majority", "minimum"]
Over = Literal["segments", "systems"]

CONSTANT = "one side gives the same rating everywhere"
_TOLERANCE = 1e-9
TOO_FEW = "fewer than two items are rated by both sides"


def rating_correlation(reference: FloatArray, hypothesis: FloatArray, *, systems: IntArray | None = None) -> Result:
    """Compute Pearson, Spearman and Kendall τ-b between the ratings of two sides.

    Parameters
    ----------
    reference, hypothesis : array of float, shape (n,)
        Ratings of the same segments. NaN stands for a missing rating. Segments without both ratings are left out.
    systems : array of int, shape (n,), optional
        The system of each segment. If given, the correlations are over system means, else over segments.

    Returns
    -------
    Result
        ``pearson``, ``spearman``, ``kendall`` and ``ties`` (the share of item pairs tied on either side); the option ``over`` says
        whether items are segments or systems.

    Examples
    --------
    >>> result = rating_correlation(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 4.0, 3.0]))
    >>> round(result["kendall"], 4), result["ties"], result.options["over"]
    (0.6667, 0.0, 'segments')
    """
    left, right = _both_rated(reference, hypothesis)
    over: Over = "segments"
    if systems is not None:
        # The means are over segments that both sides rated, so that both means of a system are about the same segments.
        over = "systems"
        rated = ~(np.isnan(reference) | np.isnan(hypothesis))
        _, code = np.unique(np.asarray(systems)[rated], return_inverse=True)
        number = np.bincount(code)
        left, right = (np.bincount(code, weights=side) / number for side in (left, right))
    names = ("pearson", "spearman", "kendall")
    reason = TOO_FEW if len(left) < 2 else CONSTANT if np.ptp(left) == 0 or np.ptp(right) == 0 else None
    figures: dict[str, float | None] = dict.fromkeys(names)
    if reason is None:
        figures = {
            "pearson": float(scipy.stats.pearsonr(left, right).statistic),
            "spearman": float(scipy.stats.spearmanr(left, right).statistic),
            "kendall": float(scipy.stats.kendalltau(left, right, variant="b").statistic),
        }
    undefined = {} if reason is None else dict.fromkeys(names, reason)
    figures["ties"] = _tied_share(left, right)
    if figures["ties"] is None:
        undefined["ties"] = TOO_FEW
    return Result("rating_correlation", figures, outputs=len(left), options={"over": over}, undefined=undefined)


def judge_correlation(ratings: FloatArray, *, systems: IntArray | None = None) -> Result:
    """Correlate each judge with the mean of the others, and average over judges. It is the human baseline for a model's correlation.

    Parameters
    ----------
    ratings : array of float, shape (judges, n)
        NaN where a judge did not rate.
    systems : array of int, shape (n,), optional
        See `rating_correlation`.

    Returns
    -------
    Result
        ``pearson``, ``spearman``, ``kendall`` and ``ties``: means over the judges with a defined correlation. ``judges``: number of
        these judges. The option ``over`` says whether items are segments or systems.

    Examples
    --------
    >>> judge_correlation(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]))["spearman"]
    1.0
    """
    if len(ratings) < 2:
        raise InvalidInput("One judge can only be compared with others: give the ratings of at least two.")
    results = []
    for judge in range(len(ratings)):
        others = np.delete(ratings, judge, axis=0)
        # Not `nanmean`, which warns about items that no other judge rated.
        number = (~np.isnan(others)).sum(axis=0)
        total = np.nansum(others, axis=0)
        mean = np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)
        results.append(rating_correlation(mean, ratings[judge], systems=systems))
    names = ("pearson", "spearman", "kendall", "ties")
    values = {name: [r[name] for r in results if r[name] is not None] for name in names}
    figures: dict[str, float | None] = {
        name: float(np.mean(np.array(found, dtype=np.float64))) if found else None for name, found in values.items()
    }
    undefined = {name: "it is not defined for any judge" for name, value in figures.items() if value is None}
    figures["judges"] = len(values["pearson"])
    return Result(
        "judge_correlation", figures, outputs=ratings.shape[1], options=results[0].options, undefined=undefined
    )


def krippendorff_alpha(ratings: FloatArray, *, level: Level = "interval") -> Result:
    """Compute Krippendorff's α (Krippendorff 2011).

    Parameters
    ----------
    ratings : array of float, shape (raters, n)
        NaN where a rater did not rate.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Level of measurement, which defines the distance between two ratings.

    Returns
    -------
    Result
        ``alpha``; ``outputs`` counts the items with at least two ratings.

    Examples
    --------
    >>> ratings = np.array([[1.0, 2.0, 3.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
    >>> round(krippendorff_alpha(ratings, level="nominal")["alpha"], 4)
    0.6957
    """
    rated = (~np.isnan(ratings)).sum(axis=0)
    pairable = rated >= 2
    levels, code = np.unique(ratings[:, pairable], return_inverse=True)
    levels = levels[~np.isnan(levels)]
    options = {"level": level}
    if len(levels) < 2:
        reason = "no item has two ratings" if not pairable.any() else "all ratings are the same"
        figures: dict[str, float | None] = {"alpha": None}
        return Result(
            "krippendorff_alpha", figures, outputs=int(pairable.sum()), options=options, undefined={"alpha": reason}
        )
    # NaN is the last of the distinct values, so its column is cut off.
    code = code.reshape(-1, int(pairable.sum()))
    counts = np.stack([(code == number).sum(axis=0) for number in range(len(levels))], axis=1).astype(float)
    # Coincidences: each item adds the pairs of its ratings, divided by one less than their number, so that each rating counts once.
    weighted = counts / (rated[pairable] - 1)[:, None]
    coincidences = weighted.T @ counts - np.diag(weighted.sum(axis=0))
    totals = coincidences.sum(axis=0)
    distance = _squared_distance(levels, totals, level)
    observed = (coincidences * distance).sum() / totals.sum()
    expected = (np.outer(totals, totals) * distance).sum() / (totals.sum() * (totals.sum() - 1))
    return Result(
        "krippendorff_alpha",
        {"alpha": float(1 - observed / expected)},
        outputs=int(pairable.sum()),
        options=options,
    )


def _squared_distance(levels: FloatArray, totals: FloatArray, level: Level) -> FloatArray:
    """Return δ² between all levels (Krippendorff 2011, section E); ``totals`` are the numbers of ratings of each level."""
    distance: FloatArray = levels[:, None] - levels
    match level:
        case "nominal":
            distance = (distance != 0).astype(float)
        case "ratio":
            # Both ratings are 0 where their sum is, and then the distance is 0 as well.
            total = levels[:, None] + levels
            distance = np.divide(distance, total, out=np.zeros_like(total), where=total != 0)
        case "ordinal":
            # Ratings between two levels, those of both levels counted half: differences of the middle ranks.
            ranks = np.cumsum(totals) - totals / 2
            distance = ranks[:, None] - ranks
    squared: FloatArray = distance**2
    return squared


def cohen_kappa(
    reference: FloatArray, hypothesis: FloatArray, *, weights: Weights = "unweighted", scale: FloatArray | None = None
) -> Result:
    """Compute Cohen's κ (Cohen 1960, 1968) and the share of equal ratings.

    Parameters
    ----------
    reference, hypothesis : array of float, shape (n,)
        Ratings of the same items. NaN stands for a missing rating.
    weights : {"unweighted", "linear", "quadratic"}
        Weight of a disagreement by the distance of the two levels on the scale.
    scale : array of float, optional
        All levels in order. By default the levels that occur.

    Returns
    -------
    Result
        ``kappa`` and ``agreement`` (share of equal ratings).

    Examples
    --------
    >>> cohen_kappa(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]))["kappa"]
    0.5
    """
    left, right = _both_rated(reference, hypothesis)
    options = {"weights": weights}
    if len(left) == 0:
        reason = "no item is rated by both sides"
        return Result(
            "cohen_kappa",
            {"kappa": None, "agreement": None},
            outputs=0,
            options=options,
            undefined={"kappa": reason, "agreement": reason},
        )
    levels = np.unique(np.concatenate([left, right]) if scale is None else scale)
    rows, columns = np.searchsorted(levels, left), np.searchsorted(levels, right)
    if not (np.isin(left, levels).all() and np.isin(right, levels).all()):
        raise InvalidInput("A rating is not on the scale; name all levels of the scale.")
    observed = np.zeros((len(levels), len(levels)))
    np.add.at(observed, (rows, columns), 1.0 / len(left))
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0))
    distance = np.abs(np.arange(len(levels))[:, None] - np.arange(len(levels))).astype(np.float64)
    cost = {"unweighted": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}[weights]
    # κ = 1 - observed disagreement / chance disagreement, both weighted (Cohen 1968).
    chance = float((cost * expected).sum())
    kappa = None if chance == 0 else 1.0 - float((cost * observed).sum()) / chance
    undefined = {} if kappa is not None else {"kappa": "both sides give one and the same rating everywhere"}
    figures = {"kappa": kappa, "agreement": float(np.mean(left == right))}
    return Result("cohen_kappa", figures, outputs=len(left), options=options, undefined=undefined)


def aggregate(ratings: FloatArray, *, method: Aggregation = "mean") -> FloatArray:
    """Aggregate the ratings of several raters to one score per item.

    Parameters
    ----------
    ratings : array of float, shape (raters, n)
        NaN where a rater did not rate.
    method : {"mean", "mean_without_outliers", "median", "majority", "minimum"}
        An outlier differs from the mean of the other ratings by at least two of their standard deviations and at least one point.
        The majority is the most frequent rating. If several are equally frequent, it is the lowest of them.

    Returns
    -------
    array of float, shape (n,)
        An item without ratings has NaN.

    Examples
    --------
    >>> ratings = np.array([[5.0, 1.0], [5.0, 2.0], [4.0, 2.0], [1.0, np.nan]])
    >>> aggregate(ratings, method="mean_without_outliers").round(3).tolist()
    [4.667, 2.0]
    """
    by_item = ratings.T
    methods: dict[str, Callable[[FloatArray], float]] = {
        "mean": lambda row: float(row.mean()),
        "mean_without_outliers": _mean_without_outliers,
        "median": lambda row: float(np.median(row)),
        "majority": _majority,
        "minimum": lambda row: float(row.min()),
    }
    if method not in methods:
        raise InvalidInput(f"Unknown aggregation {method!r}: choose {', '.join(methods)}.")
    combine = methods[method]
    return np.array([combine(row[~np.isnan(row)]) if not np.isnan(row).all() else np.nan for row in by_item])


def _mean_without_outliers(ratings: FloatArray) -> float:
    if len(ratings) < 3:  # with two, either would be the outlier of the other
        return float(ratings.mean())
    others = [np.delete(ratings, place) for place in range(len(ratings))]
    distance = np.array([abs(rating - rest.mean()) for rating, rest in zip(ratings, others, strict=True)])
    spread = np.array([rest.std() for rest in others])
    kept = ~((distance >= 2 * spread - _TOLERANCE) & (distance >= 1 - _TOLERANCE))
    return float(ratings[kept].mean()) if kept.any() else float(ratings.mean())


def _majority(ratings: FloatArray) -> float:
    levels, number = np.unique(ratings, return_counts=True)
    return float(levels[np.argmax(number)])


def _both_rated(reference: FloatArray, hypothesis: FloatArray) -> tuple[FloatArray, FloatArray]:
    if np.shape(reference) != np.shape(hypothesis):
        raise InvalidInput("Both sides must rate the same items; put NaN where a rating is missing.")
    rated = ~(np.isnan(reference) | np.isnan(hypothesis))
    return reference[rated], hypothesis[rated]


def _tied_share(left: FloatArray, right: FloatArray) -> float | None:
    n = len(left)
    if n < 2:
        return None

    def tied(*columns: FloatArray) -> int:
        _, number = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
        return int((number * (number - 1) // 2).sum())

    # Pairs tied on both sides were counted twice.
    return (tied(left) + tied(right) - tied(left, right)) / (n * (n - 1) // 2)
