"""Invariants of a campaign's seats and saves that must hold after every step of the state machine."""

import itertools
from collections import Counter
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, invariant
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.models import (
    REPLACED,
    Annotation,
    Annotator,
    Assignment,
    Batch,
    BatchItem,
    Campaign,
    ItemOutput,
    Participation,
)
from tests.services.crowd.assignment_model import Assignments, Place, Seat
from tests.services.crowd.test_pages import is_the_one_of_the_page

ITEMS = 2
"""Items in a batch."""


class AssignmentInvariants(RuleBasedStateMachine):
    """Comparison of the database with the model; subclasses define the steps."""

    database: Database
    slug: str
    model: Assignments
    per_output: float
    outputs: int
    tokens: dict[str, str]
    """Tokens by visit."""

    @invariant()
    def seats_are_those_of_the_model_and_nobody_else_has_any(self) -> None:
        with self.database.reading() as session:
            rows = session.execute(
                select(
                    Batch.number,
                    Assignment.group,
                    Annotator.external_id,
                    Participation.session_key,
                    Assignment.status,
                    Assignment.extra,
                )
                .join(Batch, Batch.id == Assignment.batch_id)
                .outerjoin(Annotator, Annotator.id == Assignment.annotator_id)
                .outerjoin(Participation, Participation.id == Assignment.participation_id)
                .where(self._is_here)
            )
            assert Counter(map(tuple, rows)) == self.model.rows()

    @invariant()
    def every_output_has_exactly_the_places_promised(self) -> None:
        whole = int(self.per_output)
        by_batch: dict[int, set[int]] = {}
        for (batch, _group), number in self.model.promised.items():
            by_batch.setdefault(batch, set()).add(number)
        assert all(len(of_groups) == 1 and of_groups <= {whole, whole + 1} for of_groups in by_batch.values())
        with self.database.reading() as session:
            outputs = session.scalars(
                select(ItemOutput.output_id)
                .join(BatchItem, BatchItem.item_id == ItemOutput.item_id)
                .join(Batch, Batch.id == BatchItem.batch_id)
                .join(Campaign, Campaign.id == Batch.campaign_id)
                .where(Campaign.slug == self.slug)
            ).all()
        assert len(outputs) == len(set(outputs)) == self.outputs == ITEMS * len(by_batch)

    @invariant()
    def no_place_has_two_holders_and_nobody_two_places(self) -> None:
        with self.database.reading() as session:
            current = session.execute(
                select(Assignment.batch_id, Assignment.slot).where(self._is_here, Assignment.status.not_in(REPLACED))
            ).all()
            held = session.scalars(
                select(Assignment.annotator_id).where(self._is_here, Assignment.status == "held")
            ).all()
        assert len(set(current)) == len(current)
        assert len(set(held)) == len(held)
        for person, seats in itertools.groupby(sorted(self.model.seats, key=_person), key=_person):
            assert sum(seat.is_taken for seat in seats) <= self.model.max_batches, person
        for batch, _group in self.model.promised:
            assert self.model.extras(batch) <= self.model.redundancy

    @invariant()
    def nobody_meets_an_output_twice_or_two_wordings(self) -> None:
        with self.database.reading() as session:
            met = session.execute(
                select(Assignment.annotator_id, ItemOutput.output_id)
                .join(BatchItem, BatchItem.batch_id == Assignment.batch_id)
                .join(ItemOutput, ItemOutput.item_id == BatchItem.item_id)
                .where(self._is_here, Assignment.annotator_id.is_not(None))
            ).all()
            worded = session.execute(
                select(Assignment.annotator_id, Assignment.group, Participation.group)
                .join(Participation, Participation.id == Assignment.participation_id)
                .where(self._is_here)
                .distinct()
            ).all()
        assert len(set(met)) == len(met)
        assert len({annotator for annotator, *_ in worded}) == len(worded)
        assert all(of_seat == of_visit for _, of_seat, of_visit in worded)

    @invariant()
    def what_was_acknowledged_is_stored(self) -> None:
        expected = Counter(
            (seat.person, seat.place[0], position, work.revision, work.status, work.mark, position in seat.late)
            for seat in self.model.seats
            for position, work in seat.saved.items()
        )
        with self.database.reading() as session:
            stored = session.execute(
                select(
                    Annotator.external_id,
                    Batch.number,
                    BatchItem.position,
                    Annotation.revision,
                    Annotation.status,
                    Annotation.seconds,
                    Annotation.late,
                )
                .join(Assignment, Assignment.id == Annotation.assignment_id)
                .join(Annotator, Annotator.id == Assignment.annotator_id)
                .join(Batch, Batch.id == Assignment.batch_id)
                .join(BatchItem, (BatchItem.batch_id == Batch.id) & (BatchItem.item_id == Annotation.item_id))
                .where(self._is_here)
            )
            assert Counter(map(tuple, stored)) == expected

    @invariant()
    def what_is_submitted_is_complete_and_counts(self) -> None:
        with self.database.reading() as session:
            counted = session.execute(
                select(Assignment.id, func.count(Annotation.id))
                .outerjoin(
                    Annotation,
                    (Annotation.assignment_id == Assignment.id)
                    & (Annotation.status == "complete")
                    & Annotation.late.is_(False),
                )
                .where(self._is_here, Assignment.status == "submitted")
                .group_by(Assignment.id)
            )
            assert all(annotations == ITEMS for _, annotations in counted)

    @invariant()
    def items_are_those_of_the_seat_that_the_page_is_about(self) -> None:
        with self.database.reading() as session:
            for token in self.tokens.values():
                is_the_one_of_the_page(session, token)

    @property
    def _is_here(self) -> Any:
        return Assignment.campaign_id == select(Campaign.id).where(Campaign.slug == self.slug).scalar_subquery()

    def promised(self) -> dict[Place, int]:
        """Return the places in the database with their numbers of seats; the invariants compare these with the model."""
        with self.database.reading() as session:
            rows = session.execute(
                select(Batch.number, Assignment.group, func.count())
                .join(Batch, Batch.id == Assignment.batch_id)
                .where(self._is_here, Assignment.status.not_in(REPLACED), Assignment.extra.is_(False))
                .group_by(Batch.number, Assignment.group)
            )
            return {(batch, group): number for batch, group, number in rows}


def _person(seat: Seat) -> str:
    return seat.person
