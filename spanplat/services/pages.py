"""What the annotator's page shows: the items of a batch and one item, without anything the annotator must not know."""

from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from spanplat.errors import NotFound
from spanplat.models import (
    Annotation,
    BatchItem,
    Category,
    Example,
    Item,
    ItemOutput,
    JudgedSpan,
    Output,
    SourceText,
    Span,
    System,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.suggestions import SuggestedSpan, suggestions_of

_HAS_WORK = (Annotation.item_id == BatchItem.item_id) & (Annotation.assignment_id == bindparam("seat"))
# Built once, and carried out on the connection, without the making of objects: annotators ask for one item after another.
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
    select(
        Category.key.label("category"),
        Span.start_offset,
        Span.end_offset,
        Span.text,
        Span.side,
        Span.output_position,
        Span.source_field,
        Span.subcategory,
        Span.severity,
        Span.reason,
        Span.attributes,
        Span.origin,
    )
    .join(Category, Category.id == Span.category_id)
    .where(Span.annotation_id == bindparam("annotation"))
    .order_by(Span.position)
)


class Seat(Protocol):
    """A seat, as far as its pages need it."""

    @property
    def id(self) -> int:
        """Of the assignment."""

    @property
    def batch_id(self) -> int:
        """Of what is annotated there."""


@dataclass(frozen=True)
class ItemState:
    """One entry of the item strip."""

    position: int
    status: str
    """``new``, ``draft`` or ``complete``."""
    revision: int


def list_items(session: Session, seat: Seat) -> list[ItemState]:
    """Return the state of every item of the batch, in the order shown."""
    rows = session.connection().execute(_STATES, {"batch": seat.batch_id, "seat": seat.id})
    return [ItemState(position, status or "new", revision or 0) for position, status, revision in rows]


def show_item(session: Session, definition: CampaignDefinition, seat: Seat, position: int) -> dict[str, Any]:
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
        "spans": [_span(span) for span in spans],
        "suggestions": [_suggestion(entry) for entry in suggestions_of(session, definition, item.id)],
        "dismissed": [entry["number"] for entry in item.dismissed or []],
        "answers": item.answers if has_work else {},
        "seconds": item.seconds or 0,
        "status": item.status if has_work else "new",
        "revision": item.revision if has_work else 0,
    }


def _source_text(session: Session, definition: CampaignDefinition, item_id: int) -> dict[str, str] | None:
    """Return the field of the source that is marked, with its text, where the campaign marks in the source."""
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


def _span(span: Any) -> dict[str, Any]:
    optional = {
        "severity": span.severity,
        "subcategory": span.subcategory,
        "reason": span.reason,
        "field": span.source_field,
        "attributes": span.attributes,
        "suggestion": (span.origin or {}).get("suggestion", {}).get("number"),
    }
    return {
        "start": span.start_offset,
        "end": span.end_offset,
        "category": span.category,
        "text": span.text,
        "side": span.side,
        "output": span.output_position,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _suggestion(suggestion: SuggestedSpan) -> dict[str, Any]:
    """Return a suggestion as the page shows it: who made it is not told."""
    return {key: value for key, value in suggestion.as_record().items() if key not in ("annotator", "campaign")}


def _judged_span(session: Session, item_id: int) -> dict[str, Any] | None:
    span = session.scalar(
        select(Span).join(JudgedSpan, JudgedSpan.span_id == Span.id).where(JudgedSpan.item_id == item_id)
    )
    if span is None:
        return None
    return {
        "start": span.start_offset if span.resolved_start is None else span.resolved_start,
        "end": span.end_offset if span.resolved_end is None else span.resolved_end,
        "text": span.text,
        "category": span.category.name,
        "reason": span.reason,
        "side": span.side,
    }
