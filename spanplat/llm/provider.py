"""Protocol of model providers: requests, replies, failures and batches."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, runtime_checkable

from spanplat.errors import SpanplatError
from spanplat.llm.allowance import Allowance
from spanplat.llm.item import AskedItem

FinishReason = Literal["stop", "length", "refusal", "other"]
CLOCKS_DIFFER = timedelta(minutes=10)
"""Largest difference that is expected between our clock and the provider's."""
FailureKind = Literal["timeout", "connection", "unreachable", "status", "unintelligible"]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Request:
    """One request to a model. Offline annotators read the item itself, language models the messages made of it."""

    item: AskedItem
    messages: Sequence[Message] = ()
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the reply, if the reply is to be JSON."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that are sent unchanged."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, as counted by the provider."""

    input_tokens: int = 0
    """Input tokens, including those read from a cache."""
    output_tokens: int = 0
    """Output tokens, including those of the reasoning."""
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens read from a cache."""
    cache_write_tokens: int = 0


@dataclass(frozen=True)
class ModelReply:
    """Reply of a provider to one request."""

    text: str
    """Text of the reply, without the reasoning if the provider separates it."""
    model_version: str
    """Version of the model, as the provider reports it."""
    response: Mapping[str, Any]
    """Response as received."""
    reasoning: str = ""
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    latency: float = 0.0
    """Seconds."""
    allowance: Allowance | None = None
    """Remaining requests and tokens, if the provider reports them."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Answers about the whole item, from annotators that give them separately from the text."""


class CallFailed(SpanplatError):
    """A call that brought no reply.

    Parameters
    ----------
    message
        Description of the failure, without any key.
    kind
        ``status`` if the provider reported an error, ``unintelligible`` if its response breaks the protocol, ``unreachable`` if there
        was no connection, so that nothing can have been billed.
    status
        HTTP status, for kind ``status``.
    code
        The provider's own name for the problem.
    retry_after
        Seconds that the provider asks to wait before a retry.
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
    """An annotator: a model behind an interface, or an offline baseline."""

    @property
    def name(self) -> str:
        """Name that identifies the annotator, for example by provider and model."""
        ...

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body that `complete` sends, without any key. It is stored and hashed."""
        ...

    async def complete(self, request: Request) -> ModelReply:
        """Send a request once, without retries.

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
    """State of a batch of requests at the provider."""

    ended: bool
    """Whether its results can be fetched."""
    done: int = 0
    failed: int = 0
    error: str | None = None
    """Reason why the batch as a whole failed."""
    is_too_large: bool = False
    """Whether it failed because it had more tokens than the provider takes at a time."""
    cancelling: bool = False
    """Whether the provider is stopping it, and has not finished."""


def batch_mark(key: str) -> str:
    """Return the prefix of the ids of a batch's requests. It identifies the batch by its results.

    >>> batch_mark("somewhere:17:0a1b:9f8e")
    '9f8e-'
    """
    return key.rpartition(":")[2] + "-"


@dataclass(frozen=True)
class SubmittedBatch:
    """A batch that was probably submitted. The provider's answer was not stored."""

    key: str
    requests: int
    """Number of its requests."""
    since: datetime
    """Time just before it was submitted."""
    others: frozenset[str] = frozenset()
    """The provider's ids of other batches that are already known."""

    @property
    def mark(self) -> str:
        """Prefix of the ids of its requests."""
        return batch_mark(self.key)

    @property
    def earliest(self) -> datetime:
        """Earliest time at which the provider can have created it. The two clocks may differ."""
        return self.since - CLOCKS_DIFFER


@dataclass(frozen=True)
class BatchSearch:
    """Result of a search for a batch."""

    batch: str | None = None
    """The provider's id of the batch, if it was found."""
    unclear: bool = False
    """Whether a batch is under way that may be this one."""


@runtime_checkable
class BatchProvider(Provider, Protocol):
    """A provider that also takes many requests at once, at a lower price and without a fixed time."""

    async def submit_batch(self, key: str, requests: Mapping[str, Request]) -> str:
        """Submit requests by id, and return the provider's id of the batch.

        Parameters
        ----------
        key
            Our name for the batch. It is sent if the provider stores names.
        requests
            Requests by id. An id has up to 64 letters, digits and hyphens, and begins with the batch's mark.
        """
        ...

    async def find_batch(self, batch: SubmittedBatch) -> BatchSearch:
        """Search the provider for a batch whose id was lost."""
        ...

    async def batch_state(self, batch: str) -> BatchState:
        """Return the state of a batch."""
        ...

    def batch_results(self, batch: str) -> AsyncIterator[tuple[str, ModelReply | CallFailed]]:
        """Yield the results of an ended batch with the ids of their requests, in any order."""
        ...

    async def cancel_batch(self, batch: str) -> None:
        """Ask the provider to stop a batch. The results so far can still be fetched."""
        ...
