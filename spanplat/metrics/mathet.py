"""γ (Mathet et al. 2015): chance-corrected agreement on the places, numbers and categories of spans."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spanplat.metrics.alignment import Costs, Dissimilarity, best_pair_alignments
from spanplat.metrics.alignment_many import best_alignments
from spanplat.metrics.gamma_options import GammaOptions
from spanplat.metrics.measure import Explanation, MeanOverOutputs
from spanplat.metrics.result import Result
from spanplat.metrics.sampling import draw
from spanplat.metrics.spans import BoolArray, Comparison, FloatArray, IntArray, SpanSet
from spanplat.metrics.units import Units, fit, units_of

OUTPUTS_AT_ONCE = 1024
"""Largest number of outputs in one batch of samples. It bounds memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Disorders:
    """Observed and expected disorder per output, shape (n,). NaN if fewer than two annotators have spans."""

    observed: FloatArray
    expected: FloatArray

    @property
    def gamma(self) -> FloatArray:
        """γ = 1 - observed / expected. It is 1 if the observed disorder is 0, and NaN if only the expected one is 0."""
        return chance_corrected(self.observed, self.expected)


@dataclass(frozen=True, slots=True, eq=False)
class GammaDisorders:
    """Disorders of hard and soft alignments, from the same samples."""

    hard: Disorders
    soft: Disorders


def gamma_disorders(
    annotators: Sequence[SpanSet],
    options: GammaOptions | None = None,
    *,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> GammaDisorders:
    """Compute the observed and expected disorders of every output.

    Parameters
    ----------
    annotators : sequence of SpanSet
        Two or more annotators on the same outputs. The sampler draws them in this order.
    options : GammaOptions, optional
        α, β, Δ∅, samples and seed.
    n_jobs : int, optional
        Number of processes for joblib. By default joblib's configuration decides. The figures do not depend on it.
    on_progress : callable, optional
        Callback with the number of finished outputs and the total. It may raise an exception to stop the computation.

    Returns
    -------
    GammaDisorders
    """
    options = options or GammaOptions()
    units = units_of(annotators)
    width = len(annotators)
    # The other outputs have no disorder. Their values stay NaN, and S∅ counts them.
    outputs = np.flatnonzero(has_two(units, width))
    chunks = [outputs[begin : begin + OUTPUTS_AT_ONCE] for begin in range(0, len(outputs), OUTPUTS_AT_ONCE)]
    rows = [units.select((chunk[:, None] * width + np.arange(width)).ravel()) for chunk in chunks]
    values = np.full((4, annotators[0].n_outputs), np.nan)
    found: Iterable[FloatArray]
    if len(chunks) > 1:
        from joblib import Parallel, delayed  # noqa: PLC0415 (slow to load, and small data do without)

        # A generator gives results while others are computed, so that progress is reported in between.
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
        found = parallel(delayed(_chunk_disorders)(mine, width, options) for mine in rows)
    else:
        found = (_chunk_disorders(mine, width, options) for mine in rows)
    done = 0
    for chunk, disorders in zip(chunks, found, strict=True):
        values[:, chunk] = disorders
        done += len(chunk)
        on_progress(done, len(outputs))
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
    precision: float | None = None,
) -> Result:
    """Compute γ of two annotators, averaged over the outputs where both have spans.

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis. The sampler draws the hypothesis first.
    soft : bool
        Whether a unit may take part in several unitary alignments.
    alpha, beta, delta_empty, n_samples, seed, precision
        See `GammaOptions`.

    Returns
    -------
    Result
        ``mean`` and its number of ``outputs``; per output ``gamma``, ``observed_disorder``, ``expected_disorder``.

    Examples
    --------
    >>> pair = Comparison.of(reference=[[(321, 427, 2)]], hypothesis=[[(285, 427, 2)]])
    >>> round(gamma(pair).mean, 6)
    0.978973
    """
    options = GammaOptions(alpha, beta, delta_empty, n_samples, seed, precision)
    return gamma_of_annotators((pair.hypothesis, pair.reference), options, soft=soft)


def gamma_of_annotators(
    annotators: Sequence[SpanSet], options: GammaOptions | None = None, *, soft: bool = False, n_jobs: int | None = None
) -> Result:
    """Compute one γ over two or more annotators, averaged over the outputs where at least two of them have spans.

    Parameters
    ----------
    annotators : sequence of SpanSet
        In the order the sampler draws them (pygamma-agreement sorts annotators by name).
    options : GammaOptions, optional
        α, β, Δ∅, samples and seed.
    soft : bool
        Whether a unit may take part in several unitary alignments.
    n_jobs : int, optional
        Processes for joblib.

    Returns
    -------
    Result
        See `gamma`.

    Examples
    --------
    >>> sides = [SpanSet.from_lists([[(0, 9)]]), SpanSet.from_lists([[(0, 9)]]), SpanSet.from_lists([[(0, 9)]])]
    >>> gamma_of_annotators(sides).mean
    1.0
    """
    options = options or GammaOptions()
    disorders = gamma_disorders(annotators, options, n_jobs=n_jobs)
    return gamma_result(disorders.soft if soft else disorders.hard, options, soft=soft)


def gamma_result(disorders: Disorders, options: GammaOptions, *, soft: bool) -> Result:
    """Return the mean of γ over outputs, with their number, or the reason why it is undefined."""
    values = disorders.gamma
    defined = values[~np.isnan(values)]
    figures: dict[str, float | None] = {
        "mean": float(defined.mean()) if len(defined) else None,
        "outputs": len(defined),
    }
    return Result(
        "gamma",
        figures,
        outputs=len(defined),
        options={"soft": soft, **options.as_dict()},
        undefined={} if len(defined) else {"mean": _why_undefined(disorders)},
        per_output={"gamma": values, "observed_disorder": disorders.observed, "expected_disorder": disorders.expected},
    )


def chance_corrected(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return 1 - observed / expected. It is 1 if observed is 0, and NaN if only expected is 0."""
    ratio = np.divide(observed, expected, out=np.full_like(observed, np.nan), where=expected > 0)
    return np.where(observed == 0, 1.0, 1.0 - ratio)


def s_empty(annotators: Sequence[SpanSet]) -> Result:
    """Compute S∅, the agreement on the outputs without a γ (Kasner et al. 2025).

    It is the mean of 1 / (1 + number of spans) over the outputs where fewer than two annotators have spans that γ can align. Every
    output counts either for γ or for S∅.

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
    total = np.sum([spans.counts for spans in annotators], axis=0)
    silent = ~has_two(units_of(annotators), len(annotators))
    values = np.where(silent, 1.0 / (1.0 + total), np.nan)
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
    """Return a mask of the outputs where at least two annotators have units."""
    per_annotator: BoolArray = units.counts.reshape(-1, n_annotators) > 0
    comparable: BoolArray = per_annotator.sum(axis=1) >= 2
    return comparable


def samples_needed(sample_disorders: FloatArray, precision: float) -> IntArray:
    """Return the number of samples for a relative precision at 95 % confidence (Mathet et al. 2015, section 5.3).

    Parameters
    ----------
    sample_disorders : array of float, shape (n, samples)
        Disorders of the first samples.
    precision : float
        Wanted half width of the interval, as a share of the mean.

    Returns
    -------
    array of int, shape (n,)
    """
    mean = sample_disorders.mean(axis=1)
    variation = np.divide(sample_disorders.std(axis=1), mean, out=np.zeros_like(mean), where=mean > 0)
    needed: IntArray = np.ceil((1.96 * variation / precision) ** 2).astype(np.int64)
    return needed


def _why_undefined(disorders: Disorders) -> str:
    if np.isnan(disorders.observed).all():
        return "no output has spans of two annotators"
    return "the expected disorder is zero while the observed one is not"


def _chunk_disorders(units: Units, width: int, options: GammaOptions) -> FloatArray:
    """Return hard observed, hard expected, soft observed and soft expected disorders of a batch, shape (4, outputs)."""
    observed = _disorders(units, width, options.dissimilarity)
    hard, soft = _sample_disorders(units, width, options, options.n_samples)
    expected = np.stack([hard.mean(axis=1), soft.mean(axis=1)])
    if options.precision is not None:
        needed = np.maximum(samples_needed(hard, options.precision), samples_needed(soft, options.precision))
        # Outputs that need equally many samples are drawn together.
        for number in np.unique(needed[needed > options.n_samples]).tolist():
            outputs = np.flatnonzero(needed == number)
            mine = units.select((outputs[:, None] * width + np.arange(width)).ravel())
            # `draw` always starts at the beginning of the stream, so the larger number includes the first samples.
            more = _sample_disorders(mine, width, options, number)
            expected[:, outputs] = [disorders.mean(axis=1) for disorders in more]
    return np.stack([observed.hard, expected[0], observed.soft, expected[1]])


def _sample_disorders(units: Units, width: int, options: GammaOptions, n_samples: int) -> tuple[FloatArray, FloatArray]:
    """Return the hard and soft disorders of the random samples, each of shape (outputs, samples)."""
    samples = draw(fit(units, width), n_annotators=width, n_samples=n_samples, seed=options.seed)
    disorders = _disorders(samples, width, options.dissimilarity)
    return disorders.hard.reshape(-1, n_samples), disorders.soft.reshape(-1, n_samples)


def _disorders(units: Units, width: int, dissimilarity: Dissimilarity) -> Costs:
    """Return the costs of the best alignments, divided by the mean number of units per annotator."""
    rows = np.arange(len(units.counts)).reshape(-1, width)
    if width == 2:
        costs = best_pair_alignments(units.select(rows[:, 0]), units.select(rows[:, 1]), dissimilarity)
    else:
        costs = best_alignments(units, width, dissimilarity)
    mean_units = units.counts.reshape(-1, width).mean(axis=1)
    return Costs(costs.hard / mean_units, costs.soft / mean_units)


def _gamma_by_output(pair: Comparison, softs: Sequence[bool], options: GammaOptions) -> list[FloatArray]:
    """Return γ of every output, hard and soft from the same samples."""
    disorders = gamma_disorders((pair.hypothesis, pair.reference), options)
    return [disorders.soft.gamma if soft else disorders.hard.gamma for soft in softs]


GAMMA = MeanOverOutputs(
    name="gamma",
    title="γ",
    titles={"hard": "γ", "soft": "γ, soft alignment"},
    explanation=Explanation(
        "γ (Mathet et al. 2015): aligns the spans of both sides so that they disagree least in place and category, and compares "
        "that with random annotations of the same kind. 1 is perfect, 0 is chance, negative is worse than chance. "
        "Every span stands in exactly one alignment. Mean over outputs.",
        "Outputs where fewer than two sides marked anything: S∅ covers these.",
    ),
    explanations={
        "soft": Explanation(
            "γ where a span may stand in several alignments, so that one long span can answer to several short ones "
            "(Titeux and Riad 2021). Mean over outputs.",
            "Outputs where fewer than two sides marked anything: S∅ covers these.",
        )
    },
    source="Mathet et al. 2015; Titeux & Riad 2021",
    compute=gamma,
    values=_gamma_by_output,
    bounds=(float("-inf"), 1.0),
    why_undefined="there is no output on which both sides marked something",
)


def _s_empty_of(pair: Comparison) -> Result:
    return s_empty((pair.reference, pair.hypothesis))


S_EMPTY = MeanOverOutputs(
    name="s_empty",
    title="Agreement on nothing S∅",
    explanation=Explanation(
        "Agreement on marking nothing: over the outputs without a γ, the mean of 1/(1 + number of spans). "
        "1 when neither side marked anything in any of them.",
        "Where the spans are and what category they have.",
    ),
    source="Kasner et al. 2025",
    compute=_s_empty_of,
    values=lambda pair, _softs, _options: [_s_empty_of(pair).per_output["s_empty"]],
    bounds=(0.0, 1.0),
    why_undefined="both sides marked something on every output",
    has_soft=False,
)
