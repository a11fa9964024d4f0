"""Cautions about a comparison: unfinished campaigns, and categories that only one side has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from spanplat.db.cache import DatabaseCache
from spanplat.models import (
    Annotation,
    Assignment,
    Batch,
    BatchItem,
    Campaign,
    CampaignStatus,
    ItemOutput,
    ItemRole,
)
from spanplat.models.revisions import counted, data_revision
from spanplat.services.agreement.sides import Filters, categories_of

CACHED_CAMPAIGNS = 200
"""Number of campaigns whose progress is cached."""

_progress: DatabaseCache[tuple[int, str, int, int], tuple[int, int]] = DatabaseCache(CACHED_CAMPAIGNS)


@dataclass(frozen=True)
class UnfinishedCampaign:
    """Campaign with outputs that have no annotation yet."""

    campaign: str
    done: int
    """Number of outputs with a completed annotation."""
    outputs: int


@dataclass(frozen=True)
class OwnCategories:
    """Names of the categories of one campaign that not all campaigns have."""

    campaign: str
    categories: tuple[str, ...]


@dataclass(frozen=True)
class Cautions:
    """Cautions about a comparison. Every field is empty if there are none."""

    unfinished: tuple[UnfinishedCampaign, ...] = ()
    own_categories: tuple[OwnCategories, ...] = ()
    shared_categories: Mapping[str, str] = field(default_factory=dict)
    """Names by key of the categories that all campaigns have. Filled only together with ``own_categories``."""


def find_cautions(
    session: Session,
    campaigns: Sequence[Campaign],
    filters: Filters | None = None,
    revisions: Mapping[str, str] | None = None,
) -> Cautions:
    """Return the cautions for a reader of this comparison.

    Parameters
    ----------
    session
        A reading session.
    campaigns
        The reference and then the others.
    filters
        Filters of the comparison. If they name categories, differing categories do not matter.
    revisions
        Data revisions of the campaigns in this session by slug, if the caller knows them: see `data_revision`.
    """
    marks = revisions or {}
    # One campaign may be on both sides.
    different = list({campaign.id: campaign for campaign in campaigns}.values())
    unfinished = [found for campaign in different if (found := _unfinished(session, campaign, marks)) is not None]
    if filters is not None and filters.categories:
        return Cautions(tuple(unfinished))
    names = {campaign.slug: categories_of(session, [campaign]) for campaign in different}
    shared = set.intersection(*(set(own) for own in names.values())) if names else set[str]()
    own = tuple(
        OwnCategories(slug, tuple(name for key, name in mine.items() if key not in shared))
        for slug, mine in names.items()
        if set(mine) - shared
    )
    kept = {key: name for key, name in names[different[0].slug].items() if key in shared} if own else {}
    return Cautions(tuple(unfinished), own, kept)


def _unfinished(session: Session, campaign: Campaign, revisions: Mapping[str, str]) -> UnfinishedCampaign | None:
    # No more annotations will come to an imported or a closed campaign.
    if campaign.kind == "external" or campaign.status == CampaignStatus.CLOSED:
        return None
    # Annotations that count change the revision. New outputs arrive in new batches. Nothing else changes the two numbers.
    batches, newest = session.execute(
        select(func.count(Batch.id), func.coalesce(func.max(Batch.id), 0)).where(Batch.campaign_id == campaign.id)
    ).one()
    revision = revisions.get(campaign.slug) or data_revision(session, campaign)
    key = (campaign.id, revision, batches, newest)
    done, outputs = _progress.find(session, key, lambda: _count_outputs(session, campaign.id))
    return UnfinishedCampaign(campaign.slug, done, outputs) if done < outputs else None


def _count_outputs(session: Session, campaign_id: int) -> tuple[int, int]:
    """Return the number of annotated outputs and the number of all outputs. Only regular items count."""
    annotated = (
        select(Annotation.item_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign_id, *counted())
    )
    # An output may be in several batches. It is done if any of its items has an annotation, hence the maximum.
    per_output = (
        select(func.max(case((ItemOutput.item_id.in_(annotated), 1), else_=0)).label("is_done"))
        .join(BatchItem, BatchItem.item_id == ItemOutput.item_id)
        .join(Batch, Batch.id == BatchItem.batch_id)
        .where(Batch.campaign_id == campaign_id, BatchItem.role == ItemRole.REGULAR)
        .group_by(ItemOutput.output_id)
        .subquery()
    )
    outputs, done = session.execute(select(func.count(), func.coalesce(func.sum(per_output.c.is_done), 0))).one()
    return done, outputs
