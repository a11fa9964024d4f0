"""Page with the prompts of a model campaign, item by item."""

from flask import Blueprint, render_template

from spanplat.llm.interfaces.parameters import sends_budget, sent_parameters
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.prompt_inputs import inputs_state
from spanplat.services.model_work.previews import preview_prompt
from spanplat.web.address import PageQuery
from spanplat.web.campaigns.pages import progress_of
from spanplat.web.policy import policy
from spanplat.web.session import reading

blueprint = Blueprint("prompts", __name__, url_prefix="/admin/campaigns/<slug>")


@blueprint.get("/prompt")
@policy("viewer")
def show(slug: str) -> str:
    """Show the prompt about one item with its length and price. The offline annotator has no prompt."""
    session = reading()
    campaign = find_campaign(session, slug)
    model = definition_of(campaign).model
    page = PageQuery.from_request().page
    preview = preview_prompt(session, slug, page) if model is None or not model.is_offline else None
    return render_template(
        "campaign/prompt.html",
        campaign=campaign,
        progress=progress_of(campaign),
        model=model,
        preview=preview,
        page=page,
        pages=preview.items if preview else 1,
        inputs=inputs_state(session, definition_of(campaign)),
        sent=sent_parameters(model) if model is not None and preview is not None else {},
        budget_in_words=model is not None and model.reasoning is not None and not sends_budget(model),
    )
