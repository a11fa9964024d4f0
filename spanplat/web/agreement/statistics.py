"""Page of statistics on a campaign's annotations."""

from flask import Blueprint, render_template, request

from spanplat.services.agreement.sides import Filters
from spanplat.services.agreement.statistics import campaign_statistics
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.progress import coverage
from spanplat.web.agreement.report_tables import STATISTICS
from spanplat.web.campaigns.pages import progress_of
from spanplat.web.policy import policy
from spanplat.web.session import reading
from spanplat.web.sorted_tables import TablePage

blueprint = Blueprint("statistics", __name__, url_prefix="/admin/campaigns/<slug>")


@blueprint.get("/statistics")
@policy("viewer")
def show(slug: str) -> str:
    """Show the numbers of spans and categories, the time and the cost."""
    session = reading()
    campaign, chosen = find_campaign(session, slug), request.args.getlist("split")
    statistics = campaign_statistics(session, slug, filters=Filters(splits=tuple(chosen)))
    place = TablePage("statistics.show", {"slug": slug, "split": chosen})
    return render_template(
        "campaign/statistics.html",
        campaign=campaign,
        progress=progress_of(campaign),
        splits=coverage(session, [campaign]).splits,
        chosen=chosen,
        colors={category.name: category.color for category in campaign.categories},
        statistics=statistics,
        table=STATISTICS.view("statistics", place, list(statistics.categories.items())),
    )
