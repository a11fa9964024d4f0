"""Requests for items use the same seat that the annotator's page shows."""

from collections.abc import Callable

import pytest
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Gone, NotFound
from spanplat.models import Campaign
from spanplat.services.crowd.pages import find_work_seat
from spanplat.services.crowd.participation import Stage, Visit, find_visit, try_again
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from tests.services.crowd.test_annotating import LATER, NOW, arrive, complete_all
from tests.services.crowd.test_practice import PRACTICE
from tests.services.crowd.test_qualifying import come, exam
from tests.services.crowd.test_stopped_tries import begin_again, demanding, fail_first_try, mark_where_nothing_is

Launch = Callable[..., Campaign]


def is_the_one_of_the_page(session: Session, token: str) -> Stage:
    """Compare the seat of item requests with the seat on the page, and return the stage."""
    visit = find_visit(session, token)
    if visit.stage in (Stage.DONE, Stage.ENDED):
        with pytest.raises(Gone, match="submitted or has ended"):
            find_work_seat(session, token)
    elif visit.assignment is None or visit.stage == Stage.PRACTICE:
        with pytest.raises(NotFound, match="no batch was taken"):
            find_work_seat(session, token)
    else:
        seat = find_work_seat(session, token)
        assert seat == (visit.assignment.id, visit.assignment.batch_id, visit.definition)
    return visit.stage


def check(database: Database, visit: Visit, stage: Stage) -> None:
    with database.reading() as session:
        assert is_the_one_of_the_page(session, visit.participation.token) == stage


def test_before_there_is_work_there_is_none(database: Database, launch: Launch) -> None:
    launch(consent={"text": "We keep your marks."})
    check(database, arrive(database, "ann"), Stage.CONSENT)
    with database.reading() as session, pytest.raises(NotFound, match="this link is not known"):
        find_work_seat(session, "none")


def test_practice_is_no_work_though_its_place_is_held(database: Database, launch: Launch) -> None:
    launch(practice=PRACTICE)
    check(database, arrive(database, "ann"), Stage.PRACTICE)


def test_work_goes_on_until_it_is_submitted_or_left(database: Database, launch: Launch) -> None:
    launch()
    ann, bob = arrive(database, "ann"), arrive(database, "bob")
    check(database, ann, Stage.WORK)
    complete_all(database, ann)
    submit_batch(database, ann.participation.token, NOW)
    check(database, ann, Stage.DONE)
    with database.transaction() as session:
        withdraw(session, bob.participation.token)
    check(database, bob, Stage.ENDED)


def test_a_process_that_has_not_met_the_study_reads_its_definition(
    database: Database, launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch()
    visit = arrive(database, "ann")
    monkeypatch.setattr("spanplat.services.campaigns.definitions._definitions", {})
    with database.reading() as session:
        assert find_work_seat(session, visit.participation.token).definition == visit.definition


def test_what_was_lost_to_somebody_else_is_seen_still(database: Database, launch: Launch) -> None:
    launch(annotators={"per_output": 1}, batches={"regular": 4})
    lost = arrive(database, "ann")
    check(database, arrive(database, "bob", now=LATER), Stage.WORK)
    check(database, lost, Stage.LAPSED)


def test_a_further_try_is_the_work_while_it_lasts(database: Database, launch: Launch) -> None:
    launch(**demanding())
    check(database, fail_first_try(database), Stage.DONE)
    again = begin_again(database, come(database, "exam", "ann"))
    check(database, again, Stage.WORK)
    assert mark_where_nothing_is(database, again).ended
    check(database, again, Stage.DONE)


def test_a_further_try_that_was_left_does_not_outdo_the_one_submitted(database: Database, launch: Launch) -> None:
    launch(**exam(given={"attempts": 3}, annotators={"per_output": 20}))
    visit = come(database, "exam", "ann")
    complete_all(database, visit)
    submit_batch(database, visit.participation.token, NOW)
    with database.transaction() as session:
        try_again(session, visit.participation.token, NOW)
    check(database, visit, Stage.WORK)
    with database.transaction() as session:
        withdraw(session, visit.participation.token)
    check(database, visit, Stage.DONE)
