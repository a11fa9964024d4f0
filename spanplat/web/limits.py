"""How often somebody may try what could be guessed, or costs the server time."""

import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import ParamSpec, TypeVar

from flask import Flask, Response, current_app, request, session
from flask_limiter import Limiter
from flask_login import current_user
from limits import RateLimitItemPerMinute
from limits.errors import StorageError

from spanplat.errors import TooMany, say
from spanplat.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")

MOST_CHANGES = "600 per minute"
"""Of one kind, by one account or one annotator: more than people make by hand, and less than harms others."""

PATIENCE_SECONDS = 1.0
"""How long a request waits for Redis."""


def remote_network() -> str:
    """Return from where somebody asks: an IPv4 address, or the network of an IPv6 address, since one household has 2⁶⁴ of those."""
    try:
        address = ip_address((request.remote_addr or "").partition("%")[0])
    except ValueError:  # a socket of this machine
        return request.remote_addr or ""
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


def _who() -> str:
    """Who asks: the bearer of an address with a token, whoever is signed in, or somebody at an address."""
    token = (request.view_args or {}).get("token")
    if token is not None and request.path.startswith("/a/"):
        return f"work:{token}"
    return f"user:{current_user.id}" if current_user.is_authenticated else remote_network()


_limiter = Limiter(
    key_func=_who,
    headers_enabled=True,
    in_memory_fallback_enabled=True,
    default_limits=[lambda: current_app.config["SPANPLAT_MOST_CHANGES"]],
    default_limits_exempt_when=lambda: request.method in ("GET", "HEAD", "OPTIONS"),
)


def init_app(app: Flask, settings: Settings) -> None:
    """Count attempts, in Redis where there is one, so that all processes count together; else in each process.

    While Redis does not answer, each process counts for itself: nobody's work is refused because something cannot be counted.
    """
    app.config.setdefault("SPANPLAT_MOST_CHANGES", MOST_CHANGES)
    app.config.setdefault("RATELIMIT_STORAGE_URI", settings.redis_url or "memory://")
    if settings.redis_url:
        patience = {"socket_connect_timeout": PATIENCE_SECONDS, "socket_timeout": PATIENCE_SECONDS}
        app.config.setdefault("RATELIMIT_STORAGE_OPTIONS", {"wrap_exceptions": True, **patience})
    _limiter.init_app(app)


def limit_sign_in(view: Callable[P, R]) -> Callable[P, R]:
    """Allow ten failed attempts a minute from one address, and thirty an hour for one account."""
    per_address = _limiter.limit("10 per minute; 100 per hour", key_func=remote_network, deduct_when=_failed)
    per_account = _limiter.limit("30 per hour", key_func=_account, deduct_when=_failed)
    return per_address(per_account(view))


def limit_codes(view: Callable[P, R]) -> Callable[P, R]:
    """Allow ten wrong codes an hour for one account: of a million codes, three are right at any moment."""
    per_address = _limiter.limit("10 per minute; 100 per hour", key_func=remote_network, deduct_when=_failed)
    per_account = _limiter.limit("10 per hour", key_func=_waiting_account, deduct_when=_failed)
    return per_address(per_account(view))


def limit_strength(view: Callable[P, R]) -> Callable[P, R]:
    """Allow as many estimates of a password's strength from one address as quick typing needs."""
    return _limiter.limit("120 per minute", key_func=remote_network)(view)


def limit_arrivals() -> None:
    """Count somebody who would come in for the first time by a link that everybody has.

    Raises
    ------
    TooMany
        If more came from the same network within a minute than `Settings.arrivals_per_minute` lets in.
    """
    settings: Settings = current_app.extensions["spanplat_settings"]
    limit, who = RateLimitItemPerMinute(settings.arrivals_per_minute), f"arrivals:{remote_network()}"
    try:
        is_within = _limiter.limiter.hit(limit, who)
    except StorageError:
        current_app.logger.warning("arrivals are not counted: Redis does not answer")
        return
    if not is_within:
        until = _limiter.limiter.get_window_stats(limit, who).reset_time
        seconds = max(1, ceil(until - time.time()))
        raise TooMany(
            say("very many people are coming in from your network just now; please open the link again in a minute"),
            retry_after=seconds,
        )


def _account() -> str:
    """Whose password is tried: at signing in anybody's, whoever is signed in; everywhere else one's own."""
    is_own = request.endpoint != "accounts.sign_in"
    email: str = current_user.email if is_own else request.form.get("email", "")
    return "account:" + email.strip().lower()


def _waiting_account() -> str:
    return f"code:{session.get('waiting', {}).get('user', '')}"


def _failed(response: Response) -> bool:
    return response.status_code == 422
