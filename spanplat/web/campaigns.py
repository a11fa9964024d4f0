"""A campaign's pages: progress, statistics, what could not be placed, definition, export."""

from datetime import UTC, datetime

from flask import Blueprint, Response, current_app, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import InvalidInput
from spanplat.models import Campaign, CampaignStatus
from spanplat.platforms.rules import lint
from spanplat.services.amendments import definition_text, list_amendments
from spanplat.services.campaigns import find_campaign, set_status, start_link
from spanplat.services.definitions import definition_of
from spanplat.services.model_runs.figures import list_failed, run_figures
from spanplat.services.placements import Placements, count_placements
from spanplat.services.progress import (
    CampaignProgress,
    count_unplaced,
    list_batches,
    list_progress,
    list_unplaced,
)
from spanplat.services.prompt_inputs import inputs_state
from spanplat.services.suggestions import explain_suggestions
from spanplat.web.batch_table import BATCHES, batches_file, view_batches
from spanplat.web.downloads import table_file
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.run_view import outlook_of
from spanplat.web.session import reading, transaction
from spanplat.web.unplaced_table import UNPLACED, quote_of, unplaced_file, view_unplaced

blueprint = Blueprint("campaigns", __name__, url_prefix="/admin/campaigns/<slug>")


@blueprint.get("")
@policy("viewer")
def show(slug: str) -> Response:
    """Show how far the campaign is, batch by batch."""
    session = reading()
    campaign = find_campaign(session, slug)
    progress = progress_of(campaign)
    if (
        is_htmx() and request.headers.get("Run-State", "") != progress.run_state
    ):  # the buttons above the live part change too
        return Response(headers={"HX-Refresh": "true"})
    template = "campaign/_progress.html" if is_htmx() else "campaign/progress.html"
    is_model = campaign.kind == "llm"
    return unless_unchanged(
        render_template(
            template,
            campaign=campaign,
            progress=progress,
            figures=run_figures(session, campaign, datetime.now(UTC)) if is_model else None,
            failed_items=list_failed(session, campaign) if is_model else [],
            table=view_batches(session, campaign),
            link=_start_link(campaign),
            placements=_placements(campaign),
            not_suggested=_not_suggested(campaign),
            model=definition_of(campaign).model,
            outlook=None if is_htmx() else outlook_of(campaign, progress),
            inputs=inputs_state(session, definition_of(campaign)) if is_model else "same",
        )
    )


@blueprint.get("/batches/table/<name>")
@policy("viewer")
def batches_table(slug: str, name: str) -> Response:
    """Return the batches that the page with the same address shows on all its pages, as a file."""
    found = BATCHES.choose(list_batches(reading(), find_campaign(reading(), slug)), BATCHES.query())
    return table_file({"batches": batches_file(found)}, name)


@blueprint.get("/unplaced")
@policy("viewer")
def unplaced(slug: str) -> str:
    """Show what an import or a model gave that has no place in the data."""
    session = reading()
    campaign = find_campaign(session, slug)
    reasons = count_unplaced(session, campaign)
    return render_template(
        "campaign/_records.html" if is_htmx() else "campaign/unplaced.html",
        campaign=campaign,
        progress=progress_of(campaign),
        reasons=reasons,
        placements=_placements(campaign),
        table=view_unplaced(session, campaign, sum(count for _kind, _reason, count in reasons)),
        quote_of=quote_of,
    )


@blueprint.get("/unplaced/table/<name>")
@policy("viewer")
def unplaced_table(slug: str, name: str) -> Response:
    """Return the records that the page with the same address shows on all its pages, as a file."""
    records = list_unplaced(reading(), find_campaign(reading(), slug), limit=None)
    return table_file({"unplaced": unplaced_file(UNPLACED.choose(records, UNPLACED.query()))}, name)


@blueprint.get("/definition")
@policy("viewer")
def definition(slug: str) -> str:
    """Show the definition, as the file that creates the same campaign again."""
    campaign = find_campaign(reading(), slug)
    return render_template(
        "campaign/definition.html",
        campaign=campaign,
        progress=progress_of(campaign),
        text=definition_text(definition_of(campaign)),
        amendments=list_amendments(reading(), campaign),
    )


@blueprint.post("/status")
@policy("researcher")
def change_status(slug: str) -> AnyResponse:
    """Open, pause or close the campaign."""
    wanted = request.form.get("status", "")
    if wanted not in (CampaignStatus.OPEN, CampaignStatus.PAUSED, CampaignStatus.CLOSED):
        raise InvalidInput(f"a campaign cannot be made {wanted!r}; choose open, paused or closed")
    if wanted == CampaignStatus.OPEN and (page := _what_the_rules_say(find_campaign(reading(), slug))):
        return page
    with transaction() as session:
        before = find_campaign(session, slug).status
        set_status(session, slug, CampaignStatus(wanted))
    opened = "first" if before == CampaignStatus.DRAFT else None
    return redirect(url_for("campaigns.show", slug=slug, opened=opened, _anchor="status"), 303)


def _what_the_rules_say(campaign: Campaign) -> AnyResponse | None:
    """Return the page that says why the campaign was not opened, or asks whether it is meant; None when it may open."""
    findings = lint(definition_of(campaign))
    grave = [finding for finding in findings if finding.weight == "refuse"]
    unsaid = [finding for finding in findings if finding.weight == "confirm" and "confirmed" not in request.form]
    if not grave and not unsaid:
        return None
    page = render_template(
        "campaign/rules.html",
        campaign=campaign,
        progress=progress_of(campaign),
        findings=[*grave, *unsaid],
        is_refused=bool(grave),
    )
    return make_response(page, 409)


def progress_of(campaign: Campaign) -> CampaignProgress:
    """Tell how far the campaign is; the head of each of its pages shows it."""
    return list_progress(reading(), [campaign], datetime.now(UTC))[0]


def _start_link(campaign: Campaign) -> str | None:
    """Return the link for annotators; model and imported campaigns have none."""
    if campaign.kind not in ("human", "qualification"):
        return None
    return start_link(campaign, current_app.extensions["spanplat_settings"].base_url or request.url_root)


def _not_suggested(campaign: Campaign) -> list[str]:
    """Say what of another campaign cannot be suggested: before the campaign opens, and when it just has.

    Suggestions are taken over when it opens first; later the other campaign may have changed.
    """
    is_told = campaign.status == CampaignStatus.DRAFT or request.args.get("opened") == "first"
    return explain_suggestions(reading(), campaign) if is_told and not is_htmx() else []


def _placements(campaign: Campaign) -> Placements | None:
    """Count where the quotes of a model campaign went; others have none."""
    return count_placements(reading(), campaign) if campaign.kind == "llm" else None
