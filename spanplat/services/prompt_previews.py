"""The prompt that a campaign sends about one of its items, with what asking it takes."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput, NotFound
from spanplat.llm.dialogue import Dialogue
from spanplat.llm.prompts import Prompt, render_prompt
from spanplat.models import Batch, BatchItem, Campaign, Example, ItemOutput, Output, System
from spanplat.services.campaigns import find_campaign
from spanplat.services.definitions import definition_of
from spanplat.services.model_runs.estimates import Estimate, estimate, history_of
from spanplat.services.model_runs.questions import Key, Question
from spanplat.services.prompts import load_asked_items, load_prompt_inputs
from spanplat.text.counting import count_of


@dataclass(frozen=True)
class PromptPreview:
    """The prompt about one item."""

    number: int
    """The item's place among the campaign's, counted from 1."""
    items: int
    example: str
    """Split and key."""
    systems: tuple[str, ...]
    """Of the texts, in the order shown."""
    prompt: Prompt
    estimate: Estimate
    """Tokens and money that asking about this item takes."""


def preview_prompt(session: Session, slug: str, number: int = 1) -> PromptPreview:
    """Render the prompt that a campaign sends about one of its items.

    Parameters
    ----------
    session
        A reading session.
    slug
        A model campaign.
    number
        The item's place among the campaign's, counted from 1.

    Raises
    ------
    NotFound
        If there is no such campaign or item.
    InvalidInput
        If no model is asked in words there, or the prompt cannot be made.
    """
    campaign = find_campaign(session, slug)
    definition = definition_of(campaign)
    settings = definition.model
    if campaign.kind != "llm" or settings is None:
        raise InvalidInput(f"campaign {slug!r} is filled by people, not by a model, so it has no prompt")
    if settings.provider == "overlap":
        raise InvalidInput(f"campaign {slug!r} is filled by the offline annotator, which is asked nothing in words")
    ids = _items_in_order(session, campaign)
    if not 1 <= number <= len(ids):
        raise NotFound(f"campaign {slug!r} has {count_of(len(ids), 'item')}; there is no item {number}")
    item_id = ids[number - 1]
    inputs = load_prompt_inputs(session, campaign)
    item = load_asked_items(session, definition, [item_id])[item_id]
    question = Question(Key(0, item_id), 0, item)
    rows = session.execute(
        select(Example.split, Example.key, System.slug)
        .join(Output, Output.example_id == Example.id)
        .join(System, System.id == Output.system_id)
        .join(ItemOutput, ItemOutput.output_id == Output.id)
        .where(ItemOutput.item_id == item_id)
        .order_by(ItemOutput.position)
    ).all()
    return PromptPreview(
        number,
        len(ids),
        f"{rows[0][0]}/{rows[0][1]}",
        tuple(row[2] for row in rows),
        render_prompt(definition, item, inputs),
        estimate(settings, Dialogue(definition, inputs), [question], 1, history_of(session, campaign.id)),
    )


def _items_in_order(session: Session, campaign: Campaign) -> list[int]:
    """Return the campaign's items in the order of its batches, each once."""
    ids = session.scalars(
        select(BatchItem.item_id)
        .join(Batch, Batch.id == BatchItem.batch_id)
        .where(Batch.campaign_id == campaign.id)
        .order_by(Batch.number, BatchItem.position)
    )
    return list(dict.fromkeys(ids))
