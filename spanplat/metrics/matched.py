"""Precision, recall and F1 over spans matched one to one: exact, partial, and partial with credit."""

from typing import Literal

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.matching import Gains, greedy, optimal
from spanplat.metrics.measure import CountOptions, CountsFunction, Explanation, Matching, PrecisionRecall
from spanplat.metrics.overlaps import Overlaps, overlaps
from spanplat.metrics.result import Result
from spanplat.metrics.scores import Average, ScoreCounts, prf_result
from spanplat.metrics.spans import Comparison, FloatArray, IntArray, sum_by

Credit = Literal["exact", "partial", "partial_credit"]


def matched_counts(
    pair: Comparison,
    credit: Credit,
    *,
    soft: bool = False,
    matching: Matching = "optimal",
    average: Average = "micro",
    tau: int = 1,
    severity_penalty: float = 0.0,
    by: str | None = None,
) -> ScoreCounts:
    """Compute the credits of the matched spans and the numbers of spans, per output.

    Parameters
    ----------
    credit : {"exact", "partial", "partial_credit"}
        The measure, which defines the condition for a match and its credit.
    pair, soft, matching, average, tau, severity_penalty, by
        See `partial_credit` and `partial`.

    Returns
    -------
    ScoreCounts
        The unit is spans.
    """
    if not 0 <= severity_penalty <= 1:
        raise InvalidInput(f"The severity penalty is {severity_penalty}; it must lie between 0 and 1.")
    if tau < 1:
        raise InvalidInput(f"τ is {tau}; a match needs at least one common character.")
    candidates = overlaps(pair, soft=soft, severity_penalty=severity_penalty)
    if credit == "exact":
        candidates = candidates.keep(candidates.identical)
    if credit == "partial":
        candidates = candidates.keep(candidates.common >= tau)
    shared = credit == "partial_credit"
    # `partial_credit` gives precision and recall different credits for one match. The other measures give both the same.
    found = candidates.value * (candidates.of_hypothesis if shared else 1.0)
    covered = candidates.value * (candidates.of_reference if shared else 1.0)
    hypothesis, reference = pair.hypothesis.counts.astype(np.float64), pair.reference.counts.astype(np.float64)
    if matching == "greedy":
        chosen = greedy(candidates)
    elif matching == "optimal":
        gains = _gains(candidates, (found, covered), (hypothesis, reference), _groups(pair, average, by))
        chosen = optimal(candidates, gains if shared else _equal(gains, candidates))
    else:
        raise InvalidInput(f"Unknown matching {matching!r}: choose optimal or greedy.")
    outputs = candidates.output[chosen]
    return ScoreCounts(
        sum_by(outputs, found[chosen], pair.n_outputs),
        hypothesis,
        sum_by(outputs, covered[chosen], pair.n_outputs),
        reference,
    )


def exact(
    pair: Comparison,
    *,
    soft: bool = False,
    matching: Matching = "optimal",
    average: Average = "micro",
    severity_penalty: float = 0.0,
    by: str | None = None,
) -> Result:
    """Compute precision, recall and F1 over identical spans (exact match, EM).

    Parameters
    ----------
    pair, soft, matching, average, severity_penalty, by
        See `partial_credit`.

    Returns
    -------
    Result
        ``precision``, ``recall`` and ``f1``, also per output.

    Examples
    --------
    "The quick brown fox jumps" with two spans a side, one of them identical (Perrella et al. 2026, Figure 1).

    >>> pair = Comparison.of(reference=[[(0, 9), (16, 19)]], hypothesis=[[(4, 9), (16, 19)]])
    >>> exact(pair).precision, exact(pair).recall, exact(pair).f1, partial(pair).f1
    (0.5, 0.5, 0.5, 1.0)
    """
    options = {"soft": soft, "matching": matching, "average": average, "severity_penalty": severity_penalty, "by": by}
    counts = matched_counts(
        pair, "exact", soft=soft, matching=matching, average=average, severity_penalty=severity_penalty, by=by
    )
    return prf_result("exact", counts, options, average=average, strata=pair.stratum(by))


def partial(
    pair: Comparison,
    *,
    soft: bool = False,
    matching: Matching = "optimal",
    average: Average = "micro",
    tau: int = 1,
    severity_penalty: float = 0.0,
    by: str | None = None,
) -> Result:
    """Compute precision, recall and F1 over overlapping spans. Each match counts fully (MP of Perrella et al. 2026).

    Parameters
    ----------
    tau : int
        Smallest number of common characters of a match.
    pair, soft, matching, average, severity_penalty, by
        See `partial_credit`.

    Returns
    -------
    Result
        ``precision``, ``recall`` and ``f1``, also per output.
    """
    counts = matched_counts(
        pair,
        "partial",
        soft=soft,
        matching=matching,
        average=average,
        tau=tau,
        severity_penalty=severity_penalty,
        by=by,
    )
    options = {
        "soft": soft,
        "matching": matching,
        "average": average,
        "tau": tau,
        "severity_penalty": severity_penalty,
        "by": by,
    }
    return prf_result("partial", counts, options, average=average, strata=pair.stratum(by))


def partial_credit(
    pair: Comparison,
    *,
    soft: bool = False,
    matching: Matching = "optimal",
    average: Average = "micro",
    severity_penalty: float = 0.0,
    by: str | None = None,
) -> Result:
    """Compute precision, recall and F1 over overlapping spans, with credit by overlap (MPP of Perrella et al. 2026; recommended).

    A match gives |ŝ ∩ s| / |ŝ| to precision and |ŝ ∩ s| / |s| to recall.

    Parameters
    ----------
    pair, soft, average, by
        See `spanplat.metrics.characters.char`.
    matching : {"optimal", "greedy"}
        ``optimal`` maximises the reported F: over all outputs together for micro averages, and for each output for macro averages.
        ``greedy`` takes pairs by 2|∩| / (|ŝ| + |s|).
    severity_penalty : float
        Deduction for a pair with different severities (WMT: 0.5).

    Returns
    -------
    Result
        ``precision``, ``recall`` and ``f1``, also per output.

    Examples
    --------
    Figure 4 of Perrella et al. 2026: "The quick" and "fox" against "The", "quick" and "fox".

    >>> pair = Comparison.of(hypothesis=[[(0, 9), (16, 19)]], reference=[[(0, 3), (4, 9), (16, 19)]])
    >>> result = partial_credit(pair)
    >>> round(result.precision * 9, 10), round(result.recall * 3, 10)
    (7.0, 2.0)
    """
    options = {"soft": soft, "matching": matching, "average": average, "severity_penalty": severity_penalty, "by": by}
    counts = matched_counts(
        pair, "partial_credit", soft=soft, matching=matching, average=average, severity_penalty=severity_penalty, by=by
    )
    return prf_result("partial_credit", counts, options, average=average, strata=pair.stratum(by))


def _groups(pair: Comparison, average: Average, by: str | None) -> IntArray:
    """Return the group of each output: outputs of one group are scored together."""
    if average == "micro":
        return np.zeros(pair.n_outputs, dtype=np.int64)
    strata = pair.stratum(by)
    if average == "strata" and strata is not None:
        return np.unique(strata, return_inverse=True)[1].astype(np.int64)
    return np.arange(pair.n_outputs)


def _gains(
    candidates: Overlaps,
    worth: tuple[FloatArray, FloatArray],
    sizes: tuple[FloatArray, FloatArray],
    of_output: IntArray,
) -> Gains:
    n_groups = int(of_output.max(initial=-1)) + 1
    group = of_output[candidates.output]
    totals = (sum_by(of_output, size, n_groups) for size in sizes)
    # Never divided by 0: a candidate has a span on both sides of its group.
    precision, recall = (credit / total[group] for credit, total in zip(worth, totals, strict=True))
    return Gains(precision, recall, group, n_groups)


def _equal(gains: Gains, candidates: Overlaps) -> Gains:
    """Return equal gains for precision and recall."""
    # If a match adds the same to both numerators, the matching with the highest total value has the highest F.
    return Gains(candidates.value, candidates.value, gains.group, gains.n_groups)


def _counts_of(credit: Credit) -> CountsFunction:
    def counts(pair: Comparison, options: CountOptions) -> ScoreCounts:
        return matched_counts(
            pair,
            credit,
            soft=options.soft,
            matching=options.matching,
            average=options.average,
            tau=options.tau,
            severity_penalty=options.severity_penalty,
            by=options.by,
        )

    return counts


PARTIAL_CREDIT = PrecisionRecall(
    name="partial_credit",
    title="Matched spans by their overlap (MPP)",
    row_title="overlapping spans, credit by overlap (recommended)",
    explanation=Explanation(
        "Spans matched one to one; a match counts by the share of the span that overlaps. Recommended with micro averaging "
        "(Perrella et al. 2026).",
        "Overlaps beyond the best one-to-one matching: a span split in two is matched once.",
    ),
    source="Perrella et al. 2026 (MPP), recommended there with micro averages",
    compute=partial_credit,
    counts=_counts_of("partial_credit"),
)

PARTIAL = PrecisionRecall(
    name="partial",
    title="Matched spans (MP)",
    row_title="overlapping spans, one to one",
    explanation=Explanation(
        "Spans matched one to one that overlap by at least one character; each match counts fully.",
        "How well matched spans overlap; making every span longer raises it.",
    ),
    source="Perrella et al. 2026 (MP)",
    compute=partial,
    counts=_counts_of("partial"),
)

EXACT = PrecisionRecall(
    name="exact",
    title="Identical spans (EM)",
    row_title="identical spans",
    explanation=Explanation(
        "Spans that begin and end at the same characters on both sides, each matched once.",
        "Spans that overlap but are not identical: they count as missed and as extra.",
    ),
    source="Perrella et al. 2026 (EM)",
    compute=exact,
    counts=_counts_of("exact"),
)
