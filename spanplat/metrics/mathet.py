"""γ (Mathet et al. 2015): agreement on where spans are, how many there are and what they are called, corrected for chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spanplat.metrics.alignment import Costs, Dissimilarity, best_pair_alignments
from spanplat.metrics.result import Result
from spanplat.metrics.sampling import draw
from spanplat.metrics.spans import BoolArray, Comparison, FloatArray, SpanSet
from spanplat.metrics.units import Units, fit, units_of

OUTPUTS_AT_ONCE = 2048
"""How many outputs one batch of samples holds (bounds memory)."""


@dataclass(frozen=True, slots=True, eq=False)
class Disorders:
    """Observed and expected disorder per output, shape (n,); NaN where fewer than two annotators have spans."""

    observed: FloatArray
    expected: FloatArray

    @property
    def gamma(self) -> FloatArray:
        """γ = 1 - observed / expected; 1 where the observed disorder is 0, NaN where only the expected one is."""
        ratio = np.divide(
            self.observed, self.expected, out=np.full_like(self.observed, np.nan), where=self.expected > 0
        )
        return np.where(self.observed == 0, 1.0, 1.0 - ratio)


@dataclass(frozen=True, slots=True, eq=False)
class GammaDisorders:
    """The disorders under hard and under soft alignment, from the same samples."""

    hard: Disorders
    soft: Disorders


def gamma_disorders(
    annotators: Sequence[SpanSet], *, dissimilarity: Dissimilarity, n_samples: int = 30, seed: int = 42
) -> GammaDisorders:
    """Observed and expected disorders of every output.

    Parameters
    ----------
    annotators : sequence of SpanSet
        Two annotators on the same outputs. The sampler draws them in this order.
    dissimilarity : Dissimilarity
        α, β, Δ∅.
    n_samples : int
        Random samples per output.
    seed : int
        Every output starts from ``numpy.random.RandomState(seed)``.

    Returns
    -------
    GammaDisorders
    """
    units = units_of(annotators)
    width = len(annotators)
    comparable = has_two(units, width)
    values = np.full((4, len(comparable)), np.nan)
    outputs = np.flatnonzero(comparable)
    for begin in range(0, len(outputs), OUTPUTS_AT_ONCE):
        chunk = outputs[begin : begin + OUTPUTS_AT_ONCE]
        rows = (chunk[:, None] * width + np.arange(width)).ravel()
        values[:, chunk] = _chunk_disorders(units.select(rows), width, dissimilarity, n_samples, seed)
    return GammaDisorders(Disorders(values[0], values[1]), Disorders(values[2], values[3]))


def gamma(
    pair: Comparison,
    *,
    soft: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    delta_empty: float = 1.0,
    n_samples: int = 30,
    seed: int = 42,
) -> Result:
    """γ of two annotators, averaged over the outputs where both have spans.

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis. The sampler draws the hypothesis first.
    soft : bool
        Whether a unit may take part in several unitary alignments.
    alpha, beta, delta_empty : float
        Weight of positions, weight of categories, and the cost Δ∅ of a unit left alone.
    n_samples : int
        Random samples per output for the expected disorder.
    seed : int
        Every output starts from ``numpy.random.RandomState(seed)``, as published figures do.

    Returns
    -------
    Result
        ``mean`` and the number of ``outputs`` it rests on; per output ``gamma``, ``observed_disorder``, ``expected_disorder``.

    Examples
    --------
    >>> pair = Comparison.of(reference=[[(321, 427, 2)]], hypothesis=[[(285, 427, 2)]])
    >>> round(gamma(pair).mean, 6)
    0.978973
    """
    disorders = gamma_disorders(
        (pair.hypothesis, pair.reference),
        dissimilarity=Dissimilarity(alpha, beta, delta_empty),
        n_samples=n_samples,
        seed=seed,
    )
    options = {
        "alpha": alpha,
        "beta": beta,
        "delta_empty": delta_empty,
        "samples": n_samples,
        "seed": seed,
        "soft": soft,
    }
    return gamma_result("gamma", disorders.soft if soft else disorders.hard, options)


def gamma_result(measure: str, disorders: Disorders, options: dict[str, str | int | float | bool | None]) -> Result:
    """Average γ over outputs, saying how many there are and why a figure is missing."""
    values = disorders.gamma
    defined = values[~np.isnan(values)]
    undefined = {} if len(defined) else {"mean": "on no output do two annotators have spans"}
    return Result(
        measure,
        {"mean": float(defined.mean()) if len(defined) else None, "outputs": len(defined)},
        outputs=len(defined),
        options={**options, "stream": "RandomState per output"},
        undefined=undefined,
        per_output={"gamma": values, "observed_disorder": disorders.observed, "expected_disorder": disorders.expected},
    )


def s_empty(annotators: Sequence[SpanSet]) -> Result:
    """S∅: agreement on the outputs γ cannot judge (Kasner et al. 2025).

    The mean of 1 / (1 + number of spans) over the outputs where fewer than two annotators have spans.

    Parameters
    ----------
    annotators : sequence of SpanSet
        At least two, on the same outputs.

    Returns
    -------
    Result
        ``mean`` and ``outputs``; per output ``s_empty``.

    Examples
    --------
    >>> s_empty([SpanSet.from_lists([[(0, 4)], []]), SpanSet.from_lists([[], []])]).mean
    0.75
    """
    counts = np.stack([spans.counts for spans in annotators])
    silent = (counts > 0).sum(axis=0) < 2
    values = np.where(silent, 1.0 / (1.0 + counts.sum(axis=0)), np.nan)
    undefined = {} if silent.any() else {"mean": "at least two annotators have spans on every output"}
    mean = float(values[silent].mean()) if silent.any() else None
    return Result(
        "s_empty",
        {"mean": mean, "outputs": int(silent.sum())},
        outputs=int(silent.sum()),
        undefined=undefined,
        per_output={"s_empty": values},
    )


def has_two(units: Units, n_annotators: int) -> BoolArray:
    """For which outputs at least two annotators have units."""
    per_annotator: BoolArray = units.counts.reshape(-1, n_annotators) > 0
    return per_annotator.sum(axis=1) >= 2


def _chunk_disorders(units: Units, width: int, dissimilarity: Dissimilarity, n_samples: int, seed: int) -> FloatArray:
    """Hard observed, hard expected, soft observed and soft expected disorder of a batch of outputs, shape (4, outputs)."""
    samples = draw(fit(units, width), n_annotators=width, n_samples=n_samples, seed=seed)
    observed, expected = _disorders(units, width, dissimilarity), _disorders(samples, width, dissimilarity)
    hard, soft = (costs.reshape(-1, n_samples).mean(axis=1) for costs in (expected.hard, expected.soft))
    return np.stack([observed.hard, hard, observed.soft, soft])


def _disorders(units: Units, width: int, dissimilarity: Dissimilarity) -> Costs:
    """Costs of the best alignments divided by the mean number of units per annotator."""
    rows = np.arange(len(units.counts)).reshape(-1, width)
    costs = best_pair_alignments(units.select(rows[:, 0]), units.select(rows[:, 1]), dissimilarity)
    mean_units = units.counts.reshape(-1, width).mean(axis=1)
    return Costs(costs.hard / mean_units, costs.soft / mean_units)
