"""Parameters that are sent with a prompt, under the names of the chosen provider."""

from typing import Any

from spanplat.llm.providers.choice import client_of
from spanplat.schemas.model_settings import ModelSettings


def sent_parameters(settings: ModelSettings) -> dict[str, Any]:
    """Return the parameters of a request: limit and reasoning under the provider's names, other parameters unchanged."""
    client = client_of(settings)
    # The definition's own parameters come last, so that they can replace ours.
    return {**client.sent_limit(settings), **client.sent_reasoning(settings), **settings.parameters}


def sends_budget(settings: ModelSettings) -> bool:
    """Return whether the provider receives and enforces the budget of reasoning. If not, the prompt has to state it."""
    if settings.reasoning is None or settings.reasoning.budget is None:
        return False
    return client_of(settings).sends_budget(settings)
