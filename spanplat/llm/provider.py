"""What a run asks of a model provider, and what comes back."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, runtime_checkable

from spanplat.errors import SpanplatError
from spanplat.llm.allowance import Allowance
from spanplat.llm.item import AskedItem

FinishReason = Literal["stop", "length", "refusal", "other"]
CLOCKS_DIFFER = timedelta(minutes=10)
FailureKind = Literal["timeout", "connection", "unreachable", "status", "unintelligible"]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Request:
    """One question to a model: the item itself for offline annotators, the messages made of it for language models."""

    item: AskedItem
    messages: Sequence[Message] = ()
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the reply, where one is asked for."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Sent as they stand."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, as the provider counts them."""

    input_tokens: int = 0
    """With those read from a cache."""
    output_tokens: int = 0
    """With those spent on reasoning."""
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens read from a cache."""
    cache_write_tokens: int = 0


@dataclass(frozen=True)
class Completion:
    """What a provider answered to one request."""

    text: str
    """The reply's text, without the reasoning where the provider keeps it apart."""
    model_version: str
    """As the provider reports it."""
    response: Mapping[str, Any]
    """As received."""
    reasoning: str = ""
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    latency: float = 0.0
    """Seconds."""
    allowance: Allowance | None = None
    """What may still be asked, where the provider says so."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Answers about the whole item, from annotators that give them beside their reply."""


class CallFailed(SpanplatError):
    """A call that brought no reply.

    Parameters
    ----------
    message
        What happened, without any key.
    kind
        ``status`` when the provider said so, ``unintelligible`` when what it sent is not its protocol, ``unreachable`` when it was not
        reached, so that nobody has billed anything.
    status
        HTTP status, of kind ``status``.
    code
        The provider's own name for the problem.
    retry_after
        Seconds after which the provider wants to be asked again.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: FailureKind = "status",
        status: int | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.status = status
        self.code = code
        self.retry_after = retry_after


class Provider(Protocol):
    """Something that annotates: a model behind an interface, or an offline baseline."""

    @property
    def name(self) -> str:
        """Identify the annotator: provider, model and whatever else makes it this one."""
        ...

    def body(self, request: Request) -> dict[str, Any]:
        """Return what `complete` sends, without any key; it is stored and hashed."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Ask once.

        Raises
        ------
        CallFailed
            If no reply came.
        """
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


@dataclass(frozen=True)
class BatchState:
    """How far a provider is with a batch of requests."""

    ended: bool
    """Whether its results can be fetched."""
    done: int = 0
    failed: int = 0
    error: str | None = None
    """Why the batch as a whole came to nothing."""
    is_too_large: bool = False
    """Whether that is because the provider takes no more tokens at a time."""
    cancelling: bool = False
    """Whether it is to stop, and has not yet."""


def batch_mark(key: str) -> str:
    """Return what the ids of a batch's requests begin with, so that the batch can be known by its results.

    >>> batch_mark("somewhere:17:0a1b:9f8e")
    '9f8e-'
    """
    return key.rpartition(":")[2] + "-"


@dataclass(frozen=True)
class HandedIn:
    """A batch that was handed in, as far as is known, without the provider's answer being stored."""

    key: str
    requests: int
    """How many it holds."""
    since: datetime
    """When it was about to be handed in."""
    others: frozenset[str] = frozenset()
    """The provider's ids of batches that are known to be others."""

    @property
    def mark(self) -> str:
        """What the ids of its requests begin with."""
        return batch_mark(self.key)

    @property
    def earliest(self) -> datetime:
        """When the provider can have made it at the earliest, for clocks differ."""
        return self.since - CLOCKS_DIFFER


@dataclass(frozen=True)
class BatchSearch:
    """What a search for a batch found."""

    batch: str | None = None
    """The provider's id of it."""
    unclear: bool = False
    """Whether a batch is under way of which nobody can tell yet whether it is this one."""


@runtime_checkable
class BatchProvider(Provider, Protocol):
    """A provider that also takes many requests at once, at a lower price and without a promise when."""

    async def submit_batch(self, key: str, requests: Mapping[str, Request]) -> str:
        """Hand in requests by id, and return the provider's id of the batch.

        Parameters
        ----------
        key
            Names the batch, also at the provider where it can be named there.
        requests
            The requests, by ids of up to 64 letters, digits and hyphens that begin with the batch's mark.
        """
        ...

    async def find_batch(self, batch: HandedIn) -> BatchSearch:
        """Look at the provider's for a batch whose id was lost."""
        ...

    async def batch_state(self, batch: str) -> BatchState:
        """Tell how far a batch is."""
        ...

    def batch_results(self, batch: str) -> AsyncIterator[tuple[str, Completion | CallFailed]]:
        """Yield the results of a batch that has ended, by the requests' ids, in any order."""
        ...

    async def cancel_batch(self, batch: str) -> None:
        """Ask the provider to stop; what it has done by then can still be fetched."""
        ...
