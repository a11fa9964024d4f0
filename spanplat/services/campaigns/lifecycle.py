"""Creating, finding, opening, closing and cloning campaigns."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, NotFound
from spanplat.models import (
    Assignment,
    AssignmentStatus,
    Batch,
    BatchItem,
    Campaign,
    CampaignStatus,
    Category,
    Item,
    ItemOutput,
    ItemRole,
    JudgedSpan,
)
from spanplat.models.statements import insert_in_order, insert_rows
from spanplat.platforms.rules import refusals
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.services.accounts import log_event
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.planning import CampaignPlan, ItemPlan, plan_campaign
from spanplat.services.campaigns.suggestions import require_suggestions
from spanplat.services.datasets import chunked

Writing = Callable[[], AbstractContextManager[Session]]
"""Function that opens a writing session; its changes are stored when the block ends."""
ROWS_AT_ONCE = 1_000
"""Maximum number of rows per transaction; inserting them takes well below 100 ms."""
ITEMS_AT_ONCE = ROWS_AT_ONCE // 4
"""Maximum number of items per transaction; an item has up to four rows: itself, two outputs and the judged span."""

TRANSITIONS: dict[str, frozenset[str]] = {
    CampaignStatus.DRAFT: frozenset({CampaignStatus.OPEN}),
    CampaignStatus.OPEN: frozenset({CampaignStatus.PAUSED, CampaignStatus.CLOSED}),
    CampaignStatus.PAUSED: frozenset({CampaignStatus.OPEN, CampaignStatus.CLOSED}),
    CampaignStatus.CLOSED: frozenset({CampaignStatus.OPEN}),
    CampaignStatus.IMPORTING: frozenset(),
}


def first_status(definition: CampaignDefinition) -> CampaignStatus:
    """Return the first status of a campaign; a model campaign is open at once, because nobody has to be let in."""
    return CampaignStatus.OPEN if definition.kind == "llm" else CampaignStatus.DRAFT


def note_creation(session: Session, campaign: Campaign) -> None:
    """Write the creation of a campaign to the audit log."""
    log_event(session, "campaign.created", campaign.slug, definition_sha256=campaign.definition_sha256)


def store_plan(
    writing: Writing, campaign_id: int, plan: CampaignPlan, *, known: Mapping[str, int] | None = None, first: int = 1
) -> None:
    """Store the items, batches and open seats of a plan.

    Parameters
    ----------
    writing
        Function that opens a writing session, called once for each `ROWS_AT_ONCE` rows. It may give a new transaction each time, or
        always the same session.
    campaign_id
        Id of the campaign.
    plan
        Plan of the campaign.
    known
        Ids of check items that are stored already, by the name of the check.
    first
        Number of the first batch.
    """
    # A check item that is stored already is used again, so that all results of a check refer to the same item.
    known = known or {}
    fresh = [item for item in plan.items if (item.check or "") not in known]
    new_ids: list[int] = []
    for items in chunked(fresh, ITEMS_AT_ONCE):
        with writing() as session:
            new_ids += _store_items(session, campaign_id, plan.definition.item.kind, items)
    stored = iter(new_ids)
    item_ids = [known.get(item.check or "") or next(stored) for item in plan.items]
    batch_ids: list[int] = []
    for numbers in chunked(range(first, first + len(plan.batches)), ROWS_AT_ONCE):
        rows = [{"campaign_id": campaign_id, "number": number} for number in numbers]
        with writing() as session:
            batch_ids += insert_in_order(session, Batch, rows, Batch.campaign_id == campaign_id)
    for chunk in chunked(_batch_items(plan, batch_ids, item_ids), ROWS_AT_ONCE):
        with writing() as session:
            insert_rows(session, BatchItem, chunk)
    for chunk in chunked(_seats(plan, batch_ids, campaign_id), ROWS_AT_ONCE):
        with writing() as session:
            insert_rows(session, Assignment, chunk)


def _batch_items(plan: CampaignPlan, batch_ids: Sequence[int], item_ids: Sequence[int]) -> Iterator[dict[str, Any]]:
    for batch_id, planned in zip(batch_ids, plan.batches, strict=True):
        for position, item in enumerate(planned, start=1):
            yield {
                "batch_id": batch_id,
                "position": position,
                "item_id": item_ids[item.number],
                "role": item.role,
                "check_name": item.check,
            }


def _seats(plan: CampaignPlan, batch_ids: Sequence[int], campaign_id: int) -> Iterator[dict[str, Any]]:
    for batch_id, groups in zip(batch_ids, plan.seats, strict=True):
        for slot, group in enumerate(groups):
            yield {
                "campaign_id": campaign_id,
                "batch_id": batch_id,
                "slot": slot,
                # All seats of a model have the same annotator, and an annotator can hold one seat of a batch for each repeat.
                "repeat": slot if plan.definition.model is not None else 0,
                "group": group,
                "status": AssignmentStatus.OPEN,
            }


def require_allowed(definition: CampaignDefinition) -> None:
    """Raise if the rules of the campaign's platform forbid a part of the definition.

    Raises
    ------
    Conflict
        If they do; the message names the part, the reason and the source of the rule.
    """
    refused = [f"{finding.path}: {finding.message} ({finding.source.title})" for finding in refusals(definition)]
    if refused:
        told = "\n".join(refused)
        raise Conflict(f"the platform's rules do not allow {definition.slug!r} as it is; mend the definition:\n{told}")


def digest_of(definition: CampaignDefinition) -> str:
    """Return the digest that identifies a definition."""
    content = definition.model_dump(mode="json")
    # Sorted keys, so that the order of keys cannot change the digest.
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def add_campaign(
    session: Session, definition: CampaignDefinition, status: CampaignStatus, *, slug: str | None = None
) -> Campaign:
    """Store a campaign and its categories, without any items; ``slug`` replaces the slug of the definition."""
    content = definition.model_dump(mode="json")
    campaign = Campaign(
        slug=slug or definition.slug,
        title=definition.title,
        kind=definition.kind,
        status=status,
        definition=content,
        definition_sha256=digest_of(definition),
    )
    session.add(campaign)
    session.flush()
    session.add_all(
        Category(
            campaign_id=campaign.id,
            key=category.key,
            name=category.name,
            description=category.description,
            color=category.color,
            position=position,
        )
        for position, category in enumerate(definition.categories)
    )
    session.flush()
    return campaign


def find_campaign(session: Session, slug: str) -> Campaign:
    """Return the campaign with this slug; a campaign that is still being imported or created is not found.

    Raises
    ------
    NotFound
        If there is none; the message lists existing names.
    """
    campaign = session.scalar(
        select(Campaign).where(Campaign.slug == slug, Campaign.status != CampaignStatus.IMPORTING)
    )
    if campaign is None:
        known = list(session.scalars(select(Campaign.slug).where(Campaign.status != CampaignStatus.IMPORTING)))
        listed = ", ".join(sorted(known)[:20]) or "none yet"
        raise NotFound(f"there is no campaign {slug!r} (campaigns: {listed})")
    return campaign


def list_campaigns(session: Session) -> list[Campaign]:
    """Return all campaigns, newest first, without those that are still being imported or created."""
    visible = select(Campaign).where(Campaign.status != CampaignStatus.IMPORTING)
    return list(session.scalars(visible.order_by(Campaign.id.desc())))


def set_status(session: Session, slug: str, status: CampaignStatus) -> Campaign:
    """Pause or close a campaign, or open one whose suggestions were copied; setting the present status again changes nothing.

    To open a campaign, call `spanplat.services.campaigns.launching.open_campaign`, which takes the suggestions first.

    Raises
    ------
    NotFound
        If there is no such campaign.
    Conflict
        If the campaign cannot change from its present status to the new one, there is nothing to suggest, or the platform's rules do
        not allow opening it.
    """
    campaign = find_campaign(session, slug)
    if campaign.status == status:
        return campaign
    require_may_become(campaign, status)
    if campaign.status == CampaignStatus.DRAFT:
        require_suggestions(session, campaign)
    log_event(session, f"campaign.{status}", slug, before=campaign.status)
    campaign.status = status
    session.flush()
    return campaign


def require_may_become(campaign: Campaign, status: CampaignStatus) -> None:
    """Raise unless a campaign may get another status.

    Raises
    ------
    Conflict
        If it cannot change from its present status to the new one, or the platform's rules do not allow opening it.
    """
    # Tested first, because an imported campaign is closed, and a closed campaign could be opened.
    if campaign.kind == "external":
        raise Conflict(
            f"campaign {campaign.slug!r} was imported; nobody annotates in it, so it cannot be opened, paused or closed"
        )
    if status not in TRANSITIONS[campaign.status]:
        raise Conflict(f"campaign {campaign.slug!r} is {campaign.status} and cannot become {status}")
    if status == CampaignStatus.OPEN:
        require_allowed(definition_of(campaign))


def plan_clone(session: Session, slug: str, new: str) -> CampaignPlan:
    """Plan a campaign with the definition of another one, under a new name and without its annotations.

    Raises
    ------
    NotFound, SelectionError, InvalidInput
        If the original does not exist, the new name is taken, or the original was imported.
    Conflict
        If the platform's rules do not allow the definition; the original may have been opened before the rules changed.
    """
    content = definition_of(find_campaign(session, slug)).model_dump(mode="json") | {"slug": new}
    plan = plan_campaign(session, define(content, f"clone of {slug}"))
    try:
        require_allowed(plan.definition)
    except Conflict as error:
        raise Conflict(
            f"{error}\nNothing was made. In the browser, New campaign starts a draft from {slug!r} and shows where to change this; or "
            f"change it in the definition that spanplat campaign show {slug} --json prints, and give that to: "
            "spanplat campaign create FILE"
        ) from error
    return plan


def start_link(campaign: Campaign, base_url: str) -> str:
    """Return the link by which annotators enter, with the placeholders of the platform if it has any."""
    link = f"{base_url.rstrip('/')}/c/{campaign.slug}/start"
    settings = definition_of(campaign).platform
    query = settings.profile.link_query(settings.parameter_names)
    return f"{link}?{query}" if query else link


def _store_items(session: Session, campaign_id: int, kind: str, plans: Sequence[ItemPlan]) -> list[int]:
    rows = [
        {
            "campaign_id": campaign_id,
            # The item of a check shows one output, also in a campaign about pairs, aspects or spans.
            "kind": kind if plan.role == ItemRole.REGULAR else "output",
            "aspect": plan.aspect,
        }
        for plan in plans
    ]
    ids = insert_in_order(session, Item, rows, Item.campaign_id == campaign_id)
    outputs = [
        {"item_id": item_id, "position": position, "output_id": output.id}
        for item_id, plan in zip(ids, plans, strict=True)
        for position, output in enumerate(plan.outputs)
    ]
    insert_rows(session, ItemOutput, outputs)
    judged = [
        {"item_id": item_id, "span_id": plan.judged_span_id}
        for item_id, plan in zip(ids, plans, strict=True)
        if plan.judged_span_id is not None
    ]
    insert_rows(session, JudgedSpan, judged)
    return ids
