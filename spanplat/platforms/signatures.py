"""Verification of signed start links: a JSON Web Token (RS256) from the platform confirms the ids in the link."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jwt

from spanplat.errors import NotAllowed, Unavailable, user_message
from spanplat.platforms.platform import Arrival
from spanplat.schemas.platform import SignedLinks

ALGORITHM = "RS256"
ONE_DAY = 24 * 3600
SECONDS_TO_ANSWER = 5
LEEWAY = 30
"""Seconds by which the clocks of platform and server may differ."""


def require_signature(settings: SignedLinks, query: Mapping[str, str], arrival: Arrival) -> None:
    """Raise unless the platform's signature confirms an arrival.

    Parameters
    ----------
    settings
        Expected token and its issuer.
    query
        Query of the start link.
    arrival
        Arrival that was read from the same query.

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
            user_message(
                "this study takes signed links only, and this one is not signed; please open the study from its platform again"
            )
        )
    try:
        claims = jwt.decode(
            token,
            _key_of(settings, token),
            # Never the token's own choice, which could be "none" or a weaker algorithm.
            algorithms=[ALGORITHM],
            audience=settings.audience,
            leeway=LEEWAY,
            # PyJWT checks only claims that are present, so these must be present.
            options={"require": ["exp", "aud"]},
        )
    except jwt.ExpiredSignatureError as error:
        raise NotAllowed(
            user_message("this link has expired; please open the study from its platform again")
        ) from error
    except jwt.InvalidTokenError as error:
        raise NotAllowed(
            user_message("the signature of this link is not valid; please open the study from its platform again")
        ) from error
    vouched = set(_texts(claims.get(settings.claim)))
    ids = {value for name, value in arrival.parameters.items() if name != settings.parameter}
    # All ids: a valid token of one person must not confirm a link with another person's id beside it.
    if not ids or not ids <= vouched:
        raise NotAllowed(
            user_message(
                "the signature of this link belongs to another person or study; please open the study from its platform again"
            )
        )


def _key_of(settings: SignedLinks, token: str) -> jwt.PyJWK:
    """Return the key of the platform whose id the token names."""
    if settings.keys is None:
        try:
            return _published_keys(str(settings.keys_url)).get_signing_key_from_jwt(token)
        except jwt.PyJWKClientConnectionError as error:
            raise Unavailable(
                user_message(
                    "the platform's keys cannot be read just now; please open the study from its platform again"
                )
            ) from error
        except jwt.PyJWKClientError as error:
            raise jwt.InvalidTokenError(str(error)) from error
    # The header is not verified yet, but it only selects one of the platform's own keys.
    wanted = jwt.get_unverified_header(token).get("kid")
    for key in jwt.PyJWKSet.from_dict(settings.keys).keys:
        if key.key_id == wanted:
            return key
    raise jwt.InvalidTokenError(f"there is no key {wanted!r}")


@lru_cache(maxsize=32)
def _published_keys(url: str) -> jwt.PyJWKClient:
    # One client for each address, because the client caches the keys.
    return jwt.PyJWKClient(url, cache_jwk_set=True, lifespan=ONE_DAY, timeout=SECONDS_TO_ANSWER)


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a claim, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
