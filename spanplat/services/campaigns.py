"""Creating campaigns from their definitions, finding them, and opening and closing them."""

import hashlib
import json
from collections.abc import Mapping, Sequence

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
from spanplat.services.audit import log_event
from spanplat.services.definitions import definition_of
from spanplat.services.plans import CampaignPlan, ItemPlan, plan_campaign
from spanplat.services.suggestions import take_suggestions

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
    store_plan(session, campaign, plan)
    log_event(session, "campaign.created", campaign.slug, definition_sha256=campaign.definition_sha256)
    return campaign


def store_plan(
    session: Session, campaign: Campaign, plan: CampaignPlan, *, known: Mapping[str, int] | None = None, first: int = 1
) -> None:
    """Store the items, batches and open seats of a plan.

    Parameters
    ----------
    session, campaign, plan
        What to store, and where.
    known
        Items that carry a check and are stored already, by the check's name.
    first
        Number of the first batch.
    """
    definition, known = plan.definition, known or {}
    fresh = [item for item in plan.items if (item.check or "") not in known]
    stored = iter(_store_items(session, campaign, fresh))
    item_ids = [known.get(item.check or "") or next(stored) for item in plan.items]
    numbers = range(first, first + len(plan.batches))
    batches = insert_in_order(
        session,
        Batch,
        [{"campaign_id": campaign.id, "number": number} for number in numbers],
        Batch.campaign_id == campaign.id,
    )
    insert_rows(
        session,
        BatchItem,
        [
            {
                "batch_id": batch_id,
                "position": position,
                "item_id": item_ids[item.number],
                "role": item.role,
                "check_name": item.check,
            }
            for batch_id, planned in zip(batches, plan.batches, strict=True)
            for position, item in enumerate(planned, start=1)
        ],
    )
    insert_rows(
        session,
        Assignment,
        [
            {
                "campaign_id": campaign.id,
                "batch_id": batch_id,
                "slot": slot,
                "repeat": slot if definition.model is not None else 0,
                "group": group,
                "status": AssignmentStatus.OPEN,
            }
            for batch_id, seats in zip(batches, plan.seats, strict=True)
            for slot, group in enumerate(seats)
        ],
    )


def require_allowed(definition: CampaignDefinition) -> None:
    """Make sure that the rules of the campaign's platform refuse nothing of it.

    Raises
    ------
    Conflict
        If they do; the message says which part, why, and whose rule it is.
    """
    refused = [f"{finding.path}: {finding.message} ({finding.source.title})" for finding in refusals(definition)]
    if refused:
        told = "\n".join(refused)
        raise Conflict(f"the platform's rules do not allow {definition.slug!r} as it is; mend the definition:\n{told}")


def digest_of(definition: CampaignDefinition) -> str:
    """Return the digest a definition is frozen under."""
    content = definition.model_dump(mode="json")
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def add_campaign(session: Session, definition: CampaignDefinition, status: CampaignStatus) -> Campaign:
    """Store a campaign and its categories, without any items."""
    content = definition.model_dump(mode="json")
    campaign = Campaign(
        slug=definition.slug,
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
        If the campaign cannot go from its present status to the one asked for, has nothing to suggest, or is to open although the
        platform's rules refuse it.
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
    if status == CampaignStatus.OPEN:
        require_allowed(definition_of(campaign))
    if campaign.status == CampaignStatus.DRAFT and definition_of(campaign).spans.suggestions_from is not None:
        take_suggestions(session, campaign)
    log_event(session, f"campaign.{status}", slug, before=campaign.status)
    campaign.status = status
    session.flush()
    return campaign


def clone_campaign(session: Session, slug: str, new: str) -> Campaign:
    """Create a campaign with the definition of another, under a new name and without its annotations.

    Raises
    ------
    NotFound, SelectionError, InvalidInput
        If the original does not exist, the new name is taken, or the original was imported.
    Conflict
        If the rules of the platform refuse the definition, which may have been opened before they did.
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
    return create_campaign(session, plan)


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
    rows = [
        {
            "campaign_id": campaign.id,
            "kind": kind if plan.role == ItemRole.REGULAR else "output",
            "aspect": plan.aspect,
        }
        for plan in plans
    ]
    ids = insert_in_order(session, Item, rows, Item.campaign_id == campaign.id)
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
