"""Precision, recall and F1 over characters."""

from typing import Literal

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.result import Result
from spanplat.metrics.scores import Average, Counts, prf_result
from spanplat.metrics.spans import Comparison, FloatArray, IntArray, SpanSet, sum_by

Empty = Literal["include", "skip"]


def char_counts(pair: Comparison, *, soft: bool = False, binary: bool = False) -> Counts:
    """Characters in common and characters marked, per output.

    With ``c_h(i)`` and ``c_r(i)`` the numbers of spans covering character ``i`` (of one category, unless ``soft``), the overlap is
    the sum of ``min(c_h(i), c_r(i))``.

    Parameters
    ----------
    pair, soft
        See `char`.
    binary : bool
        Whether to clip the numbers of covering spans to 0 and 1 first.

    Returns
    -------
    Counts
        In characters.
    """
    both = pair.without_categories() if soft else pair
    group, length, covering_hypothesis, covering_reference = _covered_stretches(both.hypothesis, both.reference)
    if binary:
        covering_hypothesis, covering_reference = np.minimum(covering_hypothesis, 1), np.minimum(covering_reference, 1)
    common = sum_by(group, np.minimum(covering_hypothesis, covering_reference) * length, pair.n_outputs)
    hypothesis = sum_by(group, covering_hypothesis * length, pair.n_outputs)
    reference = sum_by(group, covering_reference * length, pair.n_outputs)
    return Counts(common, hypothesis, common, reference)


def char(
    pair: Comparison, *, soft: bool = False, average: Average = "micro", empty: Empty = "include", by: str | None = None
) -> Result:
    """Precision, recall and F1 over characters (Kasner et al. 2025; soft and with empty outputs it is the WMT25 measure).

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis.
    soft : bool
        Whether to ignore categories.
    average : {"micro", "macro", "macro_f_of_means", "strata"}
        See `spanplat.metrics.scores.score`.
    empty : {"include", "skip"}
        ``skip`` leaves out outputs where either side marked nothing.
    by : str, optional
        Which of the comparison's strata ``average="strata"`` averages over.

    Returns
    -------
    Result
        ``precision``, ``recall`` and ``f1``, also per output.

    Examples
    --------
    "The quick brown fox jumps": the hypothesis marks "The quick" and "fox", the reference "The", "quick" and "fox".

    >>> pair = Comparison.of(hypothesis=[[(0, 9), (16, 19)]], reference=[[(0, 3), (4, 9), (16, 19)]])
    >>> result = char(pair)
    >>> round(result.precision * 12, 10), result.recall
    (11.0, 1.0)
    """
    return _char_result("char", pair, soft=soft, average=average, empty=empty, by=by)


def char_binary(
    pair: Comparison, *, soft: bool = False, average: Average = "micro", empty: Empty = "include", by: str | None = None
) -> Result:
    """As `char`, but a character counts once however many spans cover it (WMT23 and WMT24).

    Parameters
    ----------
    pair, soft, average, empty, by
        See `char`.

    Returns
    -------
    Result
        ``precision``, ``recall`` and ``f1``, also per output.

    Examples
    --------
    >>> pair = Comparison.of(hypothesis=[[(0, 4), (2, 6)]], reference=[[(0, 6)]])
    >>> char_binary(pair).precision, char(pair).precision
    (1.0, 0.75)
    """
    return _char_result("char_binary", pair, soft=soft, average=average, empty=empty, by=by)


def compared_outputs(pair: Comparison, empty: Empty) -> IntArray:
    """Positions of the outputs that count: all, or with ``skip`` only those on which both sides marked something."""
    if empty == "include":
        return np.arange(pair.n_outputs)
    if empty == "skip":
        return np.flatnonzero((pair.reference.counts > 0) & (pair.hypothesis.counts > 0))
    raise InvalidInput(f"Unknown treatment of empty outputs {empty!r}: choose include or skip.")


def char_f1(pair: Comparison, *, soft: bool = False, empty: Empty = "include") -> float | None:
    """Compute the micro-averaged F1 of `char`; ``None`` when no output is compared."""
    return char(pair, soft=soft, empty=empty).f1


def _char_result(
    measure: str, pair: Comparison, *, soft: bool, average: Average, empty: Empty, by: str | None
) -> Result:
    counts = char_counts(pair, soft=soft, binary=measure == "char_binary")
    outputs = compared_outputs(pair, empty)
    strata = pair.stratum(by)
    options = {"soft": soft, "average": average, "empty": empty, "by": by}
    return prf_result(
        measure,
        counts.select(outputs),
        options,
        average=average,
        strata=None if strata is None else strata[outputs],
    )


def _covered_stretches(hypothesis: SpanSet, reference: SpanSet) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Sweep over the borders of all spans: output, length and covering spans of either side for each stretch between borders."""
    sides = (hypothesis, reference)
    width = 1 + max(int(spans.end.max(initial=0)) for spans in sides)
    categories = 1 + max(int(spans.category.max(initial=0)) for spans in sides)
    text_sides = 1 + max(int(spans.side.max(initial=0)) for spans in sides)
    keys, steps = [], []
    for number, spans in enumerate(sides):
        text = (spans.output * text_sides + spans.side) * categories + spans.category
        keys += [text * width + spans.start, text * width + spans.end]
        step = np.zeros((2, spans.n_spans, 2))
        step[0, :, number], step[1, :, number] = 1, -1
        steps += [step[0], step[1]]
    key = np.concatenate(keys)
    order = np.argsort(key, kind="stable")
    key, covering = key[order], np.concatenate(steps)[order].cumsum(axis=0)
    length = np.diff(key, append=key[-1:]).astype(np.float64)
    output: IntArray = key // (width * categories * text_sides)
    return output, length, covering[:, 0], covering[:, 1]
