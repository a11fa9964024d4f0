"""Choice of the provider that a definition names."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from spanplat.errors import InvalidInput
from spanplat.llm.provider import Provider
from spanplat.schemas.categories import Category
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.model_settings import ModelSettings


class Client(Protocol):
    """Interface of the classes that the list of providers names."""

    def of(self, settings: ModelSettings, categories: Sequence[Category] = ()) -> Provider:
        """Return the provider for these settings. Only offline annotators need the campaign's ``categories`` here."""

    def sent_limit(self, settings: ModelSettings) -> dict[str, Any]:
        """Return the limit of a reply under the provider's name for it. Return nothing if the settings do not state it."""

    def sent_reasoning(self, settings: ModelSettings) -> dict[str, Any]:
        """Return effort and budget of reasoning under the provider's names for them."""

    def sends_budget(self, settings: ModelSettings) -> bool:
        """Return whether the provider receives and keeps a budget of reasoning."""


def client_of(settings: ModelSettings) -> Client:
    """Return the class of the provider that the settings name."""
    # Imported by name, because an SDK takes long to load and only one of them is needed.
    module, _, name = settings.profile.client.partition(":")
    return cast("Client", getattr(import_module(module), name))


def make_provider(definition: CampaignDefinition) -> Provider:
    """Return the provider of a model campaign. SDKs are imported and keys are read here, not earlier.

    Raises
    ------
    InvalidInput
        If people fill the campaign, a key is missing, or the category of the offline annotator does not exist.
    """
    settings = definition.model
    if settings is None:
        raise InvalidInput(f"campaign {definition.slug!r} is filled by people, not by a model")
    return client_of(settings).of(settings, definition.categories)


def make_language_model(settings: ModelSettings) -> Provider:
    """Return the language model that the settings name. SDKs are imported and keys are read here, not earlier.

    Raises
    ------
    InvalidInput
        If a key is missing.
    """
    return client_of(settings).of(settings)
