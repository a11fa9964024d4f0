"""Rate limits for requests that guess a secret, change something or cost much time."""

import functools
from collections.abc import Callable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any, ParamSpec, TypeVar

from flask import Flask, current_app, make_response, request, session
from flask_login import current_user
from limits import RateLimitItem, RateLimitItemPerMinute, parse_many
from werkzeug.wrappers import Response

from spanplat.errors import TooMany, user_message
from spanplat.settings import Settings
from spanplat.web.counts import SharedCounts

P = ParamSpec("P")
R = TypeVar("R")

MOST_CHANGES = "600 per minute"
"""Limit of changes of one kind by one account or annotator. People make fewer by hand, and the server bears so many."""


def init_app(app: Flask, settings: Settings) -> None:
    """Count the changes of each user, and prepare the counts for the decorators below."""
    # A setting of the app, so that tests can reach the limit with few requests.
    app.config.setdefault("SPANPLAT_MOST_CHANGES", MOST_CHANGES)
    app.extensions["spanplat_counts"] = SharedCounts(settings.redis)
    app.before_request(_count_change)


def remote_network() -> str:
    """Return the client's IPv4 address, or the /64 network of its IPv6 address, because one household has 2⁶⁴ of those."""
    try:
        address = ip_address((request.remote_addr or "").partition("%")[0])
    except ValueError:  # a Unix socket has no address
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
    """Allow 120 estimates of a password's strength a minute from one address; the form asks while somebody types."""

    @functools.wraps(view)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        _count("120 per minute", remote_network())
        return view(*args, **kwargs)

    return limited


def limit_arrivals() -> None:
    """Count the arrival of a new annotator by a public link.

    Raises
    ------
    TooMany
        If more than `Settings.arrivals_per_minute` came from the same network within a minute.
    """
    settings: Settings = current_app.extensions["spanplat_settings"]
    limit, who = RateLimitItemPerMinute(settings.arrivals_per_minute), f"arrivals:{remote_network()}"
    if not _counts().add(limit, who):
        raise TooMany(
            user_message(
                "very many people are coming in from your network just now; please open the link again in a minute"
            ),
            retry_after=_counts().seconds_left(limit, who),
        )


def _counts() -> SharedCounts:
    counts: SharedCounts = current_app.extensions["spanplat_counts"]
    return counts


@functools.cache
def _rules(text: str) -> Sequence[RateLimitItem]:
    return parse_many(text)


def _count_change() -> None:
    """Count a request that may change something; reading is not limited."""
    if request.method not in ("GET", "HEAD", "OPTIONS") and request.endpoint is not None:
        _count(current_app.config["SPANPLAT_MOST_CHANGES"], _who())


def _count(rules: str, who: str) -> None:
    for limit in _rules(rules):
        what = (request.endpoint or "", who)
        if not _counts().add(limit, *what):
            raise _refusal(limit, what)


def _limit_failures(view: Callable[P, Any], *rules: tuple[str, Callable[[], str]]) -> Callable[P, Response]:
    """Refuse a view after too many failures. A failure is an exception or an answer with status 422."""

    @functools.wraps(view)
    def limited(*args: P.args, **kwargs: P.kwargs) -> Response:
        counted = [(limit, (request.endpoint or "", who())) for text, who in rules for limit in _rules(text)]
        # Tested first and counted afterwards, because a success must not use up the limit.
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
    return TooMany(
        f"too many requests; at most {limit} are accepted here", retry_after=_counts().seconds_left(limit, *what)
    )


def _who() -> str:
    """Return who sends the request: the annotator's token, the signed-in user or the network."""
    token = (request.view_args or {}).get("token")
    if token is not None and request.path.startswith("/a/"):
        return f"work:{token}"
    return f"user:{current_user.id}" if current_user.is_authenticated else remote_network()


def _account() -> str:
    """Return the account whose password is tried: the one in the sign-in form, elsewhere the user's own."""
    is_own = request.endpoint != "accounts.sign_in"
    email: str = current_user.email if is_own else request.form.get("email", "")
    return "account:" + email.strip().lower()


def _waiting_account() -> str:
    return f"code:{session.get('waiting', {}).get('user', '')}"
