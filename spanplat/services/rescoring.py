"""Scoring the checks on a model's seats again, where reading its replies again changes what it marked or answered."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from spanplat.llm.replies import Reading
from spanplat.models import Assignment, AssignmentStatus, CheckResult
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.check_results import store_outcomes
from spanplat.services.checks import AnsweredItem, CheckOutcome, MarkedSpan, score_item
from spanplat.services.model_runs.seats import end_of_seat, without_time_floors
from spanplat.services.submitting import answered_items

Place = tuple[int, int]
"""Seat and item."""


@dataclass(frozen=True)
class CheckChange:
    """A check that is passed now and was failed before, or the other way round."""

    assignment: int
    item: int
    check: str
    before: bool
    """Whether it was passed."""
    after: bool


@dataclass(frozen=True)
class Rescored:
    """What scoring again changes."""

    checks: list[CheckChange]
    left_out: int
    """Seats that a failed check leaves out of every figure from now on."""
    taken_in: int
    """Seats that were left out, and no longer are."""


Scores = dict[int, dict[int, list[CheckOutcome]]]
"""Outcomes by seat and item."""


def score_again(session: Session, definition: CampaignDefinition, readings: Mapping[Place, Reading]) -> Scores:
    """Score the checks of submitted seats as if replies said what was read now; nothing is written.

    Parameters
    ----------
    session
        A reading session.
    definition
        Of the model campaign.
    readings
        What changes, by seat and item.
    """
    checked = without_time_floors(definition)
    if not checked.checks:
        return {}
    seats = select(Assignment).where(
        Assignment.id.in_({seat for seat, _ in readings}), Assignment.status == AssignmentStatus.SUBMITTED
    )
    scores: Scores = {}
    for seat in session.scalars(seats.order_by(Assignment.id)).all():
        rows, items = answered_items(session, seat)
        scores[seat.id] = {
            item_id: score_item(checked, _as_read(item, readings.get((seat.id, item_id))))
            for (item_id, _), item in zip(rows, items, strict=True)
        }
    return scores


def compare_scores(session: Session, definition: CampaignDefinition, scores: Scores) -> Rescored:
    """Tell what storing scores would change."""
    changes: list[CheckChange] = []
    left_out = taken_in = 0
    for seat in session.scalars(select(Assignment).where(Assignment.id.in_(scores)).order_by(Assignment.id)):
        results = select(CheckResult.item_id, CheckResult.name, CheckResult.passed)
        before = {
            (item, name): passed
            for item, name, passed in session.execute(results.where(CheckResult.assignment_id == seat.id))
        }
        changes.extend(
            CheckChange(seat.id, item, outcome.name, before[item, outcome.name], outcome.passed)
            for item, of_item in scores[seat.id].items()
            for outcome in of_item
            if before.get((item, outcome.name), outcome.passed) != outcome.passed
        )
        is_left_out = end_of_seat(definition, scores[seat.id])["excluded"]
        left_out += is_left_out and not seat.excluded
        taken_in += seat.excluded and not is_left_out
    return Rescored(changes, left_out, taken_in)


def store_scores(session: Session, definition: CampaignDefinition, scores: Scores) -> None:
    """Put scores in the place of those before, and take seats into the figures or leave them out accordingly."""
    for seat, outcomes in scores.items():
        session.execute(update(Assignment).where(Assignment.id == seat).values(end_of_seat(definition, outcomes)))
        store_outcomes(session, seat, outcomes)


def _as_read(item: AnsweredItem, reading: Reading | None) -> AnsweredItem:
    if reading is None:
        return item
    spans = [MarkedSpan(span.start, span.end, span.category) for span in reading.spans if span.side == "output"]
    return replace(item, spans=spans, answers={**item.answers, **reading.answers})
