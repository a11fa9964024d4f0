"""The first page: sign-in for strangers, the overview for staff."""

from datetime import UTC, datetime

from flask import Blueprint, render_template, request
from flask_login import current_user
from werkzeug.wrappers import Response

from spanplat.services.attention import list_attention
from spanplat.services.campaigns import list_campaigns
from spanplat.services.progress import list_progress
from spanplat.web.accounts import local_path, unread_notices
from spanplat.web.policy import ask_for_second_factor, policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import reading

blueprint = Blueprint("overview", __name__)


@blueprint.get("/")
@policy("public")
def index() -> Response | str:
    """Show the sign-in form to strangers and the overview to staff."""
    if not current_user.is_authenticated:
        return render_template("sign_in.html", next=local_path(request.args.get("next", "")))
    if (elsewhere := ask_for_second_factor()) is not None:
        return elsewhere
    session = reading()
    now = datetime.now(UTC)
    rows = list_progress(session, list_campaigns(session), now)
    attention = list_attention(session, rows, now)
    if is_htmx():
        return unless_unchanged(render_template("_campaign_rows.html", rows=rows, attention=attention))
    return unless_unchanged(render_template("overview.html", rows=rows, attention=attention, notices=unread_notices()))
