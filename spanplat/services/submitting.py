"""Submitting a batch: everything complete, checks scored, the code earned."""

from collections import defaultdict
from datetime import datetime

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict
from spanplat.models import (
    Annotation,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Category,
    CheckResult,
    ItemOutput,
    Output,
    Span,
)
from spanplat.models.statements import rows_changed
from spanplat.services.checks import AnsweredItem, MarkedSpan, is_excluded, outcome_of, score_checks
from spanplat.services.participation import Stage, Visit, find_visit


class Incomplete(Conflict):
    """Items are not complete yet; ``positions`` says which."""

    def __init__(self, positions: list[int]) -> None:
        listed = ", ".join(str(position) for position in positions)
        super().__init__(f"not all items are complete yet: {listed}")
        self.positions = positions


def submit_batch(database: Database, token: str, now: datetime) -> Visit:
    """Submit the batch a token holds; once submitted, the same call returns the same visit.

    Checks are scored before the write, on the state that the write then insists on.

    Raises
    ------
    NotFound
        If the token is unknown.
    Incomplete
        If an item is not complete.
    Conflict
        If the seat went to somebody else, or there is no seat yet.
    """
    with database.reading() as session:
        visit = find_visit(session, token)
        if visit.stage in (Stage.DONE, Stage.ENDED):
            return visit
        if visit.assignment is None or visit.stage != Stage.WORK:
            raise Conflict("the place on this batch is gone; open the start link again to get another")
        rows, items = _answered_items(session, visit.assignment)
        outcomes = score_checks(visit.definition, items)
    with database.transaction() as session:
        submitted = session.execute(
            update(Assignment)
            .where(Assignment.id == visit.assignment.id, Assignment.status == AssignmentStatus.HELD)
            .values(
                status=AssignmentStatus.SUBMITTED,
                submitted_at=now,
                outcome=outcome_of(outcomes),
                excluded=is_excluded(outcomes),
            )
        )
        if rows_changed(submitted) and _revisions(session, visit.assignment) != rows:
            raise Conflict("an item was saved while the batch was being submitted; please submit again")
        if rows_changed(submitted) and outcomes:
            item_ids = [item_id for item_id, _ in rows]
            session.execute(
                insert(CheckResult),
                [
                    {
                        "assignment_id": visit.assignment.id,
                        "item_id": None if outcome.item is None else item_ids[outcome.item],
                        "name": outcome.name,
                        "kind": outcome.kind,
                        "passed": outcome.passed,
                        "detail": outcome.detail,
                    }
                    for outcome in outcomes
                ],
            )
        return find_visit(session, token)


def _revisions(session: Session, assignment: Assignment) -> list[tuple[int, int]]:
    rows = session.execute(
        select(Annotation.item_id, Annotation.revision)
        .join(BatchItem, (BatchItem.item_id == Annotation.item_id) & (BatchItem.batch_id == assignment.batch_id))
        .where(Annotation.assignment_id == assignment.id)
        .order_by(BatchItem.position)
    )
    return [(item_id, revision) for item_id, revision in rows]


def _answered_items(session: Session, assignment: Assignment) -> tuple[list[tuple[int, int]], list[AnsweredItem]]:
    rows = session.execute(
        select(BatchItem.position, BatchItem.item_id, BatchItem.check_name, Output.text)
        .join(ItemOutput, (ItemOutput.item_id == BatchItem.item_id) & (ItemOutput.position == 0))
        .join(Output, Output.id == ItemOutput.output_id)
        .where(BatchItem.batch_id == assignment.batch_id)
        .order_by(BatchItem.position)
    ).all()
    complete = {
        annotation.item_id: annotation
        for annotation in session.scalars(
            select(Annotation).where(Annotation.assignment_id == assignment.id, Annotation.status == "complete")
        )
    }
    if incomplete := [position for position, item_id, *_ in rows if item_id not in complete]:
        raise Incomplete(incomplete)
    spans: dict[int, list[MarkedSpan]] = defaultdict(list)
    for annotation_id, start, end, category in session.execute(
        select(Span.annotation_id, Span.start_offset, Span.end_offset, Category.key)
        .join(Span.category)
        .join(Span.annotation)
        .where(Annotation.assignment_id == assignment.id, Span.side == "output")
    ):
        spans[annotation_id].append(MarkedSpan(start, end, category))
    annotations = [complete[item_id] for _, item_id, *_ in rows]
    items = [
        AnsweredItem(check, text, spans[annotation.id], annotation.answers, annotation.seconds)
        for (_, _, check, text), annotation in zip(rows, annotations, strict=True)
    ]
    return [(annotation.item_id, annotation.revision) for annotation in annotations], items
