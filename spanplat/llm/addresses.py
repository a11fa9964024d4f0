"""Which servers of models may be asked: whoever defines a campaign names them, and the operator can say which."""

from spanplat.errors import InvalidInput
from spanplat.schemas.model_settings import ModelSettings
from spanplat.settings import load_settings


def allowed_address(settings: ModelSettings, own: str) -> str:
    """Return the address at which a model is asked.

    Parameters
    ----------
    settings
        Of the model.
    own
        The provider's own address, for definitions that name none.

    Raises
    ------
    InvalidInput
        If the operator named the servers that may be asked (``SPANPLAT_MODEL_HOSTS``), and this is none of them.
    """
    address = settings.base_url
    if address is None:
        return own
    allowed = load_settings().model_hosts.split()
    if allowed and not {f"{address.host}", f"{address.host}:{address.port}"} & set(allowed):
        raise InvalidInput(
            f"model.base_url: {address.host}:{address.port} is none of the servers that may be asked here ({', '.join(allowed)}); "
            "the operator can add it to SPANPLAT_MODEL_HOSTS"
        )
    return str(address)
