"""Tests of the whole way from a start link to a submitted batch."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.errors import Conflict, Gone, InvalidInput, NotAllowed
from spanplat.models import Annotation, Annotator, Assignment, AssignmentStatus, Campaign, CheckResult, Span
from spanplat.platforms.platform import Arrival
from spanplat.schemas.submission import Submission
from spanplat.services.accounts.audit import list_events
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.claims import NothingLeft
from spanplat.services.crowd.pages import list_items, show_item
from spanplat.services.crowd.participation import Stage, Visit, enter, find_visit, give_consent, way_back
from spanplat.services.crowd.requirements import TextMismatch
from spanplat.services.crowd.saving import KeptAsLate, StaleRevision, save_item
from spanplat.services.crowd.submitting import Incomplete, submit_batch
from spanplat.services.crowd.withdrawing import withdraw

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
SOON = NOW + timedelta(minutes=10)
LATER = NOW + timedelta(hours=2)


def arrive(database: Database, person: str, *, now: datetime = NOW, session_key: str | None = None) -> Visit:
    arrival = Arrival("prolific", person, session_key or f"prolific:study:{person}", {"PROLIFIC_PID": person})
    with database.transaction() as session:
        return enter(session, find_campaign(session, "study"), arrival, now)


def text_of(database: Database, visit: Visit, position: int) -> str:
    assert visit.assignment is not None
    with database.reading() as session:
        return str(show_item(session, visit.definition, visit.assignment, position)["text"])


def marking(text: str, revision: int = 0, *, status: str = "complete", start: int = 0, end: int = 5) -> Submission:
    span = {"start": start, "end": end, "category": "wrong", "text": text[start:end]}
    return Submission.model_validate({"revision": revision, "status": status, "spans": [span]})


def complete_all(database: Database, visit: Visit, *, now: datetime = NOW) -> None:
    assert visit.assignment is not None
    with database.reading() as session:
        positions = [item.position for item in list_items(session, visit.assignment)]
    for position in positions:
        save_item(database, visit.participation.token, position, Submission(revision=0, status="complete"), now)


def test_a_batch_is_annotated_and_submitted_and_submitting_again_shows_the_same(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(platform={"service": "prolific", "codes": {"completed": "DONE123"}})
    visit = arrive(database, "ann")
    token = visit.participation.token
    text = text_of(database, visit, 1)
    assert save_item(database, token, 1, marking(text), NOW).revision == 1
    with pytest.raises(Incomplete) as incomplete:
        submit_batch(database, token, NOW)
    assert incomplete.value.positions == [2, 3]
    for position in (2, 3):
        save_item(database, token, position, Submission(revision=0, status="complete"), NOW)
    with database.reading() as session:
        assert way_back(find_visit(session, token)).code is None
    for _ in range(3):
        done = submit_batch(database, token, NOW)
        assert done.stage == Stage.DONE
        assert way_back(done).link == "https://app.prolific.com/submissions/complete?cc=DONE123"
    with pytest.raises(Gone):
        save_item(database, token, 1, marking(text, 1), NOW)


def test_the_same_save_again_changes_nothing_and_a_stale_one_is_refused(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch()
    visit = arrive(database, "ann")
    token, text = visit.participation.token, text_of(database, visit, 1)
    first = marking(text)
    assert [save_item(database, token, 1, first, NOW).revision for _ in range(3)] == [1, 1, 1]
    assert save_item(database, token, 1, marking(text, 1, end=4), NOW).revision == 2
    with pytest.raises(StaleRevision) as stale:
        save_item(database, token, 1, first, NOW)
    assert stale.value.revision == 2
    with database.reading() as session:
        assert session.scalars(select(Span.end_offset)).all() == [4]
        assert session.scalars(select(Annotation.revision)).all() == [2]


def test_offsets_are_code_points_of_the_stored_text(database: Database, launch: Callable[..., Campaign]) -> None:
    launch(batches={"regular": 12})
    visit = arrive(database, "ann")
    positions = range(1, 13)
    texts = {position: text_of(database, visit, position) for position in positions}
    assert any("🌧️" in text for text in texts.values())
    for position, text in texts.items():
        save_item(database, visit.participation.token, position, marking(text, start=3, end=len(text)), NOW)
    with database.reading() as session:
        assert visit.assignment is not None
        for position, text in texts.items():
            (span,) = show_item(session, visit.definition, visit.assignment, position)["spans"]
            assert span["text"] == text[span["start"] : span["end"]] == text[3:]


def test_a_span_that_does_not_quote_its_text_is_refused_and_nothing_is_stored(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch()
    visit = arrive(database, "ann")
    shifted = Submission.model_validate(
        {"revision": 0, "status": "draft", "spans": [{"start": 1, "end": 3, "category": "wrong", "text": "zz"}]}
    )
    with pytest.raises(TextMismatch, match="span 1: the text at"):
        save_item(database, visit.participation.token, 1, shifted, NOW)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Annotation)) == 0


def test_overlap_is_refused_only_where_the_campaign_forbids_it(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(spans={"overlap": "forbid"})
    visit = arrive(database, "ann")
    text = text_of(database, visit, 1)
    spans = [{"start": s, "end": e, "category": "wrong", "text": text[s:e]} for s, e in ((3, 6), (0, 3), (5, 8))]
    touching = Submission.model_validate({"revision": 0, "status": "draft", "spans": spans[:2]})
    assert save_item(database, visit.participation.token, 1, touching, NOW).revision == 1
    overlapping = Submission.model_validate({"revision": 1, "status": "draft", "spans": spans})
    with pytest.raises(InvalidInput, match="spans 1 and 3 overlap"):
        save_item(database, visit.participation.token, 1, overlapping, NOW)


def test_every_output_gets_its_annotators_and_nobody_gets_an_output_twice(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(annotators={"per_output": 2, "max_batches": 10})
    seen: dict[str, list[int]] = {}
    for person in ("ann", "bob", "cem"):
        for visit_number in range(4):
            try:
                visit = arrive(database, person, session_key=f"{person}-{visit_number}")
            except NothingLeft:
                continue
            assert visit.assignment is not None
            seen.setdefault(person, []).append(visit.assignment.batch_id)
            complete_all(database, visit)
            submit_batch(database, visit.participation.token, NOW)
    assert all(len(batches) == len(set(batches)) for batches in seen.values())
    with database.reading() as session:
        statuses = session.scalars(select(Assignment.status)).all()
    assert statuses == [AssignmentStatus.SUBMITTED] * 8


def test_a_reload_finds_the_same_seat(database: Database, launch: Callable[..., Campaign]) -> None:
    launch()
    first, second = arrive(database, "ann"), arrive(database, "ann")
    assert first.participation.token == second.participation.token
    assert first.assignment is not None
    assert second.assignment is not None
    assert first.assignment.id == second.assignment.id


def test_a_lapsed_seat_goes_to_who_needs_it_and_late_work_is_kept(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(batches={"regular": 12})
    slow = arrive(database, "slow")
    text = text_of(database, slow, 1)
    save_item(database, slow.participation.token, 1, marking(text), NOW)
    with pytest.raises(NothingLeft):
        arrive(database, "quick")
    quick = arrive(database, "quick", now=LATER)
    assert quick.assignment is not None
    assert text_of(database, quick, 1) == text
    with pytest.raises(KeptAsLate):
        save_item(database, slow.participation.token, 1, marking(text, 1, end=4), LATER)
    with database.reading() as session:
        kept = session.scalars(select(Annotation)).one()
        assert (kept.late, kept.revision, [span.end_offset for span in kept.spans]) == (True, 2, [4])
    complete_all(database, quick, now=LATER)
    assert submit_batch(database, quick.participation.token, LATER).stage == Stage.DONE


def test_a_late_save_takes_a_seat_back_that_nobody_has_taken(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(batches={"regular": 6})
    arrive(database, "first")
    slow = arrive(database, "slow")
    arrive(database, "quick", now=LATER)  # both leases have run out; the first free seat is not the slow one's
    assert slow.assignment is not None
    with database.reading() as session:
        statuses = session.scalars(select(Assignment.status)).all()
        assert sorted(statuses) == ["expired", "expired", "held", "open"]
    save_item(database, slow.participation.token, 1, Submission(revision=0, status="complete"), LATER)
    with database.reading() as session:
        assert sorted(session.scalars(select(Assignment.status)).all()) == ["expired", "held", "held"]
        assert session.get_one(Assignment, slow.assignment.id).status == "held"


def test_withdrawing_gives_the_seat_back_and_shows_the_code_for_it(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(batches={"regular": 12}, platform={"service": "prolific", "codes": {"no_consent": "BYE999"}})
    visit = arrive(database, "ann")
    with database.transaction() as session:
        ended = withdraw(session, visit.participation.token)
    assert (ended.stage, way_back(ended).code) == (Stage.ENDED, "BYE999")
    with pytest.raises(Gone):
        save_item(database, visit.participation.token, 1, Submission(revision=0, status="complete"), NOW)
    assert arrive(database, "bob").stage == Stage.WORK


@pytest.mark.parametrize(("policy", "kept"), [("leave_out", 1), ("delete", 0)])
def test_the_work_of_who_withdraws_is_kept_or_deleted_as_the_campaign_says(
    database: Database, launch: Callable[..., Campaign], policy: str, kept: int
) -> None:
    check = {"name": "fast", "type": "min_seconds", "seconds": 1}
    launch(annotators={"withdrawn": policy, "per_output": 2}, checks=[check])
    other, visit = arrive(database, "bob"), arrive(database, "ann")
    for person in (other, visit):
        text = text_of(database, person, 1)
        save_item(database, person.participation.token, 1, marking(text), NOW)
    with database.transaction() as session:
        withdraw(session, visit.participation.token)
    with database.reading() as session:
        assert visit.assignment is not None
        for table in (Annotation, CheckResult):
            theirs = select(func.count()).where(table.assignment_id == visit.assignment.id)
            assert session.scalar(theirs) == kept
        assert session.scalar(select(func.count()).select_from(Span)) == 1 + kept
        pseudonym = session.get_one(Annotator, visit.participation.annotator_id).pseudonym
        deleted = [line.detail for line in list_events(session, thing="work")]
    assert deleted == [{"annotator": pseudonym}] * (1 - kept)


def test_no_seat_is_claimed_before_consent(database: Database, launch: Callable[..., Campaign]) -> None:
    launch(consent={"version": "7", "text": "We keep your marks."})
    visit = arrive(database, "ann")
    assert (visit.stage, visit.assignment) == (Stage.CONSENT, None)
    with database.transaction() as session:
        agreed = give_consent(session, visit.participation.token, agreed=True, now=NOW)
    assert agreed.stage == Stage.WORK
    assert (agreed.participation.consent_version, agreed.participation.consented_at) == ("7", NOW)


def test_only_the_invited_enter(database: Database, launch: Callable[..., Campaign]) -> None:
    launch(annotators={"invited": ["ann"]})
    assert arrive(database, "ann").stage == Stage.WORK
    with pytest.raises(NotAllowed, match="by invitation"):
        arrive(database, "bob")


def test_a_campaign_that_is_not_open_takes_nobody_in(database: Database, launch: Callable[..., Campaign]) -> None:
    campaign = launch()
    with database.transaction() as session:
        find_campaign(session, campaign.slug).status = "paused"
    with pytest.raises(Conflict, match="is paused"):
        arrive(database, "ann")


def test_checks_of_an_item_and_of_every_item_are_scored(database: Database, launch: Callable[..., Campaign]) -> None:
    item = {"split": "test", "example": "0", "system": "alder"}
    launch(
        data={"dataset": "reports", "examples": ["1", "2"]},
        batches={"regular": 4, "attention": 1},
        checks=[
            {
                "name": "blatant",
                "type": "must_mark",
                "item": item,
                "expected": {"quote": "short"},
                "on_fail": "withhold_bonus",
            },
            {"name": "too-fast", "type": "min_seconds", "seconds": 5},
        ],
        platform={"codes": {"completed": "GOOD", "screened_out": "OUT"}},
    )
    visit = arrive(database, "ann")
    complete_all(database, visit, now=SOON)
    assert way_back(submit_batch(database, visit.participation.token, SOON)).code == "GOOD"
    with database.reading() as session:
        results = session.execute(select(CheckResult.name, CheckResult.passed).order_by(CheckResult.name)).all()
    assert [tuple(row) for row in results] == [("blatant", False)] + [("too-fast", True)] * 5


def test_a_page_that_claims_more_time_than_passed_is_not_believed(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(
        batches={"regular": 3},
        checks=[{"name": "too-fast", "type": "min_seconds", "seconds": 5, "on_fail": "warn"}],
    )
    visit = arrive(database, "ann")
    claim = Submission(revision=0, status="complete", seconds=30)
    told = [
        save_item(database, visit.participation.token, position, claim, NOW + timedelta(seconds=after)).warnings != ()
        for position, after in ((1, 6), (2, 8), (3, 70))
    ]
    assert told == [False, True, False]
    submit_batch(database, visit.participation.token, LATER)
    with database.reading() as session:
        results = session.scalars(select(CheckResult.passed).order_by(CheckResult.item_id)).all()
    assert sorted(results) == [False, True, True], "to wait before submitting changes nothing"
