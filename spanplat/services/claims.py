"""Claiming a seat on a batch, holding it by a lease, and giving it back.

A seat's row goes open → held → submitted; a held row whose lease ran out becomes ``expired`` when somebody else needs the seat, and a
fresh open row takes its place, so that history stays. Each step is one conditional statement, so that two people never get one seat.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Row, Select, bindparam, delete, insert, select, update
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, say
from spanplat.models import (
    FINISHED,
    Annotation,
    Annotator,
    Assignment,
    AssignmentStatus,
    CampaignStatus,
    Participation,
)
from spanplat.models.statements import rows_changed
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.definitions import definition_of
from spanplat.services.save_statements import RENEW_LEASE
from spanplat.services.seats import (
    add_extra_seat,
    batches_taken,
    has_place,
    lease_end,
    take_free_seat,
    wants_extra_seat,
)

_PLACE = (Assignment.batch_id, Assignment.slot, Assignment.repeat, Assignment.group, Assignment.extra)
"""What a fresh row needs to know of the one it replaces."""

IS_GIVEN_UP = (Assignment.status == AssignmentStatus.RETURNED) & Assignment.outcome.is_(None)
"""Whether a seat was given back by who had it; one that a check ended has an outcome."""
WAS_STOPPED = (Assignment.status == AssignmentStatus.RETURNED) & (Assignment.outcome == "screened_out")
"""Whether a check ended the work on a seat."""
IS_OUTDONE = IS_GIVEN_UP | (WAS_STOPPED & Participation.ended.is_(None))
"""Whether a seat says nothing about its visit, which ends with what else was done; of a seat beside its participation."""

_LATEST_SEAT = (
    select(Assignment)
    .join(Participation, Participation.id == Assignment.participation_id)
    .where(Assignment.participation_id == bindparam("visit"))
    .order_by(
        IS_OUTDONE, Assignment.status != AssignmentStatus.HELD, Assignment.claimed_at.desc(), Assignment.id.desc()
    )
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
    serve_one_at_a_time(session, participation)
    campaign = participation.campaign
    definition = definition_of(campaign)
    assignment = current_assignment(session, participation)
    if assignment is not None and (
        assignment.status in (*FINISHED, AssignmentStatus.REJECTED)
        or _renew_lease(session, assignment, definition, now)
    ):
        return assignment
    unfinished = _unfinished_seat(session, participation, definition, now)
    if unfinished is not None:
        unfinished.participation_id = participation.id
        participation.group = unfinished.group
        session.flush()
        return unfinished
    if campaign.status != CampaignStatus.OPEN:
        raise Conflict(CLOSED_DOORS[CampaignStatus(campaign.status)])
    if participation.group is None:
        participation.group = _group_of_earlier_visit(session, participation)
    _require_batches_left(session, participation, definition)
    expire_leases(session, campaign.id, now)
    return _take_seat(session, participation, definition, now)


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
    if campaign.status != CampaignStatus.OPEN:
        raise Conflict(CLOSED_DOORS[CampaignStatus(campaign.status)])
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
    serve_one_at_a_time(session, participation)
    assignment = current_assignment(session, participation)
    if assignment is not None and assignment.status == AssignmentStatus.HELD:
        return assignment
    definition = definition_of(participation.campaign)
    _require_batches_left(session, participation, definition)
    expire_leases(session, participation.campaign_id, now)
    return _take_seat(session, participation, definition, now)


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
        .returning(*_PLACE),
        execution_options={"synchronize_session": False},
    ).all()
    reopen_seats(session, campaign_id, lapsed)
    return len(lapsed)


def take_back(session: Session, assignment_id: int, definition: CampaignDefinition, now: datetime) -> bool:
    """Give an expired seat back to whoever had it, if a place on its batch is free and they have not sat down elsewhere since.

    A seat beyond those promised is nobody's place; it is given back as long as the campaign wants one more on the batch. What was
    saved on the seat while somebody else had the place is late no more.
    """
    lapsed = select(Assignment).where(Assignment.id == assignment_id, Assignment.status == AssignmentStatus.EXPIRED)
    seat = session.scalar(lapsed)
    if seat is None:
        return False
    session.execute(_lock_on_annotator(seat.annotator_id))
    seat = session.scalar(lapsed.with_for_update(key_share=True).execution_options(populate_existing=True))
    if seat is None or not _may_sit_down(session, seat, definition):
        return False
    if seat.extra:
        if not wants_extra_seat(session, seat.batch_id, definition):
            return False
    else:
        slot = _give_up_free_place(session, seat)
        if slot is None:
            return False
        seat.slot = slot
    seat.status, seat.lease_expires_at = AssignmentStatus.HELD, lease_end(definition, now)
    session.flush()
    session.execute(
        update(Annotation).where(Annotation.assignment_id == assignment_id, Annotation.late).values(late=False),
        execution_options={"synchronize_session": False},
    )
    return True


def hold_seat(session: Session, assignment_id: int, definition: CampaignDefinition, now: datetime) -> bool:
    """Renew the lease; an expired seat nobody has taken is taken back. Tells whether the seat is its annotator's now."""

    def renew() -> bool:
        lease = {"seat_id": assignment_id, "lease_end": lease_end(definition, now)}
        return bool(rows_changed(session.connection().execute(RENEW_LEASE, lease)))

    # Another request of the same page may take the seat back at the same moment; then it is ours, and can be renewed.
    return renew() or take_back(session, assignment_id, definition, now) or renew()


def return_seat(session: Session, assignment: Assignment) -> bool:
    """Give a held seat back to the pool; tells whether it was held (a submission or a second click may have come first)."""
    returned = session.execute(
        update(Assignment)
        .where(Assignment.id == assignment.id, Assignment.status == AssignmentStatus.HELD)
        .values(status=AssignmentStatus.RETURNED)
        .returning(*_PLACE),
        execution_options={"synchronize_session": False},
    ).all()
    reopen_seats(session, assignment.campaign_id, returned)
    session.refresh(assignment)
    return bool(returned)


def give_up_seats(session: Session, participation: Participation) -> None:
    """Return the seats of a participation that are not submitted.

    A held one goes back to the pool. A lapsed one went there already; from now on it can be taken back no more.
    """
    theirs = update(Assignment).where(Assignment.participation_id == participation.id)
    returned = theirs.values(status=AssignmentStatus.RETURNED).execution_options(synchronize_session=False)
    held = session.execute(returned.where(Assignment.status == AssignmentStatus.HELD).returning(*_PLACE)).all()
    reopen_seats(session, participation.campaign_id, held)
    session.execute(returned.where(Assignment.status == AssignmentStatus.EXPIRED))
    for seat in session.scalars(select(Assignment).where(Assignment.participation_id == participation.id)).all():
        session.refresh(seat)


def replace_seat(session: Session, assignment: Assignment) -> bool:
    """Set submitted work aside and open its seat anew; tells whether it was submitted and is no more."""
    rejected = session.execute(
        update(Assignment)
        .where(Assignment.id == assignment.id, Assignment.status.in_(FINISHED))
        .values(status=AssignmentStatus.REJECTED)
        .returning(*_PLACE),
        execution_options={"synchronize_session": False},
    ).all()
    reopen_seats(session, assignment.campaign_id, rejected)
    session.refresh(assignment)
    return bool(rejected)


def reopen_seats(session: Session, campaign_id: int, seats: Sequence[Row[int, int, int, str | None, bool]]) -> None:
    """Put a fresh open row in the place of each (batch, slot, repeat, group); seats beyond those promised are not replaced."""
    promised = [seat for seat in seats if not seat[-1]]
    if promised:
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
                for batch_id, slot, repeat, group, _extra in promised
            ],
        )


def serve_one_at_a_time(session: Session, participation: Participation) -> None:
    """Let two tabs of one person wait for each other (SQLite has one writer anyway).

    The lock is one that two who have just inserted a participation each, and so refer to the annotator's row, can wait for without a
    deadlock.
    """
    session.execute(_lock_on_annotator(participation.annotator_id))


def _lock_on_annotator(annotator_id: int | None) -> Select[int]:
    return select(Annotator.id).where(Annotator.id == annotator_id).with_for_update(key_share=True)


def _may_sit_down(session: Session, lapsed: Assignment, definition: CampaignDefinition) -> bool:
    """Tell whether the annotator of a lapsed seat holds no other one and may do one more batch."""
    other = select(Assignment.id).where(
        Assignment.campaign_id == lapsed.campaign_id,
        Assignment.annotator_id == lapsed.annotator_id,
        Assignment.status == AssignmentStatus.HELD,
    )
    taken = batches_taken(session, lapsed.campaign_id, lapsed.annotator_id)
    return taken < _batches_allowed(definition) and session.scalar(other.limit(1)) is None


def _give_up_free_place(session: Session, lapsed: Assignment) -> int | None:
    """Remove an open place on the batch of a lapsed seat, its own before others, and return its slot; None if none is open."""
    free = (
        select(Assignment.id)
        .where(
            Assignment.batch_id == lapsed.batch_id,
            Assignment.group.is_not_distinct_from(lapsed.group),
            Assignment.status == AssignmentStatus.OPEN,
        )
        .order_by(Assignment.slot != lapsed.slot, Assignment.slot)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    return session.scalar(
        delete(Assignment)
        .where(Assignment.id == free.scalar_subquery(), Assignment.status == AssignmentStatus.OPEN)
        .returning(Assignment.slot),
        execution_options={"synchronize_session": False},
    )


def _renew_lease(session: Session, seat: Assignment, definition: CampaignDefinition, now: datetime) -> bool:
    """Hold a seat anew; tells whether it is held still: somebody may need it and have called its lease in this very moment."""
    renewed = session.execute(
        update(Assignment)
        .where(Assignment.id == seat.id, Assignment.status == AssignmentStatus.HELD)
        .values(lease_expires_at=lease_end(definition, now)),
        execution_options={"synchronize_session": False},
    )
    session.refresh(seat)
    return bool(rows_changed(renewed))


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


def _require_batches_left(session: Session, participation: Participation, definition: CampaignDefinition) -> None:
    if batches_taken(session, participation.campaign_id, participation.annotator_id) >= _batches_allowed(definition):
        raise NothingLeft(say("you have done all that one person may do in this study; thank you"))


def _batches_allowed(definition: CampaignDefinition) -> int:
    given = definition.qualification_given
    return max(definition.annotators.max_batches, given.attempts if given else 1)


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
        if held.status == AssignmentStatus.HELD and _renew_lease(session, held, definition, now):
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
