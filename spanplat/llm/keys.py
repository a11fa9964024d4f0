"""Keys of model providers. They are read from the environment when needed, and stored nowhere."""

import os
import re

from dotenv import dotenv_values

from spanplat.errors import InvalidInput
from spanplat.schemas.model_settings import ModelSettings

HIDDEN = "[key hidden]"
SHORTEST_KEY = 8
# Prefixes of the keys of several providers. The character class includes signs with which servers shorten a key that
# they quote (sk-ab***yz). The lookahead keeps a key that is hidden already from being hidden twice.
_LOOKS_LIKE_KEY = re.compile(
    r"\b(?:sk|pk|xai|gsk|hf|key|AIza)[-_][\w*.…-]{6,}|Bearer\s+(?!\[key hidden\])\S+", re.IGNORECASE
)


def find_key(variable: str) -> str | None:
    """Return a provider's key from the environment or, like other settings, from ``.env``. Return None if it is not set."""
    value = os.environ.get(variable) or dotenv_values(".env").get(variable)
    return value.strip() if value and value.strip() else None


def require_key(variable: str) -> str:
    """Return a provider's key.

    Raises
    ------
    InvalidInput
        If it is not set.
    """
    key = find_key(variable)
    if key is None:
        raise InvalidInput(
            f"the model's provider needs a key: set the environment variable {variable}, for the worker too; "
            "it is stored nowhere"
        )
    return key


def is_own_address(settings: ModelSettings, host: str) -> bool:
    """Return whether a definition uses the provider's own server, over HTTPS."""
    address = settings.base_url
    if address is None:
        return True
    # Over plain HTTP the key could be read on the way. Subdomains are regions of the provider (eu.api.openai.com); the
    # dot keeps other hosts out whose names only end alike.
    return address.scheme == "https" and (address.host == host or str(address.host).endswith(f".{host}"))


def find_key_of(settings: ModelSettings, variable: str, *, own: bool) -> str | None:
    """Return the key to send to the server of a definition.

    Parameters
    ----------
    settings
        Settings of the model. The variable that they name is read for any address.
    variable
        Environment variable with the provider's own key.
    own
        Whether the address is the provider's own. Another server gets this key only if the settings name its variable.

    Raises
    ------
    InvalidInput
        If the key is not set.
    """
    if settings.key_variable is not None:
        return require_key(settings.key_variable)
    return require_key(variable) if own else None


def without_keys(text: str, *keys: str | None) -> str:
    """Hide keys, and words that look like keys, in a text. Servers quote keys in their error messages."""
    for key in keys:
        if key and len(key) >= SHORTEST_KEY:  # a placeholder such as "x" occurs in many words
            text = text.replace(key, HIDDEN)
    return _LOOKS_LIKE_KEY.sub(HIDDEN, text)
