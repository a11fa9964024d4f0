"""Page of the user's own account: password, sessions and API tokens."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy
from flask_login import current_user
from werkzeug.wrappers import Response

from spanplat.errors import InvalidInput, NotAllowed
from spanplat.models import ApiToken, Scope
from spanplat.services.accounts.api_tokens import create_token, list_tokens, revoke_token
from spanplat.services.accounts.notices import list_notices
from spanplat.services.accounts.passwords import SHORTEST_PASSWORD
from spanplat.services.accounts.second_factor import has_second_factor
from spanplat.services.accounts.users import change_password, find_user, sign_out_everywhere
from spanplat.web.accounts.passwords import strength_fragment
from spanplat.web.accounts.sign_in import mark_read, renew_session, signed_out
from spanplat.web.limits import limit_sign_in, limit_strength
from spanplat.web.policy import policy
from spanplat.web.session import database, reading, transaction
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, time_column

blueprint = Blueprint("account", __name__, url_prefix="/admin/account")


def scope_name(token: ApiToken) -> str:
    """Return the name of a token's scope."""
    return str(_("read") if token.scope == Scope.READ else _("read and change"))


TOKENS: SortedTable[ApiToken] = SortedTable(
    {
        "for": Column(_lazy("For"), lambda token: token.name),
        "may": Column(_lazy("May"), scope_name),
        "made": time_column(_lazy("Made"), lambda token: token.created_at),
        "last-used": time_column(_lazy("Last used"), lambda token: token.last_used_at),
    }
)


@blueprint.before_request
def require_session() -> None:
    """Refuse API tokens on this page, so that a stolen token cannot create others or change the password."""
    if current_user.is_authenticated and current_user.scope is not None:
        raise NotAllowed(_("an account is managed by its owner, signed in, and not with a token"))


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the account."""
    return _page()


@blueprint.post("/password")
@policy("viewer")
@limit_sign_in
def choose_password() -> tuple[str, int] | Response:
    """Change the password. This session continues, all others end."""
    if request.form.get("new", "") != request.form.get("again", ""):
        return _page(problem=_("The two new passwords differ; nothing was changed.")), 422
    try:
        with transaction() as session:
            user = change_password(session, current_user.id, request.form.get("present", ""), request.form["new"])
    except InvalidInput as error:
        return _page(problem=str(error)), 422
    renew_session(user)
    return redirect(url_for("account.show", done="password"), 303)


@blueprint.post("/password/strength")
@policy("viewer")
@limit_strength
def strength() -> str:
    """Return the strength of a new password while it is typed."""
    return strength_fragment(request.form.get("new", ""))


@blueprint.post("/sign-out-everywhere")
@policy("viewer")
def end_sessions() -> Response:
    """End all sessions, including this one."""
    with transaction() as session:
        sign_out_everywhere(session, current_user.id)
    return signed_out()


@blueprint.post("/notices/<int:notice>/read")
@policy("viewer")
def read_notices(notice: int) -> Response:
    """Mark the notices on the overview as read, up to this line of the log."""
    mark_read(notice)
    return redirect(url_for("overview.index"), 303)


@blueprint.post("/tokens")
@policy("viewer")
def make_token() -> str | tuple[str, int]:
    """Create a token and show it once."""
    scope = request.form.get("scope", Scope.READ)
    try:
        with transaction() as session:
            owner = find_user(session, current_user.id)
            _token, secret = create_token(session, owner, request.form.get("name", ""), scope)
    except InvalidInput as error:
        return _page(problem=str(error)), 422
    # No redirect: the database has only a digest of the secret, so that this answer alone can show it.
    return _page(secret=secret)


@blueprint.post("/tokens/<int:token_id>/revoke")
@policy("viewer")
def end_token(token_id: int) -> Response:
    """End a token."""
    with transaction() as session:
        revoke_token(session, current_user.id, token_id)
    return redirect(url_for("account.show"), 303)


def _page(*, secret: str | None = None, problem: str = "") -> str:
    return render_template(
        "account.html",
        tokens=TOKENS.view("tokens", TablePage("account.show"), _tokens()),
        scope_name=scope_name,
        notices=list_notices(reading(), current_user.email),
        second_factor=has_second_factor(reading(), current_user.id),
        secret=secret,
        problem=problem,
        done=request.args.get("done"),
        shortest=SHORTEST_PASSWORD,
    )


def _tokens() -> list[ApiToken]:
    with database().reading() as session:  # the request's snapshot may be older than its own write
        return list_tokens(session, current_user.id)
