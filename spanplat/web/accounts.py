"""Signing in and out, and who is signed in."""

import time
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from flask import Blueprint, Flask, Request, redirect, render_template, request, session, url_for
from flask_babel import gettext as _
from flask_login import LoginManager, current_user, login_user, logout_user
from werkzeug.wrappers import Response

from spanplat.models import Role, Scope, User
from spanplat.services.account_notices import Notice, list_notices, note_sign_in
from spanplat.services.api_tokens import find_token, is_use_worth_noting, note_use
from spanplat.services.passwords import is_known
from spanplat.services.second_factor import has_second_factor, take_code
from spanplat.services.sessions import SessionName, end_session, find_session_user, new_session_key, read_session_name
from spanplat.services.users import authenticate
from spanplat.web.csrf import bearer_token
from spanplat.web.limits import limit_codes, limit_sign_in
from spanplat.web.policy import policy
from spanplat.web.session import database, reading, transaction

SECONDS_FOR_CODE = 600
"""How long after the password the code of the second factor is waited for."""

blueprint = Blueprint("accounts", __name__)


@dataclass(frozen=True)
class StaffMember:
    """Who is signed in, as the routes and templates see it."""

    id: int
    email: str
    role: str
    """What they may do here and now: a token that may only read makes everybody a viewer."""
    session_epoch: str
    session_key: str
    """Of this session alone."""
    scope: str | None = None
    """Of the token that a script shows; None in a session."""
    is_authenticated: ClassVar[bool] = True
    is_active: ClassVar[bool] = True
    is_anonymous: ClassVar[bool] = False

    @classmethod
    def of(cls, user: User, scope: str | None = None, session_key: str | None = None) -> "StaffMember":
        """Take over what is needed of a stored user, in a new session unless the key of one is given."""
        role = Role.VIEWER if scope == Scope.READ else user.role
        return cls(user.id, user.email, role, user.session_epoch, session_key or new_session_key(), scope)

    def get_id(self) -> str:
        """Name the session."""
        return str(SessionName(self.id, self.session_epoch, self.session_key))


def init_app(app: Flask) -> None:
    """Know the signed-in user in every request."""
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
    user = authenticate(reading(), request.form.get("email", ""), request.form.get("password", ""))
    wanted = request.form.get("next", "")
    if user is None:
        problem = _(
            "No account has this address and password. Check both; an administrator can give you a new password."
        )
        email = request.form.get("email", "")
        return render_template("sign_in.html", problem=problem, email=email, next=local_path(wanted)), 422
    known = is_known(request.form["password"])
    after = url_for("account.show", done="known") if known else local_path(wanted) or url_for("overview.index")
    if has_second_factor(reading(), user.id):
        session.clear()
        session["waiting"] = {"user": user.id, "epoch": user.session_epoch, "since": int(time.time()), "next": after}
        return redirect(url_for("accounts.ask_for_code"), 303)
    enter(user)
    return redirect(after, 303)


@blueprint.get("/sign-in/code")
@policy("public")
def ask_for_code() -> str | Response:
    """Ask who knew the password for the code of their app."""
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
        writing.info["actor"] = f"user:{user.id}"
        is_right = take_code(writing, user.id, request.form.get("code", ""))
    if not is_right:
        problem = _("This code is not right, or was used already. Write the one that the app shows now.")
        return render_template("sign_in_code.html", problem=problem), 422
    after = session["waiting"]["next"]
    enter(user)
    return redirect(after, 303)


@blueprint.post("/sign-out")
@policy("public")
def sign_out() -> Response:
    """End the session, on the server too: a copy of its cookie opens nothing any more."""
    if current_user.is_authenticated and current_user.scope is None:
        with transaction() as writing:
            end_session(writing, current_user.session_key)
    logout_user()
    session.clear()
    return signed_out()


def signed_out() -> Response:
    """Lead to the first page, and let the browser forget what it kept: going back shows no page of who left.

    Its storage stays, for there lies what an annotator at the same computer has not sent yet.
    """
    response = redirect(url_for("overview.index"), 303)
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


def enter(user: User) -> None:
    """Let in who has proved who they are, and note it for them to be told at their next sign-in."""
    with transaction() as writing:
        writing.info["actor"] = f"user:{user.id}"
        told, own = note_sign_in(writing, user)
    _start_session(user, told, own)


def renew_session(user: User) -> None:
    """Begin a new session of who is signed in, since all of theirs were ended."""
    _start_session(user, *session.get("sign_ins", (0, 0)))


def unread_notices() -> list[Notice]:
    """Return what happened to the account of who is signed in since their sign-in before this one, unless they have read it."""
    if "sign_ins" not in session or current_user.scope is not None:
        return []
    told, own = session["sign_ins"]
    return list_notices(reading(), current_user.email, after=told, but=own)


def mark_read(notice: int) -> None:
    """Tell nothing any more up to this line of the log."""
    told, own = session.get("sign_ins", (0, 0))
    session["sign_ins"] = (max(told, notice), own)


def _start_session(user: User, told: int, own: int) -> None:
    """Begin a new session of a user; nothing of the one before outlives it but what they have been told."""
    session.clear()
    session["sign_ins"] = (told, own)
    login_user(StaffMember.of(user))


def local_path(address: str) -> str:
    """Return the address if it is a path on this server, else an empty string: a link must not lead elsewhere after signing in."""
    if not address.startswith("/") or address.startswith(("//", "/\\")) or not address.isprintable():
        return ""
    parts = urlsplit(address)
    return "" if parts.scheme or parts.netloc or "\\" in parts.path else address


def _waiting() -> User | None:
    """Return who has given their password a moment ago, and now owes the code."""
    waiting = session.get("waiting")
    if waiting is None or time.time() - waiting["since"] > SECONDS_FOR_CODE:
        return None
    user = reading().get(User, waiting["user"])
    return user if user is not None and user.session_epoch == waiting["epoch"] else None


def _begin_again() -> Response:
    session.pop("waiting", None)
    return redirect(url_for("overview.index"), 303)


def _load(session_id: str) -> StaffMember | None:
    if (
        bearer_token() is not None
    ):  # it says who asks, right or wrong: such a request needs no form token, so no cookie may count
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
        with database().transaction() as writing:
            note_use(writing, token.id)
    return StaffMember.of(token.user, token.scope)
