"""Who may sign in and what they may do: the administrators' page."""

from urllib.parse import urljoin

from flask import Blueprint, current_app, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Role
from spanplat.services.invitations import VALID_FOR, invite, open_invitations, revoke_invitation
from spanplat.services.users import change_role, deactivate, list_users, reactivate, sign_out_everywhere
from spanplat.web.policy import policy
from spanplat.web.session import database, transaction

blueprint = Blueprint("people", __name__, url_prefix="/admin/people")


@blueprint.get("")
@policy("admin")
def show() -> str:
    """Show everybody with an account, and the invitations that are out."""
    return _page()


@blueprint.post("/invitations")
@policy("admin")
def send_invitation() -> str | tuple[str, int]:
    """Make an invitation and show its link, this once."""
    email = request.form.get("email", "")
    try:
        with transaction() as session:
            invitation, token = invite(session, email, request.form.get("role", Role.VIEWER))
    except (InvalidInput, Conflict) as error:
        return _page(problem=str(error), email=email), 422
    base = current_app.extensions["spanplat_settings"].base_url or request.url_root
    link = urljoin(base, url_for("invitations.show", token=token))
    return _page(link=link, invited=invitation.email)


@blueprint.post("/invitations/<int:invitation_id>/revoke")
@policy("admin")
def withdraw_invitation(invitation_id: int) -> Response:
    """Make an invitation useless."""
    with transaction() as session:
        revoke_invitation(session, invitation_id)
    return redirect(url_for("people.show"), 303)


@blueprint.post("/<int:user_id>/role")
@policy("admin")
def give_role(user_id: int) -> Response:
    """Change what somebody may do."""
    with transaction() as session:
        change_role(session, user_id, request.form.get("role", ""))
    return redirect(url_for("people.show"), 303)


@blueprint.post("/<int:user_id>/account")
@policy("admin")
def change_account(user_id: int) -> Response:
    """Close somebody's account, open it again, or end their sessions."""
    acts = {"deactivate": deactivate, "reactivate": reactivate, "sign-out": sign_out_everywhere}
    wanted = request.form.get("act", "")
    if wanted not in acts:
        raise InvalidInput(f"an account cannot be told to {wanted!r}; choose one of {', '.join(acts)}")
    with transaction() as session:
        acts[wanted](session, user_id)
    return redirect(url_for("people.show"), 303)


def _page(*, link: str = "", invited: str = "", problem: str = "", email: str = "") -> str:
    with database().reading() as session:  # not the request's snapshot, which may be older than what it wrote
        return render_template(
            "people.html",
            users=list_users(session),
            invitations=open_invitations(session),
            roles=list(Role),
            days=VALID_FOR.days,
            link=link,
            invited=invited,
            problem=problem,
            email=email,
        )
