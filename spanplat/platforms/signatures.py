"""Start links that a platform has signed: a JSON Web Token (RS256) that vouches for the ids in the link."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jwt

from spanplat.errors import NotAllowed, Unavailable, say
from spanplat.platforms.arrivals import Arrival
from spanplat.schemas.platform import SignedLinks

ALGORITHM = "RS256"
ONE_DAY = 24 * 3600
SECONDS_TO_ANSWER = 5
LEEWAY = 30
"""Seconds by which clocks may differ."""


def require_signature(settings: SignedLinks, query: Mapping[str, str], arrival: Arrival) -> None:
    """Make sure that the platform vouches for an arrival.

    Parameters
    ----------
    settings
        Which token is expected, and whose.
    query
        Query of the start link.
    arrival
        Who comes, by the same query.

    Raises
    ------
    NotAllowed
        If the token is missing, expired, not signed by the platform, for another address, or about another person or study.
    Unavailable
        If the platform's keys cannot be read.
    """
    token = query.get(settings.parameter, "")
    if not token:
        raise NotAllowed(
            say(
                "this study takes signed links only, and this one is not signed; please open the study from its platform again"
            )
        )
    try:
        claims = jwt.decode(
            token,
            _key_of(settings, token),
            algorithms=[ALGORITHM],
            audience=settings.audience,
            leeway=LEEWAY,
            options={"require": ["exp", "aud"]},
        )
    except jwt.ExpiredSignatureError as error:
        raise NotAllowed(say("this link has expired; please open the study from its platform again")) from error
    except jwt.InvalidTokenError as error:
        raise NotAllowed(
            say("the signature of this link is not valid; please open the study from its platform again")
        ) from error
    vouched = set(_texts(claims.get(settings.claim)))
    ids = {value for name, value in arrival.parameters.items() if name != settings.parameter}
    if not ids or not ids <= vouched:
        raise NotAllowed(
            say(
                "the signature of this link belongs to another person or study; please open the study from its platform again"
            )
        )


def _key_of(settings: SignedLinks, token: str) -> jwt.PyJWK:
    """Return the key that the token says it is signed with."""
    if settings.keys is None:
        try:
            return _published_keys(str(settings.keys_url)).get_signing_key_from_jwt(token)
        except jwt.PyJWKClientConnectionError as error:
            raise Unavailable(
                say("the platform's keys cannot be read just now; please open the study from its platform again")
            ) from error
        except jwt.PyJWKClientError as error:
            raise jwt.InvalidTokenError(str(error)) from error
    wanted = jwt.get_unverified_header(token).get("kid")
    for key in jwt.PyJWKSet.from_dict(settings.keys).keys:
        if key.key_id == wanted:
            return key
    raise jwt.InvalidTokenError(f"there is no key {wanted!r}")


@lru_cache(maxsize=32)
def _published_keys(url: str) -> jwt.PyJWKClient:
    return jwt.PyJWKClient(url, cache_jwk_set=True, lifespan=ONE_DAY, timeout=SECONDS_TO_ANSWER)


def _texts(value: Any) -> Iterator[str]:
    """Yield every text inside a claim, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
