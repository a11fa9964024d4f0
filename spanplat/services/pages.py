"""What the annotator's page shows: the items of a batch and one item, without anything the annotator must not know."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session, selectinload

from spanplat.errors import NotFound
from spanplat.models import (
    Annotation,
    Assignment,
    BatchItem,
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

# Built once, because annotators ask for one item after another.
_ITEM = (
    select(Item, Annotation)
    .join(BatchItem, BatchItem.item_id == Item.id)
    .outerjoin(Annotation, (Annotation.item_id == Item.id) & (Annotation.assignment_id == bindparam("seat")))
    .where(BatchItem.batch_id == bindparam("batch"), BatchItem.position == bindparam("position"))
    .options(selectinload(Annotation.spans).joinedload(Span.category))
)
_OUTPUTS = (
    select(Output.text, System.name, Example.source)
    .join(ItemOutput, ItemOutput.output_id == Output.id)
    .join(Output.system)
    .join(Output.example)
    .where(ItemOutput.item_id == bindparam("item"))
    .order_by(ItemOutput.position)
)


@dataclass(frozen=True)
class ItemState:
    """One entry of the item strip."""

    position: int
    status: str
    """``new``, ``draft`` or ``complete``."""
    revision: int


def list_items(session: Session, assignment: Assignment) -> list[ItemState]:
    """Return the state of every item of the batch, in the order shown."""
    rows = session.execute(
        select(BatchItem.position, Annotation.status, Annotation.revision)
        .outerjoin(Annotation, (Annotation.item_id == BatchItem.item_id) & (Annotation.assignment_id == assignment.id))
        .where(BatchItem.batch_id == assignment.batch_id)
        .order_by(BatchItem.position)
    )
    return [ItemState(position, status or "new", revision or 0) for position, status, revision in rows]


def show_item(
    session: Session, definition: CampaignDefinition, assignment: Assignment, position: int
) -> dict[str, Any]:
    """Return one item as the page's JSON: texts, source, categories, and the annotator's own work so far.

    Raises
    ------
    NotFound
        If the batch has no such position.
    """
    place = {"batch": assignment.batch_id, "position": position, "seat": assignment.id}
    found = session.execute(_ITEM, place).one_or_none()
    if found is None:
        raise NotFound(f"the batch has no item at position {position}")
    item: Item = found[0]
    annotation: Annotation | None = found[1]
    outputs = session.execute(_OUTPUTS, {"item": item.id}).all()
    shown = [
        {"text": text, "system": name} if definition.item.show_systems else {"text": text} for text, name, _ in outputs
    ]
    aspect = next((aspect for aspect in definition.item.aspects if aspect.key == item.aspect), None)
    return {
        "position": position,
        "text": outputs[0][0],
        "source": outputs[0][2],
        "source_text": _source_text(session, definition, item.id),
        "item": {
            "kind": item.kind,
            "outputs": shown,
            "aspect": aspect.model_dump() if aspect else None,
            "judged": _judged_span(session, item.id) if item.kind == "span" else None,
        },
        "categories": [{"key": category.key, "name": category.name} for category in definition.categories],
        "spans": [_span(span) for span in annotation.spans] if annotation else [],
        "suggestions": [_suggestion(entry) for entry in suggestions_of(session, definition, item.id)],
        "dismissed": [entry["number"] for entry in annotation.dismissed or []] if annotation else [],
        "answers": annotation.answers if annotation else {},
        "seconds": (annotation.seconds or 0) if annotation else 0,
        "status": annotation.status if annotation else "new",
        "revision": annotation.revision if annotation else 0,
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


def _span(span: Span) -> dict[str, Any]:
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
        "category": span.category.key,
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
