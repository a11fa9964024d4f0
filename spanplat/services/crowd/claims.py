"""Claiming a seat on a batch; `spanplat.services.crowd.leases` holds it and gives it back."""

from datetime import datetime

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, user_message
from spanplat.models import FINISHED, Assignment, AssignmentStatus, Campaign, CampaignStatus, Participation
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns import definition_of
from spanplat.services.crowd.leases import batches_allowed, expire_leases, renew_lease, serve_one_at_a_time, take_back
from spanplat.services.crowd.seats import add_extra_seat, batches_taken, has_place, take_free_seat

IS_GIVEN_UP = (Assignment.status == AssignmentStatus.RETURNED) & Assignment.outcome.is_(None)
"""Condition that the annotator gave the seat back; a seat that a check ended has an outcome."""
WAS_STOPPED = (Assignment.status == AssignmentStatus.RETURNED) & (Assignment.outcome == "screened_out")
"""Condition that a check ended the work on a seat."""
IS_OUTDONE = IS_GIVEN_UP | (WAS_STOPPED & Participation.ended.is_(None))
"""Condition that another seat of the visit, if there is one, decides how the visit ended; needs the participation in the query."""

LATEST_FIRST = (
    IS_OUTDONE,
    Assignment.status != AssignmentStatus.HELD,
    Assignment.claimed_at.desc(),
    Assignment.id.desc(),
)
"""Order of the seats of a visit; the visit's pages show the first one, see `current_assignment`."""
_LATEST_SEAT = (
    select(Assignment)
    .join(Participation, Participation.id == Assignment.participation_id)
    .where(Assignment.participation_id == bindparam("visit"))
    .order_by(*LATEST_FIRST)
    .limit(1)
)
"""Built once, because every request of an annotator runs it."""

CLOSED_DOORS = {
    CampaignStatus.DRAFT: user_message("this study is not open yet and takes nobody in at the moment"),
    CampaignStatus.PAUSED: user_message("this study is paused and takes nobody in at the moment"),
    CampaignStatus.CLOSED: user_message("this study is closed and takes nobody in any more"),
}


ALL_TAKEN = user_message(
    "all places in this study are taken at the moment; if somebody drops out, one becomes free again"
)


class NothingLeft(Conflict):
    """No seat is free for this annotator, or they have done as many batches as one person may."""


def current_assignment(session: Session, participation: Participation) -> Assignment | None:
    """Return the seat that a participation holds or held last, or None.

    A submitted seat comes before a later one that was given up, or that a check ended without ending the visit. A seat that is held
    now comes before those claimed later, because the clocks of several servers may differ.
    """
    return session.scalar(_LATEST_SEAT, {"visit": participation.id})


def claim_seat(session: Session, participation: Participation, now: datetime) -> Assignment:
    """Give a participation its seat: the one it has, one left unfinished in an earlier visit, or a free one.

    The lease of the seat begins anew. Nobody gets an output twice, or more batches than one person may do. Needs a writing
    transaction.

    Raises
    ------
    NothingLeft
        If there is no seat for this annotator.
    Conflict
        If the campaign does not take annotators now.
    """
    # Before anything is read: with two tabs open, the second must see the seat that the first has claimed.
    serve_one_at_a_time(session, participation.annotator_id)
    campaign = participation.campaign
    definition = definition_of(campaign)
    assignment = current_assignment(session, participation)
    if assignment is not None and (
        # Submitted work stays the answer of its link: a reload of the start link must not begin another batch.
        assignment.status in (*FINISHED, AssignmentStatus.REJECTED) or renew_lease(session, assignment, definition, now)
    ):
        return assignment
    unfinished = _unfinished_seat(session, participation, definition, now)
    if unfinished is not None:
        # The seat moves to this visit. A page of the earlier visit, still open in another tab, can then no longer save.
        unfinished.participation_id = participation.id
        participation.group = unfinished.group
        session.flush()
        return unfinished
    # Only a new seat needs an open campaign: a pause takes nothing from those who are at work.
    _require_open(campaign)
    if participation.group is None:
        participation.group = _group_of_earlier_visit(session, participation)
    _require_batches_left(session, participation, definition)
    # Leases expire only here, when somebody needs a seat, so that slow annotators lose nothing while nobody waits.
    expire_leases(session, campaign.id, now)
    return _take_seat(session, participation, definition, now)


def claim_first_seat(session: Session, participation: Participation, now: datetime) -> Assignment:
    """Give a free seat to a person whom this same transaction added, without a search for earlier seats.

    Raises
    ------
    NothingLeft, Conflict
        As `claim_seat`.
    """
    campaign = participation.campaign
    _require_open(campaign)
    expire_leases(session, campaign.id, now)
    return _take_seat(session, participation, definition_of(campaign), now)


def require_place(session: Session, participation: Participation, now: datetime) -> None:
    """Raise unless a seat is free for this person now, so that nobody answers questions for nothing; claim none.

    Raises
    ------
    NothingLeft, Conflict
        As `claim_seat`.
    """
    campaign = participation.campaign
    definition = definition_of(campaign)
    unfinished = select(Assignment.id).where(
        Assignment.campaign_id == campaign.id,
        Assignment.annotator_id == participation.annotator_id,
        Assignment.status.in_((AssignmentStatus.HELD, AssignmentStatus.EXPIRED)),
    )
    # A person with an unfinished seat is let through; `claim_seat` decides later whether they get it back.
    if session.scalar(unfinished.limit(1)) is not None:
        return
    _require_open(campaign)
    _require_batches_left(session, participation, definition)
    group = participation.group or _group_of_earlier_visit(session, participation)
    if not has_place(session, participation, group, definition, now):
        raise NothingLeft(ALL_TAKEN)


def claim_next_seat(session: Session, participation: Participation, now: datetime) -> Assignment:
    """Give another seat to a participation whose last seat is submitted; if it already holds a seat, return that one.

    Raises
    ------
    NothingLeft
        If there is no seat for this annotator.
    """
    serve_one_at_a_time(session, participation.annotator_id)
    assignment = current_assignment(session, participation)
    if assignment is not None and assignment.status == AssignmentStatus.HELD:
        return assignment
    definition = definition_of(participation.campaign)
    _require_batches_left(session, participation, definition)
    expire_leases(session, participation.campaign_id, now)
    return _take_seat(session, participation, definition, now)


def _group_of_earlier_visit(session: Session, participation: Participation) -> str | None:
    """Return the annotator's group from an earlier visit, so that nobody sees the wordings of two groups."""
    if not definition_of(participation.campaign).groups:
        return None
    return session.scalar(
        select(Participation.group)
        .where(
            Participation.campaign_id == participation.campaign_id,
            Participation.annotator_id == participation.annotator_id,
            Participation.group.is_not(None),
        )
        .limit(1)
    )


def _require_open(campaign: Campaign) -> None:
    if campaign.status != CampaignStatus.OPEN:
        raise Conflict(CLOSED_DOORS[CampaignStatus(campaign.status)])


def _require_batches_left(session: Session, participation: Participation, definition: CampaignDefinition) -> None:
    if batches_taken(session, participation.campaign_id, participation.annotator_id) >= batches_allowed(definition):
        raise NothingLeft(user_message("you have done all that one person may do in this study; thank you"))


def _unfinished_seat(
    session: Session, participation: Participation, definition: CampaignDefinition, now: datetime
) -> Assignment | None:
    """Return the seat that the annotator left in an earlier visit; take a lapsed one back if its place is still free."""
    left = session.scalars(
        select(Assignment)
        .where(
            Assignment.campaign_id == participation.campaign_id,
            Assignment.annotator_id == participation.annotator_id,
            Assignment.status.in_((AssignmentStatus.HELD, AssignmentStatus.EXPIRED)),
        )
        .order_by(Assignment.claimed_at.desc(), Assignment.id.desc())
    ).all()
    # A renewal can fail even for a seat that was just read as held: another request may expire its lease at this moment.
    for held in left:
        if held.status == AssignmentStatus.HELD and renew_lease(session, held, definition, now):
            return held
    lapsed = next((seat for seat in left if seat.status == AssignmentStatus.EXPIRED), None)
    if lapsed is None or not take_back(session, lapsed.id, definition, now):
        return None
    session.refresh(lapsed)  # `take_back` may have changed its slot
    return lapsed


def _take_seat(
    session: Session, participation: Participation, definition: CampaignDefinition, now: datetime
) -> Assignment:
    taken = take_free_seat(session, participation, definition, now)
    if taken is None and definition.annotators.when_full == "redundancy":
        taken = add_extra_seat(session, participation, definition, now)
    if taken is None:
        raise NothingLeft(ALL_TAKEN)
    if participation.group is None:
        participation.group = taken.group
        session.flush()
    return taken
