"""How often somebody may try what could be guessed, or costs the server time."""

import functools
from collections.abc import Callable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any, ParamSpec, TypeVar

from flask import Flask, current_app, make_response, request, session
from flask_login import current_user
from limits import RateLimitItem, RateLimitItemPerMinute, parse_many
from werkzeug.wrappers import Response

from spanplat.errors import TooMany, say
from spanplat.settings import Settings
from spanplat.web.counts import Counts

P = ParamSpec("P")
R = TypeVar("R")

MOST_CHANGES = "600 per minute"
"""Of one kind, by one account or one annotator: more than people make by hand, and less than harms others."""


def init_app(app: Flask, settings: Settings) -> None:
    """Count the changes that everybody makes, and let the views below count more."""
    app.config.setdefault("SPANPLAT_MOST_CHANGES", MOST_CHANGES)
    app.extensions["spanplat_counts"] = Counts(settings.redis_url)
    app.before_request(_count_change)


def remote_network() -> str:
    """Return from where somebody asks: an IPv4 address, or the network of an IPv6 address, since one household has 2⁶⁴ of those."""
    try:
        address = ip_address((request.remote_addr or "").partition("%")[0])
    except ValueError:  # a socket of this machine
        return request.remote_addr or ""
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


def limit_sign_in(view: Callable[P, Any]) -> Callable[P, Response]:
    """Allow ten failed attempts a minute from one address, and thirty an hour for one account."""
    return _limit_failures(view, ("10 per minute; 100 per hour", remote_network), ("30 per hour", _account))


def limit_codes(view: Callable[P, Any]) -> Callable[P, Response]:
    """Allow ten wrong codes an hour for one account: of a million codes, three are right at any moment."""
    return _limit_failures(view, ("10 per minute; 100 per hour", remote_network), ("10 per hour", _waiting_account))


def limit_strength(view: Callable[P, R]) -> Callable[P, R]:
    """Allow as many estimates of a password's strength from one address as quick typing needs."""

    @functools.wraps(view)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        _count("120 per minute", remote_network())
        return view(*args, **kwargs)

    return limited


def limit_arrivals() -> None:
    """Count somebody who would come in for the first time by a link that everybody has.

    Raises
    ------
    TooMany
        If more came from the same network within a minute than `Settings.arrivals_per_minute` lets in.
    """
    settings: Settings = current_app.extensions["spanplat_settings"]
    limit, who = RateLimitItemPerMinute(settings.arrivals_per_minute), f"arrivals:{remote_network()}"
    if not _counts().add(limit, who):
        raise TooMany(
            say("very many people are coming in from your network just now; please open the link again in a minute"),
            retry_after=_counts().seconds_left(limit, who),
        )


def _counts() -> Counts:
    counts: Counts = current_app.extensions["spanplat_counts"]
    return counts


@functools.cache
def _rules(text: str) -> Sequence[RateLimitItem]:
    return parse_many(text)


def _count_change() -> None:
    """Count a change of one kind; what only looks is not counted."""
    if request.method not in ("GET", "HEAD", "OPTIONS") and request.endpoint is not None:
        _count(current_app.config["SPANPLAT_MOST_CHANGES"], _who())


def _count(rules: str, who: str) -> None:
    for limit in _rules(rules):
        what = (request.endpoint or "", who)
        if not _counts().add(limit, *what):
            raise _refusal(limit, what)


def _limit_failures(view: Callable[P, Any], *rules: tuple[str, Callable[[], str]]) -> Callable[P, Response]:
    """Refuse a view to whoever failed too often: it raises then, or answers with 422."""

    @functools.wraps(view)
    def limited(*args: P.args, **kwargs: P.kwargs) -> Response:
        counted = [(limit, (request.endpoint or "", who())) for text, who in rules for limit in _rules(text)]
        for limit, what in counted:
            if not _counts().has_room(limit, *what):
                raise _refusal(limit, what)
        has_failed = True
        try:
            response: Response = make_response(view(*args, **kwargs))
            has_failed = response.status_code == 422
        finally:
            if has_failed:
                for limit, what in counted:
                    _counts().add(limit, *what)
        return response

    return limited


def _refusal(limit: RateLimitItem, what: tuple[str, ...]) -> TooMany:
    return TooMany(f"at most {limit} are taken here", retry_after=_counts().seconds_left(limit, *what))


def _who() -> str:
    """Who asks: the bearer of an address with a token, whoever is signed in, or somebody at an address."""
    token = (request.view_args or {}).get("token")
    if token is not None and request.path.startswith("/a/"):
        return f"work:{token}"
    return f"user:{current_user.id}" if current_user.is_authenticated else remote_network()


def _account() -> str:
    """Whose password is tried: at signing in anybody's, whoever is signed in; everywhere else one's own."""
    is_own = request.endpoint != "accounts.sign_in"
    email: str = current_user.email if is_own else request.form.get("email", "")
    return "account:" + email.strip().lower()


def _waiting_account() -> str:
    return f"code:{session.get('waiting', {}).get('user', '')}"
