"""Claiming a seat on a batch; how it is held and given back, `spanplat.services.leases` knows."""

from datetime import datetime

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, say
from spanplat.models import FINISHED, Assignment, AssignmentStatus, Campaign, CampaignStatus, Participation
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.definitions import definition_of
from spanplat.services.leases import batches_allowed, expire_leases, renew_lease, serve_one_at_a_time, take_back
from spanplat.services.seats import add_extra_seat, batches_taken, has_place, take_free_seat

IS_GIVEN_UP = (Assignment.status == AssignmentStatus.RETURNED) & Assignment.outcome.is_(None)
"""Whether a seat was given back by who had it; one that a check ended has an outcome."""
WAS_STOPPED = (Assignment.status == AssignmentStatus.RETURNED) & (Assignment.outcome == "screened_out")
"""Whether a check ended the work on a seat."""
IS_OUTDONE = IS_GIVEN_UP | (WAS_STOPPED & Participation.ended.is_(None))
"""Whether a seat says nothing about its visit, which ends with what else was done; of a seat beside its participation."""

LATEST_FIRST = (
    IS_OUTDONE,
    Assignment.status != AssignmentStatus.HELD,
    Assignment.claimed_at.desc(),
    Assignment.id.desc(),
)
"""Order of the seats of a visit: the first is the one that its pages are about; see `current_assignment`."""
_LATEST_SEAT = (
    select(Assignment)
    .join(Participation, Participation.id == Assignment.participation_id)
    .where(Assignment.participation_id == bindparam("visit"))
    .order_by(*LATEST_FIRST)
    .limit(1)
)
"""Built once, because every request of an annotator asks."""

CLOSED_DOORS = {
    CampaignStatus.DRAFT: say("this study is not open yet and takes nobody in at the moment"),
    CampaignStatus.PAUSED: say("this study is paused and takes nobody in at the moment"),
    CampaignStatus.CLOSED: say("this study is closed and takes nobody in any more"),
}


ALL_TAKEN = say("all places in this study are taken at the moment; if somebody drops out, one becomes free again")


class NothingLeft(Conflict):
    """Every seat this annotator could take is taken, or they have done as many batches as one person may."""


def current_assignment(session: Session, participation: Participation) -> Assignment | None:
    """Return the seat a participation holds or held last, or None.

    One that was given up, or ended by a check without ending the visit, does not outdo one submitted before. What is held now comes
    first, whatever the clocks of several servers said when it was taken.
    """
    return session.scalar(_LATEST_SEAT, {"visit": participation.id})


def claim_seat(session: Session, participation: Participation, now: datetime) -> Assignment:
    """Give a participation its seat: the one it has, one it left unfinished in an earlier visit, or a free one.

    Whichever it is, it is held from now on as long as one may hold a seat.
    Needs a writing transaction. Nobody gets an output twice, nor more batches than one person may do.

    Raises
    ------
    NothingLeft
        If there is no seat for this annotator.
    Conflict
        If the campaign does not take annotators now.
    """
    serve_one_at_a_time(session, participation.annotator_id)
    campaign = participation.campaign
    definition = definition_of(campaign)
    assignment = current_assignment(session, participation)
    if assignment is not None and (
        assignment.status in (*FINISHED, AssignmentStatus.REJECTED) or renew_lease(session, assignment, definition, now)
    ):
        return assignment
    unfinished = _unfinished_seat(session, participation, definition, now)
    if unfinished is not None:
        unfinished.participation_id = participation.id
        participation.group = unfinished.group
        session.flush()
        return unfinished
    _require_open(campaign)
    if participation.group is None:
        participation.group = _group_of_earlier_visit(session, participation)
    _require_batches_left(session, participation, definition)
    expire_leases(session, campaign.id, now)
    return _take_seat(session, participation, definition, now)


def claim_first_seat(session: Session, participation: Participation, now: datetime) -> Assignment:
    """Give a free seat to somebody whom this same transaction made known, so that nothing can be theirs yet.

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
    """Make sure that there is a seat to be had now, so that nobody answers questions for nothing; claims none.

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
    if session.scalar(unfinished.limit(1)) is not None:
        return
    _require_open(campaign)
    _require_batches_left(session, participation, definition)
    group = participation.group or _group_of_earlier_visit(session, participation)
    if not has_place(session, participation, group, definition, now):
        raise NothingLeft(ALL_TAKEN)


def claim_next_seat(session: Session, participation: Participation, now: datetime) -> Assignment:
    """Give a participation whose last seat is submitted another one; a seat it holds already is returned instead.

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
    """Return the group the annotator belongs to since an earlier visit: nobody sees two wordings."""
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
        raise NothingLeft(say("you have done all that one person may do in this study; thank you"))


def _unfinished_seat(
    session: Session, participation: Participation, definition: CampaignDefinition, now: datetime
) -> Assignment | None:
    """Return the seat the annotator left in an earlier visit, taking it back if it lapsed and nobody took its place."""
    left = session.scalars(
        select(Assignment)
        .where(
            Assignment.campaign_id == participation.campaign_id,
            Assignment.annotator_id == participation.annotator_id,
            Assignment.status.in_((AssignmentStatus.HELD, AssignmentStatus.EXPIRED)),
        )
        .order_by(Assignment.claimed_at.desc(), Assignment.id.desc())
    ).all()
    for held in left:
        if held.status == AssignmentStatus.HELD and renew_lease(session, held, definition, now):
            return held
    lapsed = next((seat for seat in left if seat.status == AssignmentStatus.EXPIRED), None)
    if lapsed is None or not take_back(session, lapsed.id, definition, now):
        return None
    session.refresh(lapsed)
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
