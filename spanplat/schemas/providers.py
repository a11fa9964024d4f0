"""Registry of model providers, used by definitions, forms, validation and calls.

To add a provider, write a module in `spanplat.llm.providers` that calls it, and add an entry here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

MESSAGES_REPLY_LIMIT = 4096
"""Default limit of the tokens of a reply; Anthropic's interface requires a limit."""


@dataclass(frozen=True)
class ProviderProfile:
    """A provider and the features of its interface."""

    name: str
    """Name in definitions."""
    title: str
    """Name on forms."""
    client: str
    """Class that calls the provider, as ``module:Class``; imported at the first call, because SDKs are slow to import."""
    is_offline: bool = False
    """Whether it runs on this machine without a prompt; it needs no model, no key and no price."""
    reply_formats: tuple[str, ...] = ("schema", "text")
    """Possible values of ``reply_format``."""
    takes_batches: bool = False
    """Whether it has a batch interface."""
    has_other_servers: bool = False
    """Whether other servers have the same interface, but other fields for a budget of reasoning."""
    least_budget: int | None = None
    """Smallest accepted budget of reasoning, in tokens; None if it has no field for a budget."""
    reply_limit: int | None = None
    """Default limit of the tokens of a reply, if the interface requires a limit."""
    not_taken: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Parameters of protocols that it does not accept, by interface."""


PROVIDERS: tuple[ProviderProfile, ...] = (
    ProviderProfile(
        name="overlap",
        title="Offline annotator, without a model",
        client="spanplat.llm.providers.overlap:OverlapAnnotator",
        is_offline=True,
        reply_formats=("schema", "tool", "json", "text"),  # it ignores the setting
    ),
    ProviderProfile(
        name="openai",
        title="OpenAI, or a server that speaks its protocol",
        client="spanplat.llm.providers.openai:OpenAIProvider",
        reply_formats=("schema", "json", "text"),
        takes_batches=True,
        has_other_servers=True,
        not_taken={"responses": frozenset({"seed"})},
    ),
    ProviderProfile(
        name="anthropic",
        title="Anthropic",
        client="spanplat.llm.providers.anthropic:AnthropicProvider",
        reply_formats=("schema", "tool", "text"),
        takes_batches=True,
        least_budget=1024,
        reply_limit=MESSAGES_REPLY_LIMIT,
        # Its newer models refuse top_p together with a temperature.
        not_taken={"chat": frozenset({"seed", "top_p"})},
    ),
)
"""In the order in which forms offer them."""
PROVIDER_NAMES: tuple[str, ...] = tuple(provider.name for provider in PROVIDERS)
LANGUAGE_MODELS: tuple[ProviderProfile, ...] = tuple(provider for provider in PROVIDERS if not provider.is_offline)


def find_provider(name: str) -> ProviderProfile | None:
    """Return the provider with a name; None if there is none."""
    return next((provider for provider in PROVIDERS if provider.name == name), None)
