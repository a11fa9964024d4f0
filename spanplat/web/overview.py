"""The first page: sign-in for strangers, the overview for staff."""

from flask import Blueprint, render_template, request
from flask_login import current_user

from spanplat.web.accounts import local_path
from spanplat.web.policy import policy

blueprint = Blueprint("overview", __name__)


@blueprint.get("/")
@policy("public")
def index() -> str:
    """Show the sign-in form or the overview."""
    if not current_user.is_authenticated:
        return render_template("sign_in.html", next=local_path(request.args.get("next", "")))
    return render_template("overview.html")
