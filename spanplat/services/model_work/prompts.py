"""Items of a model campaign in the form in which models are asked about them, and prompt inputs from other campaigns."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.llm.item import AskedItem, AskedSpan
from spanplat.llm.prompts import PromptInputs
from spanplat.models import (
    SPAN_COLUMNS,
    Annotation,
    Campaign,
    Category,
    Example,
    Item,
    ItemOutput,
    JudgedSpan,
    Output,
    SourceText,
    Span,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.span import MarkedSpan
from spanplat.services.campaigns import definition_of, inputs_for_prompts, take_inputs
from spanplat.services.model_work.ensembles.consolidating import add_reported_errors

_AT_ONCE = 500
"""Largest number of items in one query. Databases limit the number of parameters."""
_CONTEXT = 60
"""Characters of context before and after a span that is to be judged."""


def load_asked_items(session: Session, definition: CampaignDefinition, item_ids: Iterable[int]) -> dict[int, AskedItem]:
    """Return items with everything that models are told: texts in the order shown, source, plain texts of the source, aspect."""
    found: dict[int, AskedItem] = {}
    ids = list(dict.fromkeys(item_ids))
    for first in range(0, len(ids), _AT_ONCE):
        found |= _asked_items(session, definition, ids[first : first + _AT_ONCE])
    return found


def _asked_items(session: Session, definition: CampaignDefinition, ids: Sequence[int]) -> dict[int, AskedItem]:
    rows = session.execute(
        select(Item.id, Item.aspect, Output.text, Example.id, Example.source)
        .join(ItemOutput, ItemOutput.item_id == Item.id)
        .join(Output, Output.id == ItemOutput.output_id)
        .join(Example, Example.id == Output.example_id)
        .where(Item.id.in_(ids))
        .order_by(Item.id, ItemOutput.position)
    ).all()
    fields = find_source_fields(session, definition, {row[3] for row in rows})
    texts: dict[int, list[str]] = {}
    for item_id, _aspect, text, _example, _source in rows:
        texts.setdefault(item_id, []).append(text)
    items = {
        item_id: AskedItem(texts[item_id], source, fields.get(example_id, {}), aspect)
        for item_id, aspect, _text, example_id, source in rows
    }
    if definition.item.kind == "span":
        rows_judged = session.execute(
            select(JudgedSpan.item_id, JudgedSpan.span_id).where(JudgedSpan.item_id.in_(items))
        )
        span_ids = {item_id: span_id for item_id, span_id in rows_judged}
        judged = find_judged_spans(session, span_ids.values())
        # No span has the id 0, so an item without a judged span gets None.
        items = {item_id: replace(item, judged=judged.get(span_ids.get(item_id, 0))) for item_id, item in items.items()}
    if definition.model is not None and definition.model.consolidates:
        return add_reported_errors(session, definition, items)
    return items


def find_judged_spans(session: Session, span_ids: Iterable[int]) -> dict[int, AskedSpan]:
    """Return spans by id, in the form in which models judge them."""
    rows = session.execute(
        select(
            Span.id,
            Category.key,
            Category.name,
            Output.text.label("output_text"),
            SourceText.text.label("source_text"),
            *SPAN_COLUMNS,
        )
        .join_from(Span, Category, Category.id == Span.category_id)
        .join(Annotation, Annotation.id == Span.annotation_id)
        .join(ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == Span.output_position))
        .join(Output, Output.id == ItemOutput.output_id)
        # An outer join, because a span of the output has no field of the source.
        .outerjoin(SourceText, (SourceText.example_id == Output.example_id) & (SourceText.field == Span.source_field))
        .where(Span.id.in_(set(span_ids)))
    )
    return {
        row.id: _judged(MarkedSpan.from_row(row, row.key), row.name, row.output_text, row.source_text) for row in rows
    }


def _judged(span: MarkedSpan, category: str, text: str, source_text: str | None) -> AskedSpan:
    start, end = span.place
    around = (source_text or "") if span.side == "source" else text
    context = around[max(0, start - _CONTEXT) : end + _CONTEXT]
    return AskedSpan(around[start:end], context, category, span.reason, span.side)


def find_source_fields(
    session: Session, definition: CampaignDefinition, examples: Iterable[int]
) -> dict[int, dict[str, str]]:
    """Return the plain texts of sources by field, if the campaign marks in the source. Only the field it marks in is loaded."""
    if not definition.marks_source or definition.data is None:
        return {}
    rows = session.execute(
        select(SourceText.example_id, SourceText.field, SourceText.text).where(
            SourceText.example_id.in_(set(examples)), SourceText.field == definition.data.source_text
        )
    )
    fields: dict[int, dict[str, str]] = {}
    for example_id, field, text in rows:
        fields.setdefault(example_id, {})[field] = text
    return fields


def load_prompt_inputs(session: Session, campaign: Campaign) -> PromptInputs:
    """Return the prompt inputs from other campaigns: worked examples, and the instructions that people saw.

    They are those of the time when the campaign was created. Older campaigns did not store them, so they use the present ones.

    Raises
    ------
    NotFound, InvalidInput
        For an older campaign, like `spanplat.services.campaigns.prompt_inputs.take_inputs`.
    """
    definition = definition_of(campaign)
    if definition.model is None:
        return PromptInputs()
    taken = definition.model.taken
    if taken is None:
        # No worked example may be drawn from the examples that the campaign asks about.
        asked = session.scalars(
            select(Output.example_id)
            .join(ItemOutput, ItemOutput.output_id == Output.id)
            .join(Item, Item.id == ItemOutput.item_id)
            .where(Item.campaign_id == campaign.id)
        )
        taken = take_inputs(session, definition, set(asked))
    return inputs_for_prompts(taken)
