"""False positives: spans of a hypothesis on outputs that every human rated perfect."""

from dataclasses import dataclass

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.spans import BoolArray, FloatArray, SpanSet, sum_by


@dataclass(frozen=True, slots=True)
class FalsePositives:
    """False positives on perfect outputs.

    Parameters
    ----------
    outputs : int
        Outputs that every human rated perfect.
    share : float or None
        Share of these outputs with at least one marked error. ``None`` if there is no perfect output.
    number : dict of int to int
        Number of outputs by number of errors.
    mean_severity, highest_severity : dict of int to int
        Number of outputs with errors by mean severity (the key a stands for [a, a + 1)), and by highest severity.
    """

    outputs: int
    share: float | None
    number: dict[int, int]
    mean_severity: dict[int, int]
    highest_severity: dict[int, int]


def perfect_outputs(ratings: FloatArray, *, best: float, levels: int) -> BoolArray:
    """Find the outputs that all their raters rated perfect.

    Parameters
    ----------
    ratings : array of float, shape (raters, n)
        NaN where a rater did not rate.
    best : float
        The rating that means perfect.
    levels : int
        Number of levels of the scale.

    Returns
    -------
    array of bool, shape (n,)
        An output without ratings is False.

    Raises
    ------
    InvalidInput
        If the scale has fewer than three levels. A yes-or-no question does not show that a text is perfect.
    """
    if levels < 3:
        raise InvalidInput(f"False positives need a rating scale of at least three levels; this one has {levels}.")
    rated = ~np.isnan(ratings)
    perfect: BoolArray = rated.any(axis=0) & ((ratings == best) | ~rated).all(axis=0)
    return perfect


def false_positives(hypothesis: SpanSet, perfect: BoolArray) -> FalsePositives:
    """Count the errors marked on perfect outputs (Kartáč et al. 2025).

    Parameters
    ----------
    hypothesis : SpanSet
        The spans, with severities as numbers.
    perfect : array of bool, shape (n,)
        Mask of the perfect outputs, see `perfect_outputs`.

    Returns
    -------
    FalsePositives

    Examples
    --------
    >>> from spanplat.metrics.spans import Span
    >>> spans = SpanSet.from_lists([[Span(0, 3, severity=2), Span(5, 7, severity=5)], [], [(0, 1)]])
    >>> result = false_positives(spans, np.array([True, True, False]))
    >>> result.share, result.number, result.mean_severity, result.highest_severity
    (0.5, {0: 1, 2: 1}, {3: 1}, {5: 1})
    """
    mine = hypothesis.select(np.flatnonzero(perfect))
    marked = mine.counts > 0
    total = sum_by(mine.output, mine.severity, mine.n_outputs)
    highest = np.full(mine.n_outputs, np.iinfo(np.int64).min)
    np.maximum.at(highest, mine.output, mine.severity)
    mean = total[marked] / mine.counts[marked]
    return FalsePositives(
        outputs=mine.n_outputs,
        share=float(marked.mean()) if mine.n_outputs else None,
        number=_tally(mine.counts),
        mean_severity=_tally(np.floor(mean)),
        highest_severity=_tally(highest[marked]),
    )


def _tally(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> dict[int, int]:
    levels, number = np.unique(values, return_counts=True)
    return {int(level): int(count) for level, count in zip(levels, number, strict=True)}
