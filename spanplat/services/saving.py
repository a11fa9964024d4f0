"""Saving an annotator's work on one item.

This use case takes the database, not a session: a save reads and validates on a snapshot first and takes the write lock only for the
few statements that store it. Every condition those statements rely on stands in their WHERE, so that a state that changed in between
is noticed and the save starts over.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session, aliased

from spanplat.db import Database
from spanplat.errors import Conflict, Gone, NotFound
from spanplat.models import Assignment, AssignmentStatus, Campaign
from spanplat.models.statements import rows_changed
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission, SubmittedSpan
from spanplat.services.claims import lease_end
from spanplat.services.definitions import category_ids, parsed_definition
from spanplat.services.requirements import ItemTexts, check_submission
from spanplat.services.save_statements import (
    ADD_ANNOTATION,
    ADD_SPANS,
    FIND_SOURCE_TEXTS,
    FIND_WORK,
    REMOVE_SPANS,
    RENEW_LEASE,
    STORE_ANNOTATION,
)

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


class Stored(NamedTuple):
    """The annotation that is stored on an item."""

    revision: int
    request_sha256: str | None
    late: bool


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
    outputs: Sequence[str]
    """Texts of the item's outputs, in the order shown."""
    stored: Stored | None


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
            stored = seat.stored
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
            check_submission(seat.definition, _texts(session, seat, submission), submission)
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
    rows = session.execute(FIND_WORK, {"token": token, "position": position}).all()
    if not rows:
        raise NotFound("this link is not known, or no batch was taken with it yet; open the start link again")
    row = rows[0]
    if row.item_id is None:
        raise NotFound(f"the batch has no item at position {position}")
    definition = parsed_definition(
        row.definition_sha256,
        lambda: session.scalars(select(Campaign.definition).where(Campaign.id == row.campaign_id)).one(),
    )
    return Seat(
        assignment_id=row.id,
        status=row.status,
        ended=row.ended is not None,
        batch_id=row.batch_id,
        slot=row.slot,
        repeat=row.repeat,
        definition=definition,
        category_ids=category_ids(session, row.campaign_id, row.definition_sha256),
        item_id=row.item_id,
        outputs=[other.text for other in rows if other.id == row.id],
        stored=None if row.revision is None else Stored(row.revision, row.request_sha256, row.late),
    )


def _texts(session: Session, seat: Seat, submission: Submission) -> ItemTexts:
    """Return the texts that the submitted spans index."""
    source: dict[str, str] = {}
    if any(span.side == "source" for span in submission.spans):
        rows = session.execute(FIND_SOURCE_TEXTS, {"item_id": seat.item_id})
        source = {field: text for field, text in rows}
    return ItemTexts(seat.outputs, source)


def _hold_seat(session: Session, seat: Seat, now: datetime) -> bool:
    """Renew the lease; an expired seat nobody has taken is taken back. Tells whether the seat is ours."""
    lease = lease_end(seat.definition, now)
    if rows_changed(session.execute(RENEW_LEASE, {"seat_id": seat.assignment_id, "lease_end": lease})):
        return True
    mine = aliased(Assignment)
    replacement = delete(Assignment).where(
        Assignment.batch_id == seat.batch_id,
        Assignment.slot == seat.slot,
        Assignment.repeat == seat.repeat,
        Assignment.status == AssignmentStatus.OPEN,
        select(mine.id).where(mine.id == seat.assignment_id, mine.status == AssignmentStatus.EXPIRED).exists(),
    )
    if not rows_changed(session.execute(replacement)):
        return False
    session.execute(
        update(Assignment)
        .where(Assignment.id == seat.assignment_id)
        .values(status=AssignmentStatus.HELD, lease_expires_at=lease)
    )
    return True


def _store(session: Session, seat: Seat, submission: Submission, digest: str, now: datetime, *, late: bool) -> None:
    """Write the annotation, provided that it still is at the revision the page started from."""
    if submission.revision == 0:
        session.execute(
            ADD_ANNOTATION[session.get_bind().dialect.name],
            {"seat_id": seat.assignment_id, "item_id": seat.item_id, "late": late, "now": now},
        )
    annotation_id = session.scalar(
        STORE_ANNOTATION,
        {
            "seat_id": seat.assignment_id,
            "of_item": seat.item_id,
            "from_revision": submission.revision,
            "new_status": submission.status,
            "digest": digest,
            "new_answers": submission.answers,
            "new_seconds": submission.seconds,
            "is_late": late,
            "completed": now if submission.status == "complete" else None,
        },
    )
    if annotation_id is None:
        raise _StateChangedError
    if submission.revision:
        session.execute(REMOVE_SPANS, {"of_annotation": annotation_id})
    if submission.spans:
        session.execute(ADD_SPANS, [_row(span, annotation_id, n, seat) for n, span in enumerate(submission.spans)])


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
