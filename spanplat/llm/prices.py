"""Cost of calls, by the price list of ``genai-prices``. An unknown price is None, never 0."""

import contextlib
from decimal import Decimal
from typing import TYPE_CHECKING

from spanplat.llm.provider import Usage
from spanplat.schemas.model_settings import ModelSettings

if TYPE_CHECKING:
    from genai_prices import Usage as ListedUsage

BATCH_SHARE = Decimal("0.5")
"""Share of the price for calls in a batch. Both providers charge half."""
_MILLION = 1_000_000


def cost_of(settings: ModelSettings, usage: Usage, model_version: str = "") -> float | None:
    """Return the cost of a call.

    Parameters
    ----------
    settings
        Settings of the model. Their ``price`` comes before the list. A server that is not in the list counts as a gateway with the
        provider's prices.
    usage
        Tokens of the call.
    model_version
        Version that the provider reports. If the list does not have it, the name in the settings counts.

    Returns
    -------
    float or None
        US dollars, or None if the model's price is not known.
    """
    if settings.is_offline:
        return 0.0
    if settings.price is not None:
        price = settings.price
        whole = (usage.input_tokens * price.input + usage.output_tokens * price.output) / _MILLION
        return whole * price.batch if settings.mode == "batch" else whole
    names = [name for name in (model_version, settings.model) if name]
    for name in names:
        listed = _listed(settings, name, usage)
        if listed is not None:
            share = BATCH_SHARE if settings.mode == "batch" else Decimal(1)
            return float(listed * share)
    return None


def _listed(settings: ModelSettings, model: str, usage: Usage) -> Decimal | None:
    from genai_prices import calc_price  # noqa: PLC0415 (its list takes a moment to load)

    # First the prices of the server itself, such as DeepSeek's. A gateway that the list does not know has the
    # provider's prices.
    if settings.base_url is not None:
        with contextlib.suppress(LookupError, ValueError):  # no provider of this address, or not with this model
            return calc_price(_usage(usage), model, provider_api_url=str(settings.base_url)).total_price
    with contextlib.suppress(LookupError, ValueError):
        return calc_price(_usage(usage), model, provider_id=settings.provider).total_price
    return None


def _usage(usage: Usage) -> "ListedUsage":
    from genai_prices import Usage as Listed  # noqa: PLC0415

    return Listed(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
