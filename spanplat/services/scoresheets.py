"""One campaign against a reference as columns of counts per output, for every measure at once: what leaderboards rank and resample."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spanplat.metrics import Comparison, GammaOptions, s_empty
from spanplat.metrics.best_match import best_match_counts
from spanplat.metrics.characters import char_counts
from spanplat.metrics.count_correlation import category_counts
from spanplat.metrics.matched import Credit, matched_counts
from spanplat.metrics.mathet import gamma_disorders
from spanplat.metrics.resampling import (
    Statistic,
    f1_statistic,
    mean_columns,
    mean_statistic,
    pearson_columns,
    pearson_statistic,
)
from spanplat.metrics.scores import Counts
from spanplat.metrics.spans import FloatArray, IntArray
from spanplat.services.sides import Alignment, Side, outputs_of


def _f1(sums: FloatArray) -> FloatArray:
    return f1_statistic(sums)[:, 2:]


STATISTICS: Mapping[str, Statistic] = {
    **{
        f"{family}.{variant}": _f1
        for family in ("char", "char_binary", "partial_credit", "partial", "exact", "best_match")
        for variant in ("hard", "soft")
    },
    "gamma.hard": mean_statistic,
    "gamma.soft": mean_statistic,
    "s_empty": mean_statistic,
    "pearson": pearson_statistic,
}
"""The measures by name, each with the figure that the sums of its columns give; a higher one is better."""

WHY_UNDEFINED: Mapping[str, str] = {
    "gamma.hard": "there is no output on which both sides marked something",
    "gamma.soft": "there is no output on which both sides marked something",
    "s_empty": "both sides marked something on every output",
    "pearson": "one side has the same number of spans everywhere",
}


@dataclass(frozen=True, eq=False)
class Scoresheet:
    """What one side scores against another, output by output.

    Parameters
    ----------
    outputs : array of int, shape (n,)
        Ids of the compared outputs, ascending.
    spans : int
        Spans of the hypothesis on them.
    columns : mapping of str to array
        By measure, one row per output; an output compared several times has the sum of its comparisons.
    by_category : mapping of str to float
        Character F1 of each category by itself, over the outputs; those that neither side used are left out.
    """

    outputs: IntArray
    spans: int
    columns: Mapping[str, FloatArray]
    by_category: Mapping[str, float]

    def score(self, measure: str) -> float | None:
        """Return the figure over all outputs; None where it is undefined."""
        figure = float(STATISTICS[measure](self.columns[measure].sum(axis=0, keepdims=True))[0, 0])
        return None if np.isnan(figure) else figure

    def support(self, measure: str) -> int:
        """Count the outputs that the figure rests on: fewer than all where the measure says nothing about some."""
        if STATISTICS[measure] is mean_statistic:
            return int((self.columns[measure][:, 1] > 0).sum())
        return len(self.outputs)


def compare(reference: Side, hypothesis: Side, alignment: Alignment, categories: Sequence[str]) -> Comparison:
    """Make the comparison of two sides row by row."""
    return Comparison(
        reference.spans.select(alignment.reference), hypothesis.spans.select(alignment.hypothesis), tuple(categories)
    )


def make_scoresheet(
    reference: Side,
    hypothesis: Side,
    alignment: Alignment,
    categories: Sequence[str],
    *,
    measures: Sequence[str],
    gamma: GammaOptions,
) -> Scoresheet:
    """Score one side against another.

    Parameters
    ----------
    reference, hypothesis
        The sides.
    alignment
        Which rows are compared; of an output compared several times (with each of several annotators) the counts add up.
    categories
        Names of the categories.
    measures
        Names out of `STATISTICS`.
    gamma
        Parameters of γ.

    Returns
    -------
    Scoresheet
    """
    pair = compare(reference, hypothesis, alignment, categories)
    outputs, place = np.unique(outputs_of(reference, alignment.reference), return_inverse=True)
    columns: dict[str, FloatArray] = {}
    for measure, values in _columns(pair, measures, gamma).items():
        columns[measure] = np.zeros((len(outputs), values.shape[1]))
        np.add.at(columns[measure], place, values)
    used = np.unique(alignment.hypothesis)
    return Scoresheet(outputs, int(hypothesis.spans.counts[used].sum()), columns, _f1_by_category(pair))


def _f1_by_category(pair: Comparison) -> dict[str, float]:
    scores = {}
    for code, name in enumerate(pair.categories):
        mine = pair.of_category(code)
        if mine.reference.n_spans + mine.hypothesis.n_spans:
            scores[name] = float(_f1(_stacked(char_counts(mine, soft=False)).sum(axis=0, keepdims=True))[0, 0])
    return scores


def _columns(pair: Comparison, measures: Sequence[str], gamma: GammaOptions) -> dict[str, FloatArray]:
    """Columns of the measures, one row per comparison; γ is computed once for both its variants."""
    columns: dict[str, FloatArray] = {}
    for measure in measures:
        family, _, variant = measure.partition(".")
        if family in _COUNTS:
            columns[measure] = _stacked(_COUNTS[family](pair, variant == "soft"))
    if any(measure.startswith("gamma.") for measure in measures):
        disorders = gamma_disorders((pair.hypothesis, pair.reference), gamma)
        both = {"gamma.hard": disorders.hard, "gamma.soft": disorders.soft}
        columns |= {measure: mean_columns(of.gamma) for measure, of in both.items() if measure in measures}
    if "s_empty" in measures:
        columns["s_empty"] = mean_columns(s_empty((pair.reference, pair.hypothesis)).per_output["s_empty"])
    if "pearson" in measures:
        sides = (category_counts(side, pair.n_categories) for side in (pair.hypothesis, pair.reference))
        columns["pearson"] = pearson_columns(*sides)
    return columns


def _stacked(counts: Counts) -> FloatArray:
    return np.stack([counts.found, counts.hypothesis, counts.covered, counts.reference], axis=1)


def _matched(credit: Credit) -> Callable[[Comparison, bool], Counts]:
    return lambda pair, soft: matched_counts(pair, credit, soft=soft)


_COUNTS: Mapping[str, Callable[[Comparison, bool], Counts]] = {
    "char": lambda pair, soft: char_counts(pair, soft=soft),
    "char_binary": lambda pair, soft: char_counts(pair, soft=soft, binary=True),
    "partial_credit": _matched("partial_credit"),
    "partial": _matched("partial"),
    "exact": _matched("exact"),
    "best_match": lambda pair, soft: best_match_counts(pair, soft=soft),
}
