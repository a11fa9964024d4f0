"""Signing in and out, and who is signed in."""

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from flask import Blueprint, Flask, redirect, render_template, request, session, url_for
from flask_babel import gettext as _
from flask_login import LoginManager, current_user, login_user, logout_user
from werkzeug.wrappers import Response

from spanplat.models import User
from spanplat.services.users import authenticate
from spanplat.web.limits import limit_sign_in
from spanplat.web.policy import policy
from spanplat.web.session import reading

blueprint = Blueprint("accounts", __name__)


@dataclass(frozen=True)
class StaffMember:
    """Who is signed in, as the routes and templates see it."""

    id: int
    email: str
    role: str
    session_epoch: str
    is_authenticated: ClassVar[bool] = True
    is_active: ClassVar[bool] = True
    is_anonymous: ClassVar[bool] = False

    @classmethod
    def of(cls, user: User) -> "StaffMember":
        """Take over what is needed of a stored user."""
        return cls(user.id, user.email, user.role, user.session_epoch)

    def get_id(self) -> str:
        """Name the user and the epoch of their sessions: a new epoch ends every session of the old one."""
        return f"{self.id}:{self.session_epoch}"


def init_app(app: Flask) -> None:
    """Know the signed-in user in every request."""
    manager = LoginManager()
    manager.session_protection = "basic"
    manager.user_loader(_load)
    manager.init_app(app)


def actor() -> str:
    """Name the signed-in user for the audit log."""
    return f"user:{current_user.id}"


@blueprint.post("/sign-in")
@policy("public")
@limit_sign_in
def sign_in() -> Response | tuple[str, int]:
    """Check the password and start a new session."""
    user = authenticate(reading(), request.form.get("email", ""), request.form.get("password", ""))
    wanted = request.form.get("next", "")
    if user is None:
        problem = _(
            "No account has this address and password. Check both; an administrator can give you a new password."
        )
        email = request.form.get("email", "")
        return render_template("sign_in.html", problem=problem, email=email, next=local_path(wanted)), 422
    session.clear()  # nothing of the anonymous session outlives the sign-in
    login_user(StaffMember.of(user))
    return redirect(local_path(wanted) or url_for("overview.index"), 303)


@blueprint.post("/sign-out")
@policy("public")
def sign_out() -> Response:
    """End the session."""
    logout_user()
    session.clear()
    return redirect(url_for("overview.index"), 303)


def local_path(address: str) -> str:
    """Return the address if it is a path on this server, else an empty string: a link must not lead elsewhere after signing in."""
    if not address.startswith("/") or address.startswith(("//", "/\\")) or not address.isprintable():
        return ""
    parts = urlsplit(address)
    return "" if parts.scheme or parts.netloc or "\\" in parts.path else address


def _load(session_id: str) -> StaffMember | None:
    user_id, _separator, epoch = session_id.partition(":")
    user = reading().get(User, int(user_id)) if user_id.isdecimal() else None
    return StaffMember.of(user) if user is not None and user.session_epoch == epoch else None
