"""The first page: sign-in for strangers, the overview for staff."""

from datetime import UTC, datetime

from flask import Blueprint, Response, render_template, request
from flask_login import current_user

from spanplat.services.campaigns import list_campaigns
from spanplat.services.progress import list_progress
from spanplat.web.accounts import local_path
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import reading

blueprint = Blueprint("overview", __name__)


@blueprint.get("/")
@policy("public")
def index() -> Response | str:
    """Show the sign-in form to strangers and the overview to staff."""
    if not current_user.is_authenticated:
        return render_template("sign_in.html", next=local_path(request.args.get("next", "")))
    session = reading()
    rows = list_progress(session, list_campaigns(session), datetime.now(UTC))
    template = "_campaign_rows.html" if is_htmx() else "overview.html"
    return unless_unchanged(render_template(template, rows=rows))
