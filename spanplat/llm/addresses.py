"""Servers of models that may be asked. Definitions name them, and the operator can restrict them."""

from spanplat.errors import InvalidInput
from spanplat.schemas.model_settings import ModelSettings
from spanplat.settings import load_settings


def allowed_address(settings: ModelSettings, own: str) -> str:
    """Return the address of a model's server.

    Parameters
    ----------
    settings
        Settings of the model.
    own
        The provider's own address, for definitions that name none.

    Raises
    ------
    InvalidInput
        If the operator listed the servers that may be asked (``SPANPLAT_MODEL_HOSTS``), and this one is not in the list.
    """
    address = settings.base_url
    if address is None:
        return own
    # Definitions name any address. Without the operator's list, the author of a campaign could send requests from this
    # machine to servers inside its network.
    allowed = load_settings().model_hosts.split()
    if allowed and not {f"{address.host}", f"{address.host}:{address.port}"} & set(allowed):
        raise InvalidInput(
            f"model.base_url: {address.host}:{address.port} is none of the servers that may be asked here ({', '.join(allowed)}); "
            "the operator can add it to SPANPLAT_MODEL_HOSTS"
        )
    return str(address)
