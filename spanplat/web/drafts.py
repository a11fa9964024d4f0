"""Writing a campaign definition in the browser: step by step or as text, with what is still wrong beside it."""

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
from spanplat.services.campaigns import list_campaigns
from spanplat.services.datasets import list_datasets
from spanplat.services.draft_forms import StepForm, fill_in, has_same_rows, step_form
from spanplat.services.draft_prices import price_plan
from spanplat.services.drafts import (
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
from spanplat.services.examinations import STEPS, Examination, examine, step_of
from spanplat.services.model_runs.estimates import Estimate
from spanplat.services.shipped_datasets import import_shipped, missing_shipped
from spanplat.web.definition_names import path_of
from spanplat.web.draft_fields import FILLABLE, inherited, messages_at, mistakes_of, summary_of
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx
from spanplat.web.session import actor, database, forget_snapshot, reading, transaction

blueprint = Blueprint("drafts", __name__, url_prefix="/admin/drafts")

TEXT, REVIEW = "text", "review"
PAGES = (*STEPS, REVIEW)
Answer = str | Response | tuple[str, int]
PRICED = ("assignment", "model", REVIEW)
"""Pages that tell what a model would cost."""


def init_app(app: Flask) -> None:
    """Let the text of a definition be as long as it may be; must come before anything that reads forms."""

    def allow() -> None:
        if request.endpoint == "drafts.save":
            request.max_form_memory_size = 8 * LONGEST_TEXT  # a character may take twelve bytes in a form, and few do

    app.before_request(allow)


@blueprint.after_request
def _never_from_a_cache(response: Response) -> Response:
    """Let going back show the draft as it is now, not as it was when the page was left."""
    response.headers["Cache-Control"] = "no-store"
    return response


@blueprint.get("")
@policy("researcher")
def index() -> str:
    """Show the drafts there are, and what a new one may start from."""
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
    """Begin a draft from a starter, a campaign, what its people were told, or nothing, about its own texts or others."""
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
    except InvalidInput:  # only the text itself can be mended
        return _page(draft, TEXT)
    return _page(draft, step, form)


@blueprint.post("/<token>/<step>")
@policy("researcher")
def save(token: str, step: str) -> Answer:
    """Save one step or the text; htmx gets what is wrong now, a browser without scripts the page again."""
    _require_step(step)
    draft = find_draft(reading(), token)
    form: StepForm | None = None
    if step == TEXT:
        text = request.form.get("text", "").replace("\r\n", "\n")
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
    """Say that somebody else changed the draft; what was typed stays, and may be put over theirs where the rows are the same."""
    forget_snapshot()
    draft = find_draft(reading(), draft.token)
    may_replace = step == TEXT or has_same_rows(draft.text, step, request.form)
    conflict = {"revision": draft.revision, "may_replace": may_replace}
    if is_htmx():
        return render_template("draft/_state.html", **_state(draft, step, form), conflict=conflict), 409
    return _page(draft, step, form, text=text if may_replace else draft.text, conflict=conflict), 409


@blueprint.post("/<token>/make")
@policy("researcher")
def make(token: str) -> Answer:
    """Make the campaign; it waits as a draft until it is opened on its page."""
    draft = find_draft(reading(), token)
    if draft.campaign_id is not None:  # pressed twice, or somebody else was quicker: the review says so
        return redirect(_address(draft, REVIEW), 303)
    try:
        with transaction() as session:
            campaign = make_campaign(session, token)
    except InvalidInput:  # what it needs has gone since the review was shown, which now says what
        return _page(draft, REVIEW), 422
    return redirect(url_for("campaigns.show", slug=campaign.slug), 303)


@blueprint.post("/<token>/dataset")
@policy("researcher")
def bring_dataset(token: str) -> Response:
    """Import the dataset that ships with the study the draft started from."""
    import_shipped(database().acting_as(actor()), find_draft(reading(), token).text)
    return redirect(_address(find_draft(reading(), token), "data"), 303)


@blueprint.post("/<token>/drop")
@policy("researcher")
def drop(token: str) -> Response:
    """Throw the draft away."""
    with transaction() as session:
        drop_draft(session, token)
    return redirect(url_for("drafts.index"), 303)


def _page(draft: Draft, step: str, form: StepForm | None = None, **others: Any) -> str:
    return render_template(
        "draft/step.html",
        form=form,
        editor=secrets.token_urlsafe(9),
        text_step=TEXT,
        review_step=REVIEW,
        pages=PAGES,
        next_step=PAGES[PAGES.index(step) + 1] if step in PAGES[:-1] else None,
        **{"text": draft.text, **_state(draft, step, form), **others},
    )


def _state(draft: Draft, step: str, form: StepForm | None) -> dict[str, Any]:
    """Return what the page says about the draft as it stands."""
    with database().reading() as session:  # not the request's snapshot, which may be older than what it wrote
        examination = examine(session, draft.text)
        datasets = {entry.slug: entry for entry in list_datasets(session)} if step == "data" else {}
        made = session.get(Campaign, draft.campaign_id) if draft.campaign_id is not None else None
        texts = check_texts(session, draft.text) if step == "checks" else {}
        price, price_problem = _price(session, examination, step)
    if made is not None:
        examination = replace(examination, problems=())  # such as that there is a campaign of this name
    problems = examination.problems if step in (TEXT, REVIEW) else examination.problems_of(step)
    mistakes = mistakes_of(form, problems)
    return {
        "draft": draft,
        "made": made,
        "title": title_of(draft),
        "step": step,
        "bad": form.bad if form else {},
        "typed": form.typed if form else {},
        "examination": examination,
        "mistakes": mistakes,
        "wrong": messages_at(form, mistakes),
        "said": summary_of(form, mistakes),
        "elsewhere": _elsewhere(examination, step),
        "step_names": _step_names(),
        "step_of": step_of,
        "counts": {name: len(examination.problems_of(name)) + len(_refusals(examination, name)) for name in STEPS},
        "automatic": _automatic(examination, step),
        "inherited": inherited(draft.text, step),
        "fillable": FILLABLE,
        "palettes": PALETTES if step == "categories" else {},
        "datasets": datasets,
        "shipped": missing_shipped(examination),
        "texts": texts,
        "sent": _sent(examination, step),
        "price": price,
        "price_problem": price_problem,
        "findings": _findings(examination, step),
        "guidelines": _guidelines(examination, step),
    }


def _elsewhere(examination: Examination, step: str) -> dict[str, int]:
    """Count the problems of the other steps."""
    if step in (TEXT, REVIEW):
        return {}
    counts = {other: len(examination.problems_of(other)) + len(_refusals(examination, other)) for other in STEPS}
    return {other: count for other, count in counts.items() if count and other != step}


def _automatic(examination: Examination, step: str) -> dict[str, str]:
    """Return the colours and hotkeys that categories get which state none, by control."""
    if examination.definition is None or step != "categories":
        return {}
    return {
        f"categories.{position}.{name}": getattr(category, name) or ""
        for position, category in enumerate(examination.definition.categories)
        for name in ("color", "hotkey")
    }


def _price(session: Session, examination: Examination, step: str) -> tuple[Estimate | None, str]:
    """Return what a model would cost, or why that cannot be told."""
    if examination.plan is None or step not in PRICED:
        return None, ""
    try:
        return price_plan(session, examination.plan), ""
    except (InvalidInput, NotFound) as error:
        return None, str(error)


def _sent(examination: Examination, step: str) -> dict[str, Any]:
    """Return what a model is sent beside the prompt, where a model is chosen."""
    model = examination.definition.model if examination.definition else None
    if model is None or model.provider == "overlap" or step not in ("model", REVIEW):
        return {}
    return sent_parameters(model)


def _findings(examination: Examination, step: str) -> list[Finding]:
    """Return what the platform's rules say, on the pages where something can be done about it."""
    found = lint(examination.definition) if examination.definition else []
    return [finding for finding in found if step in (REVIEW, step_of(path_of(finding.path)))]


def _refusals(examination: Examination, step: str) -> list[Finding]:
    """Return what the platform's rules do not allow of a step: it is no mistake in the definition, but keeps it from being made."""
    return [finding for finding in _findings(examination, step) if finding.weight == "refuse"]


def _guidelines(examination: Examination, step: str) -> str | None:
    if step != "guidelines" or examination.definition is None:
        return None
    return render_markdown(examination.definition.guidelines)


def _require_step(step: str) -> None:
    if step not in (*PAGES, TEXT):
        raise NotFound(f"there is no step {step!r} (steps: {', '.join(PAGES)})")


def _where_to(draft: Draft, step: str, form: StepForm | None) -> str:
    """Return the page after a save: the one asked for, else the same, at the first mistake or where something was changed."""
    wanted = request.form.get("go", "")
    if wanted in (*PAGES, TEXT) and wanted != step:
        return _address(draft, wanted)
    place = form.place if form else ""
    if wanted and form:
        with database().reading() as session:
            problems = examine(session, draft.text).problems_of(step)
        first = next((mistake.field for mistake in mistakes_of(form, problems) if mistake.field), "")
        place = f"f-{first}" if first else "save"
    return url_for("drafts.show", token=draft.token, step=step, _anchor=place or None)


def _address(draft: Draft, step: str) -> str:
    """Return the address of a page of the draft, at its first field, so that whoever came by keys need not walk there."""
    place = step
    if step in STEPS:
        try:
            place = step_form(draft.text, step).first_place
        except InvalidInput:  # only the text itself can be mended
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
