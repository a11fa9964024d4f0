"""Cautions about a comparison: unfinished campaigns and differing categories."""

from collections.abc import Callable
from random import Random

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import (
    COUNTED,
    Annotation,
    Annotator,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Campaign,
    CampaignStatus,
    ItemRole,
)
from spanplat.services.agreement.cautions import Cautions, find_cautions
from spanplat.services.agreement.sides import Filters
from spanplat.services.campaigns.extending import ExtensionRequest, extend, plan_extension
from spanplat.services.campaigns.lifecycle import set_status

Import = Callable[..., str]
SPAN = [(0, 6, "Wrong")]


def cautions(database: Database, *slugs: str, filters: Filters | None = None) -> Cautions:
    with database.reading() as session:
        campaigns = {campaign.slug: campaign for campaign in session.scalars(select(Campaign))}
        return find_cautions(session, [campaigns[slug] for slug in slugs], filters)


def test_finished_campaigns_with_the_same_categories_need_no_caution(database: Database, imported: Import) -> None:
    imported("people", one={0: SPAN})
    imported("model", one={0: SPAN, 1: []})
    assert cautions(database, "people", "model") == Cautions()
    assert cautions(database, "people", "people") == Cautions()


def test_categories_of_one_side_only_are_named_with_those_that_both_have(database: Database, imported: Import) -> None:
    imported("people", one={0: SPAN})
    imported("model", ["Wrong", "Odd"], one={0: SPAN})
    found = cautions(database, "people", "model")
    assert {own.campaign: own.categories for own in found.own_categories} == {"people": ("Unclear",), "model": ("Odd",)}
    assert found.shared_categories == {"wrong": "Wrong"}
    assert cautions(database, "people", "model", filters=Filters(categories=("wrong",))) == Cautions()


def test_campaigns_without_a_common_category_have_none_to_choose(database: Database, imported: Import) -> None:
    imported("people", ["Wrong"], one={0: SPAN})
    imported("model", ["Odd"], one={0: [(0, 6, "Odd")]})
    found = cautions(database, "people", "model")
    assert len(found.own_categories) == 2
    assert found.shared_categories == {}


def test_an_open_campaign_tells_how_many_of_its_outputs_are_done(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(slug="study")
    (unfinished,) = cautions(database, "study").unfinished
    assert (unfinished.campaign, unfinished.done, unfinished.outputs) == ("study", 0, 12)
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.CLOSED)
    assert cautions(database, "study").unfinished == ()


@pytest.mark.parametrize("seed", range(4))
def test_the_numbers_of_outputs_follow_whatever_happens(
    database: Database, launch: Callable[..., Campaign], seed: int
) -> None:
    """After every change the cached numbers are equal to those of a new count."""
    random = Random(seed)  # noqa: S311
    check = {"name": "clean", "type": "must_abstain", "item": {"split": "test", "example": "0", "system": "alder"}}
    parts = {"batches": {"regular": 2, "attention": 1}, "annotators": {"per_output": 2}, "checks": [check]}
    launch(data={"dataset": "reports", "limit": 4}, **parts)
    shown = set()
    for step in range(40):
        if step in (15, 30):
            with database.reading() as session:
                plan = plan_extension(session, "study", ExtensionRequest(adds_outputs=True, limit=4 + step // 5))
            extend(database, plan)
        else:
            with database.transaction() as session:
                _happen(session, random, step)
        with database.reading() as session:
            done, outputs = _counted_one_by_one(session)
        found = cautions(database, "study").unfinished
        assert [(one.done, one.outputs) for one in found] == ([(done, outputs)] if done < outputs else [])
        shown.add((done, outputs))
    assert len(shown) > 5


def _happen(session: Session, random: Random, step: int) -> None:
    """Change something at random that decides whether annotations count."""
    seat = random.choice(session.scalars(select(Assignment).order_by(Assignment.id)).all())
    if seat.status == AssignmentStatus.OPEN:
        seat.annotator = Annotator(kind="human", source="direct", external_id=f"{step}", pseudonym=f"p-{step}")
        seat.status = AssignmentStatus.HELD
    item_id = random.choice(session.scalars(select(BatchItem.item_id).where(BatchItem.batch_id == seat.batch_id)).all())
    work = select(Annotation).where(Annotation.assignment_id == seat.id, Annotation.item_id == item_id)
    annotation = session.scalar(work)
    if annotation is None:
        annotation = Annotation(assignment_id=seat.id, item_id=item_id, revision=1)
        session.add(annotation)
    match random.randrange(8):
        case 0:
            seat.excluded = not seat.excluded
        case 1:
            seat.status = AssignmentStatus.SUBMITTED
        case 2:
            annotation.late = not annotation.late
        case _:
            annotation.status = "complete"


def _counted_one_by_one(session: Session) -> tuple[int, int]:
    """Return how many outputs have an annotation that counts, and how many there are."""
    regular = session.scalars(select(BatchItem).where(BatchItem.role == ItemRole.REGULAR)).all()
    asked = {output.output_id for place in regular for output in place.item.outputs}
    items = {place.item_id for place in regular}
    done = {
        output.output_id
        for annotation in session.scalars(select(Annotation))
        if annotation.item_id in items and annotation.status == "complete" and not annotation.late
        if annotation.assignment.status in COUNTED and not annotation.assignment.excluded
        for output in annotation.item.outputs
    }
    return len(done), len(asked)
