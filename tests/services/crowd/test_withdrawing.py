"""Leaving a further try at a qualification ends that try only; the earlier one stays submitted."""

from collections.abc import Callable

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.models import Annotation, Assignment, AssignmentStatus, Campaign
from spanplat.services.crowd.participation import Stage, Visit, find_visit, try_again, way_back
from spanplat.services.crowd.pay import list_people, pay_file
from spanplat.services.crowd.qualifying import qualification_table
from spanplat.services.crowd.saving import save_item
from spanplat.services.crowd.withdrawing import withdraw
from tests.services.crowd.test_annotating import NOW, marking, text_of
from tests.services.crowd.test_qualifying import QUOTE, come, exam, take

Launch = Callable[..., Campaign]


def begin_second_try(database: Database) -> Visit:
    failed = take(database, come(database, "exam", "ann"), "")
    with database.transaction() as session:
        again = try_again(session, failed.participation.token, NOW)
    save_item(database, again.participation.token, 1, marking(text_of(database, again, 1)), NOW)
    with database.reading() as session:
        return find_visit(session, again.participation.token)


@pytest.mark.parametrize(("policy", "kept"), [("leave_out", 3), ("delete", 2)])
def test_leaving_a_further_try_ends_it_alone_and_the_code_earned_before_stays(
    database: Database, launch: Launch, policy: str, kept: int
) -> None:
    campaign = launch(**exam(given={"attempts": 3}, annotators={"per_output": 20, "withdrawn": policy}))
    again = begin_second_try(database)
    assert again.is_further_try
    with database.transaction() as session:
        left = withdraw(session, again.participation.token)
    assert (left.stage, left.left_a_try, left.may_try_again, way_back(left).code) == (Stage.DONE, True, False, "FAILED")
    assert left.participation.ended is None
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Annotation)) == kept
        statuses = select(Assignment.status).where(Assignment.annotator_id == left.participation.annotator_id)
        assert sorted(session.scalars(statuses)) == [AssignmentStatus.RETURNED, AssignmentStatus.SUBMITTED]
        [candidate] = qualification_table(session, "exam").candidates
        assert (candidate.attempts, candidate.outputs) == (1, 2), "its score can still be computed"
        assert [person.outcome for person in list_people(session, campaign)] == ["completed"]
        assert "DONE" in pay_file(session, campaign)


def test_who_leaves_a_further_try_twice_or_tries_to_begin_another_stays_where_they_are(
    database: Database, launch: Launch
) -> None:
    launch(**exam(given={"attempts": 3}, annotators={"per_output": 20, "withdrawn": "delete"}))
    token = begin_second_try(database).participation.token
    for step in (withdraw, withdraw, lambda session, token: try_again(session, token, NOW)):
        with database.transaction() as session:
            assert step(session, token).stage == Stage.DONE
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Annotation)) == 2


def test_a_first_try_is_left_as_any_other_work(database: Database, launch: Launch) -> None:
    launch(**exam(given={"attempts": 2}, annotators={"per_output": 20, "withdrawn": "delete"}))
    visit = come(database, "exam", "ann")
    save_item(database, visit.participation.token, 1, marking(text_of(database, visit, 1)), NOW)
    assert not visit.is_further_try
    with database.transaction() as session:
        left = withdraw(session, visit.participation.token)
    assert (left.stage, left.participation.ended) == (Stage.ENDED, "withdrawn")
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Annotation)) == 0
    passed = take(database, come(database, "exam", "ann", visit="2"), QUOTE)
    assert way_back(passed).code == "PASSED"
