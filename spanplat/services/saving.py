"""Saving an annotator's work on one item.

This use case takes the database, not a session: a save reads and validates on a snapshot first and takes the write lock only for the
few statements that store it. Every condition those statements rely on stands in their WHERE, so that a state that changed in between
is noticed and the save starts over.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, Gone, NotFound
from spanplat.models import (
    Annotation,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Campaign,
    ItemOutput,
    Output,
    Participation,
    SourceText,
    Span,
)
from spanplat.models.statements import insert_absent, rows_changed
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission, SubmittedSpan
from spanplat.services.claims import lease_end
from spanplat.services.definitions import category_ids, parsed_definition
from spanplat.services.requirements import ItemTexts, check_submission

ATTEMPTS = 3
"""How often a save starts over when the state changed between reading and writing."""


@dataclass(frozen=True)
class Saved:
    """What a save is answered with."""

    revision: int


class StaleRevision(Conflict):
    """Somebody (a second tab, another device) saved in between (HTTP 409)."""

    def __init__(self, revision: int) -> None:
        super().__init__(
            f"this item was saved elsewhere in the meantime (revision {revision}); reload it to go on from there. "
            "Nothing was overwritten"
        )
        self.revision = revision


class KeptAsLate(Gone):
    """The seat went to somebody else; the work was kept (HTTP 410)."""


class _StateChangedError(Exception):
    """What was read is no longer so; the save starts over."""


@dataclass(frozen=True)
class Seat:
    """The seat a token holds, and one item of its batch."""

    assignment_id: int
    status: str
    ended: bool
    batch_id: int
    slot: int
    repeat: int
    definition: CampaignDefinition
    category_ids: Mapping[str, int]
    item_id: int


def save_item(database: Database, token: str, position: int, submission: Submission, now: datetime) -> Saved:
    """Store one save of one item; acknowledged means on disk.

    The same submission again gets the same answer and changes nothing.

    Raises
    ------
    NotFound
        If the token or the position is unknown.
    Gone
        If the work was submitted or ended.
    KeptAsLate
        If the lease ran out and somebody else holds the seat; the save was kept.
    StaleRevision
        If the item was saved elsewhere since the page loaded it.
    TextMismatch, InvalidInput
        If the submission may not be stored; see `spanplat.services.requirements.check_submission`.
    """
    digest = _digest(submission)
    for _ in range(ATTEMPTS):
        with database.reading() as session:
            seat = _find_seat(session, token, position)
            stored = _stored_annotation(session, seat)
            if stored is not None and (stored.request_sha256, stored.revision) == (digest, submission.revision + 1):
                return _acknowledge(seat, stored.revision, late=stored.late)
            if seat.ended or seat.status in (
                AssignmentStatus.SUBMITTED,
                AssignmentStatus.ACCEPTED,
                AssignmentStatus.REJECTED,
            ):
                raise Gone(
                    "this work was submitted or ended and cannot be changed any more; what was saved before is kept"
                )
            if submission.revision != (stored.revision if stored else 0):
                raise StaleRevision(stored.revision if stored else 0)
            check_submission(seat.definition, texts_of(session, seat.item_id), submission)
        with contextlib.suppress(_StateChangedError):
            with database.transaction() as session:
                held = _hold_seat(session, seat, now)
                _store(session, seat, submission, digest, now, late=not held)
            return _acknowledge(seat, submission.revision + 1, late=not held)
    raise Conflict("this item is being saved from several places at once; reload the page")


def _acknowledge(seat: Seat, revision: int, *, late: bool) -> Saved:
    if late:
        raise KeptAsLate(
            f"your time for this batch ({seat.definition.annotators.lease_minutes} minutes without a save) ran out "
            "and the place went to somebody else; what you did is kept"
        )
    return Saved(revision)


def _digest(submission: Submission) -> str:
    return hashlib.sha256(json.dumps(submission.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def _find_seat(session: Session, token: str, position: int) -> Seat:
    row = session.execute(
        select(
            Assignment.id,
            Assignment.status,
            Participation.ended,
            Assignment.batch_id,
            Assignment.slot,
            Assignment.repeat,
            Campaign.id,
            Campaign.definition_sha256,
            BatchItem.item_id,
        )
        .join(Participation, Participation.id == Assignment.participation_id)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .outerjoin(BatchItem, (BatchItem.batch_id == Assignment.batch_id) & (BatchItem.position == position))
        .where(Participation.token == token)
        .order_by(Assignment.claimed_at.desc(), Assignment.id.desc())
        .limit(1)
    ).first()
    if row is None:
        raise NotFound("this link is not known, or no batch was taken with it yet; open the start link again")
    assignment_id, status, ended, batch_id, slot, repeat, campaign_id, definition_sha256, item_id = row
    if item_id is None:
        raise NotFound(f"the batch has no item at position {position}")
    definition = parsed_definition(
        definition_sha256, lambda: session.scalars(select(Campaign.definition).where(Campaign.id == campaign_id)).one()
    )
    return Seat(
        assignment_id,
        status,
        ended is not None,
        batch_id,
        slot,
        repeat,
        definition,
        category_ids(session, campaign_id, definition_sha256),
        item_id,
    )


def _stored_annotation(session: Session, seat: Seat) -> Row[int, int, str | None, bool] | None:
    return session.execute(
        select(Annotation.id, Annotation.revision, Annotation.request_sha256, Annotation.late).where(
            Annotation.assignment_id == seat.assignment_id, Annotation.item_id == seat.item_id
        )
    ).first()


def texts_of(session: Session, item_id: int) -> ItemTexts:
    """Return the texts that spans of an item index."""
    outputs = session.scalars(
        select(Output.text)
        .join(ItemOutput, ItemOutput.output_id == Output.id)
        .where(ItemOutput.item_id == item_id)
        .order_by(ItemOutput.position)
    ).all()
    source = session.execute(
        select(SourceText.field, SourceText.text)
        .join(Output, Output.example_id == SourceText.example_id)
        .join(ItemOutput, ItemOutput.output_id == Output.id)
        .where(ItemOutput.item_id == item_id, ItemOutput.position == 0)
    )
    return ItemTexts(outputs, {field: text for field, text in source})


def _hold_seat(session: Session, seat: Seat, now: datetime) -> bool:
    """Renew the lease; an expired seat nobody has taken is taken back. Tells whether the seat is ours."""
    renewal = update(Assignment).values(lease_expires_at=lease_end(seat.definition, now))
    renewed = session.execute(
        renewal.where(Assignment.id == seat.assignment_id, Assignment.status == AssignmentStatus.HELD)
    )
    if rows_changed(renewed):
        return True
    replacement = delete(Assignment).where(
        Assignment.batch_id == seat.batch_id,
        Assignment.slot == seat.slot,
        Assignment.repeat == seat.repeat,
        Assignment.status == AssignmentStatus.OPEN,
        select(Assignment.id)
        .where(Assignment.id == seat.assignment_id, Assignment.status == AssignmentStatus.EXPIRED)
        .exists(),
    )
    if not rows_changed(session.execute(replacement)):
        return False
    session.execute(renewal.where(Assignment.id == seat.assignment_id).values(status=AssignmentStatus.HELD))
    return True


def _store(session: Session, seat: Seat, submission: Submission, digest: str, now: datetime, *, late: bool) -> None:
    """Write the annotation, provided that it still is at the revision the page started from."""
    key = {"assignment_id": seat.assignment_id, "item_id": seat.item_id}
    if submission.revision == 0:
        insert_absent(
            session,
            Annotation,
            [key | {"status": "draft", "revision": 0, "answers": {}, "late": late, "started_at": now}],
        )
    annotation_id = session.scalar(
        update(Annotation)
        .where(
            Annotation.assignment_id == seat.assignment_id,
            Annotation.item_id == seat.item_id,
            Annotation.revision == submission.revision,
            select(Assignment.id)
            .where(
                Assignment.id == seat.assignment_id,
                Assignment.status.in_((AssignmentStatus.HELD, AssignmentStatus.EXPIRED, AssignmentStatus.RETURNED)),
            )
            .exists(),
        )
        .values(
            status=submission.status,
            revision=submission.revision + 1,
            request_sha256=digest,
            answers=submission.answers,
            seconds=submission.seconds,
            late=late,
            completed_at=now if submission.status == "complete" else None,
        )
        .returning(Annotation.id)
    )
    if annotation_id is None:
        raise _StateChangedError
    if submission.revision:
        session.execute(delete(Span).where(Span.annotation_id == annotation_id))
    if submission.spans:
        session.execute(insert(Span), [_row(span, annotation_id, n, seat) for n, span in enumerate(submission.spans)])


def _row(span: SubmittedSpan, annotation_id: int, position: int, seat: Seat) -> dict[str, Any]:
    return {
        "annotation_id": annotation_id,
        "position": position,
        "category_id": seat.category_ids[span.category],
        "start_offset": span.start,
        "end_offset": span.end,
        "text": span.text,
        "side": span.side,
        "output_position": span.output,
        "source_field": span.field,
        "subcategory": span.subcategory,
        "severity": span.severity,
        "reason": span.reason,
        "attributes": span.attributes,
        "origin": span.origin,
    }
