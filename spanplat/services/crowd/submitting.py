"""Submitting a batch: test that it is complete, score its checks, store the completion code."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, bindparam, select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, user_message
from spanplat.models import (
    SPAN_COLUMNS,
    Annotation,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Category,
    ItemOutput,
    Output,
    Span,
)
from spanplat.models.statements import rows_changed
from spanplat.schemas.span import MarkedSpan
from spanplat.services.crowd.check_results import screen_out, store_outcomes
from spanplat.services.crowd.checks import (
    AnsweredItem,
    CheckOutcome,
    Completed,
    is_excluded,
    outcome_of,
    score_item,
    seconds_believed,
    stops,
)
from spanplat.services.crowd.leases import serve_one_at_a_time, take_back
from spanplat.services.crowd.participation import Stage, Visit, find_visit
from spanplat.services.crowd.qualifying import Exam, load_exam, record_attempt, score_attempt

# Built once, because every submission runs them.
_SUBMIT: Final = (
    update(Assignment)
    .where(Assignment.id == bindparam("seat_id"), Assignment.status == AssignmentStatus.HELD)
    .values(
        status=bindparam("new_status"),
        submitted_at=bindparam("submitted"),
        outcome=bindparam("new_outcome"),
        excluded=bindparam("is_excluded"),
    )
)
_REVISIONS: Final = (
    select(Annotation.item_id, Annotation.revision)
    .join(BatchItem, (BatchItem.item_id == Annotation.item_id) & (BatchItem.batch_id == bindparam("batch_id")))
    .where(Annotation.assignment_id == bindparam("seat_id"))
    .order_by(BatchItem.position)
)
_ITEMS: Final = (
    select(BatchItem.position, BatchItem.item_id, BatchItem.check_name, Output.text)
    .join(ItemOutput, (ItemOutput.item_id == BatchItem.item_id) & (ItemOutput.position == 0))
    .join(Output, Output.id == ItemOutput.output_id)
    .where(BatchItem.batch_id == bindparam("batch_id"))
    .order_by(BatchItem.position)
)
_COMPLETE: Final = select(
    Annotation.id,
    Annotation.item_id,
    Annotation.revision,
    Annotation.answers,
    Annotation.completed_at,
    Annotation.seconds,
).where(Annotation.assignment_id == bindparam("seat_id"), Annotation.status == "complete")
_SPANS: Final = (
    select(Span.annotation_id, Category.key.label("category"), *SPAN_COLUMNS)
    .join(Span.category)
    .join(Span.annotation)
    .where(Annotation.assignment_id == bindparam("seat_id"), Span.side == "output")
)


class Incomplete(Conflict):
    """Some items are not complete yet; ``positions`` holds their positions."""

    def __init__(self, positions: list[int]) -> None:
        listed = ", ".join(str(position) for position in positions)
        super().__init__(user_message("not all items are complete yet: %(items)s", items=listed))
        self.positions = positions


def submit_batch(database: Database, token: str, now: datetime) -> Visit:
    """Submit the batch of a token; a second call returns the same visit.

    Checks are scored before the write, without the write lock. The write then fails if an item has changed since. A lapsed seat is
    taken back if it is still free, as by a save.

    Raises
    ------
    NotFound
        If the token is unknown.
    Incomplete
        If an item is not complete.
    Conflict
        If the seat went to somebody else, or there is no seat yet.
    """
    visit, work = _find_with_work(database, token)
    if visit.stage == Stage.LAPSED and visit.assignment is not None:
        # In a transaction of its own, so that the checks below are scored without the write lock.
        with database.transaction() as session:
            take_back(session, visit.assignment.id, visit.definition, now)
        visit, work = _find_with_work(database, token)
    if visit.stage in (Stage.DONE, Stage.ENDED):
        return visit
    if work is None:
        raise Conflict(user_message("the place on this batch is gone; open the start link again to get another"))
    outcomes = [outcome for of_item in work.by_item.values() for outcome in of_item]
    # The seat of a person who is screened out stays held for now: `screen_out` below returns it, and returns only seats that are held.
    changes = {
        "new_status": AssignmentStatus.HELD if stops(outcomes) else AssignmentStatus.SUBMITTED,
        "submitted": None if stops(outcomes) else now,
        "new_outcome": outcome_of(visit.definition, outcomes),
        "is_excluded": is_excluded(outcomes),
    }
    with database.transaction() as session:
        connection = session.connection()
        # An exam locks the annotator before the seat, in the same order as a claim, so that the two cannot deadlock.
        if work.exam is not None:
            serve_one_at_a_time(session, visit.participation.annotator_id)
        if rows_changed(connection.execute(_SUBMIT, {"seat_id": work.assignment.id} | changes)):
            # After the update, whose row lock makes saves wait: no save can come between this test and the commit.
            if _revisions(connection, work.assignment) != work.revisions:
                raise Conflict(
                    user_message("an item was saved while the batch was being submitted; please submit again")
                )
            store_outcomes(session, work.assignment.id, work.by_item)
            if stops(outcomes):
                screen_out(session, work.assignment.id)
            elif work.exam is not None:
                record_attempt(session, work.exam, visit.participation.annotator_id, work.score, now)
        # If no row changed, another request has submitted the batch or taken the seat. The visit shows which.
        return find_visit(session, token)


class _Work(NamedTuple):
    """Complete work on a seat, with its scores."""

    assignment: Assignment
    revisions: list[tuple[int, int]]
    """Item ids, each with its revision."""
    by_item: dict[int, list[CheckOutcome]]
    exam: Exam | None
    """Exam of a qualification campaign."""
    score: float
    """Score in the exam; 0 without one."""


def _find_with_work(database: Database, token: str) -> tuple[Visit, _Work | None]:
    """Return a visit, with its scored work if it is at stage ``work``."""
    with database.reading() as session:
        # In one snapshot, so that the revisions are those of the items that are scored.
        visit = find_visit(session, token)
        if visit.assignment is None or visit.stage != Stage.WORK:
            return visit, None
        revisions, items = answered_items(session, visit.assignment)
        by_item = {
            item_id: score_item(visit.definition, item) for (item_id, _), item in zip(revisions, items, strict=True)
        }
        exam = load_exam(session, visit.campaign) if visit.campaign.kind == "qualification" else None
        score = score_attempt(session, exam, visit.assignment) if exam is not None else 0.0
        return visit, _Work(visit.assignment, revisions, by_item, exam, score)


def _revisions(connection: Connection, assignment: Assignment) -> list[tuple[int, int]]:
    rows = connection.execute(_REVISIONS, {"seat_id": assignment.id, "batch_id": assignment.batch_id})
    return [(item_id, revision) for item_id, revision in rows]


def answered_items(session: Session, assignment: Assignment) -> tuple[list[tuple[int, int]], list[AnsweredItem]]:
    """Return the items of a seat in their order: first as ids with revisions, then as input for the checks.

    Raises
    ------
    Incomplete
        If an item is not complete.
    """
    seat = {"seat_id": assignment.id}
    rows = session.execute(_ITEMS, {"batch_id": assignment.batch_id}).all()
    complete = {annotation.item_id: annotation for annotation in session.execute(_COMPLETE, seat)}
    if incomplete := [position for position, item_id, *_ in rows if item_id not in complete]:
        raise Incomplete(incomplete)
    spans: dict[int, list[MarkedSpan]] = defaultdict(list)
    for row in session.execute(_SPANS, seat):
        spans[row.annotation_id].append(MarkedSpan.from_row(row, row.category))
    annotations = [complete[item_id] for _, item_id, *_ in rows]
    seconds = _seconds_believed(assignment, annotations)
    items = [
        AnsweredItem(check, text, spans[annotation.id], annotation.answers, seconds[annotation.id])
        for (_, _, check, text), annotation in zip(rows, annotations, strict=True)
    ]
    return [(annotation.item_id, annotation.revision) for annotation in annotations], items


def _seconds_believed(assignment: Assignment, annotations: Sequence[Row[*tuple[Any, ...]]]) -> dict[int, float | None]:
    """Return the time spent on each completed annotation, by its id."""
    completed = {
        annotation.id: Completed(annotation.completed_at, annotation.seconds)
        for annotation in annotations
        if annotation.completed_at is not None
    }
    return {
        annotation.id: seconds_believed(assignment.claimed_at, completed[annotation.id], completed.values())
        if annotation.id in completed
        else annotation.seconds
        for annotation in annotations
    }
