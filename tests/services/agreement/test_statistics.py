"""Descriptive statistics: costs of people and of models per 1,000 outputs."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from sqlalchemy import select, update

from spanplat.db import Database
from spanplat.models import Annotation, Assignment, AssignmentStatus, BatchItem, Campaign, Completion
from spanplat.services.agreement.sides import Filters
from spanplat.services.agreement.statistics import campaign_statistics
from spanplat.services.campaigns.annotators import find_or_add_annotator

Launch = Callable[..., Campaign]


def fill(database: Database, seats: int, cost: float | None = None) -> None:
    """Submit the first seats of the campaign ``study``, with one call at a price for each item."""
    with database.transaction() as session:
        for seat in session.scalars(select(Assignment).order_by(Assignment.id).limit(seats)).all():
            seat.annotator_id = find_or_add_annotator(session, "human", "direct", f"somebody {seat.id}").id
            seat.status = AssignmentStatus.SUBMITTED
            for item in session.scalars(select(BatchItem.item_id).where(BatchItem.batch_id == seat.batch_id)).all():
                done = {"status": "complete", "completed_at": datetime.now(UTC), "seconds": 2.0}
                session.add(Annotation(assignment_id=seat.id, item_id=item, **done))
                if cost is not None:
                    call = {"request_sha256": "0" * 64, "request": {}, "response": {}, "cost": cost}
                    names = {"campaign_id": seat.campaign_id, "assignment_id": seat.id, "item_id": item}
                    session.add(Completion(**names, **call))


def test_the_rewards_of_people_stand_beside_the_calls_of_models(database: Database, launch: Launch) -> None:
    launch(platform={"service": "direct", "reward": "£1.50"})
    fill(database, 2)
    with database.reading() as session:
        found = campaign_statistics(session, "study")
    assert (found.cost.total, found.cost.currency) == (3, "GBP")
    assert found.cost.per_1000_outputs == pytest.approx(500)
    assert found.seconds.mean_per_output == 2


def test_the_price_of_1000_outputs_is_that_of_the_whole_campaign_whatever_is_looked_at(
    database: Database, launch: Launch
) -> None:
    launch(kind="llm", model={"provider": "openai", "model": "tiny", "repeats": 2})
    fill(database, 8, cost=0.25)
    with database.reading() as session:
        one = campaign_statistics(session, "study", rule="first", filters=Filters(systems=("alder",)))
        assert one.annotations < campaign_statistics(session, "study").annotations
    assert one.cost.per_1000_outputs == 250


def test_statistics_of_shared_outputs_follow_the_other_campaign(
    database: Database, imported: Callable[..., str]
) -> None:
    imported("people", ann=dict.fromkeys(range(6), ()))
    imported("model", one=dict.fromkeys(range(4), ()))
    shared = Filters(shared_with="model")
    with database.reading() as session:
        before = campaign_statistics(session, "people", filters=shared).annotations
    with database.transaction() as session:
        newest = select(Annotation.id).order_by(Annotation.id.desc()).limit(1).scalar_subquery()
        session.execute(update(Annotation).where(Annotation.id == newest).values(status="draft"))
    with database.reading() as session:
        after = campaign_statistics(session, "people", filters=shared).annotations
    assert (before, after) == (4, 3)
