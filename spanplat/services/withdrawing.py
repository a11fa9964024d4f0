"""Leaving a study: what is given back, what is kept or deleted, and what was submitted before."""

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from spanplat.models import Annotation, Assignment, CheckResult
from spanplat.services.audit import log_event
from spanplat.services.claims import IS_GIVEN_UP
from spanplat.services.leases import give_up_seats
from spanplat.services.participation import Stage, Visit, find_alone, find_visit

LEAVABLE = (Stage.CONSENT, Stage.COMPREHENSION, Stage.PRACTICE, Stage.WORK, Stage.LAPSED)
"""Stages at which one can withdraw."""


def withdraw(session: Session, token: str) -> Visit:
    """End a participation at the annotator's wish and give the seat back.

    The work so far is left out of every figure, or deleted, as the campaign says; that holds too for what is kept of a seat that
    lapsed, which no later visit takes back. What was submitted before, as an earlier try at a qualification, is submitted: it stays,
    with the code that it earned, and the visit ends with it.

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
    # The work may have been submitted, or stopped by a check, a moment ago.
    is_withdrawn = find_visit(session, token).stage in LEAVABLE
    if is_withdrawn:
        visit.participation.ended = "withdrawn"
        session.flush()
    if visit.definition.annotators.withdrawn == "delete":
        _delete_work(session, visit, with_practice=is_withdrawn)
    return find_visit(session, token)


def _delete_work(session: Session, visit: Visit, *, with_practice: bool) -> None:
    """Delete what was done on the seats that were given up, and, where nothing else is left of the visit, its practice."""
    seats = select(Assignment.id).where(Assignment.participation_id == visit.participation.id, IS_GIVEN_UP)
    for table in (CheckResult, Annotation):
        session.execute(
            delete(table).where(table.assignment_id.in_(seats)), execution_options={"synchronize_session": False}
        )
    if with_practice:
        visit.participation.practice = None
    log_event(session, "work.deleted", visit.campaign.slug, annotator=visit.participation.annotator.pseudonym)
    session.flush()
