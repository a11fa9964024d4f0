"""γ-cat and γ-k (Mathet 2017): agreement on the categories of aligned units, over all categories or for one category."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from spanplat.metrics.alignment import Dissimilarity
from spanplat.metrics.alignment_many import best_hard_alignments
from spanplat.metrics.gamma_options import GammaOptions
from spanplat.metrics.matching import MatchingProblem
from spanplat.metrics.mathet import chance_corrected, has_two
from spanplat.metrics.measure import Explanation, MeanOverOutputs
from spanplat.metrics.result import Result
from spanplat.metrics.sampling import draw
from spanplat.metrics.spans import BoolArray, Comparison, FloatArray, IntArray, SpanSet, sum_by
from spanplat.metrics.units import Units, fit, units_of

OUTPUTS_AT_ONCE = 512
"""Largest number of outputs that are aligned at once. It bounds memory."""


class _AlignedPairs(NamedTuple):
    """Pairs of units in the best hard alignments: the problem, both categories, and the pair's weight."""

    problem: IntArray
    left: IntArray
    right: IntArray
    weight: FloatArray

    def disorder(self, n_problems: int, category: int | None) -> FloatArray:
        """Return the weighted share of pairs with different categories, per problem; NaN if no pair counts."""
        counted: BoolArray = np.ones(len(self.problem), dtype=bool)
        if category is not None:
            counted = (self.left == category) | (self.right == category)
        weight = np.where(counted, self.weight, 0.0)
        total = sum_by(self.problem, weight, n_problems)
        different = sum_by(self.problem, weight * (self.left != self.right), n_problems)
        shares: FloatArray = np.divide(different, total, out=np.full(n_problems, np.nan), where=total > 0)
        return shares


@dataclass(frozen=True, slots=True, eq=False)
class CategorialAgreement:
    """γ-cat and γ-k of one comparison.

    Parameters
    ----------
    overall : Result
        γ-cat: ``mean`` and ``outputs``; per output ``gamma_cat``.
    per_category : dict of str to Result
        γ-k of every category, in the same form.
    """

    overall: Result
    per_category: dict[str, Result]


def gamma_cat(pair: Comparison, options: GammaOptions | None = None) -> CategorialAgreement:
    """Compute the agreement of two annotators on the categories of aligned units (Mathet 2017, section 4.2).

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis.
    options : GammaOptions, optional
        α, β, Δ∅, samples and seed.

    Returns
    -------
    CategorialAgreement

    Examples
    --------
    >>> spans = [(0, 4, 0), (10, 14, 1), (20, 24, 0)]
    >>> gamma_cat(Comparison.of(reference=[spans], hypothesis=[spans])).overall.mean
    1.0
    """
    return gamma_cat_of_annotators((pair.hypothesis, pair.reference), pair.categories, options)


def gamma_cat_of_annotators(
    annotators: Sequence[SpanSet], categories: Sequence[str], options: GammaOptions | None = None
) -> CategorialAgreement:
    """Compute the agreement of two or more annotators on the categories of aligned units (Mathet 2017, section 4.2).

    The disorder is the weighted mean of [categories differ] over the pairs of units in the best hard alignment. A pair has the weight
    max(0, 1 - d_position) / (n - 1), where n is the number of units in its unitary alignment, so that the weight of an alignment does
    not grow with its number of pairs. The expected disorder comes from the same random samples as for γ. γ-k counts only the pairs in
    which at least one unit has category k. Units without partners do not count.

    Parameters
    ----------
    annotators : sequence of SpanSet
        Two or more annotators on the same outputs, in the order in which the sampler draws them.
    categories : sequence of str
        Names of all categories. Span categories are positions in it.
    options : GammaOptions, optional
        α, β, Δ∅, samples and seed. The precision does not change the number of samples here.

    Returns
    -------
    CategorialAgreement

    Examples
    --------
    >>> same, other = SpanSet.from_lists([[(0, 4, 0), (10, 14, 1)]]), SpanSet.from_lists([[(0, 4, 1), (10, 14, 0)]])
    >>> gamma_cat_of_annotators([same, same, same], ["a", "b"]).overall.mean
    1.0
    >>> gamma_cat_of_annotators([same, same, other], ["a", "b"]).overall.mean < 1
    True
    """
    options = options or GammaOptions()
    units, width = units_of(annotators), len(annotators)
    outputs = np.flatnonzero(has_two(units, width))
    choices = (None, *range(len(categories)))
    values = np.full((len(choices), annotators[0].n_outputs), np.nan)
    for begin in range(0, len(outputs), OUTPUTS_AT_ONCE):
        chunk = outputs[begin : begin + OUTPUTS_AT_ONCE]
        mine = units.select((chunk[:, None] * width + np.arange(width)).ravel())
        samples = draw(fit(mine, width), n_annotators=width, n_samples=options.n_samples, seed=options.seed)
        seen, chance = (_aligned(each, width, options.dissimilarity) for each in (mine, samples))
        for row, category in enumerate(choices):
            observed = seen.disorder(len(chunk), category)
            by_sample = chance.disorder(len(chunk) * options.n_samples, category).reshape(len(chunk), -1)
            # A sample may have no aligned pair of these categories. The mean is over the samples that have one.
            usable = ~np.isnan(by_sample)
            total, number = np.where(usable, by_sample, 0.0).sum(axis=1), usable.sum(axis=1)
            expected = np.divide(total, number, out=np.full(len(chunk), np.nan), where=number > 0)
            values[row, chunk] = chance_corrected(observed, expected)
    results = [_result(row, options) for row in values]
    return CategorialAgreement(results[0], dict(zip(categories, results[1:], strict=True)))


def _aligned(units: Units, width: int, dissimilarity: Dissimilarity) -> _AlignedPairs:
    """Align the ``width`` rows of every problem. Return the pairs of aligned units."""
    if width == 2:
        left, right = _pair_alignments(units, dissimilarity)
        members = np.full(len(left), 2)
    else:
        aligned = best_hard_alignments(units, width, dissimilarity)
        number = (aligned >= 0).sum(axis=1)
        pairs = [(aligned[:, one], aligned[:, other]) for one, other in combinations(range(width), 2)]
        real = [(one >= 0) & (other >= 0) for one, other in pairs]
        left = np.concatenate([one[there] for (one, _), there in zip(pairs, real, strict=True)])
        right = np.concatenate([other[there] for (_, other), there in zip(pairs, real, strict=True)])
        members = np.concatenate([number[there] for there in real])
    problem = np.repeat(np.arange(len(units.counts)), units.counts)[left] // width
    categories = units.category[left], units.category[right]
    # The weight depends on the position alone, so all units get the same category here.
    columns = (units.start, units.end, np.zeros(len(units.start)))
    position = dissimilarity(tuple(column[left] for column in columns), tuple(column[right] for column in columns))
    return _AlignedPairs(problem, *categories, np.maximum(0.0, 1.0 - position) / (members - 1))


def _pair_alignments(units: Units, dissimilarity: Dissimilarity) -> tuple[IntArray, IntArray]:
    """Align the two rows of every problem. Return the units of each pair."""
    # All pairs of units of each problem as flat arrays. A loop over problems would be slow, because each sample is a
    # problem.
    counts = units.counts.reshape(-1, 2)
    first = units.offsets[:-1].reshape(-1, 2)
    problem = np.repeat(np.arange(len(counts)), counts[:, 0])
    left = np.repeat(first[:, 0] - (np.cumsum(counts[:, 0]) - counts[:, 0]), counts[:, 0]) + np.arange(len(problem))
    per_unit = counts[problem, 1]
    pairs = np.repeat(np.arange(len(left)), per_unit)
    right = first[problem[pairs], 1] + np.arange(len(pairs)) - np.repeat(np.cumsum(per_unit) - per_unit, per_unit)
    left, problem = left[pairs], problem[pairs]
    columns = (units.start, units.end, units.category.astype(np.float64))
    apart = dissimilarity(tuple(column[left] for column in columns), tuple(column[right] for column in columns))
    saved = 2 * dissimilarity.delta_empty - apart
    # Units whose pair saves nothing stay alone.
    worth = saved > 0
    left, right, saved = left[worth], right[worth], saved[worth]
    chosen = MatchingProblem(left, right).heaviest(saved, np.ones(len(left), dtype=bool))
    return left[chosen], right[chosen]


def _result(values: FloatArray, options: GammaOptions) -> Result:
    defined = values[~np.isnan(values)]
    reason = "no output has aligned units of these categories both in the annotations and in the random samples"
    return Result(
        "gamma_cat",
        {"mean": float(defined.mean()) if len(defined) else None, "outputs": len(defined)},
        outputs=len(defined),
        options={**options.as_dict(), "precision": None},
        undefined={} if len(defined) else {"mean": reason},
        per_output={"gamma_cat": values},
    )


GAMMA_CAT = MeanOverOutputs(
    name="gamma_cat",
    title="γ-cat",
    explanation=Explanation(
        "Agreement on categories where spans are aligned, compared with chance.",
        "Spans without a counterpart.",
    ),
    source="Mathet 2017",
    compute=lambda pair: gamma_cat(pair).overall,
    values=lambda pair, _softs, options: [gamma_cat(pair, options).overall.per_output["gamma_cat"]],
    bounds=(float("-inf"), 1.0),
    why_undefined="no output has aligned spans",
    has_soft=False,
    ranks=False,
)
