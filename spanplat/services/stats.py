"""Descriptive statistics of a campaign."""

from collections.abc import Collection
from dataclasses import asdict
from statistics import mean, median
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.metrics import statistics
from spanplat.models import COUNTED, Annotation, Assignment, AssignmentStatus, Campaign, Completion
from spanplat.platforms.rules import read_money
from spanplat.services.campaigns import find_campaign
from spanplat.services.definitions import definition_of
from spanplat.services.kept import Kept
from spanplat.services.revisions import data_revision
from spanplat.services.sides import Filters, Rule, categories_of, load_side

MOST_KEPT = 32
_CURRENCIES = {"$": "USD", "£": "GBP", "€": "EUR"}
_kept: Kept[tuple[str, str, tuple[Rule, Filters]], dict[str, Any]] = Kept(MOST_KEPT)
"""What was computed recently, by campaign, state of its data, and options."""


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
        ``categories`` (by name: spans, share, prevalence, characters per span), ``seconds`` and ``cost``
        (``total``, ``per_1000_outputs``, ``currency``).

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
    options = chosen, filters or Filters()
    key = slug, data_revision(session, campaign), options
    found = _kept.find(session, key, lambda: _describe(session, campaign, *options))
    return found | {"cost": _cost(session, campaign)}


def _describe(session: Session, campaign: Campaign, rule: Rule, filters: Filters) -> dict[str, Any]:
    categories = categories_of(session, [campaign])
    side = load_side(session, campaign, list(categories), filters)
    rows = [row for candidates in side.by_output().values() for row in rule.rows(side, candidates)]
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
    }


def _times(seconds: list[float]) -> dict[str, float | None]:
    return {
        "total": sum(seconds) if seconds else None,
        "median_per_output": median(seconds) if seconds else None,
        "mean_per_output": mean(seconds) if seconds else None,
        "outputs": len(seconds),
    }


def _cost(session: Session, campaign: Campaign) -> dict[str, float | str | None]:
    """Return what the work of a campaign cost: the calls of models, or the rewards of people, without bonuses and fees of platforms.

    It is that of the whole campaign, whichever annotations are looked at, over all its finished annotations.
    """
    if campaign.kind in ("human", "qualification"):
        return _rewards(session, campaign)
    calls = Completion.campaign_id == campaign.id
    unpriced = session.scalar(
        select(func.count()).where(calls, Completion.cost.is_(None), Completion.response.is_not(None))
    )
    total = None if unpriced else session.scalar(select(func.sum(Completion.cost)).where(calls))
    return _for_1000(total, _count_finished(session, campaign, COUNTED), "USD")


def _rewards(session: Session, campaign: Campaign) -> dict[str, float | str | None]:
    paid = (AssignmentStatus.SUBMITTED, AssignmentStatus.ACCEPTED)
    seats = session.scalar(
        select(func.count()).where(Assignment.campaign_id == campaign.id, Assignment.status.in_(paid))
    )
    reward = read_money(definition_of(campaign).platform.reward)
    total = reward.amount * seats if reward and seats else None
    currency = _CURRENCIES[reward.currency] if reward else "USD"
    return _for_1000(total, _count_finished(session, campaign, paid), currency)


def _count_finished(session: Session, campaign: Campaign, statuses: Collection[str]) -> int:
    finished = (
        select(func.count())
        .select_from(Annotation)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign.id, Assignment.status.in_(statuses), Annotation.status == "complete")
    )
    return session.scalar(finished) or 0


def _for_1000(total: float | None, outputs: int, currency: str) -> dict[str, float | str | None]:
    per_1000 = total * 1000 / outputs if total is not None and outputs else None
    return {"total": total, "per_1000_outputs": per_1000, "currency": currency}
