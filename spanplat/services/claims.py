"""Claiming a seat on a batch, holding it by a lease, and giving it back.

A seat's row goes open → held → submitted; a held row whose lease ran out becomes ``expired`` when somebody else needs the seat, and a
fresh open row takes its place, so that history stays. Each step is one conditional statement, so that two people never get one seat.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Row, and_, exists, func, insert, or_, select, update
from sqlalchemy.orm import Session, aliased

from spanplat.errors import Conflict
from spanplat.models import (
    REPLACED,
    Annotator,
    Assignment,
    AssignmentStatus,
    Batch,
    BatchItem,
    Campaign,
    CampaignStatus,
    ItemOutput,
    ItemRole,
    Participation,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.definitions import definition_of


class NothingLeft(Conflict):
    """Every seat this annotator could take is taken, or they have done as many batches as one person may."""


def current_assignment(session: Session, participation: Participation) -> Assignment | None:
    """Return the seat a participation holds or held last, or None."""
    return session.scalar(
        select(Assignment)
        .where(Assignment.participation_id == participation.id)
        .order_by(Assignment.claimed_at.desc(), Assignment.id.desc())
        .limit(1)
    )


def claim_seat(session: Session, participation: Participation, now: datetime) -> Assignment:
    """Give a participation its seat: the one it has, one it left unfinished in an earlier visit, or a free one.

    Needs a writing transaction. Nobody gets an output twice, nor more batches than one person may do.

    Raises
    ------
    NothingLeft
        If there is no seat for this annotator.
    Conflict
        If the campaign does not take annotators now.
    """
    # Two tabs of one person are served one after the other (SQLite has one writer anyway). The lock is one that two who have just
    # inserted a participation each, and so refer to the annotator's row, can wait for without a deadlock.
    mine = select(Annotator.id).where(Annotator.id == participation.annotator_id)
    session.execute(mine.with_for_update(key_share=True))
    assignment = current_assignment(session, participation)
    if assignment is not None and assignment.status not in (AssignmentStatus.EXPIRED, AssignmentStatus.RETURNED):
        return assignment
    campaign = participation.campaign
    definition = definition_of(campaign)
    unfinished = session.scalar(
        select(Assignment).where(
            Assignment.campaign_id == campaign.id,
            Assignment.annotator_id == participation.annotator_id,
            Assignment.status == AssignmentStatus.HELD,
        )
    )
    if unfinished is not None:
        unfinished.participation_id = participation.id
        unfinished.lease_expires_at = lease_end(definition, now)
        session.flush()
        return unfinished
    if campaign.status != CampaignStatus.OPEN:
        raise Conflict(f"this study is {_in_words(campaign)} and takes nobody in at the moment")
    if participation.group is None:
        participation.group = _group_of_earlier_visit(session, participation)
    _require_batches_left(session, participation, definition)
    expire_leases(session, campaign.id, now)
    return _take_free_seat(session, participation, definition, now)


def expire_leases(session: Session, campaign_id: int, now: datetime) -> int:
    """Return seats whose lease ran out to the pool; the expired rows keep the work. Returns how many."""
    lapsed = session.execute(
        update(Assignment)
        .where(
            Assignment.campaign_id == campaign_id,
            Assignment.status == AssignmentStatus.HELD,
            Assignment.lease_expires_at < now,
        )
        .values(status=AssignmentStatus.EXPIRED)
        .returning(Assignment.batch_id, Assignment.slot, Assignment.repeat, Assignment.group),
        execution_options={"synchronize_session": False},
    ).all()
    reopen_seats(session, campaign_id, lapsed)
    return len(lapsed)


def return_seat(session: Session, assignment: Assignment) -> bool:
    """Give a held seat back to the pool; tells whether it was held (a submission or a second click may have come first)."""
    returned = session.execute(
        update(Assignment)
        .where(Assignment.id == assignment.id, Assignment.status == AssignmentStatus.HELD)
        .values(status=AssignmentStatus.RETURNED)
        .returning(Assignment.batch_id, Assignment.slot, Assignment.repeat, Assignment.group),
        execution_options={"synchronize_session": False},
    ).all()
    reopen_seats(session, assignment.campaign_id, returned)
    session.refresh(assignment)
    return bool(returned)


def reopen_seats(session: Session, campaign_id: int, seats: Sequence[Row[int, int, int, str | None]]) -> None:
    """Put a fresh open row in the place of each (batch, slot, repeat, group)."""
    if seats:
        session.execute(
            insert(Assignment),
            [
                {
                    "campaign_id": campaign_id,
                    "batch_id": batch_id,
                    "slot": slot,
                    "repeat": repeat,
                    "group": group,
                    "status": AssignmentStatus.OPEN,
                }
                for batch_id, slot, repeat, group in seats
            ],
        )


def lease_end(definition: CampaignDefinition, now: datetime) -> datetime:
    """Return until when a seat touched now is held."""
    return now + timedelta(minutes=definition.annotators.lease_minutes)


def _group_of_earlier_visit(session: Session, participation: Participation) -> str | None:
    """Return the group the annotator belongs to since an earlier visit: nobody sees two wordings."""
    return session.scalar(
        select(Participation.group)
        .where(
            Participation.campaign_id == participation.campaign_id,
            Participation.annotator_id == participation.annotator_id,
            Participation.group.is_not(None),
        )
        .limit(1)
    )


def _require_batches_left(session: Session, participation: Participation, definition: CampaignDefinition) -> None:
    done = session.scalar(
        select(func.count())
        .select_from(Assignment)
        .where(
            Assignment.campaign_id == participation.campaign_id,
            Assignment.annotator_id == participation.annotator_id,
            Assignment.status.not_in((AssignmentStatus.EXPIRED, AssignmentStatus.RETURNED)),
        )
    )
    if (done or 0) >= definition.annotators.max_batches:
        raise NothingLeft("you have done all that one person may do in this study; thank you")


def _take_free_seat(
    session: Session, participation: Participation, definition: CampaignDefinition, now: datetime
) -> Assignment:
    free = (
        select(Assignment.id)
        .join(Batch, Batch.id == Assignment.batch_id)
        .where(
            Assignment.campaign_id == participation.campaign_id,
            Assignment.status == AssignmentStatus.OPEN,
            *_of_group(participation.group),
            ~_holds_batch(participation),
            ~_knows_an_output(participation, definition),
        )
        # Every batch once before any batch twice.
        .order_by(Assignment.slot, Batch.number)
        .limit(1)
        .with_for_update(skip_locked=True, of=Assignment)
    )
    taken: Assignment | None = session.scalar(
        update(Assignment)
        .where(Assignment.id == free.scalar_subquery(), Assignment.status == AssignmentStatus.OPEN)
        .values(
            status=AssignmentStatus.HELD,
            annotator_id=participation.annotator_id,
            participation_id=participation.id,
            claimed_at=now,
            lease_expires_at=lease_end(definition, now),
        )
        .returning(Assignment),
        execution_options={"synchronize_session": False, "populate_existing": True},
    )
    if taken is None:
        raise NothingLeft(
            "all places in this study are taken at the moment; if somebody drops out, one becomes free again"
        )
    if participation.group is None:
        participation.group = taken.group
        session.flush()
    return taken


def _holds_batch(participation: Participation) -> ColumnElement[bool]:
    """Tell whether the annotator has a seat on the batch of the seat in question."""
    other = aliased(Assignment)
    return exists(
        select(other.id)
        .where(
            other.batch_id == Assignment.batch_id,
            other.annotator_id == participation.annotator_id,
            other.status.not_in(REPLACED),
        )
        .correlate(Assignment)
    )


def _knows_an_output(participation: Participation, definition: CampaignDefinition) -> ColumnElement[bool]:
    """Tell whether the annotator had one of the batch's outputs before, here or in a campaign that the definition excludes."""
    other, mine, theirs = aliased(Assignment), aliased(BatchItem), aliased(BatchItem)
    my_output, their_output = aliased(ItemOutput), aliased(ItemOutput)
    excluded = select(Campaign.id).where(Campaign.slug.in_(definition.annotators.exclude_campaigns))
    return exists(
        select(other.id)
        .join(theirs, theirs.batch_id == other.batch_id)
        .join(their_output, their_output.item_id == theirs.item_id)
        .join(my_output, my_output.output_id == their_output.output_id)
        .join(mine, and_(mine.item_id == my_output.item_id, mine.batch_id == Assignment.batch_id))
        .where(
            other.annotator_id == participation.annotator_id,
            or_(other.campaign_id == participation.campaign_id, other.campaign_id.in_(excluded)),
            mine.role == ItemRole.REGULAR,
        )
        .correlate(Assignment)
    )


def _of_group(group: str | None) -> list[ColumnElement[bool]]:
    """Whoever has no group yet may take any seat, and gets the group of the seat taken."""
    return [] if group is None else [or_(Assignment.group.is_(None), Assignment.group == group)]


def _in_words(campaign: Campaign) -> str:
    return {CampaignStatus.DRAFT: "not open yet", CampaignStatus.PAUSED: "paused", CampaignStatus.CLOSED: "closed"}[
        CampaignStatus(campaign.status)
    ]
