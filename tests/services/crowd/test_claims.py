"""Nobody holds two seats and no seat has two holders, also when several people claim at the same moment."""

import contextlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, func, select

from spanplat.db import Database
from spanplat.errors import Conflict, Gone
from spanplat.models import (
    Annotation,
    Annotator,
    Assignment,
    AssignmentStatus,
    Campaign,
    Participation,
)
from spanplat.platforms.platform import Arrival
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.annotators import find_or_add_annotator
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.claims import NothingLeft
from spanplat.services.crowd.participation import Stage, Visit, enter
from spanplat.services.crowd.saving import KeptAsLate, save_item
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from tests.services.crowd.test_annotating import LATER, NOW

Launch = Callable[..., Campaign]


def come_in(database: Database, person: str, session_key: str, now: datetime) -> Visit:
    with database.transaction() as session:
        return enter(session, find_campaign(session, "study"), Arrival("other", person, session_key, {}), now)


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run a function in several threads that start together; errors are returned as results."""
    start = threading.Barrier(count)

    def run(number: int) -> Any:
        start.wait()
        try:
            return work(number)
        except (Conflict, Gone) as error:
            return error

    with ThreadPoolExecutor(count) as executor:
        return list(executor.map(run, range(count)))


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_the_next_free_seat_is_found_by_an_index_without_sorting_all_of_them(
    database: Database, launch: Launch
) -> None:
    """The search holds SQLite's write lock, and thousands of seats may be free."""
    launch(batches={"regular": 3}, annotators={"per_output": 2})
    taken: list[tuple[str, Any]] = []

    def note(*told: Any) -> None:
        if told[2].startswith("UPDATE assignment") and "annotator_id=" in told[2]:
            taken.append((told[2], told[3]))

    event.listen(database.engine, "before_cursor_execute", note)
    come_in(database, "ann", "ann", NOW)
    event.remove(database.engine, "before_cursor_execute", note)
    ((statement, values),) = taken
    with database.engine.connect() as connection:
        plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert any("ix_assignment_in_order (campaign_id=? AND status=?)" in step for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


def test_more_people_than_seats_race_and_no_seat_is_held_twice(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 3}, annotators={"per_output": 2})  # 4 batches of 2 seats
    results = at_once(14, lambda number: come_in(database, f"p{number}", f"s{number}", NOW))
    assert sum(isinstance(result, Visit) for result in results) == 8
    assert sum(isinstance(result, NothingLeft) for result in results) == 6
    with database.reading() as session:
        rows = session.execute(select(Assignment.batch_id, Assignment.slot, Assignment.annotator_id)).all()
    assert len(rows) == 8
    assert len({(batch, slot) for batch, slot, _ in rows}) == 8
    assert len({annotator for _, _, annotator in rows}) == 8


def test_a_double_click_makes_one_participation_with_one_seat(database: Database, launch: Launch) -> None:
    launch(annotators={"max_batches": 4})
    visits = at_once(6, lambda _: come_in(database, "ann", "visit", NOW))
    assert len({visit.participation.token for visit in visits}) == 1
    assert len({visit.assignment.id for visit in visits}) == 1
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Participation)) == 1
        held = select(func.count()).select_from(Assignment).where(Assignment.status == AssignmentStatus.HELD)
        assert session.scalar(held) == 1


@pytest.mark.parametrize("is_known", [False, True], ids=["newcomer", "known"])
def test_two_visits_of_one_person_at_once_share_a_seat(database: Database, launch: Launch, is_known: bool) -> None:
    launch(annotators={"max_batches": 4})
    if is_known:  # visits of a newcomer wait for each other already when the person is written down
        with database.transaction() as session:
            find_or_add_annotator(session, "human", "other", "ann")
    visits = at_once(6, lambda number: come_in(database, "ann", f"tab-{number}", NOW))
    assert len({visit.assignment.id for visit in visits}) == 1


def test_lapsed_seats_are_handed_on_once_each_when_many_come_at_once(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 3})
    for number in range(4):
        come_in(database, f"slow{number}", f"slow{number}", NOW)
    later = NOW + timedelta(hours=2)
    results = at_once(8, lambda number: come_in(database, f"quick{number}", f"quick{number}", later))
    assert sum(isinstance(result, Visit) for result in results) == 4
    with database.reading() as session:
        states = Counter(session.scalars(select(Assignment.status)).all())
    assert states == {AssignmentStatus.EXPIRED: 4, AssignmentStatus.HELD: 4}


def test_leaving_twice_at_once_gives_the_seat_back_once(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 12})
    token = come_in(database, "ann", "ann", NOW).participation.token

    def leave(_: int) -> Visit:
        with database.transaction() as session:
            return withdraw(session, token)

    assert {visit.stage for visit in at_once(4, leave)} == {Stage.ENDED}
    with database.reading() as session:
        assert Counter(session.scalars(select(Assignment.status)).all()) == {"returned": 1, "open": 1}


def test_saving_from_many_places_at_once_keeps_one_revision(database: Database, launch: Launch) -> None:
    launch()
    token = come_in(database, "ann", "ann", NOW).participation.token
    results = at_once(
        6,
        lambda number: save_item(
            database, token, 1, Submission(revision=0, status="draft", seconds=float(number)), NOW
        ),
    )
    assert sum(not isinstance(result, Conflict) for result in results) == 1
    with database.reading() as session:
        assert session.scalars(select(Annotation.revision)).all() == [1]


def test_one_person_stays_in_one_group(database: Database, launch: Launch) -> None:
    launch(
        groups=[{"name": "Calm"}, {"name": "Strict"}],
        batches={"regular": 3},
        annotators={"max_batches": 4},
    )
    groups = []
    for number in range(4):
        visit = come_in(database, "ann", f"visit-{number}", NOW)
        assert visit.assignment is not None
        groups.append(visit.assignment.group)
        for position in (1, 2, 3):
            save_item(database, visit.participation.token, position, Submission(revision=0, status="complete"), NOW)
        submit_batch(database, visit.participation.token, NOW)
    assert len(set(groups)) == 1
    with pytest.raises(NothingLeft, match="all that one person may do"):
        come_in(database, "ann", "visit-5", NOW)


def test_outputs_annotated_in_an_excluded_campaign_are_not_offered_again(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 12})
    come_in(database, "ann", "first", NOW)
    with database.transaction() as session:
        find_campaign(session, "study").slug = "earlier"
    launch(batches={"regular": 12}, annotators={"exclude_campaigns": ["earlier"]})
    with pytest.raises(NothingLeft, match="all places in this study are taken"):
        come_in(database, "ann", "second", NOW)
    assert come_in(database, "bob", "third", NOW).stage == Stage.WORK


def test_work_saved_while_somebody_else_had_the_place_counts_once_the_place_is_back(
    database: Database, launch: Launch
) -> None:
    launch(batches={"regular": 12})
    slow = come_in(database, "slow", "slow", NOW).participation.token
    quick = come_in(database, "quick", "quick", LATER).participation.token
    work = Submission(revision=0, status="complete")
    with pytest.raises(KeptAsLate):
        save_item(database, slow, 1, work, LATER)
    with database.transaction() as session:
        withdraw(session, quick)
    assert save_item(database, slow, 2, work, LATER).revision == 1
    with database.reading() as session:
        assert session.scalars(select(Annotation.late)).all() == [False, False]


def test_who_lost_a_place_gets_another_free_one_on_the_batch(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 12}, annotators={"per_output": 2})
    slow = come_in(database, "slow", "slow", NOW).participation.token
    come_in(database, "quick", "quick", LATER)  # gets the place that lapsed; the second one is still free
    assert save_item(database, slow, 1, Submission(revision=0, status="complete"), LATER).revision == 1
    with database.reading() as session:
        current = session.scalars(select(Assignment.slot).where(Assignment.status == AssignmentStatus.HELD)).all()
    assert sorted(current) == [0, 1]


def test_nobody_gets_a_place_back_while_working_at_another(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 6})
    first = come_in(database, "ann", "first", NOW).participation.token
    bob = come_in(database, "bob", "bob", LATER)  # gets Ann's place
    with pytest.raises(KeptAsLate):
        save_item(database, first, 1, Submission(revision=0, status="draft"), LATER)
    second = come_in(database, "ann", "second", LATER)
    assert (bob.assignment, second.assignment) != (None, None)
    later = LATER + timedelta(hours=2)
    come_in(database, "cem", "cem", later)  # calls both leases in, and gets one of the places
    saved = []
    for token in (first, second.participation.token):
        with contextlib.suppress(KeptAsLate):
            save_item(database, token, 2, Submission(revision=0, status="draft"), later)
            saved.append(token)
    with database.reading() as session:
        held = select(Assignment.id).join(Annotator).where(Annotator.external_id == "ann", Assignment.status == "held")
        assert len(session.scalars(held).all()) == len(saved) == 1


def test_submitting_takes_a_lapsed_place_back_that_nobody_has(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 6})
    tokens = [come_in(database, person, person, NOW).participation.token for person in ("ann", "bob")]
    for token, position in itertools.product(tokens, range(1, 7)):
        save_item(database, token, position, Submission(revision=0, status="complete"), NOW)
    come_in(database, "cem", "cem", LATER)  # gets one of the two places
    stages = []
    for token in tokens:
        try:
            stages.append(submit_batch(database, token, LATER).stage)
        except Conflict:
            stages.append(Stage.LAPSED)
    assert sorted(stages) == [Stage.DONE, Stage.LAPSED]


def test_saves_of_several_items_that_take_a_lapsed_place_back_at_once_are_all_in_time(
    database: Database, launch: Launch
) -> None:
    launch(batches={"regular": 6})
    tokens = [come_in(database, person, person, NOW).participation.token for person in ("ann", "bob")]
    come_in(database, "cem", "cem", LATER)
    work = Submission(revision=0, status="draft")
    answers = {
        token: at_once(6, lambda number, token=token: save_item(database, token, number + 1, work, LATER))  # type: ignore[misc]
        for token in tokens
    }
    kinds = sorted(len({type(answer) for answer in of_token}) for of_token in answers.values())
    assert kinds == [1, 1], answers
    with database.reading() as session:
        assert Counter(session.scalars(select(Annotation.late))) == {False: 6, True: 6}


def test_coming_back_by_the_start_link_renews_the_lease(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 12})
    token = come_in(database, "ann", "ann", NOW).participation.token
    come_in(database, "ann", "ann", LATER)
    with pytest.raises(NothingLeft):
        come_in(database, "bob", "bob", LATER + timedelta(minutes=59))
    assert save_item(database, token, 1, Submission(revision=0, status="draft"), LATER).revision == 1
