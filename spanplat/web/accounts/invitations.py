"""Page for accepting an invitation with a new password."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask_babel import gettext as _
from werkzeug.wrappers import Response

from spanplat.errors import InvalidInput
from spanplat.services.accounts.invitations import accept_invitation, find_invitation
from spanplat.services.accounts.passwords import SHORTEST_PASSWORD
from spanplat.web.accounts.passwords import strength_fragment
from spanplat.web.accounts.sign_in import enter
from spanplat.web.limits import limit_strength
from spanplat.web.policy import policy
from spanplat.web.session import reading, transaction

blueprint = Blueprint("invitations", __name__, url_prefix="/invitations/<token>")


@blueprint.get("")
@policy("public")
def show(token: str) -> str:
    """Show the invitation and the form."""
    return _page(token)


@blueprint.post("")
@policy("public")
def accept(token: str) -> Response | tuple[str, int]:
    """Create the account and sign in."""
    password = request.form.get("password", "")
    if password != request.form.get("again", ""):
        return _page(token, _("The two passwords differ.")), 422
    try:
        with transaction() as session:
            user = accept_invitation(session, token, password)
    except InvalidInput as error:
        return _page(token, str(error)), 422
    enter(user)
    return redirect(url_for("overview.index"), 303)


@blueprint.post("/strength")
@policy("public")
@limit_strength
def strength(token: str) -> str:
    """Return the strength of the invited person's password while it is typed."""
    find_invitation(reading(), token)
    return strength_fragment(request.form.get("password", ""))


def _page(token: str, problem: str = "") -> str:
    invitation = find_invitation(reading(), token)
    return render_template(
        "invitation.html", invitation=invitation, token=token, problem=problem, shortest=SHORTEST_PASSWORD
    )
