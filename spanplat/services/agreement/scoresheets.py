"""Scoresheets: counts per output of one campaign against a reference, for every measure. Leaderboards rank and resample them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from spanplat.metrics import RANKING_MEASURES, Comparison, GammaOptions
from spanplat.metrics.characters import char_counts
from spanplat.metrics.measure import MeanOverOutputs
from spanplat.metrics.resampling import f1_statistic
from spanplat.metrics.spans import FloatArray, IntArray
from spanplat.services.agreement.sides import Alignment, Side, outputs_of


@dataclass(frozen=True, eq=False)
class Scoresheet:
    """Scores of one side against another, output by output.

    Parameters
    ----------
    outputs : array of int, shape (n,)
        Ids of the compared outputs, ascending.
    spans : int
        Number of spans of the hypothesis on these outputs.
    columns : mapping of str to array
        Counts by measure, one row per output. An output that is compared several times has the sum of its comparisons.
    by_category : mapping of str to float
        Character F1 of each category over the outputs. Categories that neither side used are left out.
    """

    outputs: IntArray
    spans: int
    columns: Mapping[str, FloatArray]
    by_category: Mapping[str, float]

    def score(self, measure: str) -> float | None:
        """Return the figure over all outputs, or None if it is undefined."""
        statistic = RANKING_MEASURES[measure].measure.statistic
        figure = float(statistic(self.columns[measure].sum(axis=0, keepdims=True))[0, 0])
        return None if np.isnan(figure) else figure

    def support(self, measure: str) -> int:
        """Count the outputs behind a figure. Some measures have no value for some outputs."""
        if isinstance(RANKING_MEASURES[measure].measure, MeanOverOutputs):
            # The columns are (value, whether it is defined), see `mean_columns`.
            return int((self.columns[measure][:, 1] > 0).sum())
        return len(self.outputs)


def compare(reference: Side, hypothesis: Side, alignment: Alignment, categories: Sequence[str]) -> Comparison:
    """Return the comparison of two sides, row by row."""
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
        The compared rows. If an output is compared several times (with several annotators), its counts are summed.
    categories
        Names of the categories.
    measures
        Names in `RANKING_MEASURES`.
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
        # Not `columns[place] += values`, which would add only one of the rows of an output that occurs several times.
        np.add.at(columns[measure], place, values)
    used = np.unique(alignment.hypothesis)
    return Scoresheet(outputs, int(hypothesis.spans.counts[used].sum()), columns, _f1_by_category(pair))


def _f1_by_category(pair: Comparison) -> dict[str, float]:
    scores = {}
    for code, name in enumerate(pair.categories):
        mine = pair.of_category(code)
        # If neither side has a span, F1 would be 1, as if the sides agreed on the category.
        if mine.reference.n_spans + mine.hypothesis.n_spans:
            scores[name] = float(f1_statistic(char_counts(mine).columns.sum(axis=0, keepdims=True))[0, 2])
    return scores


def _columns(pair: Comparison, names: Sequence[str], gamma: GammaOptions) -> dict[str, FloatArray]:
    """Return the columns of the measures, one row per comparison.

    The variants of a measure are computed together, because the variants of γ share their random samples.
    """
    columns: dict[str, FloatArray] = {}
    chosen = [variant for name, variant in RANKING_MEASURES.items() if name in names]
    # groupby joins neighbours only: the registry lists the variants of a measure side by side.
    for measure, variants in groupby(chosen, key=lambda variant: variant.measure):
        asked = list(variants)
        found = measure.columns(pair, [variant.is_soft for variant in asked], gamma)
        columns |= {variant.name: own for variant, own in zip(asked, found, strict=True)}
    return columns
