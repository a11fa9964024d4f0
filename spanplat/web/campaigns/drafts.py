"""Pages for drafts of campaign definitions: steps or text, with the remaining mistakes beside them."""

import secrets
from dataclasses import replace
from typing import Any

from flask import Blueprint, Flask, redirect, render_template, request, url_for
from flask_babel import gettext as _
from flask_login import current_user
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.llm.interfaces.parameters import sent_parameters
from spanplat.models import Campaign, Draft
from spanplat.platforms.rules import Finding, lint
from spanplat.rendering.markdown import render_markdown
from spanplat.schemas.categories import PALETTES
from spanplat.services.campaigns.draft_forms import StepForm, fill_in, has_same_rows, step_form
from spanplat.services.campaigns.drafts import (
    BLANK,
    LONGEST_TEXT,
    about_dataset,
    campaign_text,
    check_texts,
    create_draft,
    drop_draft,
    find_draft,
    list_starters,
    make_campaign,
    model_text,
    open_drafts,
    save_text,
    starter_text,
    title_of,
)
from spanplat.services.campaigns.lifecycle import list_campaigns
from spanplat.services.campaigns.shipped_datasets import import_shipped, missing_shipped
from spanplat.services.campaigns.validation import STEPS, ValidationResult, step_of, validate_text
from spanplat.services.datasets.listing import list_datasets
from spanplat.services.model_work.estimates import Estimate
from spanplat.services.model_work.previews import price_plan
from spanplat.web.campaigns.draft_fields import FILLABLE, inherited, messages_at, mistakes_of, summary_of
from spanplat.web.definition_names import path_of
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx
from spanplat.web.session import actor, database, forget_snapshot, reading, transaction

blueprint = Blueprint("drafts", __name__, url_prefix="/admin/drafts")

TEXT, REVIEW = "text", "review"
PAGES = (*STEPS, REVIEW)
Answer = str | Response | tuple[str, int]
PRICED = ("assignment", "model", REVIEW)
"""Pages with the price of a model run."""


def init_app(app: Flask) -> None:
    """Raise the size limit of the form for the text of a definition. Call it before anything else reads forms."""

    def allow() -> None:
        if request.endpoint == "drafts.save":
            request.max_form_memory_size = 8 * LONGEST_TEXT  # a character may take twelve bytes in a form, and few do

    app.before_request(allow)


@blueprint.after_request
def _never_from_a_cache(response: Response) -> Response:
    """Forbid caching, so that the browser's back button shows the present draft."""
    response.headers["Cache-Control"] = "no-store"
    return response


@blueprint.get("")
@policy("researcher")
def index() -> str:
    """Show the drafts, and the starting points of a new one."""
    session = reading()
    return render_template(
        "draft/index.html",
        drafts=[(draft, title_of(draft)) for draft in open_drafts(session)],
        starters=list_starters(),
        campaigns=[campaign for campaign in list_campaigns(session) if campaign.kind != "external"],
        datasets=[dataset.slug for dataset in list_datasets(session)],
        wanted=request.args.get("dataset", ""),
    )


@blueprint.post("")
@policy("researcher")
def begin() -> Response:
    """Create a draft from a starter, a campaign or nothing, with the same or another dataset.

    A start from ``model`` gives a model the instructions that a campaign gave to people.
    """
    kind, _colon, name = request.form.get("start", "blank").partition(":")
    match kind:
        case "blank":
            text = BLANK
        case "starter":
            text = starter_text(name)
        case "campaign":
            text = campaign_text(reading(), name)
        case "model":
            text = model_text(reading(), name)
        case _:
            raise InvalidInput(f"a draft cannot start from {kind!r}")
    dataset = request.form.get("dataset", "")
    if dataset:
        text = about_dataset(text, dataset)
    with transaction() as session:
        draft = create_draft(session, text, current_user.id)
    return redirect(_address(draft, "model" if kind == "model" else PAGES[0]), 303)


@blueprint.get("/<token>/<step>")
@policy("researcher")
def show(token: str, step: str) -> str:
    """Show one step, the text, or the review."""
    _require_step(step)
    draft = find_draft(reading(), token)
    if step == TEXT:
        return _page(draft, step)
    try:
        form = step_form(draft.text, step) if step in STEPS else None
    except InvalidInput:  # no form can show text that is not valid YAML
        return _page(draft, TEXT)
    return _page(draft, step, form)


@blueprint.post("/<token>/<step>")
@policy("researcher")
def save(token: str, step: str) -> Answer:
    """Save one step or the text. Return the mistakes to htmx, or the whole page to a browser without scripts."""
    _require_step(step)
    draft = find_draft(reading(), token)
    form: StepForm | None = None
    if step == TEXT:
        text = request.form.get("text", "").replace("\r\n", "\n")  # browsers send line feeds of forms as CRLF
    elif step in STEPS:
        text, form = fill_in(draft.text, step, request.form, request.form.get("act", ""))
    else:
        raise NotFound(f"the step {step!r} has nothing to save")
    try:
        with transaction() as session:
            saved = save_text(
                session,
                token,
                text,
                # "over" is the revision of somebody else that the user chose to replace.
                revision=request.form.get("over", type=int) or request.form.get("revision", 0, type=int),
                editor=request.form.get("editor", ""),
            )
    except Conflict:
        return _changed_elsewhere(draft, step, text, form)
    if is_htmx():
        return render_template("draft/_state.html", **_state(saved, step, form))
    if form is not None and form.bad:
        return _page(saved, step, form), 422
    return redirect(_where_to(saved, step, form), 303)


def _changed_elsewhere(draft: Draft, step: str, text: str, form: StepForm | None) -> Answer:
    """Report that somebody else changed the draft.

    The typed values stay. They may replace the other version if both have the same rows; otherwise they could land in wrong rows.
    """
    forget_snapshot()  # it was taken before the other change
    draft = find_draft(reading(), draft.token)
    may_replace = step == TEXT or has_same_rows(draft.text, step, request.form)
    conflict = {"revision": draft.revision, "may_replace": may_replace}
    if is_htmx():
        return render_template("draft/_state.html", **_state(draft, step, form), conflict=conflict), 409
    return _page(draft, step, form, text=text if may_replace else draft.text, conflict=conflict), 409


@blueprint.post("/<token>/make")
@policy("researcher")
def make(token: str) -> Answer:
    """Create the campaign in the state "draft"; it is opened on its own page."""
    draft = find_draft(reading(), token)
    if draft.campaign_id is not None:  # a second click, or another researcher made it: the review says so
        return redirect(_address(draft, REVIEW), 303)
    try:
        campaign = make_campaign(database().acting_as(actor()), token)
    except InvalidInput:  # something changed since the review was shown, such as the dataset: the review names it
        return _page(draft, REVIEW), 422
    return redirect(url_for("campaigns.show", slug=campaign.slug), 303)


@blueprint.post("/<token>/dataset")
@policy("researcher")
def bring_dataset(token: str) -> Response:
    """Import the dataset that is shipped with the study behind the draft."""
    import_shipped(database().acting_as(actor()), find_draft(reading(), token).text)
    return redirect(_address(find_draft(reading(), token), "data"), 303)


@blueprint.post("/<token>/drop")
@policy("researcher")
def drop(token: str) -> Response:
    """Delete the draft."""
    with transaction() as session:
        drop_draft(session, token)
    return redirect(url_for("drafts.index"), 303)


def _page(draft: Draft, step: str, form: StepForm | None = None, **others: Any) -> str:
    return render_template(
        "draft/step.html",
        form=form,
        editor=secrets.token_urlsafe(9),  # names this open page, so that its own saves do not conflict with each other
        text_step=TEXT,
        review_step=REVIEW,
        pages=PAGES,
        next_step=PAGES[PAGES.index(step) + 1] if step in PAGES[:-1] else None,
        **{"text": draft.text, **_state(draft, step, form), **others},
    )


def _state(draft: Draft, step: str, form: StepForm | None) -> dict[str, Any]:
    """Return the values that the page shows about the present draft."""
    with database().reading() as session:  # the request's snapshot may be older than its own write
        result = validate_text(session, draft.text)
        datasets = {entry.slug: entry for entry in list_datasets(session)} if step == "data" else {}
        made = session.get(Campaign, draft.campaign_id) if draft.campaign_id is not None else None
        texts = check_texts(session, draft.text) if step == "checks" else {}
        price, price_problem = _price(session, result, step)
    if made is not None:
        result = replace(result, problems=())  # the campaign itself would cause one: its name is taken
    problems = result.problems if step in (TEXT, REVIEW) else result.problems_of(step)
    mistakes = mistakes_of(form, problems)
    return {
        "draft": draft,
        "made": made,
        "title": title_of(draft),
        "step": step,
        "bad": form.bad if form else {},
        "typed": form.typed if form else {},
        "validation": result,
        "mistakes": mistakes,
        "wrong": messages_at(form, mistakes),
        "said": summary_of(form, mistakes),
        "elsewhere": _elsewhere(result, step),
        "step_names": _step_names(),
        "step_of": step_of,
        "counts": {name: len(result.problems_of(name)) + len(_refusals(result, name)) for name in STEPS},
        "automatic": _automatic(result, step),
        "inherited": inherited(draft.text, step),
        "fillable": FILLABLE,
        "palettes": PALETTES if step == "categories" else {},
        "datasets": datasets,
        "shipped": missing_shipped(result),
        "texts": texts,
        "sent": _sent(result, step),
        "price": price,
        "price_problem": price_problem,
        "findings": _findings(result, step),
        "guidelines": _guidelines(result, step),
    }


def _elsewhere(result: ValidationResult, step: str) -> dict[str, int]:
    """Count the problems of the other steps."""
    if step in (TEXT, REVIEW):
        return {}
    counts = {other: len(result.problems_of(other)) + len(_refusals(result, other)) for other in STEPS}
    return {other: count for other, count in counts.items() if count and other != step}


def _automatic(result: ValidationResult, step: str) -> dict[str, str]:
    """Return the automatic colours and hotkeys of categories, by the name of the control."""
    if result.definition is None or step != "categories":
        return {}
    return {
        f"categories.{position}.{name}": getattr(category, name) or ""
        for position, category in enumerate(result.definition.categories)
        for name in ("color", "hotkey")
    }


def _price(session: Session, result: ValidationResult, step: str) -> tuple[Estimate | None, str]:
    """Return the price of a model run, or the reason why it is unknown."""
    if result.plan is None or step not in PRICED:
        return None, ""
    try:
        return price_plan(session, result.plan), ""
    except (InvalidInput, NotFound) as error:
        return None, str(error)


def _sent(result: ValidationResult, step: str) -> dict[str, Any]:
    """Return the parameters that a model is sent beside the prompt; empty without a model."""
    model = result.definition.model if result.definition else None
    if model is None or model.is_offline or step not in ("model", REVIEW):
        return {}
    return sent_parameters(model)


def _findings(result: ValidationResult, step: str) -> list[Finding]:
    """Return the findings of the platform's rules on the pages where they can be mended."""
    found = lint(result.definition) if result.definition else []
    return [finding for finding in found if step in (REVIEW, step_of(path_of(finding.path)))]


def _refusals(result: ValidationResult, step: str) -> list[Finding]:
    """Return the findings that forbid the campaign. They are no mistakes in the definition, but it cannot be made with them."""
    return [finding for finding in _findings(result, step) if finding.weight == "refuse"]


def _guidelines(result: ValidationResult, step: str) -> str | None:
    if step != "guidelines" or result.definition is None:
        return None
    return render_markdown(result.definition.guidelines)


def _require_step(step: str) -> None:
    if step not in (*PAGES, TEXT):
        raise NotFound(f"there is no step {step!r} (steps: {', '.join(PAGES)})")


def _where_to(draft: Draft, step: str, form: StepForm | None) -> str:
    """Return the address after a save: the requested page, else the same page at the first mistake or at the changed row."""
    wanted = request.form.get("go", "")
    if wanted in (*PAGES, TEXT) and wanted != step:
        return _address(draft, wanted)
    place = form.place if form else ""
    if wanted and form:
        with database().reading() as session:
            problems = validate_text(session, draft.text).problems_of(step)
        first = next((mistake.field for mistake in mistakes_of(form, problems) if mistake.field), "")
        place = f"f-{first}" if first else "save"
    return url_for("drafts.show", token=draft.token, step=step, _anchor=place or None)


def _address(draft: Draft, step: str) -> str:
    """Return the address of a page of the draft, with its first field as the anchor for keyboard users."""
    place = step
    if step in STEPS:
        try:
            place = step_form(draft.text, step).first_place
        except InvalidInput:  # no form can show text that is not valid YAML
            place = "yaml"
    return url_for("drafts.show", token=draft.token, step=step, _anchor="yaml" if place == TEXT else place)


def _step_names() -> dict[str, str]:
    return {
        "start": _("Name and kind"),
        "data": _("Data"),
        "categories": _("Categories"),
        "guidelines": _("Guidelines"),
        "questions": _("Questions"),
        "checks": _("Checks"),
        "assignment": _("Assignment"),
        "platform": _("Platform"),
        "model": _("Model"),
        REVIEW: _("Review and make"),
        TEXT: _("As text"),
    }
