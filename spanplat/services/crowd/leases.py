"""Leases of seats: renewing, expiring, taking back and giving back.

The row of a seat goes open → held → submitted. A held row whose lease has run out becomes ``expired`` when somebody else needs the
seat. A new open row takes its place, so that the history stays. Each step is one conditional statement, so that two people never get
the same seat.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Row, Table, bindparam, delete, insert, select, update
from sqlalchemy.orm import Session

from spanplat.models import FINISHED, Annotation, Annotator, Assignment, AssignmentStatus, Base, Participation
from spanplat.models.statements import rows_changed
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.crowd.seats import batches_taken, lease_end, wants_extra_seat

GRACE = timedelta(seconds=30)
"""Time that a save adds to the lease, so that further saves within this time need not renew it."""

_seat: Final[Table] = Base.metadata.tables["assignment"]
# Built once and on the table, because saves run it often.
_RENEW: Final = (
    update(_seat)
    .where(_seat.c.id == bindparam("seat_id"), _seat.c.status == AssignmentStatus.HELD)
    .values(lease_expires_at=bindparam("lease_end"))
)

_PLACE = (Assignment.batch_id, Assignment.slot, Assignment.repeat, Assignment.group, Assignment.extra)
"""Columns that a new row takes over from the row it replaces."""

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
    """Renew the lease of a held seat; return False if the seat is no longer held, for instance because the lease was just expired."""
    renewed = session.execute(
        update(Assignment)
        .where(Assignment.id == seat.id, Assignment.status == AssignmentStatus.HELD)
        .values(lease_expires_at=lease_end(definition, now)),
        execution_options={"synchronize_session": False},
    )
    # If no row changed, another request has changed the seat, and the session still has its old status.
    session.refresh(seat)
    return bool(rows_changed(renewed))


def expire_leases(session: Session, campaign_id: int, now: datetime) -> int:
    """Reopen the seats whose lease has run out and return their number; the expired rows keep the work."""
    lapsed = session.execute(_EXPIRE, {"campaign": campaign_id, "now": now}).all()
    reopen_seats(session, campaign_id, lapsed)
    return len(lapsed)


def take_back(session: Session, assignment_id: int, definition: CampaignDefinition, now: datetime) -> bool:
    """Give an expired seat back to its annotator, if a seat on its batch is free and they hold no other seat.

    An extra seat is given back if its batch may still have another extra seat. Work that was saved on the seat while it was expired
    is no longer late. Return whether the annotator has the seat again.
    """
    lapsed = select(Assignment).where(Assignment.id == assignment_id, Assignment.status == AssignmentStatus.EXPIRED)
    seat = session.scalar(lapsed)
    if seat is None:
        return False
    # The annotator is locked before the seat, as in a claim, so that the two cannot deadlock. The seat is read again under the locks.
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
    """Renew the lease, or take an expired seat back if it is still free; return whether its annotator holds it now."""

    def renew() -> bool:
        lease = {"seat_id": assignment_id, "lease_end": lease_end(definition, now) + GRACE}
        return bool(rows_changed(session.connection().execute(_RENEW, lease)))

    # Another request of the same page may take the seat back at the same moment; then the last call can renew it.
    return renew() or take_back(session, assignment_id, definition, now) or renew()


def return_seat(session: Session, assignment: Assignment) -> bool:
    """Give a held seat back; return False if it was not held, because a submission or a second click came first."""
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

    A held seat becomes free. A lapsed one is free already; from now on its annotator cannot take it back.
    """
    theirs = update(Assignment).where(Assignment.participation_id == participation.id)
    returned = theirs.values(status=AssignmentStatus.RETURNED).execution_options(synchronize_session=False)
    held = session.execute(returned.where(Assignment.status == AssignmentStatus.HELD).returning(*_PLACE)).all()
    reopen_seats(session, participation.campaign_id, held)
    session.execute(returned.where(Assignment.status == AssignmentStatus.EXPIRED))
    # The updates above bypass the session, so its copies of these seats are reread.
    for seat in session.scalars(select(Assignment).where(Assignment.participation_id == participation.id)).all():
        session.refresh(seat)


def replace_seat(session: Session, assignment: Assignment) -> bool:
    """Reject submitted work and reopen its seat; return False if the work is not submitted or was rejected before."""
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
    """Add a new open row for each seat, unless it is an extra seat: those are not replaced."""
    # The last column of `_PLACE` is `extra`.
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
    """Lock the annotator's row, so that two tabs of one person wait for each other (SQLite has one writer anyway)."""
    # Not a plain FOR UPDATE: two tabs that have just inserted a participation each hold a shared lock on this row by its foreign key.
    # Each would then wait for the other. FOR NO KEY UPDATE does not conflict with these locks.
    session.execute(select(Annotator.id).where(Annotator.id == annotator_id).with_for_update(key_share=True))


def batches_allowed(definition: CampaignDefinition) -> int:
    """Return the number of batches that one person may do, or the number of tries that a qualification gives."""
    given = definition.qualification_given
    return max(definition.annotators.max_batches, given.attempts if given else 1)


def _may_sit_down(session: Session, lapsed: Assignment, definition: CampaignDefinition) -> bool:
    """Return whether the annotator of a lapsed seat holds no other seat and may do one more batch."""
    other = select(Assignment.id).where(
        Assignment.campaign_id == lapsed.campaign_id,
        Assignment.annotator_id == lapsed.annotator_id,
        Assignment.status == AssignmentStatus.HELD,
    )
    taken = batches_taken(session, lapsed.campaign_id, lapsed.annotator_id)
    return taken < batches_allowed(definition) and session.scalar(other.limit(1)) is None


def _give_up_free_place(session: Session, lapsed: Assignment) -> int | None:
    """Delete an open seat on the batch of a lapsed one and return its slot, or None; the lapsed seat's own slot comes first.

    The lapsed row then takes the slot: a slot can have only one current row.
    """
    free = (
        select(Assignment.id)
        .where(
            Assignment.batch_id == lapsed.batch_id,
            Assignment.group.is_not_distinct_from(lapsed.group),
            Assignment.status == AssignmentStatus.OPEN,
        )
        .order_by(Assignment.slot != lapsed.slot, Assignment.slot)
        .limit(1)
        # A locked seat is being claimed by somebody else at this moment.
        .with_for_update(skip_locked=True)
    )
    return session.scalar(
        delete(Assignment)
        .where(Assignment.id == free.scalar_subquery(), Assignment.status == AssignmentStatus.OPEN)
        .returning(Assignment.slot),
        execution_options={"synchronize_session": False},
    )
