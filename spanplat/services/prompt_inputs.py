"""What prompts take from other campaigns: the instructions people saw, and worked examples; taken when a campaign is created."""

from collections.abc import Collection
from random import Random
from typing import Any, Literal

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, joinedload, selectinload

from spanplat.errors import InvalidInput, NotFound
from spanplat.llm.prompts import PromptInputs, WorkedExample
from spanplat.llm.prompts.reply_schema import ideal_reply
from spanplat.models import (
    COUNTED,
    Annotation,
    Assignment,
    Campaign,
    CampaignStatus,
    Item,
    ItemOutput,
    Output,
    Span,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.prompt_settings import TakenExample, TakenInputs
from spanplat.services.definitions import definition_of

InputsState = Literal["same", "changed", "live"]


def take_inputs(session: Session, definition: CampaignDefinition, asked: Collection[int]) -> TakenInputs:
    """Take from other campaigns what the prompts of one need, as it is now.

    Parameters
    ----------
    session
        A reading session.
    definition
        Of a model campaign.
    asked
        Ids of the examples it asks about, from which no worked example is drawn.

    Raises
    ------
    NotFound
        If one of the other campaigns does not exist.
    InvalidInput
        If the gold campaign has nothing to draw examples from.
    """
    settings = definition.model
    if settings is None:
        return TakenInputs()
    instructions = None
    if settings.instructions_from is not None:
        instructions = definition_of(_named(session, settings.instructions_from)).guidelines
    examples: list[TakenExample] = []
    if settings.examples_from is not None and settings.examples > 0:
        gold = _named(session, settings.examples_from)
        examples = draw_examples(
            session, definition, gold, asked=asked, number=settings.examples, seed=settings.examples_seed
        )
    return TakenInputs(instructions=instructions, examples=examples)


def prompt_inputs(taken: TakenInputs) -> PromptInputs:
    """Return what was taken as prompts are given it."""
    return PromptInputs(
        [WorkedExample(example.source, example.text, example.reply) for example in taken.examples], taken.instructions
    )


def inputs_state(session: Session, definition: CampaignDefinition) -> InputsState:
    """Tell how what a campaign takes from others stands to what they have now.

    Returns
    -------
    {"same", "changed", "live"}
        ``changed`` where people are given other instructions by now than the model is asked with; ``live`` where nothing was kept when
        the campaign was created, so that it is asked with what the others have now, whatever that is.
    """
    settings = definition.model
    if settings is None or not (settings.instructions_from or settings.examples_from):
        return "same"
    if settings.taken is None:
        return "live"
    campaign = session.scalar(_find(settings.instructions_from)) if settings.instructions_from else None
    if campaign is None or definition_of(campaign).guidelines == settings.taken.instructions:
        return "same"
    return "changed"


def _find(slug: str) -> Select[Campaign]:
    return select(Campaign).where(Campaign.slug == slug, Campaign.status != CampaignStatus.IMPORTING)


def _named(session: Session, slug: str) -> Campaign:
    campaign = session.scalar(_find(slug))
    if campaign is None:
        raise NotFound(f"there is no campaign {slug!r}")
    return campaign


def draw_examples(
    session: Session,
    definition: CampaignDefinition,
    gold: Campaign,
    *,
    asked: Collection[int],
    number: int,
    seed: int,
) -> list[TakenExample]:
    """Draw worked examples for a campaign from another one's finished annotations.

    Parameters
    ----------
    session
        A reading session.
    definition
        For whose prompts.
    gold
        Whose annotations are right.
    asked
        Ids of the examples that the campaign asks about, whose outputs may not be shown.
    number
        How many; fewer where there are fewer.
    seed
        Of the drawing: the same campaigns, number and seed give the same examples.

    Raises
    ------
    InvalidInput
        If there is nothing to draw from.
    """
    annotations = session.scalars(
        select(Annotation)
        .join(Annotation.assignment)
        .join(ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == 0))
        .join(Output, Output.id == ItemOutput.output_id)
        .where(
            Assignment.campaign_id == gold.id,
            Assignment.status.in_(COUNTED),
            Assignment.excluded.is_(False),
            Annotation.status == "complete",
            Annotation.late.is_(False),
        )
        .order_by(Output.id, Assignment.slot, Annotation.id)
        .options(
            selectinload(Annotation.spans).joinedload(Span.category),
            joinedload(Annotation.item)
            .selectinload(Item.outputs)
            .joinedload(ItemOutput.output)
            .joinedload(Output.example),
        )
    ).unique()
    by_output: dict[int, Annotation] = {}
    for annotation in annotations:
        output = annotation.item.outputs[0].output
        if output.example_id not in asked and _can_be_said(definition, annotation):
            by_output.setdefault(output.id, annotation)
    if not by_output:
        raise InvalidInput(
            f"campaign {gold.slug!r} has no finished annotation to draw examples from for {definition.slug!r}: all its texts are on "
            "examples that the campaign asks about itself, or its categories have other names"
        )
    drawn = Random(seed).sample(list(by_output.values()), min(number, len(by_output)))  # noqa: S311
    return [_worked_example(definition, annotation) for annotation in drawn]


def _can_be_said(definition: CampaignDefinition, annotation: Annotation) -> bool:
    """Tell whether the campaign has the words for an annotation: its categories, spans in the output, and required answers."""
    return all(
        definition.find_category(span.category.name) is not None and span.side == "output" and span.output_position == 0
        for span in annotation.spans
    )


def _worked_example(definition: CampaignDefinition, annotation: Annotation) -> TakenExample:
    output = annotation.item.outputs[0].output
    spans = sorted((_said_span(definition, span, output.text) for span in annotation.spans), key=lambda entry: entry[0])
    reply = ideal_reply(definition, [content for _, content in spans], annotation.answers)
    example = output.example
    return TakenExample(example=f"{example.split}/{example.key}", source=example.source, text=output.text, reply=reply)


def _said_span(definition: CampaignDefinition, span: Span, text: str) -> tuple[int, dict[str, Any]]:
    start = span.start_offset if span.resolved_start is None else span.resolved_start
    end = span.end_offset if span.resolved_end is None else span.resolved_end
    category = definition.find_category(span.category.name)
    severities = {level.key: level.name for level in definition.severities}
    subcategories = {sub.key: sub.name for sub in category.subcategories} if category else {}
    return start, {
        "reason": span.reason or "",
        "text": text[start:end],
        "context": text[max(0, start - 20) : end + 20],
        "category": category.name if category else span.category.name,
        "subcategory": subcategories.get(span.subcategory or ""),
        "severity": severities.get(span.severity or "", span.severity),
        "side": "output",
    }
