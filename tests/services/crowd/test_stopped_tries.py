"""A check that stops a further try at a qualification ends that try only; the earlier one keeps its score and its code."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import Gone
from spanplat.models import Assignment, AssignmentStatus, Campaign, Qualification
from spanplat.schemas.submission import Submission
from spanplat.services.crowd.check_report import list_screened_out, report_checks
from spanplat.services.crowd.check_results import screen_out_message
from spanplat.services.crowd.participation import Stage, Visit, find_visit, try_again, way_back
from spanplat.services.crowd.pay import list_people
from spanplat.services.crowd.saving import Saved, save_item
from spanplat.services.crowd.submitting import submit_batch
from tests.services.crowd.test_annotating import NOW, text_of
from tests.services.crowd.test_qualifying import CHECKS, QUOTE, come, exam

Launch = Callable[..., Campaign]

STOPS = {"on_fail": "screen_out", "message": "Thank you, we need another eye."}
PLATFORM = {"service": "prolific", "codes": {"completed": "DONE", "screened_out": "OUT"}}
OTHER = {
    "name": "clean",
    "type": "must_abstain",
    "item": {"split": "test", "example": "1", "system": "alder"},
    **STOPS,
}


def demanding(attempts: int = 3) -> dict[str, object]:
    """Return an exam of two golds and an error-free text; a mark on that text ends the try."""
    batches = {"regular": 0, "gold": 2, "attention": 1}
    return exam(given={"attempts": attempts}, checks=[*CHECKS, OTHER], batches=batches, platform=PLATFORM)


def position_of(database: Database, visit: Visit, beginning: str) -> int:
    return next(position for position in (1, 2, 3) if text_of(database, visit, position).startswith(beginning))


def fail_first_try(database: Database, person: str = "ann") -> Visit:
    visit = come(database, "exam", person)
    for position in (1, 2, 3):
        save_item(database, visit.participation.token, position, Submission(revision=0, status="complete"), NOW)
    return submit_batch(database, visit.participation.token, NOW)


def begin_again(database: Database, visit: Visit) -> Visit:
    with database.transaction() as session:
        return try_again(session, visit.participation.token, NOW + timedelta(minutes=5))


def mark_where_nothing_is(database: Database, visit: Visit) -> Saved:
    position = position_of(database, visit, "Alder: It rains")
    text = text_of(database, visit, position)
    span = {"start": 0, "end": 5, "category": "wrong", "text": text[:5]}
    wrong = Submission.model_validate({"revision": 0, "status": "complete", "spans": [span]})
    return save_item(database, visit.participation.token, position, wrong, NOW + timedelta(minutes=6))


def test_the_try_submitted_before_keeps_its_code_and_its_score(database: Database, launch: Launch) -> None:
    campaign = launch(**demanding())
    again = begin_again(database, fail_first_try(database))
    assert mark_where_nothing_is(database, again).ended
    with database.reading() as session:
        visit = find_visit(session, again.participation.token)
        assert (visit.stage, visit.participation.ended, visit.may_try_again) == (Stage.DONE, None, False)
        assert way_back(visit).link == "https://app.prolific.com/submissions/complete?cc=FAILED"
        assert screen_out_message(session, visit.definition, visit.stopped_try) == STOPS["message"]
        stored = session.execute(select(Qualification.status, Qualification.attempts)).one()
        assert tuple(stored) == ("failed", 1)
        assert [person.outcome for person in list_people(session, campaign)] == ["completed"]
        [out] = list_screened_out(session, campaign)
        assert out.failed == ["clean"]
        assert report_checks(session, campaign).screened_out == 1


def test_the_stopped_try_gives_its_seat_back_and_takes_no_further_work(database: Database, launch: Launch) -> None:
    launch(**demanding())
    again = begin_again(database, fail_first_try(database))
    mark_where_nothing_is(database, again)
    assert mark_where_nothing_is(database, again).ended, "the same save again gets the same answer"
    other = position_of(database, again, "Alder: A short")
    with pytest.raises(Gone):
        save_item(database, again.participation.token, other, Submission(revision=0, status="complete"), NOW)
    with database.reading() as session:
        statuses = select(Assignment.status).where(Assignment.annotator_id == again.participation.annotator_id)
        assert sorted(session.scalars(statuses)) == [AssignmentStatus.RETURNED, AssignmentStatus.SUBMITTED]
    assert begin_again(database, again).stage == Stage.DONE


def test_who_was_stopped_is_stopped_in_a_later_visit_too_and_gets_the_code_for_it_there(
    database: Database, launch: Launch
) -> None:
    launch(**demanding())
    again = begin_again(database, fail_first_try(database))
    mark_where_nothing_is(database, again)
    later = come(database, "exam", "ann", visit="2")
    assert (later.stage, later.assignment, way_back(later).code) == (Stage.ENDED, None, "OUT")


def test_a_check_that_stops_when_the_try_is_submitted_leaves_the_first_one_too(
    database: Database, launch: Launch
) -> None:
    launch(**demanding())
    again = begin_again(database, fail_first_try(database))
    position = position_of(database, again, "Alder: It rains")
    token, text = again.participation.token, text_of(database, again, position)
    for number in (1, 2, 3):
        save_item(database, token, number, Submission(revision=0, status="complete"), NOW)
    span = {"start": 0, "end": 5, "category": "wrong", "text": text[:5]}
    changed = {"revision": 1, "status": "complete", "spans": [span]}
    assert not save_item(database, token, position, Submission.model_validate(changed), NOW).ended
    done = submit_batch(database, token, NOW + timedelta(minutes=9))
    assert (done.stage, way_back(done).code) == (Stage.DONE, "FAILED")


def test_a_first_try_that_is_stopped_earns_the_code_for_being_screened_out(database: Database, launch: Launch) -> None:
    launch(**demanding())
    visit = come(database, "exam", "ann")
    assert mark_where_nothing_is(database, visit).ended
    with database.reading() as session:
        ended = find_visit(session, visit.participation.token)
        assert (ended.stage, way_back(ended).code) == (Stage.ENDED, "OUT")


def test_a_pass_is_not_lost_to_a_stopped_try_of_somebody_else(database: Database, launch: Launch) -> None:
    launch(**demanding())
    again = begin_again(database, fail_first_try(database, "ann"))
    mark_where_nothing_is(database, again)
    visit = come(database, "exam", "bob")
    clean = position_of(database, visit, "Alder: It rains")
    save_item(database, visit.participation.token, clean, Submission(revision=0, status="complete"), NOW)
    for position in {1, 2, 3} - {clean}:
        text = text_of(database, visit, position)
        start = text.find(QUOTE)
        span = {"start": start, "end": start + len(QUOTE), "category": "wrong", "text": QUOTE}
        content = {"revision": 0, "status": "complete", "spans": [span] if start >= 0 else []}
        save_item(database, visit.participation.token, position, Submission.model_validate(content), NOW)
    passed = submit_batch(database, visit.participation.token, NOW)
    assert way_back(passed).code == "PASSED"
