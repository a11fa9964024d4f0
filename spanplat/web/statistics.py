"""What a campaign's annotations look like, in figures."""

from flask import Blueprint, render_template, request

from spanplat.services.campaigns import find_campaign
from spanplat.services.progress import coverage
from spanplat.services.sides import Filters
from spanplat.services.stats import campaign_statistics
from spanplat.web.campaigns import progress_of
from spanplat.web.policy import policy
from spanplat.web.session import reading

blueprint = Blueprint("statistics", __name__, url_prefix="/admin/campaigns/<slug>")


@blueprint.get("/statistics")
@policy("viewer")
def show(slug: str) -> str:
    """Show how much was marked, what, how long it took and what it cost."""
    session = reading()
    campaign, chosen = find_campaign(session, slug), request.args.getlist("split")
    return render_template(
        "campaign/statistics.html",
        campaign=campaign,
        progress=progress_of(campaign),
        splits=coverage(session, [campaign]).splits,
        chosen=chosen,
        colors={category.name: category.color for category in campaign.categories},
        statistics=campaign_statistics(session, slug, filters=Filters(splits=tuple(chosen))),
    )
