"""Content of the annotator's page: the states of a batch's items, and one item without what the annotator must not know."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from spanplat.errors import Gone, NotFound, user_message
from spanplat.models import (
    SPAN_COLUMNS,
    Annotation,
    Assignment,
    BatchItem,
    Campaign,
    Category,
    Example,
    Item,
    ItemOutput,
    JudgedSpan,
    Output,
    Participation,
    SourceText,
    Span,
    System,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.span import MarkedSpan
from spanplat.services.campaigns import ItemSuggestion, parsed_definition, suggestions_of
from spanplat.services.crowd.claims import LATEST_FIRST
from spanplat.services.crowd.participation import SUBMITTED, UNKNOWN_LINK

_HAS_WORK = (Annotation.item_id == BatchItem.item_id) & (Annotation.assignment_id == bindparam("seat"))
# These statements are built once and run on the connection, without ORM objects, because annotators request item after item.
_STATES = (
    select(BatchItem.position, Annotation.status, Annotation.revision)
    .outerjoin(Annotation, _HAS_WORK)
    .where(BatchItem.batch_id == bindparam("batch"))
    .order_by(BatchItem.position)
)
_ITEM = (
    select(
        Item.id,
        Item.kind,
        Item.aspect,
        Output.text,
        System.name.label("system"),
        # All outputs of an item belong to one example, so each row has the same source.
        Example.source,
        Annotation.id.label("annotation_id"),
        Annotation.status,
        Annotation.revision,
        Annotation.answers,
        Annotation.dismissed,
        Annotation.seconds,
    )
    .join_from(BatchItem, Item, Item.id == BatchItem.item_id)
    .join(ItemOutput, ItemOutput.item_id == Item.id)
    .join(Output, Output.id == ItemOutput.output_id)
    .join(System, System.id == Output.system_id)
    .join(Example, Example.id == Output.example_id)
    .outerjoin(Annotation, _HAS_WORK)
    .where(BatchItem.batch_id == bindparam("batch"), BatchItem.position == bindparam("position"))
    .order_by(ItemOutput.position)
)
_SPANS = (
    select(Category.key.label("category"), *SPAN_COLUMNS)
    .join(Category, Category.id == Span.category_id)
    .where(Span.annotation_id == bindparam("annotation"))
    .order_by(Span.position)
)


class BatchSeat(Protocol):
    """Seat, as far as its pages need it."""

    @property
    def id(self) -> int:
        """Id of the assignment."""

    @property
    def batch_id(self) -> int:
        """Id of the batch."""


@dataclass(frozen=True)
class ItemState:
    """State of one item in the list of items on the page."""

    position: int
    status: str
    """``new``, ``draft`` or ``complete``."""
    revision: int


def list_items(session: Session, seat: BatchSeat) -> list[ItemState]:
    """Return the state of every item of the batch, in the order shown."""
    rows = session.connection().execute(_STATES, {"batch": seat.batch_id, "seat": seat.id})
    return [ItemState(position, status or "new", revision or 0) for position, status, revision in rows]


def show_item(session: Session, definition: CampaignDefinition, seat: BatchSeat, position: int) -> dict[str, Any]:
    """Return one item as the page's JSON: texts, source, categories, and the annotator's own work so far.

    Raises
    ------
    NotFound
        If the batch has no such position.
    """
    connection = session.connection()
    outputs = connection.execute(_ITEM, {"batch": seat.batch_id, "position": position, "seat": seat.id}).all()
    if not outputs:
        raise NotFound(f"the batch has no item at position {position}")
    item = outputs[0]
    has_work = item.annotation_id is not None
    spans = connection.execute(_SPANS, {"annotation": item.annotation_id}) if has_work else ()
    aspect = next((aspect for aspect in definition.item.aspects if aspect.key == item.aspect), None)
    return {
        "position": position,
        "text": item.text,
        "source": item.source,
        "source_text": _source_text(session, definition, item.id),
        "item": {
            "kind": item.kind,
            # The name of the system could bias the annotator, so it is left out unless the definition shows it.
            "outputs": [
                {"text": output.text, "system": output.system}
                if definition.item.show_systems
                else {"text": output.text}
                for output in outputs
            ],
            "aspect": aspect.model_dump() if aspect else None,
            "judged": _judged_span(session, item.id) if item.kind == "span" else None,
        },
        "categories": [{"key": category.key, "name": category.name} for category in definition.categories],
        "spans": [_span(MarkedSpan.from_row(row, row.category)) for row in spans],
        "suggestions": [_suggestion(entry) for entry in suggestions_of(session, definition, item.id)],
        "dismissed": [entry["number"] for entry in item.dismissed or []],
        "answers": item.answers if has_work else {},
        "seconds": item.seconds or 0,
        "status": item.status if has_work else "new",
        "revision": item.revision if has_work else 0,
    }


def _source_text(session: Session, definition: CampaignDefinition, item_id: int) -> dict[str, str] | None:
    """Return the source field in which spans are marked, with its text; None if the campaign does not mark in the source."""
    if not definition.marks_source or definition.data is None:
        return None
    field = definition.data.source_text
    text = session.scalar(
        select(SourceText.text)
        .join(Output, Output.example_id == SourceText.example_id)
        .join(ItemOutput, ItemOutput.output_id == Output.id)
        .where(ItemOutput.item_id == item_id, ItemOutput.position == 0, SourceText.field == field)
    )
    return None if text is None else {"field": field, "text": text}


def _span(span: MarkedSpan) -> dict[str, Any]:
    """Return a span as the page sent it, with the number of the suggestion that it came from."""
    suggestion = (span.origin or {}).get("suggestion", {}).get("number")
    return span.stated() | ({} if suggestion is None else {"suggestion": suggestion})


def _suggestion(suggestion: ItemSuggestion) -> dict[str, Any]:
    """Return a suggestion as the page shows it, without its author."""
    return {"number": suggestion.number, **suggestion.span.stated()}


def _judged_span(session: Session, item_id: int) -> dict[str, Any] | None:
    row = session.execute(
        select(Category.key, Category.name, *SPAN_COLUMNS)
        .join_from(Span, Category, Category.id == Span.category_id)
        .join(JudgedSpan, JudgedSpan.span_id == Span.id)
        .where(JudgedSpan.item_id == item_id)
    ).one_or_none()
    if row is None:
        return None
    span = MarkedSpan.from_row(row, row.key)
    # The resolved place, because the text of an imported span need not be at the received offsets.
    start, end = span.place
    return {
        "start": start,
        "end": end,
        "text": span.text,
        "category": row.name,
        "reason": span.reason,
        "side": span.side,
    }


_SEAT = (
    select(
        Assignment.id,
        Assignment.status,
        Assignment.batch_id,
        Participation.ended,
        Participation.practised_at,
        Campaign.id.label("campaign_id"),
        Campaign.definition_sha256,
    )
    .join_from(Participation, Campaign, Campaign.id == Participation.campaign_id)
    .outerjoin(Assignment, Assignment.participation_id == Participation.id)
    .where(Participation.token == bindparam("token"))
    .order_by(*LATEST_FIRST)
    .limit(1)
)
# With the digest as a condition, so that a definition can never be cached under the digest of another one.
_DEFINITION = select(Campaign.definition).where(
    Campaign.id == bindparam("campaign"), Campaign.definition_sha256 == bindparam("sha256")
)


class WorkSeat(NamedTuple):
    """Seat whose items may be shown and saved."""

    id: int
    """Id of the assignment."""
    batch_id: int
    definition: CampaignDefinition


def find_work_seat(session: Session, token: str) -> WorkSeat:
    """Return the seat of a token.

    The seat may have lapsed: its page may still be open, and work saved there is stored.

    Raises
    ------
    NotFound
        If the token is unknown, or no seat was claimed with it yet.
    Gone
        If the work was submitted or has ended.
    """
    connection = session.connection()
    row = connection.execute(_SEAT, {"token": token}).one_or_none()
    if row is None:
        raise NotFound(UNKNOWN_LINK)
    if row.ended is not None or row.status in SUBMITTED:
        raise Gone(user_message("this work was submitted or has ended"))
    # Parsing a definition takes long and its text is large: it is loaded only if no copy with this digest is cached.
    named = {"campaign": row.campaign_id, "sha256": row.definition_sha256}
    definition = parsed_definition(row.definition_sha256, lambda: connection.execute(_DEFINITION, named).scalar_one())
    # During practice the seat is held already, but its items must not be shown yet.
    if row.id is None or (definition.practice and row.practised_at is None):
        raise NotFound(user_message("no batch was taken with this link yet; open the start link again"))
    return WorkSeat(row.id, row.batch_id, definition)
