"""Preview of a campaign's items as annotators see them, without a seat and without writing anything."""

import contextlib
from dataclasses import replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import NotFound
from spanplat.models import Assignment, Batch, BatchItem, Campaign, CampaignStatus, Item, ItemOutput, Output
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns import CampaignPlan, add_campaign, definition_of, store_plan, suggestions_of
from spanplat.services.crowd.requirements import ItemTexts, check_submission
from spanplat.services.crowd.saving import FIND_SOURCE_TEXTS


def count_shown(session: Session, campaign: Campaign) -> int:
    """Return the number of batches that can be previewed."""
    return session.scalars(select(func.count(Batch.id)).where(Batch.campaign_id == campaign.id)).one()


def preview_seat(session: Session, campaign: Campaign, number: int) -> Assignment:
    """Return a seat on a batch that is not stored and that nobody holds.

    Raises
    ------
    NotFound
        If the campaign has no batch of this number.
    """
    batch_id = session.scalar(select(Batch.id).where(Batch.campaign_id == campaign.id, Batch.number == number))
    if batch_id is None:
        raise NotFound(f"campaign {campaign.slug!r} has no batch {number}")
    # Without an id, so that no stored annotation belongs to it.
    return Assignment(batch_id=batch_id)


def store_batch(session: Session, plan: CampaignPlan, number: int) -> Campaign:
    """Store a planned campaign with only one of its batches, for a preview that is rolled back.

    Parameters
    ----------
    session
        A session of `spanplat.db.Database.trial`.
    plan
        Plan of the campaign.
    number
        Number of the batch, counted from 1.

    Raises
    ------
    NotFound
        If there is no batch of this number.
    """
    if not 1 <= number <= len(plan.batches):
        raise NotFound(f"campaign {plan.definition.slug!r} has no batch {number}")
    planned = plan.batches[number - 1]
    campaign = add_campaign(session, plan.definition, CampaignStatus.DRAFT)
    only = replace(
        plan,
        items=[plan.items[item.number] for item in planned],
        # `number` is a position among the items, and these are now only the items of this batch.
        batches=[[item._replace(number=position) for position, item in enumerate(planned)]],
        seats=[plan.seats[number - 1]],
    )
    # Always the same session, not a transaction for each chunk: the caller rolls everything back.
    store_plan(lambda: contextlib.nullcontext(session), campaign.id, only, first=number)
    return campaign


def check_save(session: Session, campaign: Campaign, seat: Assignment, position: int, submission: Submission) -> None:
    """Raise the error that a save of this submission would raise; store nothing.

    Raises
    ------
    NotFound
        If the batch has no such position.
    TextMismatch, InvalidInput
        If the submission may not be stored; see `spanplat.services.crowd.requirements.check_submission`.
    """
    item_id = session.scalar(
        select(Item.id)
        .join(BatchItem, BatchItem.item_id == Item.id)
        .where(BatchItem.batch_id == seat.batch_id, BatchItem.position == position)
    )
    if item_id is None:
        raise NotFound(f"the batch has no item at position {position}")
    outputs = session.scalars(
        select(Output.text)
        .join(ItemOutput, ItemOutput.output_id == Output.id)
        .where(ItemOutput.item_id == item_id)
        .order_by(ItemOutput.position)
    ).all()
    source = {field: text for field, text in session.execute(FIND_SOURCE_TEXTS, {"item_id": item_id})}
    definition = definition_of(campaign)
    check_submission(definition, ItemTexts(outputs, source), submission, suggestions_of(session, definition, item_id))
