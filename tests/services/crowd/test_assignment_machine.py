"""State machine: no sequence of claims, saves, expiries, returns, rejections, replacements and extensions breaks an invariant."""

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import Conflict, Gone, NotFound
from spanplat.models import Annotator, Campaign
from spanplat.platforms.platform import Arrival
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.extending import ExtensionRequest, extend, plan_extension, raise_annotators
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.claims import NothingLeft
from spanplat.services.crowd.participation import Stage, Visit, enter, find_visit
from spanplat.services.crowd.reviewing import replace_work
from spanplat.services.crowd.saving import KeptAsLate, StaleRevision, save_item
from spanplat.services.crowd.submitting import Incomplete, submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from tests.services.crowd.assignment_invariants import ITEMS, AssignmentInvariants
from tests.services.crowd.assignment_model import LEASE, Assignments, Save, Seat
from tests.services.crowd.test_annotating import NOW

OUTPUTS = 12
MOST_PER_OUTPUT = 3
STUDIES: tuple[dict[str, Any], ...] = (
    {"annotators": {}},
    {"annotators": {"per_output": 1.5, "max_batches": 2}},
    {"annotators": {"max_batches": 2, "when_full": "redundancy"}},
    {"annotators": {"max_batches": 2}, "groups": [{"name": "Calm"}, {"name": "Strict"}]},
)
PEOPLE = st.sampled_from(["ann", "bob", "cem"])
VISITS = st.sampled_from(["first", "first", "first", "second"])
numbers = itertools.count(1)


class AssignmentMachine(AssignmentInvariants):
    """People and a researcher act in any order; after each step the database must hold what the model holds."""

    launch: Callable[..., Campaign]

    @initialize(study=st.sampled_from(STUDIES), batches=st.sampled_from([1, 1, 2]))
    def open_campaign(self, study: dict[str, Any], batches: int) -> None:
        self.now = NOW
        self.slug = f"study-{next(numbers)}"
        self.launch(
            slug=self.slug, data={"dataset": "reports", "limit": batches * ITEMS}, batches={"regular": ITEMS}, **study
        )
        annotators = study["annotators"]
        self.per_output = annotators.get("per_output", 1)
        self.outputs = batches * ITEMS
        self.tokens: dict[str, str] = {}
        self.marks = itertools.count(1)
        self.model = Assignments(
            self.promised(),
            max_batches=annotators.get("max_batches", 1),
            redundancy=1 if "when_full" in annotators else 0,
            items=ITEMS,
        )
        whole = int(self.per_output)
        seats = batches * whole + round(batches * (self.per_output - whole))
        assert sum(self.model.promised.values()) == seats * len(study.get("groups", [None]))

    @rule(person=PEOPLE, name=VISITS)
    def enter(self, person: str, name: str) -> None:
        visit, model = f"{person}/{name}", self.model
        seat = model.seat_of(visit)
        if visit in model.withdrawn:
            assert self._come_in(person, visit).stage == Stage.ENDED
        elif seat is not None and seat.is_taken:
            seat.lease = self.now + LEASE
            self._is_led_to(self._come_in(person, visit), seat)
        elif (unfinished := model.unfinished(person)) is not None:
            if unfinished.status == "expired":
                model.go_back(unfinished, self.now)
            unfinished.visit, unfinished.lease = visit, self.now + LEASE
            self._is_led_to(self._come_in(person, visit), unfinished)
        else:
            self._claim(person, visit)

    def _claim(self, person: str, visit: str) -> None:
        """Claim a first seat: it must be given if one is free, and only then."""
        model, lapsed = self.model, list(self.model.lapsed(self.now))
        for seat in lapsed:
            seat.status = "expired"
        done = model.is_done(person)
        free = set() if done else model.may_take(person)
        choice = free or (set() if done else model.may_add(person))
        if not choice:
            for seat in lapsed:
                seat.status = "held"
            with pytest.raises(NothingLeft):
                self._come_in(person, visit)
            return
        came = self._come_in(person, visit)
        assert came.assignment is not None
        place = came.assignment.batch.number, came.assignment.group
        assert place in choice
        assert came.assignment.extra == (not free)
        model.groups[person] = place[1]
        model.seats.append(Seat(place, person, visit, self.now + LEASE, extra=not free))
        self._is_led_to(came, model.seats[-1])

    @rule(person=PEOPLE, name=VISITS, position=st.integers(1, ITEMS), complete=st.booleans(), again=st.booleans())
    def save(self, person: str, name: str, position: int, complete: bool, again: bool) -> None:
        visit, model = f"{person}/{name}", self.model
        if visit not in self.tokens:
            return
        seat = model.seat_of(visit)
        before = seat.saved.get(position) if seat is not None else None
        status = "complete" if complete else "draft"
        work = Save(before.revision + 1 if before else 1, status, float(next(self.marks)))
        if seat is None:
            # Their work may have gone on at another visit of theirs.
            with pytest.raises(Gone if model.held(person) else NotFound):
                self._save(visit, position, work)
            return
        if visit in model.withdrawn or seat.status in ("submitted", "rejected"):
            with pytest.raises(Gone):
                self._save(visit, position, work)
            return
        if model.can_go_back(seat):
            model.go_back(seat, self.now)
        seat.saved[position] = work
        if seat.status == "held":
            seat.lease = self.now + LEASE
            seat.late.discard(position)
        else:
            seat.late.add(position)
        for _ in range(2 if again else 1):
            if seat.status == "held":
                assert self._save(visit, position, work) == work.revision
            else:
                with pytest.raises(KeptAsLate):
                    self._save(visit, position, work)
        with pytest.raises(StaleRevision):
            self._save(visit, position, Save(work.revision, "draft", float(next(self.marks))))

    @rule(minutes=st.sampled_from([1, 30, 61]))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(person=PEOPLE, name=VISITS)
    def enter_after_every_lease_ran_out(self, person: str, name: str) -> None:
        self.now += LEASE + timedelta(minutes=1)
        self.enter(person, name)

    @rule(person=PEOPLE, name=VISITS, finishing=st.booleans())
    def submit(self, person: str, name: str, finishing: bool) -> None:
        visit, model = f"{person}/{name}", self.model
        seat = model.seat_of(visit)
        if visit not in self.tokens:
            return
        if finishing and seat is not None and (seat.status == "held" or model.can_go_back(seat)):
            for position in range(1, ITEMS + 1):
                self.save(person, name, position, complete=True, again=False)
        if visit in model.withdrawn:
            assert self._submit(visit).stage == Stage.ENDED
        elif seat is not None and seat.status in ("submitted", "rejected"):
            assert self._submit(visit).stage == Stage.DONE
        elif seat is None or (seat.status == "expired" and not model.can_go_back(seat)):
            with pytest.raises(Conflict):
                self._submit(visit)
        else:
            if seat.status == "expired":
                model.go_back(seat, self.now)
            if [work.status for work in seat.saved.values()] == ["complete"] * ITEMS:
                seat.status = "submitted"
                assert self._submit(visit).stage == Stage.DONE
            else:
                with pytest.raises(Incomplete):
                    self._submit(visit)

    @rule(person=PEOPLE, name=VISITS)
    def leave(self, person: str, name: str) -> None:
        """Withdraw; a held seat becomes free, and a lapsed one can never be taken back."""
        visit = f"{person}/{name}"
        if visit not in self.tokens:
            return
        seat = self.model.seat_of(visit)
        if seat is None or not seat.is_taken or seat.status == "held":
            self.model.withdrawn.add(visit)
            for given_up in self.model.seats:
                if given_up.visit == visit and given_up.status in ("held", "expired"):
                    given_up.status = "returned"
        with self.database.transaction() as session:
            withdraw(session, self.tokens[visit])

    @rule(person=PEOPLE)
    def reject(self, person: str) -> None:
        """Replace a person's submitted work; their seats become free for others."""
        with self.database.reading() as session:
            pseudonym = session.scalar(select(Annotator.pseudonym).where(Annotator.external_id == person)) or "nobody"
        submitted = [seat for seat in self.model.of(person) if seat.status == "submitted"]
        with self.database.transaction() as session:
            if submitted:
                assert replace_work(session, self.slug, pseudonym, "test") == len(submitted)
            else:
                with pytest.raises(NotFound):
                    replace_work(session, self.slug, pseudonym, "test")
        for seat in submitted:
            seat.status = "rejected"

    @precondition(lambda self: self.per_output < MOST_PER_OUTPUT)
    @rule(more=st.sampled_from([0.5, 1]))
    def raise_annotators(self, more: float) -> None:
        self.per_output += more
        with self.database.transaction() as session:
            raise_annotators(session, self.slug, self.per_output)
        before, self.model.promised = self.model.promised, self.promised()
        for place, number in self.model.promised.items():
            assert number >= before[place]
            for seat in self.model.current(place, extra=True)[: number - before[place]]:
                seat.extra = False

    @precondition(lambda self: self.outputs < OUTPUTS)
    @rule()
    def add_outputs(self) -> None:
        self.outputs += ITEMS
        with self.database.reading() as session:
            plan = plan_extension(session, self.slug, ExtensionRequest(adds_outputs=True, limit=self.outputs))
        assert extend(self.database, plan).outputs == ITEMS
        before, self.model.promised = self.model.promised, self.promised()
        assert {place: self.model.promised[place] for place in before} == before

    def _come_in(self, person: str, visit: str) -> Visit:
        with self.database.transaction() as session:
            came = enter(session, find_campaign(session, self.slug), Arrival("other", person, visit, {}), self.now)
            assert came.assignment is None or came.assignment.batch.number
        assert came.participation.token == self.tokens.setdefault(visit, came.participation.token)
        return came

    def _is_led_to(self, came: Visit, seat: Seat) -> None:
        assert came.stage == (Stage.WORK if seat.status == "held" else Stage.DONE)
        assert came.assignment is not None
        assert (came.assignment.batch.number, came.assignment.group) == seat.place

    def _save(self, visit: str, position: int, work: Save) -> int:
        submission = Submission.model_validate(
            {"revision": work.revision - 1, "status": work.status, "seconds": work.mark}
        )
        return save_item(self.database, self.tokens[visit], position, submission, self.now).revision

    def _submit(self, visit: str) -> Visit:
        """Submit and read the visit again: both must agree."""
        submitted = submit_batch(self.database, self.tokens[visit], self.now)
        with self.database.reading() as session:
            assert find_visit(session, self.tokens[visit]).stage == submitted.stage
        return submitted


def test_no_sequence_of_events_breaks_what_assignment_promises(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    machine = type("Machine", (AssignmentMachine,), {"database": database, "launch": staticmethod(launch)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=settings().max_examples // 5,  # each of them is a whole story
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
