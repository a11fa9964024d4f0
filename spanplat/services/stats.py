"""Descriptive statistics of a campaign."""

from dataclasses import asdict
from statistics import mean, median
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.metrics import statistics
from spanplat.models import Completion
from spanplat.services.campaigns import find_campaign
from spanplat.services.sides import Filters, Rule, categories_of, load_side


def campaign_statistics(
    session: Session, slug: str, *, rule: str = "each", filters: Filters | None = None
) -> dict[str, Any]:
    """Return what a campaign's annotations look like.

    Parameters
    ----------
    session
        A reading session.
    slug
        The campaign.
    rule
        ``each`` counts every annotator, ``first`` and ``group=K`` one for each output.
    filters
        Outputs and categories that count.

    Returns
    -------
    dict
        ``annotators``, ``annotations``, ``spans``, ``spans_per_annotation``, ``empty_percent``, ``chars_per_span``,
        ``categories`` (by name: spans, share, prevalence, characters per span), ``seconds`` and ``cost`` (US dollars).

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If the rule compares annotators (``pairs``, ``all``) in place of choosing among them.
    """
    chosen = Rule.parse(rule)
    if chosen.name in ("pairs", "all"):
        raise InvalidInput(f"statistics describe one side: use the rule each, first or group=K, not {rule}")
    campaign = find_campaign(session, slug)
    categories = categories_of(session, [campaign])
    side = load_side(session, campaign, list(categories), filters or Filters())
    rows = [row for candidates in side.by_output().values() for row in chosen.rows(side, candidates)]
    works = [side.works[row] for row in rows]
    result = statistics(side.spans.select(np.array(rows, dtype=np.int64)), tuple(categories.values()))
    return {
        "annotators": len({work.annotator_id for work in works}),
        "annotations": result.annotations,
        "spans": result.spans,
        "spans_per_annotation": result.spans_per_annotation,
        "empty_percent": result.empty_percent,
        "chars_per_span": result.chars_per_span,
        "categories": {name: asdict(entry) for name, entry in result.categories.items()},
        "seconds": _times([work.seconds for work in works if work.seconds is not None]),
        "cost": _cost(session, campaign.id, len(works)),
    }


def _times(seconds: list[float]) -> dict[str, float | None]:
    return {
        "total": sum(seconds) if seconds else None,
        "median_per_output": median(seconds) if seconds else None,
        "mean_per_output": mean(seconds) if seconds else None,
        "outputs": len(seconds),
    }


def _cost(session: Session, campaign_id: int, outputs: int) -> dict[str, float | str | None]:
    total = session.scalar(select(func.sum(Completion.cost)).where(Completion.campaign_id == campaign_id))
    per_1000 = total * 1000 / outputs if total is not None and outputs else None
    return {"total": total, "per_1000_outputs": per_1000, "currency": "USD"}
