"""Storing how the checks of an item went, and carrying out what failing them leads to."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.orm import Session

from spanplat.models import Assignment, CheckResult, Participation
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.checks import CheckOutcome
from spanplat.services.leases import give_up_seats, return_seat

_REMOVE_EARLIER: Final = (
    delete(CheckResult)
    .where(
        CheckResult.assignment_id == bindparam("seat_id"), CheckResult.item_id.in_(bindparam("items", expanding=True))
    )
    .execution_options(synchronize_session=False)
)


def store_outcomes(session: Session, assignment_id: int, outcomes: Mapping[int, Sequence[CheckOutcome]]) -> None:
    """Put the outcomes of completed items, by item id, in the place of earlier ones of the same items."""
    if not outcomes:
        return
    session.execute(_REMOVE_EARLIER, {"seat_id": assignment_id, "items": list(outcomes)})
    rows = [
        {
            "assignment_id": assignment_id,
            "item_id": item_id,
            "name": outcome.name,
            "kind": outcome.kind,
            "passed": outcome.passed,
            "detail": outcome.detail,
        }
        for item_id, of_item in outcomes.items()
        for outcome in of_item
    ]
    if rows:
        session.execute(insert(CheckResult), rows)


def update_exclusion(session: Session, definition: CampaignDefinition, assignment_id: int) -> None:
    """Leave the work on a seat out of every figure while a check that says so is failed, and take it in again when it is not."""
    names = [check.name for check in definition.checks if check.on_fail == "exclude"]
    if names:
        failed = select(CheckResult.id).where(
            CheckResult.assignment_id == assignment_id, CheckResult.name.in_(names), CheckResult.passed.is_(False)
        )
        session.execute(update(Assignment).where(Assignment.id == assignment_id).values(excluded=failed.exists()))


def screen_out(session: Session, assignment_id: int) -> None:
    """End a visit with the screen-out code: its work is kept and in no figure, its seat goes to somebody else.

    Where the visit has submitted work, as an earlier try at a qualification, that stays submitted, with the code that it earned: to
    the platform a submission has one code, and who has a claim to a reward keeps it. The try at hand ends alone; no other follows.
    """
    assignment = session.get_one(Assignment, assignment_id)
    assignment.outcome = "screened_out"
    session.flush()
    participation = session.get_one(Participation, assignment.participation_id)
    _end_idle_visits(session, participation)
    submitted = select(Assignment.id).where(
        Assignment.participation_id == participation.id, Assignment.submitted_at.is_not(None)
    )
    if session.scalar(submitted.limit(1)) is None:
        participation.ended = "screened_out"
        session.flush()
        return_seat(session, assignment)
    else:
        give_up_seats(session, participation)


def _end_idle_visits(session: Session, stopped: Participation) -> None:
    """End the person's other visits that have no seat yet: what a check decided holds for the person, not for one link."""
    seat = select(Assignment.id).where(Assignment.participation_id == Participation.id)
    session.execute(
        update(Participation)
        .where(
            Participation.campaign_id == stopped.campaign_id,
            Participation.annotator_id == stopped.annotator_id,
            Participation.id != stopped.id,
            Participation.ended.is_(None),
            ~seat.exists(),
        )
        .values(ended="screened_out"),
        execution_options={"synchronize_session": False},
    )


def screen_out_message(session: Session, definition: CampaignDefinition, assignment: Assignment | None) -> str:
    """Return what the definition says to somebody whom a check screened out; empty when it says nothing."""
    if assignment is None:
        return ""
    failed = set(
        session.scalars(
            select(CheckResult.name).where(CheckResult.assignment_id == assignment.id, CheckResult.passed.is_(False))
        )
    )
    return next(
        (check.message for check in definition.checks if check.on_fail == "screen_out" and check.name in failed), ""
    )
