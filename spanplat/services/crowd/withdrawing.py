"""Withdrawing from a study: giving the seat back, and keeping or deleting the work."""

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from spanplat.models import Annotation, Assignment, CheckResult
from spanplat.services.accounts import log_event
from spanplat.services.crowd.claims import IS_GIVEN_UP
from spanplat.services.crowd.leases import give_up_seats
from spanplat.services.crowd.participation import Stage, Visit, find_alone, find_visit

LEAVABLE = (Stage.CONSENT, Stage.COMPREHENSION, Stage.PRACTICE, Stage.WORK, Stage.LAPSED)
"""Stages at which one can withdraw."""


def withdraw(session: Session, token: str) -> Visit:
    """End a participation because the annotator leaves, and give the seat back.

    The definition says whether the work so far is left out of every figure or deleted. The same applies to the work on a lapsed seat,
    which no later visit can take back. Work that was submitted before, as in an earlier try at a qualification, stays submitted and
    keeps its completion code.

    Raises
    ------
    NotFound
        If the token is unknown.
    """
    visit = find_alone(session, token)
    if visit.stage not in LEAVABLE:
        return visit
    give_up_seats(session, visit.participation)
    session.refresh(visit.participation)
    # The work may have been submitted, or ended by a check, a moment ago: saves and most submissions do not take the
    # lock of `find_alone`.
    is_withdrawn = find_visit(session, token).stage in LEAVABLE
    if is_withdrawn:
        visit.participation.ended = "withdrawn"
        session.flush()
    if visit.definition.annotators.withdrawn == "delete":
        _delete_work(session, visit, with_practice=is_withdrawn)
    return find_visit(session, token)


def _delete_work(session: Session, visit: Visit, *, with_practice: bool) -> None:
    """Delete the work on the seats that were given up, and also the practice if the whole visit ends."""
    seats = select(Assignment.id).where(Assignment.participation_id == visit.participation.id, IS_GIVEN_UP)
    # The database deletes the spans together with their annotations.
    for table in (CheckResult, Annotation):
        session.execute(
            delete(table).where(table.assignment_id.in_(seats)), execution_options={"synchronize_session": False}
        )
    if with_practice:
        visit.participation.practice = None
    log_event(session, "work.deleted", visit.campaign.slug, annotator=visit.participation.annotator.pseudonym)
    session.flush()
