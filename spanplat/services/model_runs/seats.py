"""The seats of a model campaign: taken when a run begins, submitted when all their items are annotated."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.llm.provider import Provider
from spanplat.models import Annotation, Assignment, AssignmentStatus, BatchItem, Campaign
from spanplat.models.statements import rows_changed
from spanplat.schemas.checks import TimeFloorCheck
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.annotators import find_or_add_annotator
from spanplat.services.check_results import store_outcomes
from spanplat.services.checks import CheckOutcome, is_excluded, outcome_of, score_item, stops
from spanplat.services.definitions import definition_of
from spanplat.services.submitting import answered_items


def take_seats(database: Database, campaign: Campaign, settings: ModelSettings, provider: Provider) -> None:
    """Seat one model annotator per repeat; its seats have no lease, because a run is resumed rather than replaced."""
    now = datetime.now(UTC)
    with database.transaction() as session:
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
    """Submit the seats all of whose items are annotated; checks are scored as those of people are, and a failed one counts alike.

    Time floors are not: a model is quick without being careless. What screens a person out leaves a model's seat out of every figure.
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
    """Return a definition with the checks that models stand under."""
    checks = [check for check in definition.checks if not isinstance(check, TimeFloorCheck)]
    return definition.model_copy(update={"checks": checks})


def end_of_seat(definition: CampaignDefinition, by_item: Mapping[int, Sequence[CheckOutcome]]) -> dict[str, Any]:
    """Return how a model's seat ends by the outcomes of its checks, as columns: what screens people out leaves it out of figures."""
    outcomes = [outcome for of_item in by_item.values() for outcome in of_item]
    return {"outcome": outcome_of(definition, outcomes), "excluded": is_excluded(outcomes) or stops(outcomes)}


def _score(session: Session, definition: CampaignDefinition, seat: Assignment) -> dict[int, list[CheckOutcome]]:
    rows, items = answered_items(session, seat)
    return {item_id: score_item(definition, item) for (item_id, _), item in zip(rows, items, strict=True)}
