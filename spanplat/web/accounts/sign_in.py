"""Signing in and out, and the signed-in user."""

import time
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from flask import Blueprint, Flask, Request, redirect, render_template, request, session, url_for
from flask_babel import gettext as _
from flask_login import LoginManager, current_user, login_user, logout_user
from werkzeug.wrappers import Response

from spanplat.models import Role, Scope, User
from spanplat.services.accounts.api_tokens import find_token, is_use_worth_noting, note_use
from spanplat.services.accounts.notices import Notice, list_notices, note_sign_in
from spanplat.services.accounts.passwords import is_easy_to_guess
from spanplat.services.accounts.second_factor import has_second_factor, take_code
from spanplat.services.accounts.sessions import (
    SessionName,
    end_session,
    find_session_user,
    new_session_key,
    read_session_name,
)
from spanplat.services.accounts.users import authenticate
from spanplat.web.csrf import bearer_token
from spanplat.web.limits import limit_codes, limit_sign_in
from spanplat.web.policy import policy
from spanplat.web.session import database, reading, transaction

SECONDS_FOR_CODE = 600
"""Time limit for the code of the second factor, after the password."""

blueprint = Blueprint("accounts", __name__)


@dataclass(frozen=True)
class StaffMember:
    """Signed-in user, as the routes and templates see them."""

    id: int
    email: str
    role: str
    """Effective role: with a read-only token, every user is a viewer."""
    session_epoch: str
    session_key: str
    """Key of this session."""
    scope: str | None = None
    """Scope of the API token of a script; None in a session."""
    is_authenticated: ClassVar[bool] = True
    is_active: ClassVar[bool] = True
    is_anonymous: ClassVar[bool] = False

    @classmethod
    def of(cls, user: User, scope: str | None = None, session_key: str | None = None) -> "StaffMember":
        """Copy the needed fields of a stored user, in a new session unless the key of one is given."""
        role = Role.VIEWER if scope == Scope.READ else user.role
        return cls(user.id, user.email, role, user.session_epoch, session_key or new_session_key(), scope)

    def get_id(self) -> str:
        """Return the name of the session, which Flask-Login keeps in the cookie."""
        return str(SessionName(self.id, self.session_epoch, self.session_key))


def init_app(app: Flask) -> None:
    """Load the signed-in user in every request."""
    manager = LoginManager()
    manager.session_protection = "basic"
    manager.user_loader(_load)
    manager.request_loader(_load_bearer)
    manager.init_app(app)


@blueprint.post("/sign-in")
@policy("public")
@limit_sign_in
def sign_in() -> Response | tuple[str, int]:
    """Check the password, and start a new session or ask for the second factor."""
    # A read session, because hashing a password is slow on purpose and must not hold the write lock.
    user = authenticate(reading(), request.form.get("email", ""), request.form.get("password", ""))
    wanted = request.form.get("next", "")
    if user is None:
        problem = _(
            "No account has this address and password. Check both; an administrator can give you a new password."
        )
        email = request.form.get("email", "")
        return render_template("sign_in.html", problem=problem, email=email, next=local_path(wanted)), 422
    is_weak = is_easy_to_guess(request.form["password"])
    after = url_for("account.show", done="weak") if is_weak else local_path(wanted) or url_for("overview.index")
    if has_second_factor(reading(), user.id):
        # Nobody is signed in yet: the session holds only who gave the right password.
        session.clear()
        session["waiting"] = {"user": user.id, "epoch": user.session_epoch, "since": int(time.time()), "next": after}
        return redirect(url_for("accounts.ask_for_code"), 303)
    enter(user)
    return redirect(after, 303)


@blueprint.get("/sign-in/code")
@policy("public")
def ask_for_code() -> str | Response:
    """Ask for the code of the second factor, after the right password."""
    return render_template("sign_in_code.html") if _waiting() is not None else _begin_again()


@blueprint.post("/sign-in/code")
@policy("public")
@limit_codes
def sign_in_with_code() -> Response | tuple[str, int]:
    """Check the code and start a new session."""
    user = _waiting()
    if user is None:
        return _begin_again()
    with transaction() as writing:
        writing.info["actor"] = f"user:{user.id}"  # nobody is signed in yet, but the log names the account
        is_right = take_code(writing, user.id, request.form.get("code", ""))
    if not is_right:
        problem = _("This code is not right, or was used already. Write the one that the app shows now.")
        return render_template("sign_in_code.html", problem=problem), 422
    # Read before `enter`, which clears the session.
    after = session["waiting"]["next"]
    enter(user)
    return redirect(after, 303)


@blueprint.post("/sign-out")
@policy("public")
def sign_out() -> Response:
    """End the session, also on the server, so that a copy of its cookie is useless."""
    if current_user.is_authenticated and current_user.scope is None:  # an API token has no session to end
        with transaction() as writing:
            end_session(writing, current_user.session_key)
    logout_user()
    session.clear()
    return signed_out()


def signed_out() -> Response:
    """Redirect to the start page, and clear the browser's cache, so that the back button shows no page of the former user.

    The browser's storage stays: an annotator on the same computer may have unsent work in it.
    """
    response = redirect(url_for("overview.index"), 303)
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


def enter(user: User) -> None:
    """Sign a verified user in, and log it for the notices at their next sign-in."""
    with transaction() as writing:
        writing.info["actor"] = f"user:{user.id}"
        told, own = note_sign_in(writing, user)
    _start_session(user, told, own)


def renew_session(user: User) -> None:
    """Start a new session of the signed-in user after all their sessions were ended."""
    _start_session(user, *session.get("sign_ins", (0, 0)))


def unread_notices() -> list[Notice]:
    """Return the unread notices about the account of the signed-in user since their previous sign-in."""
    if "sign_ins" not in session or current_user.scope is not None:
        return []
    told, own = session["sign_ins"]
    return list_notices(reading(), current_user.email, after=told, but=own)


def mark_read(notice: int) -> None:
    """Mark the notices up to this line of the log as read."""
    told, own = session.get("sign_ins", (0, 0))
    session["sign_ins"] = (max(told, notice), own)


def _start_session(user: User, told: int, own: int) -> None:
    """Start a new session of a user. Only the state of the notices is kept from the former session (against session fixation)."""
    session.clear()
    session["sign_ins"] = (told, own)
    login_user(StaffMember.of(user))


def local_path(address: str) -> str:
    """Return the address if it is a path on this server, else an empty string, so that a link cannot redirect to another site."""
    # Browsers read "//host" and "/\\host" as another host, and drop control characters before they read an address.
    if not address.startswith("/") or address.startswith(("//", "/\\")) or not address.isprintable():
        return ""
    parts = urlsplit(address)
    return "" if parts.scheme or parts.netloc or "\\" in parts.path else address


def _waiting() -> User | None:
    """Return the user who gave the right password recently and must now give the code."""
    waiting = session.get("waiting")
    if waiting is None or time.time() - waiting["since"] > SECONDS_FOR_CODE:
        return None
    user = reading().get(User, waiting["user"])
    # A changed password has another epoch and ends the sign-in that was begun with the old one.
    return user if user is not None and user.session_epoch == waiting["epoch"] else None


def _begin_again() -> Response:
    session.pop("waiting", None)
    return redirect(url_for("overview.index"), 303)


def _load(session_id: str) -> StaffMember | None:
    # A request with an API token needs no form token, so its cookie must not count, even if the API token is wrong.
    if bearer_token() is not None:
        return None
    name = read_session_name(session_id)
    user = find_session_user(reading(), name) if name is not None else None
    return StaffMember.of(user, session_key=name.key) if name is not None and user is not None else None


def _load_bearer(_request: Request) -> StaffMember | None:
    secret = bearer_token()
    token = find_token(reading(), secret) if secret is not None else None
    if token is None:
        return None
    if is_use_worth_noting(token):
        # Not the `transaction` of requests: it asks for the current user, who is being loaded here.
        with database().transaction() as writing:
            note_use(writing, token.id)
    return StaffMember.of(token.user, token.scope)
