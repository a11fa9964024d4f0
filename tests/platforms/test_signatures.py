"""Signed start links: only a token that the platform signed, for this address, now, about these very ids, lets anybody in."""

import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from spanplat.errors import NotAllowed
from spanplat.platforms.arrivals import read_arrival
from spanplat.platforms.signatures import require_signature
from spanplat.schemas.platform import PlatformSettings, SignedLinks

AUDIENCE = "https://annotate.example.org"
IDS = {"PROLIFIC_PID": "ann", "STUDY_ID": "study", "SESSION_ID": "session"}
KEY, OTHER_KEY = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


def key_set(key: rsa.RSAPrivateKey = KEY, kid: str = "k1") -> dict[str, Any]:
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    return {"keys": [public | {"kid": kid, "alg": "RS256", "use": "sig"}]}


def signed(key: Any = KEY, *, kid: str = "k1", algorithm: str = "RS256", **changes: Any) -> str:
    claims = {"aud": AUDIENCE, "exp": time.time() + 36_000, "prolific": {"workspace_id": "w", **IDS}} | changes
    present = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(present, key, algorithm=algorithm, headers={"kid": kid})


SETTINGS = SignedLinks(audience=AUDIENCE, keys=key_set())


def come(token: str | None, ids: dict[str, str] = IDS, settings: SignedLinks = SETTINGS) -> str:
    query = ids | ({} if token is None else {settings.parameter: token})
    arrival = read_arrival(PlatformSettings(service="prolific", signed=settings), query)
    require_signature(settings, query, arrival)
    return arrival.person


def test_a_link_that_the_platform_signed_lets_in() -> None:
    assert come(signed()) == "ann"
    assert come(signed(prolific={"participant": "ann", "more": {"study": ["study"], "submission": "session"}})) == "ann"


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        (None, "this one is not signed"),
        ("nonsense", "not valid"),
        (signed(exp=time.time() - 60), "expired"),
        (signed(exp=None), "not valid"),
        (signed(aud="https://other.example.org"), "not valid"),
        (signed(aud=None), "not valid"),
        (signed(OTHER_KEY), "not valid"),
        (signed(OTHER_KEY, kid="k2"), "not valid"),
        (signed("a secret that is long enough to be one", algorithm="HS256"), "not valid"),
        (signed(prolific=IDS | {"PROLIFIC_PID": "bob"}), "another person or study"),
        (signed(prolific=IDS | {"STUDY_ID": "other"}), "another person or study"),
        (signed(prolific=None), "another person or study"),
    ],
)
def test_any_other_is_turned_away_with_the_reason(token: str | None, problem: str) -> None:
    with pytest.raises(NotAllowed, match=problem):
        come(token)


def test_a_token_without_a_signature_is_none() -> None:
    head, claims, _signature = signed().split(".")
    unsigned = jwt.utils.base64url_encode(b'{"alg": "none", "typ": "JWT", "kid": "k1"}').decode()
    for token in (f"{unsigned}.{claims}.", f"{head}.{claims}."):
        with pytest.raises(NotAllowed, match="not valid"):
            come(token)


def test_keys_are_read_over_https_only() -> None:
    with pytest.raises(ValueError, match="over https only"):
        SignedLinks.model_validate({"audience": AUDIENCE, "keys_url": "http://keys.example.org/jwks.json"})
