"""Precision, recall and F1 over spans without one-to-one matching: best match and span average."""

import numpy as np

from spanplat.metrics.measure import Explanation, PrecisionRecall
from spanplat.metrics.overlaps import overlaps
from spanplat.metrics.result import Result
from spanplat.metrics.scores import Average, ScoreCounts, prf_result
from spanplat.metrics.spans import Comparison, FloatArray, sum_by


def best_match_counts(pair: Comparison, *, soft: bool = False) -> ScoreCounts:
    """Sum per output the share of every span that its best counterpart covers, and count the spans."""
    candidates = overlaps(pair, soft=soft)
    found, covered = np.zeros(pair.hypothesis.n_spans), np.zeros(pair.reference.n_spans)
    # `maximum.at`, because a span occurs once for each of its counterparts.
    np.maximum.at(found, candidates.hypothesis, candidates.of_hypothesis)
    np.maximum.at(covered, candidates.reference, candidates.of_reference)
    return _counts(pair, found, covered)


def best_match(pair: Comparison, *, soft: bool = False, average: Average = "micro", by: str | None = None) -> Result:
    """Compute precision, recall and F1 of each span against its best-overlapping counterpart (WMT19/20, with macro averages).

    P(ŝ) = |ŝ ∩ bm(ŝ)| / |ŝ| and R(s) = |s ∩ bm(s)| / |s|, averaged over spans. One span may be the best match of several spans.

    Parameters
    ----------
    pair, soft, average, by
        See `spanplat.metrics.characters.char`.

    Returns
    -------
    Result
        ``precision``, ``recall`` and ``f1``, also per output.

    Examples
    --------
    >>> pair = Comparison.of(hypothesis=[[(0, 9), (16, 19)]], reference=[[(0, 3), (4, 9), (16, 19)]])
    >>> result = best_match(pair)
    >>> round(result.precision * 9, 10), result.recall
    (7.0, 1.0)
    """
    options = {"soft": soft, "average": average, "by": by}
    counts = best_match_counts(pair, soft=soft)
    return prf_result("best_match", counts, options, average=average, strata=pair.stratum(by))


def span_average_counts(pair: Comparison, *, soft: bool = False) -> ScoreCounts:
    """Sum per output the shares of the other side's spans that each span covers, and count the spans."""
    candidates = overlaps(pair, soft=soft)
    found = sum_by(candidates.hypothesis, candidates.of_reference, pair.hypothesis.n_spans)
    covered = sum_by(candidates.reference, candidates.of_hypothesis, pair.reference.n_spans)
    return _counts(pair, found, covered)


def span_average(pair: Comparison, *, soft: bool = False, average: Average = "micro", by: str | None = None) -> Result:
    """Compute the average over spans with the other span's length as denominator (Kasner et al. 2025, eq. 3 and 4, as printed).

    P is the mean over ŝ of Σ_s |ŝ ∩ s| / |s|. R is the mean over s of Σ_ŝ |ŝ ∩ s| / |ŝ|. A span that covers several
    others has a value above 1, so the figures may exceed 1. The published tables report `char` instead.

    Parameters
    ----------
    pair, soft, average, by
        See `spanplat.metrics.characters.char`.

    Returns
    -------
    Result
        ``precision``, ``recall`` and ``f1``, also per output.

    Examples
    --------
    >>> pair = Comparison.of(hypothesis=[[(0, 9)]], reference=[[(0, 3), (4, 9)]])
    >>> span_average(pair).precision, round(span_average(pair).recall, 4)
    (2.0, 0.4444)
    """
    options = {"soft": soft, "average": average, "by": by}
    counts = span_average_counts(pair, soft=soft)
    return prf_result("span_average", counts, options, average=average, strata=pair.stratum(by))


def _counts(pair: Comparison, found: FloatArray, covered: FloatArray) -> ScoreCounts:
    return ScoreCounts(
        sum_by(pair.hypothesis.output, found, pair.n_outputs),
        pair.hypothesis.counts.astype(np.float64),
        sum_by(pair.reference.output, covered, pair.n_outputs),
        pair.reference.counts.astype(np.float64),
    )


BEST_MATCH = PrecisionRecall(
    name="best_match",
    title="Best-overlapping span",
    row_title="each span with its best match",
    explanation=Explanation(
        "Each span against the span of the other side that overlaps it most, by the share of it that overlaps.",
        "Whether several spans chose the same partner.",
    ),
    source="WMT19 and WMT20",
    compute=best_match,
    counts=lambda pair, options: best_match_counts(pair, soft=options.soft),
)

SPAN_AVERAGE = PrecisionRecall(
    name="span_average",
    title="Best-overlapping span, lengths exchanged",
    row_title="each span with its best match, lengths exchanged",
    explanation=Explanation(
        "As the best match, but divided by the length of the other side’s span, as printed by Kasner et al. (2025).",
        "How much of the span itself the partner covers.",
    ),
    source="Kasner et al. 2025, eq. 3 and 4 as printed",
    compute=span_average,
    counts=lambda pair, options: span_average_counts(pair, soft=options.soft),
    bounds=(0.0, float("inf")),
    ranks=False,
)
