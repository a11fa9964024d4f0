"""Previews of a model campaign: the prompt about one item, and the price of a plan."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput, NotFound
from spanplat.llm.dialogue import Dialogue
from spanplat.llm.item import AskedItem
from spanplat.llm.prompts import Prompt, render_prompt
from spanplat.models import Batch, BatchItem, Campaign, Example, ItemOutput, ItemRole, Output, System
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.prompt_settings import TakenInputs
from spanplat.services.campaigns import CampaignPlan, ItemPlan, definition_of, find_campaign, inputs_for_prompts
from spanplat.services.model_work.estimates import Estimate, History, estimate, history_of
from spanplat.services.model_work.prompts import (
    find_judged_spans,
    find_source_fields,
    load_asked_items,
    load_prompt_inputs,
)
from spanplat.text.counting import count_of


@dataclass(frozen=True)
class PromptPreview:
    """The prompt about one item."""

    number: int
    """Number of the item in the campaign, counted from 1."""
    items: int
    example: str
    """Split and key."""
    systems: tuple[str, ...]
    """Systems of the texts, in the order shown."""
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
        Number of the item in the campaign, counted from 1.

    Raises
    ------
    NotFound
        If there is no such campaign or item.
    InvalidInput
        If no language model fills the campaign, or the prompt cannot be made.
    """
    campaign = find_campaign(session, slug)
    definition = definition_of(campaign)
    settings = definition.model
    if campaign.kind != "llm" or settings is None:
        raise InvalidInput(f"campaign {slug!r} is filled by people, not by a model, so it has no prompt")
    if settings.is_offline:
        raise InvalidInput(f"campaign {slug!r} is filled by the offline annotator, which needs no prompt")
    ids = _items_in_order(session, campaign)
    if not 1 <= number <= len(ids):
        raise NotFound(f"campaign {slug!r} has {count_of(len(ids), 'item')}; there is no item {number}")
    item_id = ids[number - 1]
    inputs = load_prompt_inputs(session, campaign)
    item = load_asked_items(session, definition, [item_id])[item_id]
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
        # All texts of an item belong to one example.
        f"{rows[0][0]}/{rows[0][1]}",
        tuple(row[2] for row in rows),
        render_prompt(definition, item, inputs),
        estimate(settings, [Dialogue(definition, inputs).request(item, 0)], 1, history_of(session, campaign.id)),
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


LOOKED_AT = 40
"""Most items whose prompts are rendered for an estimate."""


def price_plan(session: Session, plan: CampaignPlan) -> Estimate | None:
    """Estimate tokens and price of all calls of a planned campaign, from the prompts about some of its items.

    Returns
    -------
    Estimate or None
        None if no language model is asked, or if the prompts depend on answers that other models have yet to give.

    Raises
    ------
    InvalidInput
        If a prompt cannot be made.
    """
    settings = plan.definition.model
    if settings is None or settings.is_offline or settings.consolidates:
        return None
    items = [item for item in plan.items if item.role == ItemRole.REGULAR]
    # Every n-th item, so that the estimate does not rest on the first texts alone.
    looked_at = items[:: max(1, len(items) // LOOKED_AT)][:LOOKED_AT]
    inputs = inputs_for_prompts(settings.taken or TakenInputs())
    dialogue = Dialogue(plan.definition, inputs)
    requests = [dialogue.request(item, 0) for item in _asked(session, plan.definition, looked_at)]
    # The campaign does not exist yet, so there are no replies to learn from.
    return estimate(settings, requests, len(items) * settings.repeats, History())


def _asked(session: Session, definition: CampaignDefinition, items: list[ItemPlan]) -> list[AskedItem]:
    wanted = {output.id for item in items for output in item.outputs}
    rows = session.execute(
        select(Output.id, Output.text, Example.source)
        .join(Example, Example.id == Output.example_id)
        .where(Output.id.in_(wanted))
    )
    known = {identifier: (text, source) for identifier, text, source in rows}
    fields = find_source_fields(session, definition, {item.outputs[0].example_id for item in items})
    judged = find_judged_spans(session, [item.judged_span_id for item in items if item.judged_span_id is not None])
    return [
        AskedItem(
            [known[output.id][0] for output in item.outputs],
            known[item.outputs[0].id][1],
            fields.get(item.outputs[0].example_id, {}),
            item.aspect,
            # No span has the id 0.
            judged.get(item.judged_span_id or 0),
        )
        for item in items
    ]
