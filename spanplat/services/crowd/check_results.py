"""Storing the results of checks, and applying the consequences of failed ones."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.orm import Session

from spanplat.models import Assignment, CheckResult, Participation
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.crowd.checks import CheckOutcome
from spanplat.services.crowd.leases import give_up_seats, return_seat

_REMOVE_EARLIER: Final = (
    delete(CheckResult)
    .where(
        CheckResult.assignment_id == bindparam("seat_id"), CheckResult.item_id.in_(bindparam("items", expanding=True))
    )
    .execution_options(synchronize_session=False)
)


def store_outcomes(session: Session, assignment_id: int, outcomes: Mapping[int, Sequence[CheckOutcome]]) -> None:
    """Store the outcomes of completed items by item id, and delete earlier ones of the same items."""
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
    # SQLAlchemy takes an empty list as one row of defaults.
    if rows:
        session.execute(insert(CheckResult), rows)


def update_exclusion(session: Session, definition: CampaignDefinition, assignment_id: int) -> None:
    """Exclude the work on a seat from every figure while a check that excludes is failed, and include it again afterwards."""
    names = [check.name for check in definition.checks if check.on_fail == "exclude"]
    if names:
        # All stored results count, because a save knows only the outcomes of its own item.
        failed = select(CheckResult.id).where(
            CheckResult.assignment_id == assignment_id, CheckResult.name.in_(names), CheckResult.passed.is_(False)
        )
        session.execute(update(Assignment).where(Assignment.id == assignment_id).values(excluded=failed.exists()))


def screen_out(session: Session, assignment_id: int) -> None:
    """End a visit with the screen-out code: its work is kept but enters no figure, and its seat becomes free.

    If the visit has submitted an earlier try at a qualification, only the current try ends, and no further try follows. The earlier
    one keeps its completion code: the platform accepts one code for each submission, and an earned reward stays earned.
    """
    assignment = session.get_one(Assignment, assignment_id)
    # Set before the seat is returned: by its outcome a stopped seat differs from one that the annotator gave back.
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
    """End the person's other visits that have no seat yet, so that a second link is no way around the check."""
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
    """Return the definition's message to a person whom a check screened out; empty if there is none."""
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
