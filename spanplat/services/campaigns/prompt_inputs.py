"""Prompt inputs from other campaigns: instructions for people and worked examples, copied when a campaign is created."""

from collections.abc import Collection
from random import Random
from typing import Any, Literal

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, joinedload, selectinload

from spanplat.errors import InvalidInput, NotFound
from spanplat.llm.prompts import PromptExample, PromptInputs
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
from spanplat.schemas.span import MarkedSpan
from spanplat.services.campaigns.definitions import definition_of

InputsState = Literal["same", "changed", "live"]


def take_inputs(session: Session, definition: CampaignDefinition, asked: Collection[int]) -> TakenInputs:
    """Copy the present instructions and examples of other campaigns for the prompts of a campaign.

    Parameters
    ----------
    session
        A reading session.
    definition
        Definition of a model campaign.
    asked
        Ids of the examples that the campaign asks about; no worked example is drawn from them.

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


def inputs_for_prompts(taken: TakenInputs) -> PromptInputs:
    """Return the copied inputs in the form that prompts need."""
    return PromptInputs(
        [PromptExample(example.source, example.text, example.reply) for example in taken.examples], taken.instructions
    )


def inputs_state(session: Session, definition: CampaignDefinition) -> InputsState:
    """Compare the copied inputs of a campaign with what the other campaigns have now.

    Returns
    -------
    {"same", "changed", "live"}
        ``changed`` if the instructions for people have changed since they were copied; ``live`` if nothing was copied when the
        campaign was created, so that the model always gets the present inputs.
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
    """Draw worked examples for a campaign from the finished annotations of another one.

    Parameters
    ----------
    session
        A reading session.
    definition
        Definition of the campaign whose prompts show the examples.
    gold
        Campaign with the right annotations.
    asked
        Ids of the examples that the campaign asks about; their outputs must not be shown.
    number
        Number of examples; if there are fewer, all are returned.
    seed
        Seed of the draw; the same campaigns, number and seed give the same examples.

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
        # A worked example on a text that is asked about would give the answer away.
        if output.example_id not in asked and _can_be_said(definition, annotation):
            # The first annotator's, by the order of the query.
            by_output.setdefault(output.id, annotation)
    if not by_output:
        raise InvalidInput(
            f"campaign {gold.slug!r} has no finished annotation to draw examples from for {definition.slug!r}: all its texts are on "
            "examples that the campaign asks about itself, or its categories have other names"
        )
    # The draw depends on the order of the query as well as on the seed, so the query has a fixed order.
    drawn = Random(seed).sample(list(by_output.values()), min(number, len(by_output)))  # noqa: S311
    return [_worked_example(definition, annotation) for annotation in drawn]


def _can_be_said(definition: CampaignDefinition, annotation: Annotation) -> bool:
    """Return whether the campaign can express an annotation: it has its categories, and all spans are in the first output."""
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


def _said_span(definition: CampaignDefinition, stored: Span, text: str) -> tuple[int, dict[str, Any]]:
    span = MarkedSpan.from_row(stored, stored.category.key)
    start, end = span.place
    category = definition.find_category(stored.category.name)
    # The other campaign may have stored the name of a severity or its key. Prompts use names.
    severities = {level.key: level.name for level in definition.severities}
    subcategories = {sub.key: sub.name for sub in category.subcategories} if category else {}
    return start, {
        "reason": span.reason or "",
        "text": text[start:end],
        "context": text[max(0, start - 20) : end + 20],
        "category": category.name if category else stored.category.name,
        "subcategory": subcategories.get(span.subcategory or ""),
        "severity": severities.get(span.severity or "", span.severity),
        "side": "output",
    }
