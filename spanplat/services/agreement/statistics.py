"""Descriptive statistics of a campaign."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import mean, median
from typing import NamedTuple

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.db.cache import DatabaseCache
from spanplat.errors import InvalidInput
from spanplat.metrics import statistics
from spanplat.metrics.statistics import CategoryStatistics, Statistics
from spanplat.models import COUNTED, Annotation, Assignment, AssignmentStatus, Campaign, Completion
from spanplat.models.revisions import data_revision
from spanplat.platforms.rules import read_money
from spanplat.services.agreement.sides import Filters, Rule, categories_of, load_side, third_revision
from spanplat.services.campaigns import definition_of, find_campaign

CACHED_RESULTS = 32
"""Number of cached results per database."""
_CURRENCIES = {"$": "USD", "£": "GBP", "€": "EUR"}


@dataclass(frozen=True)
class Times:
    """Time that annotations took, in seconds. None if no time was recorded."""

    total: float | None
    median_per_output: float | None
    mean_per_output: float | None
    outputs: int
    """Number of outputs with a recorded time."""


@dataclass(frozen=True)
class Cost:
    """Cost of a campaign. None if it is not known."""

    total: float | None
    per_1000_outputs: float | None
    currency: str


@dataclass(frozen=True)
class CampaignStatistics:
    """Descriptive statistics of a campaign's annotations."""

    annotators: int
    annotations: int
    spans: int
    spans_per_annotation: float | None
    empty_percent: float | None
    chars_per_span: float | None
    categories: Mapping[str, CategoryStatistics]
    """Statistics of each category, by name."""
    seconds: Times
    cost: Cost


class _Described(NamedTuple):
    """Statistics that depend on the annotations alone. Costs are not cached, because they change without new annotations."""

    annotators: int
    statistics: Statistics
    seconds: Times


_cache: DatabaseCache[tuple[str, str, str, tuple[Rule, Filters]], _Described] = DatabaseCache(CACHED_RESULTS)
"""Recent statistics, by campaign, the data revisions of it and of the campaign in ``shared_with``, and options."""


def campaign_statistics(
    session: Session, slug: str, *, rule: str = "each", filters: Filters | None = None
) -> CampaignStatistics:
    """Return descriptive statistics of a campaign's annotations.

    Parameters
    ----------
    session
        A reading session.
    slug
        The campaign.
    rule
        ``each`` counts every annotator. ``first`` and ``group=K`` count one annotator per output.
    filters
        Outputs and categories that count.

    Returns
    -------
    CampaignStatistics

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If the rule compares annotators (``pairs``, ``all``).
    """
    chosen = Rule.parse(rule)
    if chosen.name in ("pairs", "all"):
        raise InvalidInput(f"statistics describe one side: use the rule each, first or group=K, not {rule}")
    campaign = find_campaign(session, slug)
    counted = filters or Filters()
    key = slug, data_revision(session, campaign), third_revision(session, counted), (chosen, counted)
    found = _cache.find(session, key, lambda: _describe(session, campaign, chosen, counted))
    return CampaignStatistics(
        annotators=found.annotators,
        annotations=found.statistics.annotations,
        spans=found.statistics.spans,
        spans_per_annotation=found.statistics.spans_per_annotation,
        empty_percent=found.statistics.empty_percent,
        chars_per_span=found.statistics.chars_per_span,
        categories=found.statistics.categories,
        seconds=found.seconds,
        cost=_cost(session, campaign),
    )


def _describe(session: Session, campaign: Campaign, rule: Rule, filters: Filters) -> _Described:
    categories = categories_of(session, [campaign])
    side = load_side(session, campaign, list(categories), filters)
    rows = [row for candidates in side.by_output().values() for row in rule.rows(side, candidates)]
    works = [side.works[row] for row in rows]
    return _Described(
        len({work.annotator_id for work in works}),
        statistics(side.spans.select(np.array(rows, dtype=np.int64)), tuple(categories.values())),
        _times([work.seconds for work in works if work.seconds is not None]),
    )


def _times(seconds: list[float]) -> Times:
    return Times(
        total=sum(seconds) if seconds else None,
        median_per_output=median(seconds) if seconds else None,
        mean_per_output=mean(seconds) if seconds else None,
        outputs=len(seconds),
    )


def _cost(session: Session, campaign: Campaign) -> Cost:
    """Return the cost of a campaign: model calls, or rewards of people without bonuses and platform fees.

    The cost is that of the whole campaign and of all finished annotations. Rules and filters do not change it.
    """
    if campaign.kind in ("human", "qualification"):
        return _rewards(session, campaign)
    calls = Completion.campaign_id == campaign.id
    unpriced = session.scalar(
        select(func.count()).where(calls, Completion.cost.is_(None), Completion.response.is_not(None))
    )
    # A sum without some of its calls would look like a low cost, so one call without a price makes the total unknown.
    total = None if unpriced else session.scalar(select(func.sum(Completion.cost)).where(calls))
    return _for_1000(total, _count_finished(session, campaign, COUNTED), "USD")


def _rewards(session: Session, campaign: Campaign) -> Cost:
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


def _for_1000(total: float | None, outputs: int, currency: str) -> Cost:
    per_1000 = total * 1000 / outputs if total is not None and outputs else None
    return Cost(total, per_1000, currency)
