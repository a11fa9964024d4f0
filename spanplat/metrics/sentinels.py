"""Hypotheses that are made worse on purpose, to test whether a measure notices it (Perrella et al. 2026)."""

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.spans import IntArray, SpanSet


def imprecise(spans: SpanSet, n: int, *, text_lengths: IntArray) -> SpanSet:
    """Widen every span by ``n`` characters on each side, within the text.

    Parameters
    ----------
    spans : SpanSet
        The hypothesis.
    n : int
        Characters on each side.
    text_lengths : array of int, shape (outputs,)
        Length of every output in code points. Spans on the source side do not change.

    Returns
    -------
    SpanSet

    Examples
    --------
    >>> imprecise(SpanSet.from_lists([[(2, 5, 0)]]), 3, text_lengths=np.array([7])).to_lists()[0][0][:2]
    (0, 7)
    """
    if n < 0 or len(text_lengths) != spans.n_outputs:
        raise InvalidInput("Widening needs a number of characters of at least 0 and the length of every text.")
    # An imported span may end after the text. Widening must not make it shorter.
    limit = np.maximum(text_lengths[spans.output], spans.end)
    on_output = spans.side == 0
    start = np.where(on_output, np.maximum(spans.start - n, 0), spans.start)
    end = np.where(on_output, np.minimum(spans.end + n, limit), spans.end)
    return SpanSet(spans.offsets, start, end, spans.category, spans.severity, spans.side)


def low_recall(spans: SpanSet, p: float, *, seed: int) -> SpanSet:
    """Drop every span with probability ``p``.

    With one seed, a span that is dropped at some probability is also dropped at every higher one. So a plot against ``p`` is smooth.

    Parameters
    ----------
    spans : SpanSet
        The hypothesis.
    p : float
        Probability, 0 to 1.
    seed : int
        Seed of the drawing.

    Returns
    -------
    SpanSet

    Examples
    --------
    >>> low_recall(SpanSet.from_lists([[(0, 2), (3, 5)]]), 1.0, seed=1).n_spans
    0
    """
    if not 0 <= p <= 1:
        raise InvalidInput(f"The probability to drop a span is {p}; it must lie between 0 and 1.")
    # One number per span, whatever p is: so a higher p drops the same spans and more.
    return spans.keep(np.random.default_rng(seed).random(spans.n_spans) >= p)


def remove_one(spans: SpanSet) -> SpanSet:
    """Empty every output with at most one span.

    Parameters
    ----------
    spans : SpanSet
        The hypothesis.

    Returns
    -------
    SpanSet

    Examples
    --------
    >>> remove_one(SpanSet.from_lists([[(0, 2)], [(0, 2), (3, 5)]])).counts.tolist()
    [0, 2]
    """
    return spans.keep(spans.counts[spans.output] > 1)
