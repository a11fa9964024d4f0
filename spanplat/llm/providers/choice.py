"""Which provider a definition asks."""

from spanplat.errors import InvalidInput
from spanplat.llm.provider import Provider
from spanplat.llm.providers.anthropic import AnthropicProvider
from spanplat.llm.providers.openai import OpenAIProvider
from spanplat.llm.providers.overlap import OverlapAnnotator
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.model_settings import ModelSettings


def make_provider(definition: CampaignDefinition) -> Provider:
    """Return the provider of a model campaign; SDKs are imported, and keys read, only now.

    Raises
    ------
    InvalidInput
        If people fill the campaign, a key is missing, or the category of the offline annotator does not exist.
    """
    settings = definition.model
    if settings is None:
        raise InvalidInput(f"campaign {definition.slug!r} is filled by people, not by a model")
    match settings.provider:
        case "openai" | "anthropic":
            return make_language_model(settings)
        case "overlap":
            category = definition.find_category(settings.category) if settings.category else None
            if settings.category and category is None:
                raise InvalidInput(
                    f"model.category is {settings.category!r}, which is not one of the campaign's categories"
                )
            category = category or next(iter(definition.categories), None)
            return OverlapAnnotator(category.key if category else None)


def make_language_model(settings: ModelSettings) -> Provider:
    """Return the language model that settings name; SDKs are imported, and keys read, only now.

    Raises
    ------
    InvalidInput
        If a key is missing.
    """
    return AnthropicProvider(settings) if settings.provider == "anthropic" else OpenAIProvider(settings)
