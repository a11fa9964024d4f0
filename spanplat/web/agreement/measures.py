"""Titles and explanations of the registered measures, in the language of the page."""

from collections.abc import Iterable
from typing import Annotated

from flask_babel import gettext as _
from pydantic import AfterValidator

from spanplat.metrics import MEASURES, PRECISION_RECALL, RANKING_MEASURES, PrecisionRecall
from spanplat.metrics.measure import Explanation, MeasureVariant


def _known(name: str) -> str:
    if name not in RANKING_MEASURES:
        raise ValueError(f"there is no measure {name!r}; choose one of {', '.join(RANKING_MEASURES)}")
    return name


RankingMeasure = Annotated[str, AfterValidator(_known)]
"""The name of a measure that leaderboards rank by, in an address."""


def ranking_titles() -> dict[str, str]:
    """Return the titles of the measures that leaderboards rank by, by name, in the order shown."""
    return {name: ranking_title(name) for name in RANKING_MEASURES}


def ranking_title(name: str) -> str:
    """Return the title of a measure that leaderboards rank by."""
    return str(_(RANKING_MEASURES[name].title))


def ranking_explanation(name: str) -> Explanation:
    """Explain a measure that leaderboards rank by."""
    return _explanation(RANKING_MEASURES[name])


def score_title(measure: str, *, hard: bool) -> str:
    """Return the title of the measure of a score, with "hard" or "soft" if the measure has both."""
    variants = MEASURES[measure].variants
    return str(_(variants[0 if hard else -1].title))


def precision_recall_rows(names: Iterable[str] = PRECISION_RECALL) -> list[tuple[str, Explanation]]:
    """Return title and explanation of measures of precision and recall, for tables with both variants."""
    measures = [PRECISION_RECALL[name] for name in names]
    return [(row_title(one), Explanation(_(one.explanation.measures), _(one.explanation.ignores))) for one in measures]


def row_title(measure: PrecisionRecall) -> str:
    """Return the title of a measure in tables of precision and recall."""
    return str(_(measure.row_title))


def ranking_rows() -> list[tuple[str, Explanation]]:
    """Return title and explanation of all leaderboard measures. Those of precision and recall occur once for both variants."""
    shown = {variant.measure.name for variant in RANKING_MEASURES.values()}
    rows = precision_recall_rows(name for name in PRECISION_RECALL if name in shown)
    others = [one for one in RANKING_MEASURES.values() if not isinstance(one.measure, PrecisionRecall)]
    return rows + [(str(_(one.title)), _explanation(one)) for one in others]


def _explanation(variant: MeasureVariant) -> Explanation:
    return Explanation(_(variant.explanation.measures), _(variant.explanation.ignores))
