"""Keys of model providers: read from the environment when they are used, and kept nowhere."""

import os
import re

from dotenv import dotenv_values

from spanplat.errors import InvalidInput
from spanplat.schemas.model_settings import ModelSettings

HIDDEN = "[key hidden]"
SHORTEST_KEY = 8
_LOOKS_LIKE_KEY = re.compile(
    r"\b(?:sk|pk|xai|gsk|hf|key|AIza)[-_][\w*.…-]{6,}|Bearer\s+(?!\[key hidden\])\S+", re.IGNORECASE
)


def find_key(variable: str) -> str | None:
    """Return a provider's key from the environment, or from ``.env`` as the other settings are; None where it is not set."""
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
    """Tell whether a definition asks the provider itself, over a safe connection, and not some other server."""
    address = settings.base_url
    if address is None:
        return True
    return address.scheme == "https" and (address.host == host or str(address.host).endswith(f".{host}"))


def find_key_of(settings: ModelSettings, variable: str, *, own: bool) -> str | None:
    """Return the key that the server of a definition gets.

    Parameters
    ----------
    settings
        Of the model. The variable they name is read whatever the address.
    variable
        Where the provider's own key is.
    own
        Whether the address is the provider's own: no other gets its key unless the settings say so.

    Raises
    ------
    InvalidInput
        If the key is not set.
    """
    if settings.key_variable is not None:
        return require_key(settings.key_variable)
    return require_key(variable) if own else None


def without_keys(text: str, *keys: str | None) -> str:
    """Return a text in which keys, and what looks like one, are hidden: servers quote them in their errors."""
    for key in keys:
        if key and len(key) >= SHORTEST_KEY:  # a placeholder such as "x" stands in every other word
            text = text.replace(key, HIDDEN)
    return _LOOKS_LIKE_KEY.sub(HIDDEN, text)
