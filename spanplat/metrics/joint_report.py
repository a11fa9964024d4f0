"""Report with one γ over all annotators of every output, as the command line and the dashboard show it."""

from collections.abc import Callable, Sequence

import numpy as np

from spanplat import __version__
from spanplat.metrics.gamma_options import GammaOptions
from spanplat.metrics.mathet import Disorders, GammaDisorders, gamma_disorders, gamma_result, s_empty
from spanplat.metrics.report import VARIANTS, Figures, figures_of
from spanplat.metrics.resampling import bootstrap, mean_columns, mean_statistic
from spanplat.metrics.result import Option, Result
from spanplat.metrics.spans import SpanSet


def gamma_report(
    groups: Sequence[Sequence[SpanSet]],
    options: GammaOptions | None = None,
    *,
    n_bootstrap: int = 0,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Figures:
    """Compute γ over all annotators of every output. No other measure takes more than two annotators.

    Parameters
    ----------
    groups : sequence of sequences of SpanSet
        The outputs, grouped by their number of annotators. Each group has one span set per annotator, in the order of the sampler.
        The first annotator of one output need not be the first of another.
    options : GammaOptions, optional
        α, β, Δ∅, samples and seed.
    n_bootstrap : int
        Number of resamples for the intervals. With 0 there are no intervals.
    n_jobs : int, optional
        Number of processes for joblib.
    on_progress : callable, optional
        Callback after each group, with the number of finished outputs and the total. An exception stops the computation.

    Returns
    -------
    dict
        ``outputs``, ``gamma``, ``s_empty``, ``intervals``, ``undefined``, ``signature`` and ``version`` as in `agreement_report`.

    Examples
    --------
    >>> three = [SpanSet.from_lists([[(0, 4)]])] * 3
    >>> two = [SpanSet.from_lists([[(0, 4)], []])] * 2
    >>> report = gamma_report([three, two])
    >>> report["gamma"]["hard"], report["s_empty"]
    ({'mean': 1.0, 'outputs': 2}, {'mean': 1.0, 'outputs': 1})
    """
    options = options or GammaOptions()
    sizes = [group[0].n_outputs for group in groups]
    parts: list[GammaDisorders] = []
    for place, group in enumerate(groups):
        parts.append(gamma_disorders(group, options, n_jobs=n_jobs))
        on_progress(sum(sizes[: place + 1]), sum(sizes))
    silent = np.concatenate([s_empty(group).per_output["s_empty"] for group in groups] or [np.zeros(0)])
    undefined: dict[str, str] = {}
    gamma: Figures = {}
    values = {"s_empty.mean": silent}
    for variant, soft in VARIANTS.items():
        chosen = [getattr(part, variant) for part in parts]
        disorders = Disorders(
            # NumPy cannot concatenate an empty list, which there is without groups.
            np.concatenate([part.observed for part in chosen] or [np.zeros(0)]),
            np.concatenate([part.expected for part in chosen] or [np.zeros(0)]),
        )
        gamma[variant] = figures_of(gamma_result(disorders, options, soft=soft), f"gamma.{variant}", undefined)
        values[f"gamma.{variant}.mean"] = disorders.gamma
    defined = silent[~np.isnan(silent)]
    if not len(defined):
        undefined["s_empty.mean"] = "at least two annotators have spans on every output"
    intervals: dict[str, list[float | None]] = {}
    if n_bootstrap and len(silent):
        for path, column in values.items():
            found = bootstrap(
                mean_columns(column), mean_statistic, n_resamples=n_bootstrap, seed=options.seed, n_jobs=n_jobs
            )
            intervals[path] = [None if np.isnan(bound) else float(bound) for bound in (found.low[0], found.high[0])]
    named: dict[str, Option] = {**options.as_dict(), "annotators": "all", "bootstrap": n_bootstrap}
    return {
        "outputs": len(silent),
        "gamma": gamma | {key: named[key] for key in ("alpha", "beta", "delta_empty", "samples", "seed", "stream")},
        "s_empty": {"mean": float(defined.mean()) if len(defined) else None, "outputs": len(defined)},
        "intervals": intervals,
        "undefined": undefined,
        "signature": Result("gamma", {}, outputs=len(silent), options=named).signature,
        "version": __version__,
    }
