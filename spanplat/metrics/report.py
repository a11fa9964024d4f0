"""All figures of one comparison, as the command line and the dashboard show them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from spanplat import __version__
from spanplat.metrics.best_match import best_match_counts, span_average_counts
from spanplat.metrics.categorial import gamma_cat
from spanplat.metrics.characters import Empty, char_counts, compared_outputs
from spanplat.metrics.confusion import confusion
from spanplat.metrics.count_correlation import category_counts, count_correlation
from spanplat.metrics.matched import Credit, Matching, matched_counts
from spanplat.metrics.mathet import GammaDisorders, GammaOptions, gamma_disorders, gamma_result, s_empty
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
from spanplat.metrics.scores import Average, Counts, Scores, score
from spanplat.metrics.spans import Comparison, FloatArray, IntArray

Figures = dict[str, Any]
CountsOf = Callable[[Comparison, bool, Average, str | None], Counts]
"""Counts of a family for (comparison, soft, average, stratum)."""

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
        Reference and hypothesis on the outputs both completed. An output annotated by several people, or compared in several pairs,
        occurs several times; each occurrence counts as one output.
    matching : {"optimal", "greedy"}
        How spans are matched one to one.
    empty : {"include", "skip"}
        Whether outputs on which a side marked nothing count in ``char`` and ``char_binary``.
    seed, n_samples, alpha, beta, delta_empty
        Parameters of γ, see `GammaOptions`; the seed is the bootstrap's too.
    n_bootstrap : int
        Resamples for the intervals; 0 leaves them out.
    by : str, optional
        Which of the comparison's groupings the ``strata`` average over.
    tau, severity_penalty
        See `spanplat.metrics.matched`.
    precision : float, optional
        Wanted precision of the expected disorders, see `GammaOptions`.
    with_gamma : bool
        False leaves γ and its relatives out (headline figures first, the slow ones later).
    n_jobs : int, optional
        Processes for joblib; the figures do not depend on it.

    Returns
    -------
    dict
        The figures by name; an undefined one is ``None`` and has its reason under ``undefined``, by its path.
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
    """The figures of `agreement_report` one stage after the other, for those who want the quick ones first.

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
        self._families = _families(matching, tau, severity_penalty)
        self._empty = empty
        self._by = by
        self._n_jobs = n_jobs
        self._disorders: GammaDisorders | None = None

    def headline(self) -> Figures:
        """Everything that needs no random samples, and ``undefined`` with the reasons of undefined figures."""
        pair, undefined = self.pair, dict[str, str]()
        figures: Figures = {"outputs": pair.n_outputs}
        figures |= _scored_families(pair, self._families, self._empty, self._by, undefined)
        figures["pearson"] = _correlations(pair, undefined)
        figures["s_empty"] = figures_of(s_empty((pair.reference, pair.hypothesis)), "s_empty", undefined)
        crossed = confusion(pair)
        figures["confusion"] = {"labels": list(crossed.labels), "matrix": crossed.matrix.tolist()}
        figures["per_category"] = _per_category(pair, self._families, compared_outputs(pair, self._empty))
        return figures | {"undefined": undefined}

    def gamma(self, on_done: Callable[[int, int], None] = lambda _done, _total: None) -> Figures:
        """γ and its relatives, and their ``undefined``; ``on_done`` is told how many outputs are done, of how many."""
        self._disorders = gamma_disorders(
            (self.pair.hypothesis, self.pair.reference), self.gamma_options, n_jobs=self._n_jobs, on_done=on_done
        )
        undefined: dict[str, str] = {}
        return _gammas(self.pair, self._disorders, self.gamma_options, undefined) | {"undefined": undefined}

    @property
    def has_gamma(self) -> bool:
        """Whether γ was computed, so that it gets intervals."""
        return self._disorders is not None

    def intervals(self, n_bootstrap: int) -> Figures:
        """Bootstrap the headline figures, and γ if it was computed before; empty without resamples."""
        found = {}
        if n_bootstrap:
            found = _intervals(
                self.pair,
                self._families,
                self._disorders,
                empty=self._empty,
                n_bootstrap=n_bootstrap,
                seed=self.gamma_options.seed,
                n_jobs=self._n_jobs,
            )
        return {"intervals": found}


def _families(matching: Matching, tau: int, severity_penalty: float) -> dict[str, CountsOf]:
    def matched(credit: Credit) -> CountsOf:
        return lambda pair, soft, average, by: matched_counts(
            pair,
            credit,
            soft=soft,
            matching=matching,
            average=average,
            tau=tau,
            severity_penalty=severity_penalty,
            by=by,
        )

    return {
        "char": lambda pair, soft, _average, _by: char_counts(pair, soft=soft),
        "char_binary": lambda pair, soft, _average, _by: char_counts(pair, soft=soft, binary=True),
        "exact": matched("exact"),
        "partial": matched("partial"),
        "partial_credit": matched("partial_credit"),
        "best_match": lambda pair, soft, _average, _by: best_match_counts(pair, soft=soft),
        "span_average": lambda pair, soft, _average, _by: span_average_counts(pair, soft=soft),
    }


def _scored_families(
    pair: Comparison, families: Mapping[str, CountsOf], empty: Empty, by: str | None, undefined: dict[str, str]
) -> Figures:
    """Scores of every family, hard and soft, under every average; ``char`` shows its micro average at the top."""
    figures: Figures = {}
    for name, counts_of in families.items():
        outputs = compared_outputs(pair, empty) if name.startswith("char") else np.arange(pair.n_outputs)
        figures[name] = {
            variant: _family(pair, counts_of, soft=soft, by=by, outputs=outputs) for variant, soft in VARIANTS.items()
        }
        if len(outputs) == 0:
            undefined[name] = "no output to compare"
    figures["macro_f_of_means"] = {
        name: {variant: figures[name][variant].pop("macro_f_of_means") for variant in VARIANTS} for name in families
    }
    for name in families:
        f1 = {variant: figures[name][variant]["micro"]["f1"] for variant in VARIANTS}
        figures[name]["delta"] = _difference(f1["soft"], f1["hard"])
    for variant in VARIANTS:
        figures["char"][variant] |= figures["char"][variant].pop("micro")
    return figures


def _family(
    pair: Comparison,
    counts_of: CountsOf,
    *,
    soft: bool,
    by: str | None,
    outputs: IntArray,
) -> Figures:
    """Scores of one family under every average."""
    averages: tuple[Average, ...] = ("micro", "macro", "macro_f_of_means")
    if by is not None:
        averages += ("strata",)
    strata = pair.stratum(by)
    scores: dict[str, Scores] = {}
    macro = counts_of(pair, soft, "macro", by).select(outputs)  # both macro averages match output by output
    for average in averages:
        counts = macro if average.startswith("macro") else counts_of(pair, soft, average, by).select(outputs)
        scores[average] = score(counts, average=average, strata=None if strata is None else strata[outputs])
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


def _per_category(pair: Comparison, families: Mapping[str, CountsOf], char_outputs: IntArray) -> Figures:
    """Scores of every category by itself, and how often each side used it."""
    figures: Figures = {}
    for code, name in enumerate(pair.categories):
        mine = pair.of_category(code)
        figures[name] = {
            "spans": {"reference": mine.reference.n_spans, "hypothesis": mine.hypothesis.n_spans},
            **{
                family: score(
                    counts_of(mine, False, "micro", None).select(char_outputs)
                    if family.startswith("char")
                    else counts_of(mine, False, "micro", None)
                ).as_dict()
                for family, counts_of in families.items()
            },
        }
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
    """Return a result's figures, and note under the path why some are undefined."""
    for name, reason in result.undefined.items():
        undefined[f"{path}.{name}"] = reason
    return dict(result.figures)


def _difference(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right


def _intervals(
    pair: Comparison,
    families: Mapping[str, CountsOf],
    disorders: GammaDisorders | None,
    *,
    empty: Empty,
    n_bootstrap: int,
    seed: int,
    n_jobs: int | None,
) -> dict[str, list[float | None]]:
    """Bootstrap the headline figures together, so that every resample draws the same outputs for all of them.

    Matchings are those of the whole comparison: resampling is of counts.
    """
    if pair.n_outputs == 0:
        return {}
    parts: list[tuple[list[str], FloatArray, Statistic]] = []
    kept = np.zeros((pair.n_outputs, 1))
    kept[compared_outputs(pair, empty)] = 1.0
    for family, counts_of in families.items():
        for variant, soft in VARIANTS.items():
            counts = counts_of(pair, soft, "micro", None)
            columns = np.stack([counts.found, counts.hypothesis, counts.covered, counts.reference], axis=1)
            path = f"{family}.{variant}" if family == "char" else f"{family}.{variant}.micro"
            names = [f"{path}.{figure}" for figure in ("precision", "recall", "f1")]
            parts.append((names, columns * kept if family.startswith("char") else columns, f1_statistic))
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
