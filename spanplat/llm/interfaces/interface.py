"""Protocol of the wire formats, and their common functions."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from spanplat.llm.provider import CallFailed, ModelReply, Request
from spanplat.schemas.model_settings import ReplyFormat

SCHEMA_NAME = "annotations"


class Interface(Protocol):
    """One wire format."""

    path: str
    """Path of requests, after the server's address."""
    streaming: Mapping[str, Any]
    """Additional fields in the body of a request for a streamed reply."""

    def body(self, model: str, request: Request, reply_format: ReplyFormat) -> dict[str, Any]:
        """Return the body of a request."""
        ...

    def read(self, response: Mapping[str, Any]) -> ModelReply:
        """Read a response.

        Raises
        ------
        CallFailed
            If it does not have the interface's form.
        """
        ...

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Assemble the events of a stream into the response that would have come without streaming.

        Raises
        ------
        CallFailed
            If the stream ended before the reply did.
        """
        ...


def unintelligible(problem: str) -> CallFailed:
    """Return the error for a response that does not have the interface's form."""
    return CallFailed(
        f"the server's response is not of its interface: {problem}; check model.base_url and model.interface",
        kind="unintelligible",
    )


def cut_off() -> CallFailed:
    """Return the error for a stream that ended too early."""
    return CallFailed("the reply was cut off: its stream ended before the reply did", kind="connection")


def count(usage: object, *path: str) -> int:
    """Return a number of tokens from nested usage figures, or 0 if the server does not report it."""
    value: object = usage
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0
