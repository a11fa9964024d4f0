"""How often somebody may try what could be guessed, or costs the server time."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from flask import Flask, Response, current_app, request, session
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_login import current_user

from spanplat.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")

MOST_CHANGES = "600 per minute"
"""Of one kind, by one account or one annotator: more than people make by hand, and less than harms others."""


def _who() -> str:
    """Who asks: the bearer of an address with a token, whoever is signed in, or somebody at an address."""
    token = (request.view_args or {}).get("token")
    if token is not None and request.path.startswith("/a/"):
        return f"work:{token}"
    return f"user:{current_user.id}" if current_user.is_authenticated else get_remote_address()


_limiter = Limiter(
    key_func=_who,
    headers_enabled=True,
    default_limits=[lambda: current_app.config["SPANPLAT_MOST_CHANGES"]],
    default_limits_exempt_when=lambda: request.method in ("GET", "HEAD", "OPTIONS"),
)


def init_app(app: Flask, settings: Settings) -> None:
    """Count attempts, in Redis where there is one, so that all processes count together; else in each process."""
    app.config.setdefault("SPANPLAT_MOST_CHANGES", MOST_CHANGES)
    app.config.setdefault("RATELIMIT_STORAGE_URI", settings.redis_url or "memory://")
    _limiter.init_app(app)


def limit_sign_in(view: Callable[P, R]) -> Callable[P, R]:
    """Allow ten failed attempts a minute from one address, and thirty an hour for one account."""
    per_address = _limiter.limit("10 per minute; 100 per hour", key_func=get_remote_address, deduct_when=_failed)
    per_account = _limiter.limit("30 per hour", key_func=_account, deduct_when=_failed)
    return per_address(per_account(view))


def limit_codes(view: Callable[P, R]) -> Callable[P, R]:
    """Allow ten wrong codes an hour for one account: of a million codes, three are right at any moment."""
    per_address = _limiter.limit("10 per minute; 100 per hour", key_func=get_remote_address, deduct_when=_failed)
    per_account = _limiter.limit("10 per hour", key_func=_waiting_account, deduct_when=_failed)
    return per_address(per_account(view))


def limit_strength(view: Callable[P, R]) -> Callable[P, R]:
    """Allow as many estimates of a password's strength from one address as quick typing needs."""
    return _limiter.limit("120 per minute", key_func=get_remote_address)(view)


def _account() -> str:
    """Whose password is tried: at signing in anybody's, whoever is signed in; everywhere else one's own."""
    is_own = request.endpoint != "accounts.sign_in"
    email: str = current_user.email if is_own else request.form.get("email", "")
    return "account:" + email.strip().lower()


def _waiting_account() -> str:
    return f"code:{session.get('waiting', {}).get('user', '')}"


def _failed(response: Response) -> bool:
    return response.status_code == 422
