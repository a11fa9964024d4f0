"""Creating campaigns from their definitions, finding them, and opening and closing them."""

import hashlib
import json
from collections.abc import Sequence

from sqlalchemy import insert, select
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
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.services.definitions import definition_of
from spanplat.services.plans import CampaignPlan, ItemPlan, plan_campaign

TRANSITIONS: dict[str, frozenset[str]] = {
    CampaignStatus.DRAFT: frozenset({CampaignStatus.OPEN}),
    CampaignStatus.OPEN: frozenset({CampaignStatus.PAUSED, CampaignStatus.CLOSED}),
    CampaignStatus.PAUSED: frozenset({CampaignStatus.OPEN, CampaignStatus.CLOSED}),
    CampaignStatus.CLOSED: frozenset({CampaignStatus.OPEN}),
    CampaignStatus.IMPORTING: frozenset(),
}


def create_campaign(session: Session, plan: CampaignPlan) -> Campaign:
    """Store a planned campaign with its items, batches and open seats; it starts as a draft.

    A model campaign needs nobody to be let in and is open at once.
    """
    definition = plan.definition
    campaign = add_campaign(
        session, definition, CampaignStatus.OPEN if definition.kind == "llm" else CampaignStatus.DRAFT
    )
    item_ids = _store_items(session, campaign, plan.items)
    batches = [Batch(campaign_id=campaign.id, number=number) for number in range(1, len(plan.batches) + 1)]
    session.add_all(batches)
    session.flush()
    session.execute(
        insert(BatchItem),
        [
            {
                "batch_id": batch.id,
                "position": position,
                "item_id": item_ids[item.number],
                "role": item.role,
                "check_name": item.check,
            }
            for batch, planned in zip(batches, plan.batches, strict=True)
            for position, item in enumerate(planned, start=1)
        ],
    )
    session.execute(
        insert(Assignment),
        [
            {
                "campaign_id": campaign.id,
                "batch_id": batch.id,
                "slot": slot,
                "repeat": slot if definition.model is not None else 0,
                "group": group,
                "status": AssignmentStatus.OPEN,
            }
            for batch, seats in zip(batches, plan.seats, strict=True)
            for slot, group in enumerate(seats)
        ],
    )
    return campaign


def add_campaign(session: Session, definition: CampaignDefinition, status: CampaignStatus) -> Campaign:
    """Store a campaign and its categories, without any items."""
    content = definition.model_dump(mode="json")
    campaign = Campaign(
        slug=definition.slug,
        title=definition.title,
        kind=definition.kind,
        status=status,
        definition=content,
        definition_sha256=hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
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
    """Return the campaign with this slug; one that is still being imported does not count as existing.

    Raises
    ------
    NotFound
        If there is none; the message lists names that come near.
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
    """Return all campaigns, newest first, but for those still being imported."""
    visible = select(Campaign).where(Campaign.status != CampaignStatus.IMPORTING)
    return list(session.scalars(visible.order_by(Campaign.id.desc())))


def set_status(session: Session, slug: str, status: CampaignStatus) -> Campaign:
    """Open, pause or close a campaign; asking for the present status changes nothing.

    Raises
    ------
    NotFound
        If there is no such campaign.
    Conflict
        If the campaign cannot go from its present status to the one asked for.
    """
    campaign = find_campaign(session, slug)
    if campaign.status == status:
        return campaign
    if campaign.kind == "external":
        raise Conflict(
            f"campaign {slug!r} was imported; nobody annotates in it, so it cannot be opened, paused or closed"
        )
    if status not in TRANSITIONS[campaign.status]:
        raise Conflict(f"campaign {slug!r} is {campaign.status} and cannot become {status}")
    campaign.status = status
    session.flush()
    return campaign


def clone_campaign(session: Session, slug: str, new: str) -> Campaign:
    """Create a campaign with the definition of another, under a new name and without its annotations.

    Raises
    ------
    NotFound, SelectionError, InvalidInput
        If the original does not exist, the new name is taken, or the original was imported.
    """
    definition = definition_of(find_campaign(session, slug))
    content = definition.model_dump(mode="json") | {"slug": new}
    return create_campaign(session, plan_campaign(session, define(content, f"clone of {slug}")))


def start_link(campaign: Campaign, base_url: str) -> str:
    """Return the link by which annotators enter, with the platform's placeholders where it has any."""
    link = f"{base_url.rstrip('/')}/c/{campaign.slug}/start"
    platform = definition_of(campaign).platform
    match platform.service:
        case "prolific":
            query = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
            return f"{link}?{query}"
        case "other":
            names = platform.parameters
            return f"{link}?{names.person}=…&{names.study}=…&{names.session}=…"
        case _:
            return link


def _store_items(session: Session, campaign: Campaign, plans: Sequence[ItemPlan]) -> list[int]:
    kind = definition_of(campaign).item.kind
    items = [
        Item(campaign_id=campaign.id, kind=kind if plan.role == ItemRole.REGULAR else "output", aspect=plan.aspect)
        for plan in plans
    ]
    session.add_all(items)
    session.flush()
    outputs = [
        {"item_id": item.id, "position": position, "output_id": output.id}
        for item, plan in zip(items, plans, strict=True)
        for position, output in enumerate(plan.outputs)
    ]
    session.execute(insert(ItemOutput), outputs)
    judged = [
        {"item_id": item.id, "span_id": plan.judged_span_id}
        for item, plan in zip(items, plans, strict=True)
        if plan.judged_span_id is not None
    ]
    if judged:
        session.execute(insert(JudgedSpan), judged)
    return [item.id for item in items]
