"""What a reader must know before trusting a comparison: campaigns that are not finished, and categories that only one side has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

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
from spanplat.services.kept import Kept
from spanplat.services.revisions import counted, data_revision
from spanplat.services.sides import Filters, categories_of

MOST_KEPT = 200
"""Campaigns whose numbers of outputs a process remembers."""

_progress: Kept[tuple[int, str, int, int], tuple[int, int]] = Kept(MOST_KEPT)


@dataclass(frozen=True)
class Unfinished:
    """A campaign that may still get annotations of outputs that have none."""

    campaign: str
    done: int
    """Outputs with a completed annotation."""
    outputs: int


@dataclass(frozen=True)
class OwnCategories:
    """Categories, by name, that one campaign has and the one it is compared with has not."""

    campaign: str
    categories: tuple[str, ...]


@dataclass(frozen=True)
class Cautions:
    """What is unusual about a comparison; empty where nothing is."""

    unfinished: tuple[Unfinished, ...] = ()
    own_categories: tuple[OwnCategories, ...] = ()
    shared_categories: Mapping[str, str] = field(default_factory=dict)
    """Names by key of the categories that all have; told only beside ``own_categories``."""


def find_cautions(
    session: Session,
    campaigns: Sequence[Campaign],
    filters: Filters | None = None,
    revisions: Mapping[str, str] | None = None,
) -> Cautions:
    """Tell what a reader of these campaigns' comparison must know.

    Parameters
    ----------
    session
        A reading session.
    campaigns
        The reference and then the others.
    filters
        Filters of the comparison: where it names categories, those that differ do not matter.
    revisions
        Marks of the campaigns' data in this session, by slug, where they are known already: see `data_revision`.
    """
    marks = revisions or {}
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


def _unfinished(session: Session, campaign: Campaign, revisions: Mapping[str, str]) -> Unfinished | None:
    if campaign.kind == "external" or campaign.status == CampaignStatus.CLOSED:
        return None
    # The annotations that count change the revision, and outputs come in batches of their own; nothing else enters the numbers.
    batches, newest = session.execute(
        select(func.count(Batch.id), func.coalesce(func.max(Batch.id), 0)).where(Batch.campaign_id == campaign.id)
    ).one()
    revision = revisions.get(campaign.slug) or data_revision(session, campaign)
    key = (campaign.id, revision, batches, newest)
    done, outputs = _progress.find(session, key, lambda: _count_outputs(session, campaign.id))
    return Unfinished(campaign.slug, done, outputs) if done < outputs else None


def _count_outputs(session: Session, campaign_id: int) -> tuple[int, int]:
    """Return how many outputs of a campaign's regular items have an annotation that counts, and how many there are."""
    annotated = (
        select(Annotation.item_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign_id, *counted())
    )
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
