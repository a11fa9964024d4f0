"""Descriptive statistics of annotations: number of spans, length of spans, share of annotations without spans."""

from dataclasses import dataclass

import numpy as np

from spanplat.metrics.spans import SpanSet


@dataclass(frozen=True, slots=True)
class CategoryStatistics:
    """Use of one category. ``prevalence`` is the share of annotations with at least one span of it."""

    spans: int
    share: float | None
    prevalence: float | None
    chars_per_span: float | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Descriptive statistics. A figure is ``None`` if there is nothing to average over."""

    annotations: int
    spans: int
    spans_per_annotation: float | None
    empty_percent: float | None
    chars_per_span: float | None
    categories: dict[str, CategoryStatistics]


def statistics(spans: SpanSet, categories: tuple[str, ...]) -> Statistics:
    """Compute descriptive statistics of annotations.

    Parameters
    ----------
    spans : SpanSet
        One row per annotation. An output with two annotations has two rows.
    categories : tuple of str
        Names of the categories.

    Returns
    -------
    Statistics
        Lengths are in code points.

    Examples
    --------
    >>> result = statistics(SpanSet.from_lists([[(0, 4, 0), (6, 8, 0)], []]), ("wrong",))
    >>> result.spans_per_annotation, result.empty_percent, result.chars_per_span
    (1.0, 50.0, 3.0)
    """
    by_category = {name: _category(spans, code) for code, name in enumerate(categories)}
    return Statistics(
        annotations=spans.n_outputs,
        spans=spans.n_spans,
        spans_per_annotation=_quotient(spans.n_spans, spans.n_outputs),
        empty_percent=_quotient(100 * int((spans.counts == 0).sum()), spans.n_outputs),
        chars_per_span=_quotient(int(spans.lengths.sum()), spans.n_spans),
        categories=by_category,
    )


def _category(spans: SpanSet, code: int) -> CategoryStatistics:
    mine = spans.of_category(code)
    return CategoryStatistics(
        spans=mine.n_spans,
        share=_quotient(mine.n_spans, spans.n_spans),
        prevalence=_quotient(int(np.count_nonzero(mine.counts)), spans.n_outputs),
        chars_per_span=_quotient(int(mine.lengths.sum()), mine.n_spans),
    )


def _quotient(total: int, number: int) -> float | None:
    return total / number if number else None
