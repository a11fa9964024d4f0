"""Seats: nobody holds two, no seat has two holders, and what was acknowledged stays, whatever people do in whatever order."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import delete, func, select

from spanplat.db import Database
from spanplat.errors import Conflict, Gone
from spanplat.models import (
    REPLACED,
    Annotation,
    Annotator,
    Assignment,
    AssignmentStatus,
    Campaign,
    Participation,
)
from spanplat.models.base import Base
from spanplat.platforms.arrivals import Arrival
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns import find_campaign
from spanplat.services.claims import NothingLeft
from spanplat.services.participation import Stage, Visit, enter, find_visit, withdraw
from spanplat.services.saving import KeptAsLate, StaleRevision, save_item
from spanplat.services.submitting import Incomplete, submit_batch
from tests.services.test_annotating import NOW

Launch = Callable[..., Campaign]

PEOPLE = ("ann", "bob", "cem", "dia")
MINUTES = st.sampled_from([1, 30, 59, 61, 200])


def come_in(database: Database, person: str, session_key: str, now: datetime) -> Visit:
    with database.transaction() as session:
        return enter(session, find_campaign(session, "study"), Arrival("other", person, session_key, {}), now)


class Seats(RuleBasedStateMachine):
    """People come, save, wait, leave and submit in any order; the model is what each of them was told."""

    database: Database

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.tokens: dict[str, str] = {}
        self.acknowledged: dict[tuple[int, int], int] = {}
        """Revision by assignment and position."""
        self.submitted: dict[str, int] = {}
        self.withdrawn: set[str] = set()

    @rule(person=st.sampled_from(PEOPLE))
    def enter(self, person: str) -> None:
        try:
            visit = come_in(self.database, person, person, self.now)
        except NothingLeft:
            assert self._holders() >= 3 or self._known_batches(person), "a place is free, yet the person was sent away"
            return
        assert visit.participation.token == self.tokens.setdefault(person, visit.participation.token)
        if person in self.submitted:
            assert visit.stage == Stage.DONE
        elif person in self.withdrawn:
            assert visit.stage == Stage.ENDED
        else:
            assert visit.stage == Stage.WORK
            assert visit.assignment is not None
            assert visit.assignment.status == AssignmentStatus.HELD

    @rule(person=st.sampled_from(PEOPLE), position=st.integers(1, 2), complete=st.booleans())
    def save(self, person: str, position: int, complete: bool) -> None:
        if person not in self.tokens:
            return
        assignment = self._assignment(person)
        assert assignment is not None
        key = (assignment.id, position)
        revision = self.acknowledged.get(key, 0)
        submission = Submission(revision=revision, status="complete" if complete else "draft", seconds=revision)
        try:
            assert (
                save_item(self.database, self.tokens[person], position, submission, self.now).revision == revision + 1
            )
        except KeptAsLate:
            assert assignment.status in REPLACED
        except Gone:
            assert person in self.submitted or person in self.withdrawn
            return
        self.acknowledged[key] = revision + 1
        if revision:
            stale = Submission(revision=revision - 1, status="draft", seconds=77)
            with pytest.raises((StaleRevision, Gone)):
                save_item(self.database, self.tokens[person], position, stale, self.now)

    @rule(minutes=MINUTES)
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(person=st.sampled_from(PEOPLE))
    def submit(self, person: str) -> None:
        if person not in self.tokens:
            return
        before = self._assignment(person)
        try:
            visit = submit_batch(self.database, self.tokens[person], self.now)
        except Incomplete:
            assert person not in self.submitted
            return
        except Conflict:
            assert before is not None
            assert before.status in REPLACED
            return
        if visit.stage == Stage.DONE:
            assert visit.assignment is not None
            assert self.submitted.setdefault(person, visit.assignment.id) == visit.assignment.id

    @rule(person=st.sampled_from(PEOPLE))
    def leave(self, person: str) -> None:
        if person not in self.tokens:
            return
        with self.database.transaction() as session:
            visit = withdraw(session, self.tokens[person])
        if visit.stage == Stage.ENDED:
            self.withdrawn.add(person)

    @invariant()
    def every_seat_has_one_holder_and_everybody_one_seat(self) -> None:
        with self.database.reading() as session:
            current = session.scalars(select(Assignment).where(Assignment.status.not_in(REPLACED))).all()
            assert len(current) == 3, "three batches of one seat each"
            assert max(Counter((row.batch_id, row.slot) for row in current).values()) == 1
            holders = [row.annotator_id for row in current if row.annotator_id is not None]
            assert len(holders) == len(set(holders))

    @invariant()
    def what_was_acknowledged_is_stored(self) -> None:
        with self.database.reading() as session:
            stored = Counter(session.scalars(select(Annotation.revision)).all())
            assert stored == Counter(self.acknowledged.values())
            done = session.scalars(select(Assignment.id).where(Assignment.status == AssignmentStatus.SUBMITTED)).all()
            assert sorted(done) == sorted(self.submitted.values())

    def teardown(self) -> None:
        with self.database.transaction() as session:
            for table in (Annotation, Assignment, Participation, Annotator):
                session.execute(delete(table))
            for batch, slot, campaign in self.seats:
                session.add(Assignment(campaign_id=campaign, batch_id=batch, slot=slot))

    seats: list[tuple[int, int, int]]

    def _assignment(self, person: str) -> Assignment | None:
        with self.database.reading() as session:
            return find_visit(session, self.tokens[person]).assignment

    def _holders(self) -> int:
        taken = (AssignmentStatus.HELD, AssignmentStatus.SUBMITTED)
        with self.database.reading() as session:
            count = select(func.count()).select_from(Assignment).where(Assignment.status.in_(taken))
            return session.scalar(count) or 0

    def _known_batches(self, person: str) -> bool:
        with self.database.reading() as session:
            known = select(func.count()).select_from(Assignment).join(Annotator)
            return bool(session.scalar(known.where(Annotator.external_id == person)))


def test_seats_stay_consistent_whatever_people_do(database: Database, launch: Launch) -> None:
    launch(data={"dataset": "reports", "systems": ["alder"]}, batches={"regular": 2})
    with database.reading() as session:
        rows = session.execute(select(Assignment.batch_id, Assignment.slot, Assignment.campaign_id)).all()
    machine = type("SeatsHere", (Seats,), {"database": database, "seats": [tuple(row) for row in rows]})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Do something in several threads that start together; an error becomes a result."""
    start = threading.Barrier(count)

    def run(number: int) -> Any:
        start.wait()
        try:
            return work(number)
        except Conflict as error:
            return error

    with ThreadPoolExecutor(count) as executor:
        return list(executor.map(run, range(count)))


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


def test_two_visits_of_one_person_at_once_share_a_seat(database: Database, launch: Launch) -> None:
    launch(annotators={"max_batches": 4})
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


def test_the_tables_this_file_empties_are_all_there_are_to_a_seat() -> None:
    referring = {
        table.name
        for table in Base.metadata.sorted_tables
        if any(key.column.table.name in ("assignment", "participation", "annotator") for key in table.foreign_keys)
    }
    assert referring == {"annotation", "assignment", "check_result", "completion", "participation", "qualification"}
