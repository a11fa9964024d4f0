"""All figures of one comparison, as the command line and the dashboard show them."""

from typing import Any

from spanplat.metrics.characters import char
from spanplat.metrics.count_correlation import count_correlation
from spanplat.metrics.mathet import gamma, s_empty
from spanplat.metrics.result import Result
from spanplat.metrics.characters import Empty
from spanplat.metrics.spans import Comparison


def agreement_report(  # superseded by the complete report of the engine
    pair: Comparison, *, matching: str, empty: Empty, seed: int, n_samples: int, n_bootstrap: int, by: str | None
) -> dict[str, Any]:
    """Return the headline figures of a comparison."""
    del matching, n_bootstrap, by
    undefined: dict[str, str] = {}

    def take(path: str, result: Result, names: tuple[str, ...]) -> dict[str, Any]:
        for name, reason in result.undefined.items():
            undefined[f"{path}.{name}"] = reason
        return {name: result.figures[name] for name in names}

    prf = ("precision", "recall", "f1")
    figures: dict[str, Any] = {
        "char": {v: take(f"char.{v}", char(pair, soft=v == "soft", empty=empty), prf) for v in ("hard", "soft")},
        "gamma": {
            v: take(f"gamma.{v}", gamma(pair, soft=v == "soft", seed=seed, n_samples=n_samples), ("mean", "outputs"))
            for v in ("hard", "soft")
        },
    }
    hard, soft = (figures["char"][v]["f1"] for v in ("hard", "soft"))
    figures["char"]["delta"] = None if hard is None or soft is None else soft - hard
    figures["gamma"] |= {"alpha": 1.0, "beta": 1.0, "delta_empty": 1.0, "samples": n_samples, "seed": seed}
    empties = s_empty([pair.reference, pair.hypothesis])
    figures["s_empty"] = {**take("s_empty", empties, ("mean",)), "outputs": empties.outputs}
    counts = count_correlation(pair)
    figures["pearson"] = {
        **take("pearson", counts, ("micro", "macro")),
        "per_category": {name: counts.figures[f"category:{name}"] for name in pair.categories},
    }
    figures["undefined"] = undefined
    return figures
