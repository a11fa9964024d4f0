"""Report with all figures of one comparison, as the command line and the dashboard show them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from spanplat import __version__
from spanplat.metrics.categorial import gamma_cat
from spanplat.metrics.characters import compared_outputs
from spanplat.metrics.confusion import confusion
from spanplat.metrics.count_correlation import category_counts, count_correlation
from spanplat.metrics.gamma_options import GammaOptions
from spanplat.metrics.mathet import GammaDisorders, gamma_disorders, gamma_result, s_empty
from spanplat.metrics.measure import CountOptions, Empty, Matching, PrecisionRecall
from spanplat.metrics.registry import PRECISION_RECALL
from spanplat.metrics.resampling import (
    Statistic,
    bootstrap,
    f1_statistic,
    mean_columns,
    mean_statistic,
    pearson_columns,
    pearson_statistic,
)
from spanplat.metrics.result import Option, Result
from spanplat.metrics.scores import Average, score
from spanplat.metrics.spans import Comparison, FloatArray, IntArray

Figures = dict[str, Any]

VARIANTS = {"hard": False, "soft": True}


def agreement_report(
    pair: Comparison,
    *,
    matching: Matching = "optimal",
    empty: Empty = "include",
    seed: int = 42,
    n_samples: int = 30,
    n_bootstrap: int = 0,
    by: str | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    delta_empty: float = 1.0,
    tau: int = 1,
    severity_penalty: float = 0.0,
    precision: float | None = None,
    with_gamma: bool = True,
    n_jobs: int | None = None,
) -> Figures:
    """Compute every agreement figure of a comparison.

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis on the outputs that both completed. An output with several annotators, or in several pairs, occurs
        several times. Each occurrence counts as one output.
    matching : {"optimal", "greedy"}
        How spans are matched one to one.
    empty : {"include", "skip"}
        Whether outputs without spans on one side count in ``char`` and ``char_binary``.
    seed, n_samples, alpha, beta, delta_empty
        Parameters of γ, see `GammaOptions`. The bootstrap uses the same seed.
    n_bootstrap : int
        Number of resamples for the intervals. With 0 there are no intervals.
    by : str, optional
        Name of the comparison's grouping for the ``strata`` averages.
    tau, severity_penalty
        See `spanplat.metrics.matched`.
    precision : float, optional
        Wanted precision of the expected disorders, see `GammaOptions`.
    with_gamma : bool
        Whether to compute γ, γ-cat and γ-k, which take most of the time.
    n_jobs : int, optional
        Number of processes for joblib. The figures do not depend on it.

    Returns
    -------
    dict
        The figures by name. An undefined figure is ``None``, and ``undefined`` has its reason by its path.
    """
    staged = StagedReport(
        pair,
        matching=matching,
        empty=empty,
        by=by,
        tau=tau,
        severity_penalty=severity_penalty,
        gamma=GammaOptions(alpha, beta, delta_empty, n_samples, seed, precision),
        n_jobs=n_jobs,
    )
    headline, gamma = staged.headline(), staged.gamma() if with_gamma else {"undefined": {}}
    named: dict[str, Option] = {
        "matching": matching,
        "empty": empty,
        "by": by,
        "tau": tau,
        "severity_penalty": severity_penalty,
    }
    named |= {**staged.gamma_options.as_dict(), "bootstrap": n_bootstrap, "gamma": with_gamma}
    return {
        **headline,
        **gamma,
        **staged.intervals(n_bootstrap),
        "undefined": {**headline["undefined"], **gamma["undefined"]},
        "signature": Result("agreement", {}, outputs=pair.n_outputs, options=named).signature,
        "version": __version__,
    }


class StagedReport:
    """Computation of the figures of `agreement_report` in stages, so that quick figures are available first.

    Parameters
    ----------
    pair, matching, empty, by, tau, severity_penalty, n_jobs
        See `agreement_report`.
    gamma : GammaOptions
        α, β, Δ∅, samples and seed of γ.
    """

    def __init__(
        self,
        pair: Comparison,
        *,
        matching: Matching = "optimal",
        empty: Empty = "include",
        by: str | None = None,
        tau: int = 1,
        severity_penalty: float = 0.0,
        gamma: GammaOptions | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.pair = pair
        self.gamma_options = gamma or GammaOptions()
        self._counting = CountOptions(matching=matching, tau=tau, severity_penalty=severity_penalty, by=by)
        self._empty = empty
        self._n_jobs = n_jobs
        self._disorders: GammaDisorders | None = None

    def headline(self) -> Figures:
        """Compute all figures without random samples. ``undefined`` has the reasons for undefined figures."""
        pair, undefined = self.pair, dict[str, str]()
        figures: Figures = {"outputs": pair.n_outputs}
        figures |= _precision_and_recall(pair, self._counting, self._empty, undefined)
        figures["pearson"] = _correlations(pair, undefined)
        figures["s_empty"] = figures_of(s_empty((pair.reference, pair.hypothesis)), "s_empty", undefined)
        crossed = confusion(pair)
        figures["confusion"] = {"labels": list(crossed.labels), "matrix": crossed.matrix.tolist()}
        figures["per_category"] = _per_category(pair, self._counting, self._empty)
        return figures | {"undefined": undefined}

    def gamma(self, on_progress: Callable[[int, int], None] = lambda _done, _total: None) -> Figures:
        """Compute γ, γ-cat and γ-k. ``on_progress`` gets the number of finished outputs and the total."""
        # The sampler draws the hypothesis first, as in `gamma`. The other order gives other random samples.
        self._disorders = gamma_disorders(
            (self.pair.hypothesis, self.pair.reference),
            self.gamma_options,
            n_jobs=self._n_jobs,
            on_progress=on_progress,
        )
        undefined: dict[str, str] = {}
        return _gammas(self.pair, self._disorders, self.gamma_options, undefined) | {"undefined": undefined}

    @property
    def has_gamma(self) -> bool:
        """Whether γ was computed. Only then `intervals` includes it."""
        return self._disorders is not None

    def intervals(self, n_bootstrap: int) -> Figures:
        """Bootstrap the headline figures, and γ if it was computed before. Without resamples the result is empty."""
        found = {}
        if n_bootstrap:
            found = _intervals(
                self.pair,
                self._counting,
                self._disorders,
                empty=self._empty,
                n_bootstrap=n_bootstrap,
                seed=self.gamma_options.seed,
                n_jobs=self._n_jobs,
            )
        return {"intervals": found}


def _compared(pair: Comparison, measure: PrecisionRecall, empty: Empty) -> IntArray:
    """Return the positions of the outputs that a measure counts. Only measures that count characters may leave outputs out."""
    return compared_outputs(pair, empty) if measure.unit == "characters" else np.arange(pair.n_outputs)


def _precision_and_recall(pair: Comparison, counting: CountOptions, empty: Empty, undefined: dict[str, str]) -> Figures:
    """Return the hard and soft scores of every measure with every average. ``char`` has its micro average on the top level."""
    figures: Figures = {}
    for name, measure in PRECISION_RECALL.items():
        outputs = _compared(pair, measure, empty)
        figures[name] = {
            variant: _averages(pair, measure, replace(counting, soft=soft), outputs)
            for variant, soft in VARIANTS.items()
        }
        if len(outputs) == 0:
            undefined[name] = "no output to compare"
    figures["macro_f_of_means"] = {
        name: {variant: figures[name][variant].pop("macro_f_of_means") for variant in VARIANTS}
        for name in PRECISION_RECALL
    }
    for name in PRECISION_RECALL:
        f1 = {variant: figures[name][variant]["micro"]["f1"] for variant in VARIANTS}
        figures[name]["delta"] = _difference(f1["soft"], f1["hard"])
    for variant in VARIANTS:
        figures["char"][variant] |= figures["char"][variant].pop("micro")
    return figures


def _averages(pair: Comparison, measure: PrecisionRecall, counting: CountOptions, outputs: IntArray) -> Figures:
    """Return the scores of one measure with every average."""
    strata = pair.stratum(counting.by)
    groups = None if strata is None else strata[outputs]
    averages: tuple[Average, ...] = ("micro", "macro") if strata is None else ("micro", "macro", "strata")
    # An optimal matching maximises the F of its average, so each average needs counts of its own.
    counts = {average: measure.counts(pair, replace(counting, average=average)).select(outputs) for average in averages}
    scores = {average: score(own, average=average, strata=groups) for average, own in counts.items()}
    scores["macro_f_of_means"] = score(counts["macro"], average="macro_f_of_means")
    return {average: result.as_dict() for average, result in scores.items()}


def _correlations(pair: Comparison, undefined: dict[str, str]) -> Figures:
    result = count_correlation(pair)
    per_category = {name: result[f"category:{name}"] for name in pair.categories}
    for name, reason in result.undefined.items():
        undefined["pearson." + name.replace("category:", "per_category.")] = reason
    return {
        "micro": result["micro"],
        "macro": result["macro"],
        "totals": result["totals"],
        "per_category": per_category,
    }


def _per_category(pair: Comparison, counting: CountOptions, empty: Empty) -> Figures:
    """Return the scores of each category, and its number of spans on each side."""
    figures: Figures = {}
    for code, name in enumerate(pair.categories):
        mine = pair.of_category(code)
        figures[name] = {"spans": {"reference": mine.reference.n_spans, "hypothesis": mine.hypothesis.n_spans}}
        for measure in PRECISION_RECALL.values():
            # Categories have micro averages only, and these need no grouping.
            counts = measure.counts(mine, replace(counting, by=None))
            # `pair`, not `mine`: an output is left out if it has no span at all, not if it has none of this category.
            figures[name][measure.name] = score(counts.select(_compared(pair, measure, empty))).as_dict()
    return figures


def _gammas(pair: Comparison, disorders: GammaDisorders, options: GammaOptions, undefined: dict[str, str]) -> Figures:
    gamma: Figures = {}
    for variant, soft in VARIANTS.items():
        result = gamma_result(disorders.soft if soft else disorders.hard, options, soft=soft)
        gamma[variant] = figures_of(result, f"gamma.{variant}", undefined)
    gamma |= {key: options.as_dict()[key] for key in ("alpha", "beta", "delta_empty", "samples", "seed", "stream")}
    categorial = gamma_cat(pair, options)
    per_category = {
        name: figures_of(result, f"gamma_per_category.{name}", undefined)
        for name, result in categorial.per_category.items()
    }
    return {
        "gamma": gamma,
        "gamma_cat": figures_of(categorial.overall, "gamma_cat", undefined),
        "gamma_per_category": per_category,
    }


def figures_of(result: Result, path: str, undefined: dict[str, str]) -> Figures:
    """Return the figures of a result. Add the reasons for undefined figures to ``undefined``, by path."""
    for name, reason in result.undefined.items():
        undefined[f"{path}.{name}"] = reason
    return dict(result.figures)


def _difference(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right


def _intervals(
    pair: Comparison,
    counting: CountOptions,
    disorders: GammaDisorders | None,
    *,
    empty: Empty,
    n_bootstrap: int,
    seed: int,
    n_jobs: int | None,
) -> dict[str, list[float | None]]:
    """Bootstrap the headline figures together, so that each resample draws the same outputs for all of them.

    Spans are matched once, for the whole comparison. Only the counts are resampled.
    """
    if pair.n_outputs == 0:
        return {}
    parts: list[tuple[list[str], FloatArray, Statistic]] = []
    # Outputs that a measure leaves out become rows of zeros: all columns need the same rows to be resampled together.
    kept = np.zeros((pair.n_outputs, 1))
    kept[compared_outputs(pair, empty)] = 1.0
    for measure in PRECISION_RECALL.values():
        for variant, soft in VARIANTS.items():
            columns = measure.counts(pair, replace(counting, soft=soft, by=None)).columns
            path = f"{measure.name}.{variant}" if measure.name == "char" else f"{measure.name}.{variant}.micro"
            names = [f"{path}.{figure}" for figure in ("precision", "recall", "f1")]
            parts.append((names, columns * kept if measure.unit == "characters" else columns, f1_statistic))
    sides = (category_counts(side, pair.n_categories) for side in (pair.hypothesis, pair.reference))
    parts.append((["pearson.micro"], pearson_columns(*sides), pearson_statistic))
    silent = s_empty((pair.reference, pair.hypothesis)).per_output["s_empty"]
    parts.append((["s_empty.mean"], mean_columns(silent), mean_statistic))
    if disorders is not None:
        parts.append((["gamma.hard.mean"], mean_columns(disorders.hard.gamma), mean_statistic))
        parts.append((["gamma.soft.mean"], mean_columns(disorders.soft.gamma), mean_statistic))
    borders = np.cumsum([columns.shape[1] for _, columns, _ in parts])[:-1]

    def statistic(sums: FloatArray) -> FloatArray:
        pieces = np.split(sums, borders, axis=1)
        return np.concatenate([figure(piece) for (_, _, figure), piece in zip(parts, pieces, strict=True)], axis=1)

    columns = np.concatenate([columns for _, columns, _ in parts], axis=1)
    intervals = bootstrap(columns, statistic, n_resamples=n_bootstrap, seed=seed, n_jobs=n_jobs)
    names = [name for part, _, _ in parts for name in part]
    bounds = zip(intervals.low.tolist(), intervals.high.tolist(), strict=True)
    return {
        name: [None if np.isnan(bound) else bound for bound in pair_of_bounds]
        for name, pair_of_bounds in zip(names, bounds, strict=True)
    }
