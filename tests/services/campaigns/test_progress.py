"""Progress of campaigns and their batches."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import (
    Annotation,
    Annotator,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Campaign,
    CheckResult,
    Completion,
    Unplaced,
)
from spanplat.services.campaigns.progress import (
    CampaignProgress,
    annotator_orders,
    count_batches,
    count_unplaced,
    coverage,
    list_batches,
    list_progress,
    list_unplaced,
)

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def campaign(launch: Callable[..., Campaign]) -> Campaign:
    """A campaign of twelve outputs: four batches of three, two seats on each."""
    return launch(annotators={"per_output": 2})


def _progress(session: Session, campaign: Campaign) -> CampaignProgress:
    return list_progress(session, [campaign], NOW)[0]


def _take(session: Session, campaign: Campaign, *, minutes: int = 10, done: int = 0) -> Assignment:
    """Give the next open seat to a new annotator, with some of its items completed."""
    seat = session.scalars(
        select(Assignment)
        .where(Assignment.campaign_id == campaign.id, Assignment.status == "open")
        .order_by(Assignment.id)
    ).first()
    assert seat is not None
    person = Annotator(kind="human", source="test", external_id=str(seat.id), pseudonym=f"p{seat.id}")
    session.add(person)
    session.flush()
    seat.annotator_id, seat.status, seat.claimed_at = person.id, AssignmentStatus.HELD, NOW
    seat.lease_expires_at = NOW + timedelta(minutes=minutes)
    items = session.scalars(select(BatchItem.item_id).where(BatchItem.batch_id == seat.batch_id).limit(done)).all()
    for item in items:
        session.add(Annotation(assignment_id=seat.id, item_id=item, status="complete", completed_at=NOW))
    session.flush()
    return seat


def test_a_new_campaign_promises_every_item_of_every_seat(database: Database, campaign: Campaign) -> None:
    with database.reading() as session:
        progress = _progress(session, campaign)
    assert (progress.done, progress.promised, progress.open_seats) == (0, 24, 8)
    assert (progress.people_now, progress.unplaced, progress.cost, progress.last_event) == (0, 0, None, None)
    assert not progress.is_finished
    assert progress.attention == []


def test_completed_annotations_and_present_people_are_counted(database: Database, campaign: Campaign) -> None:
    with database.transaction() as session:
        _take(session, campaign, done=2)
        _take(session, campaign, done=1)
        progress = _progress(session, campaign)
    assert (progress.done, progress.people_now, progress.open_seats, progress.last_event) == (3, 2, 6, NOW)


def test_a_pass_rate_below_a_half_needs_attention_once_there_are_enough_results(
    database: Database, campaign: Campaign
) -> None:
    with database.transaction() as session:
        seat = _take(session, campaign)
        assert _progress(session, campaign).pass_rate is None

        def answer(results: range, *, passed: bool) -> CampaignProgress:
            session.add_all(
                CheckResult(assignment_id=seat.id, name=str(result), kind="must_mark", passed=passed)
                for result in results
            )
            session.flush()
            return _progress(session, campaign)

        few = answer(range(5), passed=False)
        assert (few.passed, few.checked, few.attention) == (0, 5, [])
        mixed = answer(range(5, 9), passed=True)
        assert mixed.attention == []
        enough = answer(range(9, 11), passed=False)
        assert enough.pass_rate == pytest.approx(4 / 11)
        assert enough.attention == ["checks"]


def test_late_work_and_work_on_seats_given_back_do_not_count(database: Database, campaign: Campaign) -> None:
    with database.transaction() as session:
        _take(session, campaign, done=1).status = AssignmentStatus.RETURNED
        late = _take(session, campaign, done=1)
        for annotation in session.scalars(select(Annotation).where(Annotation.assignment_id == late.id)):
            annotation.late = True
        session.flush()
        progress = _progress(session, campaign)
    assert progress.done == 0
    assert progress.promised == 21


def test_somebody_whose_lease_ran_out_is_not_here_now(database: Database, campaign: Campaign) -> None:
    with database.transaction() as session:
        _take(session, campaign, minutes=-1)
        progress = _progress(session, campaign)
    assert (progress.people_now, progress.lapsed) == (0, 1)
    assert progress.attention == []  # there are open seats, so nobody waits for this one


def test_a_lapsed_seat_needs_attention_when_no_other_is_open(database: Database, campaign: Campaign) -> None:
    with database.transaction() as session:
        for _seat in range(8):
            _take(session, campaign, minutes=-1)
        assert _progress(session, campaign).attention == ["lapsed"]


def test_a_finished_campaign_that_is_still_open_needs_attention(database: Database, campaign: Campaign) -> None:
    with database.transaction() as session:
        for _seat in range(8):
            _take(session, campaign, done=3).status = AssignmentStatus.SUBMITTED
        session.flush()
        progress = _progress(session, campaign)
    assert progress.is_finished
    assert progress.attention == ["finished"]


def test_what_has_no_place_is_counted_and_grouped_by_reason(database: Database, campaign: Campaign) -> None:
    with database.transaction() as session:
        for reason in ("no such category", "no such category", "no such output"):
            session.add(Unplaced(campaign_id=campaign.id, kind="span", record={}, reason=reason))
        session.flush()
        progress = _progress(session, campaign)
        assert (progress.unplaced, progress.attention) == (3, ["unplaced"])
        assert count_unplaced(session, campaign) == [("span", "no such category", 2), ("span", "no such output", 1)]
        assert [record.reason for record in list_unplaced(session, campaign, offset=2)] == ["no such output"]


def test_the_cost_of_model_calls_adds_up(database: Database, campaign: Campaign) -> None:
    with database.transaction() as session:
        seat = _take(session, campaign)
        item = session.scalars(select(BatchItem.item_id).where(BatchItem.batch_id == seat.batch_id).limit(1)).one()
        for cost in (0.25, 0.5):
            call = Completion(campaign_id=campaign.id, assignment_id=seat.id, item_id=item, request={}, cost=cost)
            call.request_sha256 = "0" * 64
            session.add(call)
        session.flush()
        assert _progress(session, campaign).cost == 0.75


def test_batches_show_their_seats_by_state(database: Database, campaign: Campaign) -> None:
    with database.transaction() as session:
        _take(session, campaign, done=2)
        seat = _take(session, campaign)
        seat.status = AssignmentStatus.EXPIRED
        session.add(Assignment(campaign_id=campaign.id, batch_id=seat.batch_id, slot=seat.slot, status="open"))
        session.flush()
        batches = list_batches(session, campaign)
        assert count_batches(session, campaign) == 4
    assert [batch.number for batch in batches] == [1, 2, 3, 4]
    first = batches[0]
    assert (first.items, first.done, first.promised, first.last_event) == (3, 2, 6, NOW)
    assert (dict(first.seats), first.replaced) == ({"held": 1, "open": 1}, 1)


def test_batches_come_page_by_page(database: Database, campaign: Campaign) -> None:
    with database.reading() as session:
        assert [batch.number for batch in list_batches(session, campaign, offset=2, limit=1)] == [3]


def test_a_campaign_covers_the_sources_of_its_outputs(database: Database, campaign: Campaign) -> None:
    with database.reading() as session:
        covered = coverage(session, [campaign])
        assert (covered.datasets, covered.splits, covered.systems) == (["reports"], ["test"], ["alder", "birch"])
        assert len(annotator_orders(session, campaign)) == 2
