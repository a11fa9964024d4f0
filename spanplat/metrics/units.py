"""Units of γ: the distinct spans of every annotator of an output, and the normal distributions fitted to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.spans import FloatArray, IntArray, SpanSet


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Units in compressed rows of (output or sample, annotator). Row ``i`` has the units ``offsets[i]:offsets[i + 1]``."""

    offsets: IntArray
    start: FloatArray
    end: FloatArray
    category: IntArray

    @property
    def counts(self) -> IntArray:
        """Number of units per row."""
        return np.diff(self.offsets)

    def select(self, rows: IntArray) -> Self:
        """Return these rows, in this order."""
        counts = self.counts[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        picked = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][rows] - offsets[:-1], counts)
        return type(self)(offsets, self.start[picked], self.end[picked], self.category[picked])


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Distributions of the random samples, per output (Titeux & Riad 2021, the *statistical* sampler).

    Means and standard deviations (``ddof=0``) are those of the number of units per annotator, of gaps, and of durations in characters,
    each of shape (n,). The cumulative category weights have the shape (n, labels). ``labels``: the category codes sorted as strings.
    """

    count: tuple[FloatArray, FloatArray]
    gap: tuple[FloatArray, FloatArray]
    duration: tuple[FloatArray, FloatArray]
    cumulative: FloatArray
    labels: IntArray

    def __len__(self) -> int:
        return len(self.count[0])

    def select(self, outputs: slice) -> Self:
        """Return the fits of a range of outputs."""
        pairs = [(mean[outputs], deviation[outputs]) for mean, deviation in (self.count, self.gap, self.duration)]
        return type(self)(pairs[0], pairs[1], pairs[2], self.cumulative[outputs], self.labels)


def string_ranks(n_categories: int) -> IntArray:
    """Return the rank of every category code among the codes sorted as strings ("10" comes before "2")."""
    # pygamma-agreement sorts labels as strings. The order decides which label a random number gives.
    order = sorted(range(n_categories), key=str)
    ranks = np.empty(n_categories, dtype=np.int64)
    ranks[order] = np.arange(n_categories)
    return ranks


def units_of(annotators: Sequence[SpanSet]) -> Units:
    """Return the distinct units of several annotators, sorted by start, end and label.

    The units of an annotator are a set, so duplicates count once. Omission marks (zero characters) and spans on the source side are
    left out, because they have no extent on the text that γ aligns.

    Parameters
    ----------
    annotators : sequence of SpanSet
        One span set per annotator, on the same outputs.

    Returns
    -------
    Units
        Row ``output * annotators + annotator``.

    Raises
    ------
    InvalidInput
        When fewer than two annotators are given or they have different outputs.
    """
    if len(annotators) < 2 or len({spans.n_outputs for spans in annotators}) != 1:
        raise InvalidInput("γ compares at least two annotators on the same outputs; align them first.")
    n_rows = annotators[0].n_outputs * len(annotators)
    rows = np.concatenate([spans.output * len(annotators) + number for number, spans in enumerate(annotators)])
    start, end, category, side = (
        np.concatenate([getattr(spans, column) for spans in annotators])
        for column in ("start", "end", "category", "side")
    )
    ranks = string_ranks(1 + int(category.max(initial=0)))
    order = np.lexsort((ranks[category], end, start, rows))
    order = order[(end > start)[order] & (side == 0)[order]]
    rows, start, end, category = rows[order], start[order], end[order], category[order]
    # Duplicates are neighbours after the sort.
    same = (np.diff(rows) == 0) & (np.diff(start) == 0) & (np.diff(end) == 0) & (np.diff(category) == 0)
    first = np.concatenate([[True], ~same])[: len(rows)]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=n_rows))]).astype(np.int64)
    return Units(offsets, start[first].astype(np.float64), end[first].astype(np.float64), category[first])


def fit(units: Units, n_annotators: int) -> Fits:
    """Fit the sampler's distributions to every output.

    The gaps of an output are: one 0; each distance from the end of a unit to the start of the next one, negative if they overlap; and
    the start of each annotator's first unit, if it is positive.

    Parameters
    ----------
    units : Units
        Row ``output * n_annotators + annotator``. Every output has at least one unit.
    n_annotators : int
        Annotators per output.

    Returns
    -------
    Fits
    """
    counts = units.counts
    n_outputs = len(counts) // n_annotators
    output = np.repeat(np.arange(len(counts)) // n_annotators, counts)
    opens_row = np.zeros(len(units.start), dtype=bool)
    opens_row[units.offsets[:-1][counts > 0]] = True
    # For the first unit of a row the gap is its start. `np.roll` would give it the end of another annotator's unit.
    gaps = units.start - np.where(opens_row, 0.0, np.roll(units.end, 1))
    real = ~opens_row | (gaps > 0)
    gap_output = np.concatenate([np.arange(n_outputs), output[real]])
    labels = np.array(sorted(range(1 + int(units.category.max(initial=0))), key=str), dtype=np.int64)
    weights = np.zeros((n_outputs, len(labels)))
    np.add.at(weights, (output, string_ranks(len(labels))[units.category]), 1.0)
    weights /= weights.sum(axis=1, keepdims=True)
    cumulative = np.cumsum(weights, axis=1)
    return Fits(
        count=_mean_and_deviation(counts.astype(np.float64), np.arange(len(counts)) // n_annotators, n_outputs),
        gap=_mean_and_deviation(np.concatenate([np.zeros(n_outputs), gaps[real]]), gap_output, n_outputs),
        duration=_mean_and_deviation(units.end - units.start, output, n_outputs),
        # As in `RandomState.choice`: the last weight must be exactly 1, or a random number near 1 would have no label.
        cumulative=cumulative / cumulative[:, -1:],
        labels=labels,
    )


def _mean_and_deviation(values: FloatArray, output: IntArray, n_outputs: int) -> tuple[FloatArray, FloatArray]:
    size = np.bincount(output, minlength=n_outputs)
    mean = np.bincount(output, weights=values, minlength=n_outputs) / size
    squares = np.bincount(output, weights=(values - mean[output]) ** 2, minlength=n_outputs)
    return mean, np.sqrt(squares / size)
