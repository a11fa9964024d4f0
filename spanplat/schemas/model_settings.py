"""Settings of a language model as an annotator."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, HttpUrl, field_validator, model_validator

from spanplat.schemas.base import PathInValue, Strict, refuse
from spanplat.schemas.prompt_settings import PromptSettings
from spanplat.schemas.protocols import Protocol, fill_protocol
from spanplat.schemas.providers import PROVIDER_NAMES, PROVIDERS, ProviderProfile

if TYPE_CHECKING:
    ProviderName = str
else:
    # From the registry, so that each of its names is a choice in definitions and forms. mypy needs a static type instead.
    ProviderName = Literal[PROVIDER_NAMES]

ReplyFormat = Literal["schema", "tool", "json", "text"]

LONG_REPLY = 16_384
"""Tokens; a reply that may be longer is streamed, because networks close connections that are silent for minutes."""
LONG_WAIT = 600.0
"""Seconds; replies are streamed if the time-out is longer."""
_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
"""Names of the limit of tokens in the providers' interfaces."""
_SECRET_WORDS = ("api_key", "apikey", "authorization", "password", "secret", "bearer", "headers")


class Price(Strict):
    """Price of a model that is missing or wrong in the price list of spanplat."""

    input: float = Field(ge=0)
    """US dollars for a million input tokens."""
    output: float = Field(ge=0)
    """US dollars for a million output tokens."""
    batch: float = Field(default=0.5, ge=0, le=1)
    """Share of these prices that calls in ``mode: batch`` cost."""


class ModelSettings(PromptSettings):
    """The model that annotates, the form of its calls, and their limits."""

    provider: ProviderName
    """``overlap`` is the offline baseline; an OpenAI-compatible server is ``openai`` with a ``base_url``."""
    model: str = ""
    """Name of the model as the provider spells it; not needed for ``overlap``."""
    category: str | None = None
    """For ``overlap``: key or name of the category its spans get; the first category by default."""
    base_url: HttpUrl | None = None
    """Address of a server that speaks the provider's interface, such as ``http://127.0.0.1:11434/v1``."""
    key_variable: str | None = Field(default=None, pattern=r"^[A-Z][A-Z0-9_]*_API_KEY$")
    """Environment variable with the key that the server gets, in place of ``OPENAI_API_KEY`` or ``ANTHROPIC_API_KEY``.

    These two are sent to the providers' own addresses only, unless they are named here.
    """
    interface: Literal["chat", "responses"] = "chat"
    """For ``openai``: chat completions, which all compatible servers speak, or responses."""
    protocol: Protocol | None = None
    """A published protocol, whose settings are filled in: ``three-seeds`` (seeds 42, 1738 and 1234 at temperature 0.001 and
    top-p 1, up to 1,024 tokens), ``three-seeds-short`` (up to 128 tokens), ``reasoning`` (medium effort, 4,096 tokens of reasoning
    of 32,768 in all, two final instructions). A study can ask several models by one protocol, and average them."""
    reply_format: ReplyFormat = "schema"
    """Request for the form of a reply: by JSON Schema, by a tool (``anthropic``), as any JSON (``openai``), or in words only."""
    mode: Literal["direct", "batch"] = "direct"
    """``batch`` sends all questions at once, at half the price, and waits up to a day for the replies."""
    stream: bool | None = None
    """Whether replies come as streams, so that no connection is silent for long; by default if a reply may take more than 16,384
    tokens or 10 minutes."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Maximum number of tokens of a reply, including reasoning; sent by the name that the interface has for it."""
    parameters: dict[str, Any] = {}
    """Parameters that are sent to the provider unchanged: temperature, top_p, … From a list of seeds, each repeat takes its own."""
    repeats: int = Field(default=1, ge=1)
    """Number of questions about each item; every repeat is a separate annotator."""
    concurrency: int = Field(default=8, ge=1, le=256)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=300, gt=0, le=3600)
    """Seconds after which a call counts as failed."""
    attempts: int = Field(default=6, ge=1, le=20)
    """Calls for one item before it counts as failed; only temporary failures are tried again."""
    price: Price | None = None
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars that the campaign's calls may cost in all; a run stops before it would cost more."""

    @model_validator(mode="before")
    @classmethod
    def _as_the_protocol_says(cls, value: Any) -> Any:
        return fill_protocol(value) if isinstance(value, dict) and value.get("protocol") else value

    @field_validator("base_url")
    @classmethod
    def _without_credentials(cls, value: HttpUrl | None) -> HttpUrl | None:
        # Definitions are stored, exported and shown, so they must not contain a secret.
        if value is not None and (value.username or value.password or value.query):
            raise ValueError("write the address without name, password or query; the key comes from the environment")
        return value

    @field_validator("parameters")
    @classmethod
    def _without_secrets(cls, value: dict[str, Any]) -> dict[str, Any]:
        no_place = "has no place here: parameters are stored; the key comes from the environment"
        secret = [name for name in value if any(word in name.lower() for word in _SECRET_WORDS)]
        refuse(((name,), f"{name!r} {no_place}") for name in secret)
        if "stream" in value:  # as a parameter it would change the form of the response, which the client must know
            refuse([(("stream",), "'stream' has no place here; write model.stream")])
        return value

    @model_validator(mode="after")
    def _askable(self) -> "ModelSettings":
        refuse((*self._mistakes_in_asking(), *self._mistakes_in_limits()))
        return self

    def _mistakes_in_asking(self) -> Iterator[tuple[PathInValue, str]]:
        profile = self.profile
        if not profile.is_offline and not self.model:
            yield ("model",), "name the model as the provider spells it (model: {provider: …, model: …})"
        if self.reply_format not in profile.reply_formats:
            message = f"reply_format {self.reply_format!r} is not for {self.provider!r}; use schema or text"
            yield ("reply_format",), message
        if self.mode == "batch" and not profile.takes_batches:
            names = " or ".join(provider.name for provider in PROVIDERS if provider.takes_batches)
            yield ("mode",), f"mode 'batch' needs a provider that takes batches: {names}"

    def _mistakes_in_limits(self) -> Iterator[tuple[PathInValue, str]]:
        repeated = [name for name in _LIMITS if name in self.parameters]
        if self.max_tokens is not None and repeated:
            message = f"the longest reply is stated twice; leave out max_tokens, or parameters.{repeated[0]}"
            yield ("max_tokens",), message
        reasoning = self.reasoning
        if reasoning is None:
            return
        budget, limit = reasoning.budget, self.reply_limit
        if budget is not None and limit is not None and budget >= limit:
            message = f"reasoning.budget is {budget}, which leaves nothing of {limit} tokens for the answer"
            yield ("reasoning", "budget"), message
        least = self.profile.least_budget
        if least is not None and budget is not None and budget < least:
            message = f"reasoning.budget is {budget}; {self.provider} takes {least} or more"
            yield ("reasoning", "budget"), message
        if not self.is_offline and budget is not None and self.reply_format == "tool":
            message = f"a model of {self.provider} cannot think and be made to use a tool; use reply_format schema"
            yield ("reply_format",), message
        if reasoning.budget_for not in ("auto", "words") and (
            not self.profile.has_other_servers or self.interface != "chat" or self.base_url is None
        ):
            names = " or ".join(provider.name for provider in PROVIDERS if provider.has_other_servers)
            message = f"reasoning.budget_for {reasoning.budget_for!r} is for provider {names} with a base_url and interface chat"
            yield ("reasoning", "budget_for"), message

    @property
    def profile(self) -> ProviderProfile:
        """Profile of the provider."""
        return next(provider for provider in PROVIDERS if provider.name == self.provider)

    @property
    def is_offline(self) -> bool:
        """Whether the provider is the offline annotator, which gets no prompt."""
        return self.profile.is_offline

    @property
    def reply_limit(self) -> int | None:
        """Greatest number of tokens of a reply; None if no setting limits it."""
        given = [value for name in _LIMITS if isinstance(value := self.parameters.get(name), int)]
        return min(given) if given else self.max_tokens

    @property
    def streams(self) -> bool:
        """Whether replies are streamed; never in batches."""
        if self.mode == "batch" or self.stream is not None:
            return self.mode == "direct" and bool(self.stream)
        return (self.reply_limit or 0) > LONG_REPLY or self.timeout > LONG_WAIT
