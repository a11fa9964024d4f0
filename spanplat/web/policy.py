"""Access control: each view declares who may use it, and this module enforces it.

>>> @policy("researcher")
... def close_campaign(slug): ...
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from flask import Flask, current_app, redirect, request, url_for
from flask_babel import gettext as _
from flask_login import current_user
from werkzeug.exceptions import Unauthorized
from werkzeug.wrappers import Response

from spanplat.errors import NotAllowed
from spanplat.models import Role, Scope
from spanplat.services.accounts.second_factor import has_second_factor
from spanplat.settings import Settings
from spanplat.web.representation import is_htmx, wants_json
from spanplat.web.session import reading

View = TypeVar("View", bound=Callable[..., Any])


class Access(StrEnum):
    """Group of users who may use a route."""

    PUBLIC = "public"
    ANNOTATOR_TOKEN = "annotator-token"  # noqa: S105
    """Everybody who knows the unguessable token in the address; the view looks it up."""
    VIEWER = "viewer"
    RESEARCHER = "researcher"
    ADMIN = "admin"


READING = ("GET", "HEAD", "OPTIONS")
_RANK = {Role.VIEWER: 0, Role.RESEARCHER: 1, Role.ADMIN: 2}


def policy(access: str) -> Callable[[View], View]:
    """Declare who may use a view: ``public``, ``annotator-token``, ``viewer``, ``researcher`` or ``admin``.

    Put it directly on the function, below the route decorator.
    """
    declared = Access(access)

    def declare(view: View) -> View:
        view.spanplat_access = declared  # type: ignore[attr-defined]
        return view

    return declare


def access_of(app: Flask, endpoint: str) -> Access | None:
    """Return who may use an endpoint, or None if its view does not say."""
    return getattr(app.view_functions[endpoint], "spanplat_access", None)


def init_app(app: Flask) -> None:
    """Enforce the declared policies before every request."""
    app.before_request(_enforce)


def require_declared(app: Flask) -> None:
    """Check at start-up that each route declares who may use it.

    Raises
    ------
    RuntimeError
        If a view has no policy, or if it declares a token that its address does not contain.
    """
    for rule in app.url_map.iter_rules():
        access = access_of(app, rule.endpoint)
        if access is None:
            raise RuntimeError(
                f"{rule.rule} ({rule.endpoint}) does not declare who may use it: decorate its view with @policy"
            )
        if access is Access.ANNOTATOR_TOKEN and "token" not in rule.arguments:
            raise RuntimeError(f"{rule.rule} ({rule.endpoint}) is open to a token's bearer but has no <token>")


def may(access: str) -> bool:
    """Return whether the signed-in user has at least this role. Templates use it to hide buttons."""
    return bool(current_user.is_authenticated) and _RANK[Role(current_user.role)] >= _RANK[Role(access)]


def _enforce() -> Response | None:
    if request.endpoint is None:
        return None  # no such address: Flask answers 404
    access = access_of(current_app, request.endpoint)
    if access in (Access.PUBLIC, Access.ANNOTATOR_TOKEN):
        return None
    if not current_user.is_authenticated:
        return _ask_to_sign_in()
    if current_user.scope == Scope.READ and request.method not in READING:
        raise NotAllowed(_("this token may only read; make one that may write on your account's page"))
    if not may(str(access)):
        raise NotAllowed(
            _(
                "your role (%(role)s) may not do this; it needs the role %(needed)s, which an administrator can give you",
                role=current_user.role,
                needed=access,
            )
        )
    return ask_for_second_factor()


def is_second_factor_required() -> bool:
    """Return whether the signed-in user must have a second factor."""
    settings: Settings = current_app.extensions["spanplat_settings"]
    return settings.require_second_factor and current_user.role == Role.ADMIN


def ask_for_second_factor() -> Response | None:
    """Redirect users who must set up a second factor and have none; return None for others."""
    # These pages set it up: without the exception they would redirect to themselves.
    if request.blueprint in ("account", "second_factor") or not is_second_factor_required():
        return None
    if has_second_factor(reading(), current_user.id):
        return None
    # A script cannot use the page of a redirect, so it gets an error that says what to do.
    if current_user.scope is not None or wants_json():
        raise NotAllowed(_("administrators need a second factor here; sign in and set it up on your account's page"))
    address = url_for("second_factor.show")
    # htmx would follow a redirect silently and put the whole page into a fragment. HX-Redirect makes the browser go there.
    return Response(status=403, headers={"HX-Redirect": address}) if is_htmx() else redirect(address, 303)


def _ask_to_sign_in() -> Response:
    # Only a page can be shown again after signing in, not a form that was sent or a fragment.
    wanted = request.full_path.rstrip("?") if request.method == "GET" and not is_htmx() else None
    address = url_for("overview.index", next=wanted)
    if is_htmx():
        return Response(status=401, headers={"HX-Redirect": address})
    if wants_json():
        raise Unauthorized(_("sign in first"))
    return redirect(address, 303)
