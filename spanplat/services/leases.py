"""Holding a seat by a lease, and giving it back.

A seat's row goes open → held → submitted; a held row whose lease ran out becomes ``expired`` when somebody else needs the seat, and a
fresh open row takes its place, so that history stays. Each step is one conditional statement, so that two people never get one seat.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Row, bindparam, delete, insert, select, update
from sqlalchemy.orm import Session

from spanplat.models import FINISHED, Annotation, Annotator, Assignment, AssignmentStatus, Participation
from spanplat.models.statements import rows_changed
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.save_statements import RENEW_LEASE
from spanplat.services.seats import batches_taken, lease_end, wants_extra_seat

GRACE = timedelta(seconds=30)
"""How much longer than it has to be a seat is held by whoever works at it: so long, further saves need not renew the lease."""

_PLACE = (Assignment.batch_id, Assignment.slot, Assignment.repeat, Assignment.group, Assignment.extra)
"""What a fresh row needs to know of the one it replaces."""

_EXPIRE = (
    update(Assignment)
    .where(
        Assignment.campaign_id == bindparam("campaign"),
        Assignment.status == AssignmentStatus.HELD,
        Assignment.lease_expires_at < bindparam("now"),
    )
    .values(status=AssignmentStatus.EXPIRED)
    .returning(*_PLACE)
    .execution_options(synchronize_session=False)
)


def renew_lease(session: Session, seat: Assignment, definition: CampaignDefinition, now: datetime) -> bool:
    """Hold a seat anew; tells whether it is held still: somebody may need it and have called its lease in this very moment."""
    renewed = session.execute(
        update(Assignment)
        .where(Assignment.id == seat.id, Assignment.status == AssignmentStatus.HELD)
        .values(lease_expires_at=lease_end(definition, now)),
        execution_options={"synchronize_session": False},
    )
    session.refresh(seat)
    return bool(rows_changed(renewed))


def expire_leases(session: Session, campaign_id: int, now: datetime) -> int:
    """Return seats whose lease ran out to the pool; the expired rows keep the work. Returns how many."""
    lapsed = session.execute(_EXPIRE, {"campaign": campaign_id, "now": now}).all()
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
    serve_one_at_a_time(session, seat.annotator_id)
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
        lease = {"seat_id": assignment_id, "lease_end": lease_end(definition, now) + GRACE}
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


def serve_one_at_a_time(session: Session, annotator_id: int | None) -> None:
    """Let two tabs of one person wait for each other (SQLite has one writer anyway).

    The lock is one that two who have just inserted a participation each, and so refer to the annotator's row, can wait for without a
    deadlock.
    """
    session.execute(select(Annotator.id).where(Annotator.id == annotator_id).with_for_update(key_share=True))


def batches_allowed(definition: CampaignDefinition) -> int:
    """Return how many batches one person may do, or how many tries a qualification gives."""
    given = definition.qualification_given
    return max(definition.annotators.max_batches, given.attempts if given else 1)


def _may_sit_down(session: Session, lapsed: Assignment, definition: CampaignDefinition) -> bool:
    """Tell whether the annotator of a lapsed seat holds no other one and may do one more batch."""
    other = select(Assignment.id).where(
        Assignment.campaign_id == lapsed.campaign_id,
        Assignment.annotator_id == lapsed.annotator_id,
        Assignment.status == AssignmentStatus.HELD,
    )
    taken = batches_taken(session, lapsed.campaign_id, lapsed.annotator_id)
    return taken < batches_allowed(definition) and session.scalar(other.limit(1)) is None


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
