"""A campaign's pages: progress, statistics, what could not be placed, definition, export."""

from datetime import UTC, datetime

import yaml
from flask import Blueprint, Response, current_app, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import InvalidInput
from spanplat.models import Campaign, CampaignStatus
from spanplat.services.campaigns import find_campaign, set_status, start_link
from spanplat.services.definitions import definition_of
from spanplat.services.progress import (
    CampaignProgress,
    count_batches,
    count_unplaced,
    list_batches,
    list_progress,
    list_unplaced,
)
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import reading, transaction

blueprint = Blueprint("campaigns", __name__, url_prefix="/admin/campaigns/<slug>")

BATCHES_PER_PAGE = 100
UNPLACED_PER_PAGE = 50


@blueprint.get("")
@policy("viewer")
def show(slug: str) -> Response:
    """Show how far the campaign is, batch by batch."""
    session = reading()
    campaign = find_campaign(session, slug)
    page = _page_number()
    template = "campaign/_progress.html" if is_htmx() else "campaign/progress.html"
    return unless_unchanged(
        render_template(
            template,
            campaign=campaign,
            progress=progress_of(campaign),
            batches=list_batches(session, campaign, offset=(page - 1) * BATCHES_PER_PAGE, limit=BATCHES_PER_PAGE),
            page=page,
            pages=_pages(count_batches(session, campaign), BATCHES_PER_PAGE),
            link=_start_link(campaign),
        )
    )


@blueprint.get("/unplaced")
@policy("viewer")
def unplaced(slug: str) -> str:
    """Show what an import or a model gave that has no place in the data."""
    session = reading()
    campaign = find_campaign(session, slug)
    page, reasons = _page_number(), count_unplaced(session, campaign)
    return render_template(
        "campaign/unplaced.html",
        campaign=campaign,
        progress=progress_of(campaign),
        reasons=reasons,
        records=list_unplaced(session, campaign, offset=(page - 1) * UNPLACED_PER_PAGE, limit=UNPLACED_PER_PAGE),
        page=page,
        pages=_pages(sum(count for _kind, _reason, count in reasons), UNPLACED_PER_PAGE),
    )


@blueprint.get("/definition")
@policy("viewer")
def definition(slug: str) -> str:
    """Show the definition, as the file that creates the same campaign again."""
    campaign = find_campaign(reading(), slug)
    content = definition_of(campaign).model_dump(mode="json", exclude_none=True)
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
    return render_template("campaign/definition.html", campaign=campaign, progress=progress_of(campaign), text=text)


@blueprint.post("/status")
@policy("researcher")
def change_status(slug: str) -> AnyResponse:
    """Open, pause or close the campaign."""
    wanted = request.form.get("status", "")
    if wanted not in (CampaignStatus.OPEN, CampaignStatus.PAUSED, CampaignStatus.CLOSED):
        raise InvalidInput(f"a campaign cannot be made {wanted!r}; choose open, paused or closed")
    with transaction() as session:
        set_status(session, slug, CampaignStatus(wanted))
    return redirect(url_for("campaigns.show", slug=slug), 303)


def progress_of(campaign: Campaign) -> CampaignProgress:
    """Tell how far the campaign is; the head of each of its pages shows it."""
    return list_progress(reading(), [campaign], datetime.now(UTC))[0]


def _start_link(campaign: Campaign) -> str | None:
    """Return the link for annotators; model and imported campaigns have none."""
    if campaign.kind not in ("human", "qualification"):
        return None
    return start_link(campaign, current_app.extensions["spanplat_settings"].base_url or request.url_root)


def _page_number() -> int:
    return max(1, request.args.get("page", 1, type=int))


def _pages(rows: int, per_page: int) -> int:
    return max(1, -(-rows // per_page))
