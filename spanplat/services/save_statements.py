"""The SQL of a save.

Saves are most of what a busy server does. Their statements are built once, on tables instead of classes, and get their values as
parameters: to build one anew and to look up its compiled form costs more than the database takes to carry it out.
"""

from typing import Any, Final

from sqlalchemy import ColumnElement, Executable, Table, and_, bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from spanplat.models import AssignmentStatus, Base

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

FIND_WORK: Final = (
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
"""Seats of a token, the one held and then the latest first, with the item at a position, its annotation, and a row for each output."""

FIND_COMPLETED: Final = select(_annotation.c.completed_at, _annotation.c.seconds).where(
    _annotation.c.assignment_id == bindparam("seat_id"),
    _annotation.c.item_id != bindparam("but_item"),
    _annotation.c.status == "complete",
    _annotation.c.completed_at.is_not(None),
)

FIND_SOURCE_TEXTS: Final = (
    select(_source_text.c.field, _source_text.c.text)
    .join_from(_source_text, _output, _output.c.example_id == _source_text.c.example_id)
    .join(_item_output, _item_output.c.output_id == _output.c.id)
    .where(_item_output.c.item_id == bindparam("item_id"), _item_output.c.position == 0)
)

RENEW_LEASE: Final = (
    update(_assignment)
    .where(_assignment.c.id == bindparam("seat_id"), _assignment.c.status == AssignmentStatus.HELD)
    .values(lease_expires_at=bindparam("lease_end"))
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
ADD_ANNOTATION: Final[dict[str, Executable]] = {
    "sqlite": sqlite.insert(_annotation).values(_fresh).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(_annotation).values(_fresh).on_conflict_do_nothing(),
}
"""By dialect; leaves an annotation that is there as it is."""

_seat = select(_assignment.c.id).where(_assignment.c.id == bindparam("seat_id"))
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


STORE_WHILE_HELD: Final = _storing(select(_held_long_enough.c.id).exists())
"""Stores the next revision of an annotation that still is at the one the page started from, while its seat is held long enough for
its lease not to be renewed. The seat is locked, as renewing would do it: whoever submits or returns it meanwhile waits."""

STORE_ANNOTATION: Final = _storing(
    _seat.where(_assignment.c.status.in_((AssignmentStatus.HELD, AssignmentStatus.EXPIRED))).exists()
)
"""The same while its seat is neither submitted nor given back."""

REMOVE_SPANS: Final = delete(_span).where(_span.c.annotation_id == bindparam("of_annotation"))
ADD_SPANS: Final = insert(_span)
