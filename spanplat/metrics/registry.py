"""Every agreement measure by name: what it is called, what it takes, and what is known of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from spanplat.errors import NotFound
from spanplat.metrics.best_match import best_match, span_average
from spanplat.metrics.categorial import gamma_cat
from spanplat.metrics.characters import char, char_binary
from spanplat.metrics.count_correlation import count_correlation
from spanplat.metrics.matched import exact, partial, partial_credit
from spanplat.metrics.mathet import gamma, s_empty
from spanplat.metrics.result import Result
from spanplat.metrics.spans import Comparison

Kind = Literal["precision and recall", "agreement", "correlation"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that compares two sides.

    Parameters
    ----------
    name : str
        The name in results, signatures and commands.
    compute : callable
        From a comparison and options to a `Result`.
    kind : str
        ``"precision and recall"`` measures swap P and R when the sides are swapped; the others do not change (γ up to the random
        samples).
    headline : str
        The figure shown first.
    bounds : tuple of float
        What its figures never leave.
    explanation, ignores : str
        What it measures and what it does not see, in a sentence each.
    source : str
        Where it comes from.
    has_soft : bool
        Whether it has a variant that ignores categories.
    """

    name: str
    compute: Callable[..., Result]
    kind: Kind
    headline: str
    bounds: tuple[float, float]
    explanation: str
    ignores: str
    source: str
    has_soft: bool = True


def _s_empty(pair: Comparison) -> Result:
    return s_empty((pair.reference, pair.hypothesis))


def _gamma_cat(pair: Comparison) -> Result:
    return gamma_cat(pair).overall


_ANY = float("inf")

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure(
            "char",
            char,
            "precision and recall",
            "f1",
            (0.0, 1.0),
            "How many marked characters both sides share.",
            "How many spans there are: one long span weighs as much as many short ones.",
            "Kasner et al. 2025; soft with empty outputs: WMT25",
        ),
        Measure(
            "char_binary",
            char_binary,
            "precision and recall",
            "f1",
            (0.0, 1.0),
            "How many characters marked at least once both sides share.",
            "How many spans cover a character.",
            "WMT23 and WMT24",
        ),
        Measure(
            "exact",
            exact,
            "precision and recall",
            "f1",
            (0.0, 1.0),
            "How many spans are identical on both sides.",
            "Spans that miss by a single character.",
            "Perrella et al. 2026 (EM)",
        ),
        Measure(
            "partial",
            partial,
            "precision and recall",
            "f1",
            (0.0, 1.0),
            "How many spans touch one of the other side, one to one.",
            "How much they overlap: it rises when spans are made longer.",
            "Perrella et al. 2026 (MP)",
        ),
        Measure(
            "partial_credit",
            partial_credit,
            "precision and recall",
            "f1",
            (0.0, 1.0),
            "How much of every span lies in its counterpart on the other side, one to one.",
            "How long spans are: each counts the same.",
            "Perrella et al. 2026 (MPP), recommended there with micro averages",
        ),
        Measure(
            "best_match",
            best_match,
            "precision and recall",
            "f1",
            (0.0, 1.0),
            "How much of every span lies in the span of the other side that covers it best.",
            "That one span may serve several.",
            "WMT19 and WMT20",
        ),
        Measure(
            "span_average",
            span_average,
            "precision and recall",
            "f1",
            (0.0, _ANY),
            "How much of the other side's spans every span covers.",
            "Its own length; a span covering several earns more than 1.",
            "Kasner et al. 2025, eq. 3 and 4 as printed",
        ),
        Measure(
            "gamma",
            gamma,
            "agreement",
            "mean",
            (-_ANY, 1.0),
            "Agreement on position, number and category of spans, compared with chance.",
            "Outputs on which fewer than two annotators have spans; S-empty stands for those.",
            "Mathet et al. 2015; Titeux & Riad 2021",
        ),
        Measure(
            "gamma_cat",
            _gamma_cat,
            "agreement",
            "mean",
            (-_ANY, 1.0),
            "Agreement on categories where spans are aligned, compared with chance.",
            "Spans without a counterpart.",
            "Mathet 2017",
            has_soft=False,
        ),
        Measure(
            "s_empty",
            _s_empty,
            "agreement",
            "mean",
            (0.0, 1.0),
            "Agreement on the outputs that γ cannot judge: 1 where nobody marked anything.",
            "Outputs on which two annotators have spans.",
            "Kasner et al. 2025",
            has_soft=False,
        ),
        Measure(
            "count_correlation",
            count_correlation,
            "correlation",
            "micro",
            (-1.0, 1.0),
            "Whether both sides mark many spans of a category on the same outputs.",
            "Where the spans are.",
            "Kasner et al. 2025",
            has_soft=False,
        ),
    )
}


def measure_named(name: str) -> Measure:
    """Find a measure.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Measure

    Raises
    ------
    NotFound
        When there is none of this name; the message lists those there are.

    Examples
    --------
    >>> measure_named("char").headline
    'f1'
    """
    if name not in MEASURES:
        raise NotFound(f"There is no measure {name!r}; choose one of {', '.join(MEASURES)}.")
    return MEASURES[name]
