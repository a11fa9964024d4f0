"""Administrators' page of accounts, roles and invitations."""

from urllib.parse import urljoin

from flask import Blueprint, current_app, redirect, render_template, request, url_for
from flask_babel import lazy_gettext as _
from werkzeug.wrappers import Response

from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Invitation, Role, User
from spanplat.services.accounts.invitations import VALID_FOR, invite, open_invitations, revoke_invitation
from spanplat.services.accounts.users import change_role, deactivate, list_users, reactivate, sign_out_everywhere
from spanplat.web.names import ROLES
from spanplat.web.policy import policy
from spanplat.web.session import database, transaction
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, time_column

blueprint = Blueprint("people", __name__, url_prefix="/admin/people")

USERS: SortedTable[User] = SortedTable(
    {
        "email": Column(_("Email"), lambda user: user.email),
        "role": Column(_("Role"), lambda user: str(ROLES[user.role])),
        "since": time_column(_("Since"), lambda user: user.created_at),
        "account": Column(_("Account"), lambda user: str(_("closed") if user.deactivated_at else _("open"))),
    }
)
INVITATIONS: SortedTable[Invitation] = SortedTable(
    {
        "email": Column(_("Email"), lambda invitation: invitation.email),
        "role": Column(_("Role"), lambda invitation: str(ROLES[invitation.role])),
        "ends": time_column(_("Ends"), lambda invitation: invitation.expires_at),
    }
)


@blueprint.get("")
@policy("admin")
def show() -> str:
    """Show all accounts and the open invitations."""
    return _page()


@blueprint.post("/invitations")
@policy("admin")
def send_invitation() -> str | tuple[str, int]:
    """Create an invitation and show its link once."""
    email = request.form.get("email", "")
    try:
        with transaction() as session:
            invitation, token = invite(session, email, request.form.get("role", Role.VIEWER))
    except (InvalidInput, Conflict) as error:
        return _page(problem=str(error), email=email), 422
    # The configured address has priority: without it the link trusts the Host header of the request.
    base = current_app.extensions["spanplat_settings"].base_url or request.url_root
    link = urljoin(base, url_for("invitations.show", token=token))
    # No redirect: the database has only a digest of the link's token, so that this answer alone can show the link.
    return _page(link=link, invited=invitation.email)


@blueprint.post("/invitations/<int:invitation_id>/revoke")
@policy("admin")
def withdraw_invitation(invitation_id: int) -> Response:
    """Withdraw an invitation."""
    with transaction() as session:
        revoke_invitation(session, invitation_id)
    return redirect(url_for("people.show"), 303)


@blueprint.post("/<int:user_id>/role")
@policy("admin")
def give_role(user_id: int) -> Response:
    """Change the role of a user."""
    with transaction() as session:
        change_role(session, user_id, request.form.get("role", ""))
    return redirect(url_for("people.show"), 303)


@blueprint.post("/<int:user_id>/account")
@policy("admin")
def change_account(user_id: int) -> Response:
    """Close or reopen an account, or end its sessions."""
    acts = {"deactivate": deactivate, "reactivate": reactivate, "sign-out": sign_out_everywhere}
    wanted = request.form.get("act", "")
    if wanted not in acts:
        raise InvalidInput(f"an account cannot be told to {wanted!r}; choose one of {', '.join(acts)}")
    with transaction() as session:
        acts[wanted](session, user_id)
    return redirect(url_for("people.show"), 303)


def _page(*, link: str = "", invited: str = "", problem: str = "", email: str = "") -> str:
    place = TablePage("people.show")
    with database().reading() as session:  # the request's snapshot may be older than its own write
        return render_template(
            "people.html",
            users=USERS.view("accounts", place, list_users(session), beside=("invitations",)),
            invitations=INVITATIONS.view("invitations", place, open_invitations(session), beside=("accounts",)),
            roles=list(Role),
            days=VALID_FOR.days,
            link=link,
            invited=invited,
            problem=problem,
            email=email,
        )
