"""How often somebody may try to sign in."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from flask import Flask, Response, request
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from spanplat.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")

_limiter = Limiter(key_func=get_remote_address, headers_enabled=True)


def init_app(app: Flask, settings: Settings) -> None:
    """Count attempts, in Redis where there is one, so that all processes count together; else in each process."""
    app.config.setdefault("RATELIMIT_STORAGE_URI", settings.redis_url or "memory://")
    _limiter.init_app(app)


def limit_sign_in(view: Callable[P, R]) -> Callable[P, R]:
    """Allow ten failed attempts a minute from one address, and thirty an hour for one account."""
    per_address = _limiter.limit("10 per minute; 100 per hour", deduct_when=_failed)
    per_account = _limiter.limit("30 per hour", key_func=_account, deduct_when=_failed)
    return per_address(per_account(view))


def _account() -> str:
    return "account:" + request.form.get("email", "").strip().lower()


def _failed(response: Response) -> bool:
    return response.status_code == 422
