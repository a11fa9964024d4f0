"""Pages of a campaign: progress, unplaced records, definition and status."""

from datetime import UTC, datetime

from flask import Blueprint, Response, current_app, make_response, redirect, render_template, request, url_for
from flask_babel import lazy_gettext as _
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import InvalidInput
from spanplat.models import Campaign, CampaignStatus
from spanplat.platforms.rules import lint
from spanplat.services.campaigns.amendments import AmendmentLine, definition_text, list_amendments
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.launching import open_campaign
from spanplat.services.campaigns.lifecycle import find_campaign, set_status, start_link
from spanplat.services.campaigns.progress import (
    CampaignProgress,
    count_unplaced,
    list_batches,
    list_progress,
    list_unplaced,
)
from spanplat.services.campaigns.prompt_inputs import inputs_state
from spanplat.services.campaigns.suggestions import explain_suggestions
from spanplat.services.model_work.figures import Placements, count_placements, list_failed, run_figures
from spanplat.web.campaigns.batch_table import BATCHES, batches_file, view_batches
from spanplat.web.campaigns.run_view import FAILURES, outlook_of
from spanplat.web.campaigns.unplaced_table import (
    MOST_REASONS,
    QUOTES,
    REASONS,
    UNPLACED,
    name_rules,
    quote_of,
    unplaced_file,
    view_unplaced,
)
from spanplat.web.definition_names import path_of, place_name
from spanplat.web.downloads import table_file
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import actor, database, forget_snapshot, reading, transaction
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, number_column, time_column

blueprint = Blueprint("campaigns", __name__, url_prefix="/admin/campaigns/<slug>")

AMENDMENTS: SortedTable[AmendmentLine] = SortedTable(
    {
        "number": number_column(_("Number"), lambda amendment: amendment.number),
        "in-force-since": time_column(_("In force since"), lambda amendment: amendment.at),
        "who": Column(_("Who"), lambda amendment: amendment.actor_name),
        "why": Column(_("Why"), lambda amendment: amendment.note),
        "changes": Column(
            _("Changes"), lambda amendment: ", ".join(place_name(path_of(change)) for change in amendment.changes)
        ),
    }
)


@blueprint.get("")
@policy("viewer")
def show(slug: str) -> Response:
    """Show the progress of the campaign, batch by batch."""
    session = reading()
    campaign = find_campaign(session, slug)
    progress = progress_of(campaign)
    # The buttons above the live part depend on the state of the run, so the whole page must change with it.
    if is_htmx() and request.headers.get("Run-State", "") != progress.run_state:
        return Response(headers={"HX-Refresh": "true"})
    template = "campaign/_progress.html" if is_htmx() else "campaign/progress.html"
    is_model = campaign.kind == "llm"
    figures = run_figures(session, campaign, datetime.now(UTC)) if is_model else None
    place = TablePage("campaigns.show", {"slug": slug})
    return unless_unchanged(
        render_template(
            template,
            campaign=campaign,
            progress=progress,
            figures=figures,
            failures=FAILURES.view(
                "failures", place, figures.failures if figures else [], part="progress", beside=("batches",)
            ),
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
    """Return a file with all batches that the table's search finds."""
    found = BATCHES.choose(list_batches(reading(), find_campaign(reading(), slug)), BATCHES.query())
    return table_file({"batches": batches_file(found)}, name)


@blueprint.get("/unplaced")
@policy("viewer")
def unplaced(slug: str) -> str:
    """Show the records of an import or a model that have no place in the data."""
    session = reading()
    campaign = find_campaign(session, slug)
    reasons = count_unplaced(session, campaign)
    placements = _placements(campaign)
    place = TablePage("campaigns.unplaced", {"slug": slug})
    return render_template(
        "campaign/unplaced.html",
        campaign=campaign,
        progress=progress_of(campaign),
        placements=placements,
        reasons=REASONS.view("reasons", place, reasons[:MOST_REASONS], beside=("records",)),
        quotes=QUOTES.view("quotes", place, name_rules(placements) if placements else [], beside=("records",)),
        table=view_unplaced(session, campaign, sum(count for _kind, _reason, count in reasons)),
        quote_of=quote_of,
    )


@blueprint.get("/unplaced/table/<name>")
@policy("viewer")
def unplaced_table(slug: str, name: str) -> Response:
    """Return a file with all records that the table's search finds."""
    records = list_unplaced(reading(), find_campaign(reading(), slug), limit=None)
    return table_file({"unplaced": unplaced_file(UNPLACED.choose(records, UNPLACED.query()))}, name)


@blueprint.get("/definition")
@policy("viewer")
def definition(slug: str) -> str:
    """Show the definition, as the file that creates the same campaign again."""
    campaign = find_campaign(reading(), slug)
    place = TablePage("campaigns.definition", {"slug": slug})
    return render_template(
        "campaign/definition.html",
        campaign=campaign,
        progress=progress_of(campaign),
        text=definition_text(definition_of(campaign)),
        amendments=AMENDMENTS.view("amendments", place, list_amendments(reading(), campaign)),
    )


@blueprint.post("/status")
@policy("researcher")
def change_status(slug: str) -> AnyResponse:
    """Open, pause or close the campaign."""
    wanted = request.form.get("status", "")
    if wanted not in (CampaignStatus.OPEN, CampaignStatus.PAUSED, CampaignStatus.CLOSED):
        raise InvalidInput(f"a campaign cannot be made {wanted!r}; choose open, paused or closed")
    # Checked before the transaction: the rules need no lock, and their page is rendered without one.
    if wanted == CampaignStatus.OPEN and (page := _what_the_rules_say(find_campaign(reading(), slug))):
        return page
    before = find_campaign(reading(), slug).status
    # Otherwise this request would hold two connections while it waits for the write lock.
    forget_snapshot()
    if wanted == CampaignStatus.OPEN:
        open_campaign(database().acting_as(actor()), slug)
    else:
        with transaction() as session:
            set_status(session, slug, CampaignStatus(wanted))
    opened = "first" if before == CampaignStatus.DRAFT else None
    return redirect(url_for("campaigns.show", slug=slug, opened=opened, _anchor="status"), 303)


def _what_the_rules_say(campaign: Campaign) -> AnyResponse | None:
    """Return a page that refuses to open the campaign or asks for confirmation; None if the rules allow it."""
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
    """Return the progress of the campaign, which the head of each of its pages shows."""
    return list_progress(reading(), [campaign], datetime.now(UTC))[0]


def _start_link(campaign: Campaign) -> str | None:
    """Return the link for annotators; model and imported campaigns have none."""
    if campaign.kind not in ("human", "qualification"):
        return None
    return start_link(campaign, current_app.extensions["spanplat_settings"].base_url or request.url_root)


def _not_suggested(campaign: Campaign) -> list[str]:
    """Return messages on suggestions of another campaign that cannot be shown, before and right after the first opening.

    Suggestions are copied at the first opening; later the other campaign may have changed.
    """
    is_told = campaign.status == CampaignStatus.DRAFT or request.args.get("opened") == "first"
    return explain_suggestions(reading(), campaign) if is_told and not is_htmx() else []


def _placements(campaign: Campaign) -> Placements | None:
    """Count the placements of a model campaign's quotes; None for other campaigns."""
    return count_placements(reading(), campaign) if campaign.kind == "llm" else None
