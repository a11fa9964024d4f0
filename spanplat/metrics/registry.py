"""Registry of the agreement measures. Lists, pages, commands and leaderboards show these measures in this order."""

from collections.abc import Mapping

from spanplat.errors import NotFound
from spanplat.metrics.best_match import BEST_MATCH, SPAN_AVERAGE
from spanplat.metrics.categorial import GAMMA_CAT
from spanplat.metrics.characters import CHAR, CHAR_BINARY
from spanplat.metrics.count_correlation import COUNT_CORRELATION
from spanplat.metrics.matched import EXACT, PARTIAL, PARTIAL_CREDIT
from spanplat.metrics.mathet import GAMMA, S_EMPTY
from spanplat.metrics.measure import Measure, MeasureVariant, PrecisionRecall

_ALL: tuple[Measure, ...] = (
    CHAR,
    CHAR_BINARY,
    PARTIAL_CREDIT,
    PARTIAL,
    EXACT,
    BEST_MATCH,
    SPAN_AVERAGE,
    GAMMA,
    GAMMA_CAT,
    S_EMPTY,
    COUNT_CORRELATION,
)

MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in _ALL}

PRECISION_RECALL: Mapping[str, PrecisionRecall] = {
    measure.name: measure for measure in _ALL if isinstance(measure, PrecisionRecall)
}

RANKING_MEASURES: Mapping[str, MeasureVariant] = {
    variant.name: variant for measure in _ALL if measure.ranks for variant in measure.variants
}
"""Measures of leaderboards, by names such as ``char.hard``."""


def measure_named(name: str) -> Measure:
    """Return the measure with a name.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    Measure

    Raises
    ------
    NotFound
        If there is no measure with this name. The message lists all measures.

    Examples
    --------
    >>> measure_named("char").headline
    'f1'
    """
    if name not in MEASURES:
        raise NotFound(f"There is no measure {name!r}; choose one of {', '.join(MEASURES)}.")
    return MEASURES[name]
