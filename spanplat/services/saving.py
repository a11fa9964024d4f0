"""Saving an annotator's work on one item.

This use case takes the database, not a session: a save reads and validates first and takes the write lock only for the few statements
that store it. Every condition those statements rely on stands in their WHERE, so that a state that changed in between
is noticed and the save starts over.
"""

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session, aliased

from spanplat.db import Database
from spanplat.errors import Conflict, Gone, NotFound, Saying, say
from spanplat.models import Assignment, AssignmentStatus, Campaign, Participation
from spanplat.schemas.checks import TimeFloorCheck
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission, SubmittedSpan
from spanplat.services.check_results import screen_out, store_outcomes, update_exclusion
from spanplat.services.checks import (
    AnsweredItem,
    CheckOutcome,
    Completed,
    MarkedSpan,
    score_item,
    seconds_believed,
    stops,
    warnings_of,
)
from spanplat.services.definitions import category_ids, parsed_definition
from spanplat.services.leases import hold_seat
from spanplat.services.requirements import ItemTexts, check_submission
from spanplat.services.save_statements import (
    ADD_ANNOTATION,
    ADD_SPANS,
    FIND_COMPLETED,
    FIND_SOURCE_TEXTS,
    FIND_WORK,
    REMOVE_SPANS,
    STORE_ANNOTATION,
    STORE_WHILE_HELD,
)
from spanplat.services.seats import lease_end
from spanplat.services.suggestions import SuggestedSpan, suggestions_of

NO_WORK = say("this link is not known, or no batch was taken with it yet; open the start link again")
ATTEMPTS = 3
"""How often a save starts over when the state changed between reading and writing."""


@dataclass(frozen=True)
class Saved:
    """What a save is answered with."""

    revision: int
    warnings: tuple[Saying, ...] = ()
    """What a failed check tells the annotator."""
    ended: bool = False
    """Whether the visit is over, because a failed check ended it with this save."""


class StaleRevision(Conflict):
    """Somebody (a second tab, another device) saved in between (HTTP 409)."""

    def __init__(self, revision: int) -> None:
        super().__init__(
            say(
                "this item was saved elsewhere in the meantime (revision %(revision)s); reload it to go on from there. "
                "Nothing was overwritten",
                revision=revision,
            )
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
    status: str


@dataclass(frozen=True)
class Seat:
    """The seat a token holds, and one item of its batch."""

    assignment_id: int
    status: str
    ended: bool
    """Whether the visit is over, or this try at a qualification was left or stopped."""
    claimed_at: datetime
    batch_id: int
    slot: int
    repeat: int
    definition: CampaignDefinition
    amendment: int
    """Which amendment the definition is."""
    category_ids: Mapping[str, int]
    item_id: int
    check: str | None
    """Name of the check the item carries."""
    outputs: Sequence[str]
    """Texts of the item's outputs, in the order shown."""
    suggested: Mapping[int, SuggestedSpan]
    """The item's suggestions by number."""
    stored: Stored | None
    completed: Sequence[Completed]
    """The other completed items of the batch, where the time spent on items is checked."""


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
        with contextlib.suppress(_StateChangedError), database.reading_then_writing() as (connection, writing):
            seat = _find_seat(connection, token, position)
            stored = seat.stored
            if stored is not None and (stored.request_sha256, stored.revision) == (digest, submission.revision + 1):
                outcomes = _score(seat, submission, now)
                return _acknowledge(seat, stored.revision, outcomes, late=stored.late, ended=seat.ended)
            if seat.ended or seat.status in (
                AssignmentStatus.SUBMITTED,
                AssignmentStatus.ACCEPTED,
                AssignmentStatus.REJECTED,
            ):
                raise Gone(
                    say(
                        "this work was submitted or ended and cannot be changed any more; what was saved before is kept"
                    )
                )
            if submission.revision != (stored.revision if stored else 0):
                raise StaleRevision(stored.revision if stored else 0)
            texts = _texts(connection, seat, submission)
            check_submission(seat.definition, texts, submission, list(seat.suggested.values()))
            outcomes = _score(seat, submission, now)
            with writing():
                held = _store(database, connection, seat, submission, digest=digest, now=now)
                ended = held and _apply(database, connection, seat, outcomes)
            return _acknowledge(seat, submission.revision + 1, outcomes, late=not held, ended=ended)
    raise Conflict(say("this item is being saved from several places at once; reload the page"))


def _score(seat: Seat, submission: Submission, now: datetime) -> list[CheckOutcome]:
    """Score the checks of an item that is completed; a draft is none of their business."""
    if submission.status != "complete" or not seat.definition.checks:
        return []
    spans = [MarkedSpan(span.start, span.end, span.category) for span in submission.spans if span.side == "output"]
    seconds = seconds_believed(seat.claimed_at, Completed(now, submission.seconds), seat.completed)
    item = AnsweredItem(seat.check, seat.outputs[0], spans, submission.answers, seconds)
    return score_item(seat.definition, item)


def _apply(database: Database, connection: Connection, seat: Seat, outcomes: Sequence[CheckOutcome]) -> bool:
    """Store how the checks went and do what failing them leads to; tells whether that ended the visit.

    Only the first completion stops a visit: what is saved while somebody changes a completed item is half done, and is judged
    again when the batch is submitted.
    """
    if not outcomes:
        return False
    is_first = seat.stored is None or seat.stored.status != "complete"
    ends = is_first and stops(outcomes)
    with database.session_on(connection) as session:
        store_outcomes(session, seat.assignment_id, {seat.item_id: outcomes})
        update_exclusion(session, seat.definition, seat.assignment_id)
        if ends:
            screen_out(session, seat.assignment_id)
    return ends


def _acknowledge(seat: Seat, revision: int, outcomes: Sequence[CheckOutcome], *, late: bool, ended: bool) -> Saved:
    if late:
        raise KeptAsLate(
            say(
                "your time for this batch (%(minutes)s minutes without activity) ran out and the place went to somebody else; "
                "what you did is kept",
                minutes=seat.definition.annotators.lease_minutes,
            )
        )
    return Saved(revision, warnings_of(outcomes), ended)


def _digest(submission: Submission) -> str:
    return hashlib.sha256(submission.model_dump_json().encode()).hexdigest()


def _find_seat(connection: Connection, token: str, position: int) -> Seat:
    rows = connection.execute(FIND_WORK, {"token": token, "position": position}).all()
    if not rows:
        if _is_held_by_another_visit(connection, token):
            raise Gone(
                say(
                    "you went on with this work in another tab or by another link; what you had saved is kept and is there"
                )
            )
        raise NotFound(NO_WORK)
    row = rows[0]
    if row.item_id is None:
        raise NotFound(f"the batch has no item at position {position}")
    definition = parsed_definition(
        row.definition_sha256, lambda: _definition(connection, row.campaign_id, row.definition_sha256)
    )
    if definition.practice and row.practised_at is None:
        raise NotFound(NO_WORK)
    return Seat(
        assignment_id=row.id,
        status=row.status,
        ended=row.ended is not None or row.status == AssignmentStatus.RETURNED,
        claimed_at=row.claimed_at,
        batch_id=row.batch_id,
        slot=row.slot,
        repeat=row.repeat,
        definition=definition,
        amendment=row.amendment,
        category_ids=category_ids(connection, row.campaign_id, row.definition_sha256),
        item_id=row.item_id,
        check=row.check_name,
        outputs=[other.text for other in rows if other.id == row.id],
        suggested=_suggested(connection, definition, row.item_id),
        stored=None
        if row.revision is None
        else Stored(row.revision, row.request_sha256, row.late, row.annotation_status),
        completed=_completed_besides(connection, definition, row.id, row.item_id),
    )


def _definition(connection: Connection, campaign_id: int, sha256: str) -> dict[str, Any]:
    with_digest = select(Campaign.definition).where(Campaign.id == campaign_id, Campaign.definition_sha256 == sha256)
    definition: dict[str, Any] | None = connection.scalar(with_digest)
    if definition is None:  # amended between two statements
        raise _StateChangedError
    return definition


def _suggested(connection: Connection, definition: CampaignDefinition, item_id: int) -> dict[int, SuggestedSpan]:
    if definition.spans.suggestions_from is None:
        return {}
    with Session(connection) as session:
        return {entry.number: entry for entry in suggestions_of(session, definition, item_id)}


def _completed_besides(
    connection: Connection, definition: CampaignDefinition, assignment_id: int, item_id: int
) -> list[Completed]:
    if not any(isinstance(check, TimeFloorCheck) for check in definition.checks):
        return []  # nobody asks, and a save is to be quick
    return [
        Completed(*row) for row in connection.execute(FIND_COMPLETED, {"seat_id": assignment_id, "but_item": item_id})
    ]


def _texts(connection: Connection, seat: Seat, submission: Submission) -> ItemTexts:
    """Return the texts that the submitted spans index."""
    source: dict[str, str] = {}
    if any(span.side == "source" for span in submission.spans):
        rows = connection.execute(FIND_SOURCE_TEXTS, {"item_id": seat.item_id})
        source = {field: text for field, text in rows}
    return ItemTexts(seat.outputs, source)


def _values(seat: Seat, submission: Submission, digest: str, now: datetime) -> dict[str, Any]:
    """Return what of a submission stands in the annotation itself, and where."""
    return {
        "seat_id": seat.assignment_id,
        "of_item": seat.item_id,
        "from_revision": submission.revision,
        "new_status": submission.status,
        "digest": digest,
        "new_answers": submission.answers,
        "new_dismissed": [seat.suggested[number].as_record() for number in submission.dismissed] or None,
        "new_seconds": submission.seconds,
        "under_amendment": seat.amendment,
        "completed": now if submission.status == "complete" else None,
    }


def _store(
    database: Database, connection: Connection, seat: Seat, submission: Submission, *, digest: str, now: datetime
) -> bool:
    """Write the annotation, provided that it still is at the revision the page started from; tells whether the seat is held."""
    if submission.revision == 0:
        fresh = {"seat_id": seat.assignment_id, "item_id": seat.item_id, "now": now}
        connection.execute(ADD_ANNOTATION[connection.dialect.name], fresh)
    values = _values(seat, submission, digest, now)
    held = True
    annotation_id = connection.scalar(
        STORE_WHILE_HELD, values | {"is_late": False, "held_until": lease_end(seat.definition, now)}
    )
    if annotation_id is None:
        with database.session_on(connection) as session:
            held = hold_seat(session, seat.assignment_id, seat.definition, now)
        annotation_id = connection.scalar(STORE_ANNOTATION, values | {"is_late": not held})
    if annotation_id is None:
        raise _StateChangedError
    if submission.revision:
        connection.execute(REMOVE_SPANS, {"of_annotation": annotation_id})
    if submission.spans:
        rows = [_row(span, seat) for span in submission.spans]
        places = [{"annotation_id": annotation_id, "position": position} for position in range(len(rows))]
        connection.execute(ADD_SPANS, [row | place for row, place in zip(rows, places, strict=True)])
    return held


def _row(span: SubmittedSpan, seat: Seat) -> dict[str, Any]:
    suggestion = seat.suggested.get(span.suggestion or 0)
    return {
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
        "origin": None if suggestion is None else suggestion.origin_of(span),
    }


def _is_held_by_another_visit(connection: Connection, token: str) -> bool:
    """Tell whether a participation has no seat because its annotator's is held by another visit of theirs."""
    visit, other = aliased(Participation), aliased(Assignment)
    held = select(other.id).where(
        other.campaign_id == visit.campaign_id,
        other.annotator_id == visit.annotator_id,
        other.participation_id != visit.id,
        other.status == AssignmentStatus.HELD,
    )
    return connection.scalar(select(visit.id).where(visit.token == token, held.exists())) is not None
