"""Saving an annotator's work on one item.

`save_item` takes the database, not a session. It reads and validates first, and holds the write lock only for the few statements
that store the work. These statements test in their WHERE everything that they rely on. If the state changed after it was read, the
save notices it and starts over.

Saves are most of the work of a busy server. Their statements are built once, on tables instead of classes, and get their values as
parameters. Building a statement anew for each save would take longer than running it.
"""

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Executable, Table, and_, bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session, aliased

from spanplat.db import Database
from spanplat.errors import Conflict, Gone, NotFound, UserMessage, user_message
from spanplat.models import Assignment, AssignmentStatus, Base, Campaign, Participation
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.span import MarkedSpan, rows_of_spans
from spanplat.schemas.submission import Submission, SubmittedSpan
from spanplat.services.campaigns import ItemSuggestion, category_ids, parsed_definition, suggestions_of
from spanplat.services.crowd.check_results import screen_out, store_outcomes, update_exclusion
from spanplat.services.crowd.checks import (
    AnsweredItem,
    CheckOutcome,
    Completed,
    score_item,
    seconds_believed,
    stops,
    warnings_of,
)
from spanplat.services.crowd.leases import hold_seat
from spanplat.services.crowd.requirements import ItemTexts, check_submission
from spanplat.services.crowd.seats import lease_end

_tables = Base.metadata.tables
_annotation: Final[Table] = _tables["annotation"]
_assignment: Final[Table] = _tables["assignment"]
_batch_item: Final[Table] = _tables["batch_item"]
_campaign: Final[Table] = _tables["campaign"]
_item_output: Final[Table] = _tables["item_output"]
_output: Final[Table] = _tables["output"]
_participation: Final[Table] = _tables["participation"]
_source_text: Final[Table] = _tables["source_text"]
_span: Final[Table] = _tables["span"]

_FIND_WORK: Final = (
    select(
        _assignment.c.id,
        _assignment.c.status,
        _participation.c.ended,
        _participation.c.practised_at,
        _assignment.c.claimed_at,
        _assignment.c.batch_id,
        _assignment.c.slot,
        _assignment.c.repeat,
        _campaign.c.id.label("campaign_id"),
        _campaign.c.definition_sha256,
        _campaign.c.amendment,
        _batch_item.c.item_id,
        _batch_item.c.check_name,
        _annotation.c.status.label("annotation_status"),
        _annotation.c.revision,
        _annotation.c.request_sha256,
        _annotation.c.late,
        _output.c.text,
    )
    .join_from(_participation, _assignment, _assignment.c.participation_id == _participation.c.id)
    .join(_campaign, _campaign.c.id == _assignment.c.campaign_id)
    # Outer joins from here on, so that a position that does not exist is told apart from an unknown token.
    .outerjoin(
        _batch_item,
        and_(_batch_item.c.batch_id == _assignment.c.batch_id, _batch_item.c.position == bindparam("position")),
    )
    .outerjoin(
        _annotation,
        and_(_annotation.c.assignment_id == _assignment.c.id, _annotation.c.item_id == _batch_item.c.item_id),
    )
    .outerjoin(_item_output, _item_output.c.item_id == _batch_item.c.item_id)
    .outerjoin(_output, _output.c.id == _item_output.c.output_id)
    .where(_participation.c.token == bindparam("token"))
    .order_by(
        _assignment.c.status != AssignmentStatus.HELD,
        _assignment.c.claimed_at.desc(),
        _assignment.c.id.desc(),
        _item_output.c.position,
    )
)
"""Seats of a token, with the item at a position and its annotation; one row for each output of the item.

The seat that is held comes first, then the latest one.
"""

_FIND_COMPLETED: Final = select(_annotation.c.completed_at, _annotation.c.seconds).where(
    _annotation.c.assignment_id == bindparam("seat_id"),
    _annotation.c.item_id != bindparam("but_item"),
    _annotation.c.status == "complete",
    _annotation.c.completed_at.is_not(None),
)

FIND_SOURCE_TEXTS: Final = (
    select(_source_text.c.field, _source_text.c.text)
    .join_from(_source_text, _output, _output.c.example_id == _source_text.c.example_id)
    .join(_item_output, _item_output.c.output_id == _output.c.id)
    # All outputs of an item belong to one example, so the first one leads to its source texts.
    .where(_item_output.c.item_id == bindparam("item_id"), _item_output.c.position == 0)
)

_fresh: Final[dict[str, Any]] = {
    "assignment_id": bindparam("seat_id"),
    "item_id": bindparam("item_id"),
    "status": "draft",
    "revision": 0,
    "answers": {},
    "late": False,
    "started_at": bindparam("now"),
}
_ADD_ANNOTATION: Final[dict[str, Executable]] = {
    "sqlite": sqlite.insert(_annotation).values(_fresh).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(_annotation).values(_fresh).on_conflict_do_nothing(),
}
"""Insert statement by dialect; leaves an existing annotation as it is."""

_seat = select(_assignment.c.id).where(_assignment.c.id == bindparam("seat_id"))
# FOR NO KEY UPDATE, the lock that an UPDATE of the lease would take. SQLite has no row locks and needs none here: it has one writer.
_held_long_enough = (
    _seat.where(
        _assignment.c.status == AssignmentStatus.HELD, _assignment.c.lease_expires_at >= bindparam("held_until")
    )
    .with_for_update(key_share=True)
    .cte("seat")
)


def _storing(whose: ColumnElement[bool]) -> Executable:
    return (
        update(_annotation)
        .where(
            _annotation.c.assignment_id == bindparam("seat_id"),
            _annotation.c.item_id == bindparam("of_item"),
            _annotation.c.revision == bindparam("from_revision"),
            whose,
        )
        # No parameter has the name of its column, because SQLAlchemy reserves these names in an UPDATE.
        .values(
            status=bindparam("new_status"),
            revision=bindparam("from_revision") + 1,
            request_sha256=bindparam("digest"),
            answers=bindparam("new_answers"),
            dismissed=bindparam("new_dismissed"),
            seconds=bindparam("new_seconds"),
            late=bindparam("is_late"),
            amendment=bindparam("under_amendment"),
            completed_at=bindparam("completed"),
        )
        .returning(_annotation.c.id)
    )


_STORE_WHILE_HELD: Final = _storing(select(_held_long_enough.c.id).exists())
"""Stores the next revision of an annotation, if two conditions hold: the annotation still has the revision that the page started
from, and the lease of the seat lasts long enough not to need a renewal. The statement locks the seat, as a renewal would. A request
that submits or returns the seat at the same time waits."""

_STORE_ANNOTATION: Final = _storing(
    _seat.where(_assignment.c.status.in_((AssignmentStatus.HELD, AssignmentStatus.EXPIRED))).exists()
)
"""The same for a seat that is neither submitted nor given back, whatever its lease."""

_REMOVE_SPANS: Final = delete(_span).where(_span.c.annotation_id == bindparam("of_annotation"))
_ADD_SPANS: Final = insert(_span)


NO_WORK = user_message("this link is not known, or no batch was taken with it yet; open the start link again")
ATTEMPTS = 3
"""Number of times that a save is tried when the state changes between reading and writing."""


@dataclass(frozen=True)
class Saved:
    """Answer to a save."""

    revision: int
    warnings: tuple[UserMessage, ...] = ()
    """Messages of failed checks to the annotator."""
    ended: bool = False
    """Whether a failed check ended the visit with this save."""


class StaleRevision(Conflict):
    """The item was saved elsewhere in between, for instance in a second tab (HTTP 409)."""

    def __init__(self, revision: int) -> None:
        super().__init__(
            user_message(
                "this item was saved elsewhere in the meantime (revision %(revision)s); reload it to go on from there. "
                "Nothing was overwritten",
                revision=revision,
            )
        )
        self.revision = revision


class KeptAsLate(Gone):
    """The seat went to somebody else; the work was kept (HTTP 410)."""


class _StateChangedError(Exception):
    """The state changed between reading and writing; the save starts over."""


class StoredAnnotation(NamedTuple):
    """Annotation of an item as it is stored before the save."""

    revision: int
    request_sha256: str | None
    late: bool
    status: str


@dataclass(frozen=True)
class Seat:
    """Seat of a token, with one item of its batch."""

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
    """Number of the amendment that the definition belongs to."""
    category_ids: Mapping[str, int]
    item_id: int
    check: str | None
    """Name of the check the item carries."""
    outputs: Sequence[str]
    """Texts of the item's outputs, in the order shown."""
    suggested: Mapping[int, ItemSuggestion]
    """The item's suggestions by number."""
    stored: StoredAnnotation | None
    completed: Sequence[Completed]
    """The other completed items of the batch; empty unless a check looks at the time spent."""


def save_item(database: Database, token: str, position: int, submission: Submission, now: datetime) -> Saved:
    """Store one save of one item; the work is on disk when this function returns.

    The same submission sent again gets the same answer and changes nothing.

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
        If the submission may not be stored; see `spanplat.services.crowd.requirements.check_submission`.
    """
    digest = _digest(submission)
    for _ in range(ATTEMPTS):
        # `suppress` is the outer block, so that a changed state first rolls the transaction back and then starts over.
        with contextlib.suppress(_StateChangedError), database.reading_then_writing() as (connection, writing):
            seat = _find_seat(connection, token, position)
            stored = seat.stored
            # The page sends a save again if the answer got lost on the way. That must not look like a conflict of two tabs.
            # It also comes before the test for an ended visit: the first arrival of this save may have ended it.
            if stored is not None and (stored.request_sha256, stored.revision) == (digest, submission.revision + 1):
                outcomes = _score(seat, submission, now)
                return _acknowledge(seat, stored.revision, outcomes, late=stored.late, ended=seat.ended)
            if seat.ended or seat.status in (
                AssignmentStatus.SUBMITTED,
                AssignmentStatus.ACCEPTED,
                AssignmentStatus.REJECTED,
            ):
                raise Gone(
                    user_message(
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
    raise Conflict(user_message("this item is being saved from several places at once; reload the page"))


def _score(seat: Seat, submission: Submission, now: datetime) -> list[CheckOutcome]:
    """Score the checks of a completed item; drafts are not checked."""
    if submission.status != "complete" or not seat.definition.checks:
        return []
    spans = [span.marked() for span in submission.spans if span.side == "output"]
    seconds = seconds_believed(seat.claimed_at, Completed(now, submission.seconds), seat.completed)
    # The item of a check has one output. Checks of every item look at answers and times only.
    item = AnsweredItem(seat.check, seat.outputs[0], spans, submission.answers, seconds)
    return score_item(seat.definition, item)


def _apply(database: Database, connection: Connection, seat: Seat, outcomes: Sequence[CheckOutcome]) -> bool:
    """Store the results of the checks and apply their consequences; return whether that ended the visit.

    Only the first completion of an item can end a visit. A later save may hold a half-finished change of a completed item; its checks
    are scored again when the batch is submitted.
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
    # The work is committed by now. The error only tells the page that the seat is gone.
    if late:
        raise KeptAsLate(
            user_message(
                "your time for this batch (%(minutes)s minutes without activity) ran out and the place went to somebody else; "
                "what you did is kept",
                minutes=seat.definition.annotators.lease_minutes,
            )
        )
    return Saved(revision, warnings_of(outcomes), ended)


def _digest(submission: Submission) -> str:
    return hashlib.sha256(submission.model_dump_json().encode()).hexdigest()


def _find_seat(connection: Connection, token: str, position: int) -> Seat:
    rows = connection.execute(_FIND_WORK, {"token": token, "position": position}).all()
    if not rows:
        if _is_held_by_another_visit(connection, token):
            raise Gone(
                user_message(
                    "you went on with this work in another tab or by another link; what you had saved is kept and is there"
                )
            )
        raise NotFound(NO_WORK)
    # The seat that is held, or the latest.
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
        # A try that was left or stopped by a check returns its seat, while the participation may go on.
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
        # The token may have had other seats, whose rows follow.
        outputs=[other.text for other in rows if other.id == row.id],
        suggested=_suggested(connection, definition, row.item_id),
        stored=None
        if row.revision is None
        else StoredAnnotation(row.revision, row.request_sha256, row.late, row.annotation_status),
        completed=_completed_besides(connection, definition, row.id, row.item_id),
    )


def _definition(connection: Connection, campaign_id: int, sha256: str) -> dict[str, Any]:
    with_digest = select(Campaign.definition).where(Campaign.id == campaign_id, Campaign.definition_sha256 == sha256)
    definition: dict[str, Any] | None = connection.scalar(with_digest)
    # The campaign was amended between two statements.
    if definition is None:
        raise _StateChangedError
    return definition


def _suggested(connection: Connection, definition: CampaignDefinition, item_id: int) -> dict[int, ItemSuggestion]:
    if definition.spans.suggestions_from is None:
        return {}
    with Session(connection) as session:
        return {entry.number: entry for entry in suggestions_of(session, definition, item_id)}


def _completed_besides(
    connection: Connection, definition: CampaignDefinition, assignment_id: int, item_id: int
) -> list[Completed]:
    # Only checks of time need these rows, and a query less makes each save quicker.
    if not any(check.looks_at_time for check in definition.checks):
        return []
    return [
        Completed(*row) for row in connection.execute(_FIND_COMPLETED, {"seat_id": assignment_id, "but_item": item_id})
    ]


def _texts(connection: Connection, seat: Seat, submission: Submission) -> ItemTexts:
    """Return the texts that the submitted spans index."""
    source: dict[str, str] = {}
    if any(span.side == "source" for span in submission.spans):
        rows = connection.execute(FIND_SOURCE_TEXTS, {"item_id": seat.item_id})
        source = {field: text for field, text in rows}
    return ItemTexts(seat.outputs, source)


def _values(seat: Seat, submission: Submission, digest: str, now: datetime) -> dict[str, Any]:
    """Return the parameters of the statements that store an annotation."""
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
    """Write the annotation if it still has the revision that the page started from; return whether the seat is held."""
    # Two tabs may both send the first save. The insert lets one row stand, and the conditional update below decides who wins.
    if submission.revision == 0:
        fresh = {"seat_id": seat.assignment_id, "item_id": seat.item_id, "now": now}
        connection.execute(_ADD_ANNOTATION[connection.dialect.name], fresh)
    values = _values(seat, submission, digest, now)
    held = True
    # One statement is enough while the last renewal is less than GRACE ago. After that the lease is renewed first.
    annotation_id = connection.scalar(
        _STORE_WHILE_HELD, values | {"is_late": False, "held_until": lease_end(seat.definition, now)}
    )
    if annotation_id is None:
        # If somebody else has the seat by now, the work is stored all the same, marked as late.
        with database.session_on(connection) as session:
            held = hold_seat(session, seat.assignment_id, seat.definition, now)
        annotation_id = connection.scalar(_STORE_ANNOTATION, values | {"is_late": not held})
    if annotation_id is None:
        raise _StateChangedError
    # A save replaces all spans, because the page always sends the whole item.
    if submission.revision:
        connection.execute(_REMOVE_SPANS, {"of_annotation": annotation_id})
    if submission.spans:
        spans = [_marked(span, seat) for span in submission.spans]
        connection.execute(_ADD_SPANS, rows_of_spans(annotation_id, spans, seat.category_ids))
    return held


def _marked(span: SubmittedSpan, seat: Seat) -> MarkedSpan:
    # Suggestions are numbered from 1, so 0 finds none.
    suggestion = seat.suggested.get(span.suggestion or 0)
    return span.marked(None if suggestion is None else suggestion.origin_of(span))


def _is_held_by_another_visit(connection: Connection, token: str) -> bool:
    """Return whether the annotator holds a seat by another visit, which took it over from this one."""
    visit, other = aliased(Participation), aliased(Assignment)
    held = select(other.id).where(
        other.campaign_id == visit.campaign_id,
        other.annotator_id == visit.annotator_id,
        other.participation_id != visit.id,
        other.status == AssignmentStatus.HELD,
    )
    return connection.scalar(select(visit.id).where(visit.token == token, held.exists())) is not None
