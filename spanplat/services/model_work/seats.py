"""Seats of a model campaign: taken when a run begins, submitted when full, and scored again when replies are read again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.llm.provider import Provider
from spanplat.llm.replies import ParsedReply
from spanplat.models import Annotation, Assignment, AssignmentStatus, BatchItem, Campaign, CheckResult
from spanplat.models.statements import rows_changed
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.campaigns import definition_of, find_or_add_annotator
from spanplat.services.crowd import (
    AnsweredItem,
    CheckOutcome,
    answered_items,
    is_excluded,
    outcome_of,
    score_item,
    stops,
    store_outcomes,
)


def take_seats(database: Database, campaign: Campaign, settings: ModelSettings, provider: Provider) -> None:
    """Seat one model annotator per repeat. The seats have no lease, because a run is resumed and never replaced."""
    now = datetime.now(UTC)
    with database.transaction() as session:
        # Only open seats change, so a second run, or one at the same time, finds nothing to do.
        for repeat in range(settings.repeats):
            name = f"{provider.name}/{campaign.slug}/{campaign.definition_sha256[:12]}/{repeat}"
            annotator = find_or_add_annotator(session, "llm", "model", name)
            session.execute(
                update(Assignment)
                .where(
                    Assignment.campaign_id == campaign.id,
                    Assignment.repeat == repeat,
                    Assignment.status == AssignmentStatus.OPEN,
                )
                .values(status=AssignmentStatus.HELD, annotator_id=annotator.id, claimed_at=now)
            )


def submit_full_seats(database: Database, campaign: Campaign) -> None:
    """Submit the seats in which every item is annotated, and score their checks like those of people.

    Time floors do not count: a model is quick without being careless. A check that screens a person out excludes a model's seat from
    all figures.
    """
    unanswered = (
        select(BatchItem.item_id)
        .outerjoin(Annotation, (Annotation.item_id == BatchItem.item_id) & (Annotation.assignment_id == Assignment.id))
        .where(BatchItem.batch_id == Assignment.batch_id, Annotation.id.is_(None))
    )
    is_full = (
        Assignment.campaign_id == campaign.id,
        Assignment.status == AssignmentStatus.HELD,
        ~unanswered.correlate(Assignment).exists(),
    )
    submitted = {"status": AssignmentStatus.SUBMITTED, "submitted_at": datetime.now(UTC), "outcome": "completed"}
    definition = without_time_floors(definition_of(campaign))
    if not definition.checks:
        with database.transaction() as session:
            session.execute(update(Assignment).where(*is_full).values(submitted))
        return
    # Scoring is slow, so it happens before the writing transaction. Meanwhile another run may submit the same seats, so the update
    # below asks again for seats that are held, and only its winner stores outcomes.
    with database.reading() as session:
        scored = {
            seat.id: _score(session, definition, seat) for seat in session.scalars(select(Assignment).where(*is_full))
        }
    with database.transaction() as session:
        for seat_id, by_item in scored.items():
            mine = update(Assignment).where(Assignment.id == seat_id, Assignment.status == AssignmentStatus.HELD)
            if rows_changed(session.execute(mine.values(submitted | end_of_seat(definition, by_item)))):
                store_outcomes(session, seat_id, by_item)


def without_time_floors(definition: CampaignDefinition) -> CampaignDefinition:
    """Return the definition with only the checks that apply to models."""
    checks = [check for check in definition.checks if not check.looks_at_time]
    return definition.model_copy(update={"checks": checks})


def end_of_seat(definition: CampaignDefinition, by_item: Mapping[int, Sequence[CheckOutcome]]) -> dict[str, Any]:
    """Return the columns of a model's seat at its end, from the outcomes of its checks.

    A check that screens people out excludes the seat from all figures.
    """
    outcomes = [outcome for of_item in by_item.values() for outcome in of_item]
    return {"outcome": outcome_of(definition, outcomes), "excluded": is_excluded(outcomes) or stops(outcomes)}


def _score(session: Session, definition: CampaignDefinition, seat: Assignment) -> dict[int, list[CheckOutcome]]:
    rows, items = answered_items(session, seat)
    return {item_id: score_item(definition, item) for (item_id, _), item in zip(rows, items, strict=True)}


@dataclass(frozen=True)
class CheckChange:
    """A check that changes from failed to passed, or from passed to failed."""

    assignment: int
    item: int
    check: str
    before: bool
    """Whether it was passed before."""
    after: bool


@dataclass(frozen=True)
class Rescored:
    """Changes that a second scoring makes."""

    checks: list[CheckChange]
    left_out: int
    """Number of seats that a failed check now excludes from all figures."""
    taken_in: int
    """Number of seats that were excluded and no longer are."""


Scores = dict[int, dict[int, list[CheckOutcome]]]
"""Outcomes by seat and item."""


def score_again(
    session: Session, definition: CampaignDefinition, readings: Mapping[tuple[int, int], ParsedReply]
) -> Scores:
    """Score the checks of submitted seats with new readings of their replies. Nothing is written.

    Parameters
    ----------
    session
        A reading session.
    definition
        Definition of the model campaign.
    readings
        New readings by seat and item. Other items keep their stored annotations.
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
    """Return what storing the scores would change."""
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
    """Replace the stored scores, and include seats in the figures or exclude them accordingly."""
    for seat, outcomes in scores.items():
        session.execute(update(Assignment).where(Assignment.id == seat).values(end_of_seat(definition, outcomes)))
        store_outcomes(session, seat, outcomes)


def _as_read(item: AnsweredItem, reading: ParsedReply | None) -> AnsweredItem:
    if reading is None:
        return item
    # Checks compare spans of the output only; see answered_items, which loads only these.
    spans = [span for span in reading.spans if span.side == "output"]
    return replace(item, spans=spans, answers={**item.answers, **reading.answers})
