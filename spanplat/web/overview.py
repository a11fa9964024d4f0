"""Start page: the sign-in form for visitors, the overview for staff."""

from datetime import UTC, datetime

from flask import Blueprint, render_template, request
from flask_babel import lazy_gettext as _
from flask_login import current_user
from werkzeug.wrappers import Response

from spanplat.services.attention import list_attention
from spanplat.services.campaigns.lifecycle import list_campaigns
from spanplat.services.campaigns.progress import CampaignProgress, list_progress
from spanplat.web.accounts.sign_in import local_path, unread_notices
from spanplat.web.names import CAMPAIGN_STATES, KINDS
from spanplat.web.policy import ask_for_second_factor, policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import reading
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, number_column, time_column

blueprint = Blueprint("overview", __name__)


def _people_now(row: CampaignProgress) -> int | None:
    return row.people_now if row.campaign.kind in ("human", "qualification") else None


CAMPAIGNS: SortedTable[CampaignProgress] = SortedTable(
    {
        "campaign": Column(_("Campaign"), lambda row: row.campaign.title),
        "kind": Column(_("Kind"), lambda row: str(KINDS[row.campaign.kind]), css="wide"),
        "status": Column(_("Status"), lambda row: str(CAMPAIGN_STATES[row.campaign.status])),
        "annotations": Column(_("Annotations"), lambda row: row.done, greatest_first=True),
        "people-now": number_column(_("People now"), _people_now, css="wide"),
        "checks-passed": number_column(_("Checks passed"), lambda row: row.pass_rate, css="wide"),
        "cost": number_column(_("Cost"), lambda row: row.cost, css="wide"),
        "last-annotation": time_column(_("Last annotation"), lambda row: row.last_event, css="wide"),
    },
    lambda row: [
        row.campaign.title,
        row.campaign.slug,
        str(KINDS[row.campaign.kind]),
        str(CAMPAIGN_STATES[row.campaign.status]),
    ],
)


@blueprint.get("/")
@policy("public")
def index() -> Response | str:
    """Show the sign-in form to visitors and the overview to staff."""
    if not current_user.is_authenticated:
        return render_template("sign_in.html", next=local_path(request.args.get("next", "")))
    # The route is public, so the access control does not ask for the second factor here.
    if (elsewhere := ask_for_second_factor()) is not None:
        return elsewhere
    session = reading()
    now = datetime.now(UTC)
    progress = list_progress(session, list_campaigns(session), now)
    context = {
        "rows": CAMPAIGNS.view("campaigns", TablePage("overview.index"), progress),
        "checked": any(row.checked for row in progress),
        "attention": list_attention(session, progress, now),
    }
    if is_htmx():
        return unless_unchanged(render_template("_campaign_rows.html", **context))
    return unless_unchanged(render_template("overview.html", **context, notices=unread_notices()))
