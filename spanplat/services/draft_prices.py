"""What a model campaign would cost, before it is made."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.llm.dialogue import Dialogue
from spanplat.llm.item import AskedItem
from spanplat.models import Example, ItemRole, Output
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.prompt_settings import TakenInputs
from spanplat.services.model_runs.estimates import Estimate, History, estimate
from spanplat.services.model_runs.questions import Key, Question
from spanplat.services.plans import CampaignPlan, ItemPlan
from spanplat.services.prompt_inputs import prompt_inputs
from spanplat.services.prompts import find_judged_spans, find_source_fields

LOOKED_AT = 40
"""Items whose prompts are made for an estimate."""


def price_plan(session: Session, plan: CampaignPlan) -> Estimate | None:
    """Estimate tokens and price of all the calls of a planned campaign from the prompts about some of its items.

    Returns
    -------
    Estimate or None
        None where nobody is asked in words, or where the questions depend on what other models will have answered.

    Raises
    ------
    InvalidInput
        If a prompt cannot be made.
    """
    settings = plan.definition.model
    if settings is None or settings.provider == "overlap" or settings.consolidates:
        return None
    items = [item for item in plan.items if item.role == ItemRole.REGULAR]
    looked_at = items[:: max(1, len(items) // LOOKED_AT)][:LOOKED_AT]
    inputs = prompt_inputs(settings.taken or TakenInputs())
    questions = [
        Question(Key(0, number), 0, item) for number, item in enumerate(_asked(session, plan.definition, looked_at))
    ]
    calls = len(items) * settings.repeats
    return estimate(settings, Dialogue(plan.definition, inputs), questions, calls, History())


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
            judged.get(item.judged_span_id or 0),
        )
        for item in items
    ]
