"""Errors of the evaluated systems, and agreement of two annotators' rankings of the systems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.ratings import rating_correlation
from spanplat.metrics.resampling import (
    Intervals,
    bootstrap,
    mean_columns,
    mean_statistic,
    permutation_test,
    rank_clusters,
)
from spanplat.metrics.result import Result
from spanplat.metrics.spans import FloatArray, IntArray, SpanSet, sum_by


@dataclass(frozen=True, slots=True)
class ErrorWeights:
    """Weights of spans in the derived score, as in MQM: category weight times severity weight.

    Parameters
    ----------
    categories : mapping of int to float
        Weight per category. The default is 1.
    severities : mapping of int to float
        Weight per severity. The default is 1 (MQM: minor 1, major 5).
    """

    categories: Mapping[int, float] = field(default_factory=dict)
    severities: Mapping[int, float] = field(default_factory=dict)

    def of(self, spans: SpanSet) -> FloatArray:
        """Return the weight of every span, shape (spans,)."""
        weights = np.ones(spans.n_spans)
        for code, column in ((self.categories, spans.category), (self.severities, spans.severity)):
            for value, weight in code.items():
                weights[column == value] *= weight
        return weights


@dataclass(frozen=True, slots=True, eq=False)
class SystemErrors:
    """Errors of one system.

    Parameters
    ----------
    outputs, spans : int
        Annotated outputs of the system and spans on them.
    per_output : float
        Errors per output.
    by_category, by_severity : dict of int to float
        Errors per output of each category and each severity that occurs in the data.
    error_free : float
        Share of outputs without a span.
    score : float
        Derived score: negative mean weight of the errors per output. 0 is perfect.
    per_output_interval, error_free_interval, score_interval : tuple of float
        95 % bootstrap intervals.
    """

    outputs: int
    spans: int
    per_output: float
    by_category: dict[int, float]
    by_severity: dict[int, float]
    error_free: float
    score: float
    per_output_interval: tuple[float, float]
    error_free_interval: tuple[float, float]
    score_interval: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class SystemReport:
    """Errors per system, p-values of the pairwise score differences, and ranks of clusters that differ significantly."""

    systems: tuple[str, ...]
    errors: tuple[SystemErrors, ...]
    p_values: FloatArray
    ranks: tuple[int, ...]


def system_report(
    spans: SpanSet,
    system: IntArray,
    example: IntArray,
    names: Sequence[str],
    *,
    weights: ErrorWeights | None = None,
    n_resamples: int = 1000,
    seed: int = 42,
) -> SystemReport:
    """Compute the report on the errors that annotators marked in each system.

    Parameters
    ----------
    spans : SpanSet
        Annotations of the outputs of all systems.
    system, example : array of int, shape (n,)
        The system and example of every output. Pairwise tests use the examples that both systems have.
    names : sequence of str
        Names of the systems by code.
    weights : ErrorWeights, optional
        Weights of the derived score. By default every span has weight 1.
    n_resamples, seed : int
        Number of resamples and seed of the bootstrap and the permutation tests.

    Returns
    -------
    SystemReport
        It has only systems with at least one output.

    Examples
    --------
    >>> spans = SpanSet.from_lists([[(0, 3)], [], [(0, 2), (3, 5)], [(4, 5)]])
    >>> report = system_report(spans, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), ["a", "b"])
    >>> [errors.score for errors in report.errors], report.errors[0].error_free
    ([-0.5, -1.5], 0.5)
    """
    cost = sum_by(spans.output, (weights or ErrorWeights()).of(spans), spans.n_outputs)
    present = np.unique(system)
    if len(present) and present[-1] >= len(names):
        raise InvalidInput(f"System {present[-1]} has no name: {len(names)} are named.")
    options = {"n_resamples": n_resamples, "seed": seed}
    errors = [_errors(spans, np.flatnonzero(system == code), cost, **options) for code in present]
    # The diagonal stays 1: a system does not differ from itself.
    p_values = np.ones((len(present), len(present)))
    for row in range(len(present)):
        for column in range(row):
            p_value = _paired_p(cost, system, example, (int(present[row]), int(present[column])), **options)
            p_values[row, column] = p_values[column, row] = p_value
    scores = np.array([system_errors.score for system_errors in errors])
    ranks = rank_clusters(scores, p_values)
    return SystemReport(tuple(names[code] for code in present), tuple(errors), p_values, tuple(ranks))


def system_ranking_agreement(
    reference: SpanSet, hypothesis: SpanSet, system: IntArray, *, weights: ErrorWeights | None = None
) -> Result:
    """Correlate two annotators' rankings of the systems.

    Parameters
    ----------
    reference, hypothesis : SpanSet
        Both annotators' spans on the same outputs.
    system : array of int, shape (n,)
        The system of every output.
    weights : ErrorWeights, optional
        Weights of the derived score the systems are ranked by.

    Returns
    -------
    Result
        Correlations over the systems' mean scores, see `spanplat.metrics.ratings.rating_correlation`.
    """
    weights = weights or ErrorWeights()
    scores = [-sum_by(side.output, weights.of(side), side.n_outputs) for side in (reference, hypothesis)]
    return rating_correlation(scores[0], scores[1], systems=system)


def _errors(spans: SpanSet, outputs: IntArray, cost: FloatArray, *, n_resamples: int, seed: int) -> SystemErrors:
    mine = spans.select(outputs)
    number = len(outputs)
    columns = np.concatenate(
        [mean_columns(values) for values in (mine.counts.astype(np.float64), (mine.counts == 0) * 1.0, -cost[outputs])],
        axis=1,
    )

    def means(sums: FloatArray) -> FloatArray:
        return np.concatenate([mean_statistic(sums[:, place : place + 2]) for place in (0, 2, 4)], axis=1)

    figures = means(columns.sum(axis=0, keepdims=True))[0]
    intervals: Intervals = bootstrap(columns, means, n_resamples=n_resamples, seed=seed)
    bounds = [(float(low), float(high)) for low, high in zip(intervals.low, intervals.high, strict=True)]
    return SystemErrors(
        outputs=number,
        spans=mine.n_spans,
        per_output=float(figures[0]),
        # Codes of all systems, so that every system has a figure for each of them, perhaps 0.
        by_category={int(code): int((mine.category == code).sum()) / number for code in np.unique(spans.category)},
        by_severity={int(code): int((mine.severity == code).sum()) / number for code in np.unique(spans.severity)},
        error_free=float(figures[1]),
        score=float(figures[2]),
        per_output_interval=bounds[0],
        error_free_interval=bounds[1],
        score_interval=bounds[2],
    )


def _paired_p(
    cost: FloatArray, system: IntArray, example: IntArray, pair: tuple[int, int], *, n_resamples: int, seed: int
) -> float:
    """Test two systems on the examples that both have. Return 1 if they share none."""
    sides = [np.flatnonzero(system == code) for code in pair]
    shared = np.intersect1d(example[sides[0]], example[sides[1]])
    # 1, not NaN: two systems that were never compared do not differ significantly.
    if len(shared) == 0:
        return 1.0
    columns = []
    for outputs in sides:
        mine = outputs[np.isin(example[outputs], shared)]
        place = np.searchsorted(shared, example[mine])
        # An example may have several annotations per system. Their mean makes one pair of values per example.
        mean = sum_by(place, cost[mine], len(shared)) / np.bincount(place, minlength=len(shared))
        columns.append(mean_columns(mean))
    return permutation_test(columns[0], columns[1], mean_statistic, n_permutations=n_resamples, seed=seed).p_value
