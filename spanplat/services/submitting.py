"""Submitting a batch: everything complete, checks scored, the code earned."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, bindparam, select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, say
from spanplat.models import (
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
from spanplat.services.check_results import screen_out, store_outcomes
from spanplat.services.checks import (
    AnsweredItem,
    CheckOutcome,
    Completed,
    MarkedSpan,
    is_excluded,
    outcome_of,
    score_item,
    seconds_believed,
    stops,
)
from spanplat.services.leases import serve_one_at_a_time, take_back
from spanplat.services.participation import Stage, Visit, find_visit
from spanplat.services.qualifying import Exam, load_exam, record_attempt, score_attempt

# Built once, because everybody asks them who submits.
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
    select(Span.annotation_id, Span.start_offset, Span.end_offset, Category.key)
    .join(Span.category)
    .join(Span.annotation)
    .where(Annotation.assignment_id == bindparam("seat_id"), Span.side == "output")
)


class Incomplete(Conflict):
    """Items are not complete yet; ``positions`` says which."""

    def __init__(self, positions: list[int]) -> None:
        listed = ", ".join(str(position) for position in positions)
        super().__init__(say("not all items are complete yet: %(items)s", items=listed))
        self.positions = positions


def submit_batch(database: Database, token: str, now: datetime) -> Visit:
    """Submit the batch a token holds; once submitted, the same call returns the same visit.

    Checks are scored before the write, on the state that the write then insists on. A seat that lapsed and that nobody has taken is
    taken back, as by a save.

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
        with database.transaction() as session:
            take_back(session, visit.assignment.id, visit.definition, now)
        visit, work = _find_with_work(database, token)
    if visit.stage in (Stage.DONE, Stage.ENDED):
        return visit
    if work is None:
        raise Conflict(say("the place on this batch is gone; open the start link again to get another"))
    outcomes = [outcome for of_item in work.by_item.values() for outcome in of_item]
    changes = {
        "new_status": AssignmentStatus.HELD if stops(outcomes) else AssignmentStatus.SUBMITTED,
        "submitted": None if stops(outcomes) else now,
        "new_outcome": outcome_of(visit.definition, outcomes),
        "is_excluded": is_excluded(outcomes),
    }
    with database.transaction() as session:
        connection = session.connection()
        if work.exam is not None:  # before the seat, as whoever claims one does
            serve_one_at_a_time(session, visit.participation.annotator_id)
        if rows_changed(connection.execute(_SUBMIT, {"seat_id": work.assignment.id} | changes)):
            if _revisions(connection, work.assignment) != work.revisions:
                raise Conflict(say("an item was saved while the batch was being submitted; please submit again"))
            store_outcomes(session, work.assignment.id, work.by_item)
            if stops(outcomes):
                screen_out(session, work.assignment.id)
            elif work.exam is not None:
                record_attempt(session, work.exam, visit.participation.annotator_id, work.score, now)
        return find_visit(session, token)


class _Work(NamedTuple):
    """The complete work on a seat, scored."""

    assignment: Assignment
    revisions: list[tuple[int, int]]
    """Ids of the items, each with its revision."""
    by_item: dict[int, list[CheckOutcome]]
    exam: Exam | None
    """Where the campaign qualifies."""
    score: float
    """In the exam; 0 without one."""


def _find_with_work(database: Database, token: str) -> tuple[Visit, _Work | None]:
    """Return a visit with its work, where it is at work."""
    with database.reading() as session:
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
    """Return the items of a seat in their order, as ids with revisions and as checks look at them.

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
    for annotation_id, start, end, category in session.execute(_SPANS, seat):
        spans[annotation_id].append(MarkedSpan(start, end, category))
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
