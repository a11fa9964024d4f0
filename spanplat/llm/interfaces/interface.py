"""What every wire format gives."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from spanplat.llm.provider import CallFailed, Completion, Request
from spanplat.schemas.model_settings import ReplyFormat

SCHEMA_NAME = "annotations"


class Interface(Protocol):
    """One wire format."""

    path: str
    """Where requests go, after the server's address."""
    streaming: Mapping[str, Any]
    """What the body of a request says beside, for the reply to come as a stream."""

    def body(self, model: str, request: Request, reply_format: ReplyFormat) -> dict[str, Any]:
        """Return the body of a request."""
        ...

    def read(self, response: Mapping[str, Any]) -> Completion:
        """Read a response.

        Raises
        ------
        CallFailed
            If it does not have the interface's form.
        """
        ...

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Put the events of a stream together to the response that would have come whole.

        Raises
        ------
        CallFailed
            If the stream ended before the reply did.
        """
        ...


def unintelligible(problem: str) -> CallFailed:
    """Make the error for a response that lacks what the interface promises."""
    return CallFailed(
        f"the server's response is not of its interface: {problem}; check model.base_url and model.interface",
        kind="unintelligible",
    )


def cut_off() -> CallFailed:
    """Make the error for a stream that ended too early."""
    return CallFailed("the reply was cut off: its stream ended before the reply did", kind="connection")


def count(usage: object, *path: str) -> int:
    """Return a number of tokens from nested usage figures; 0 where the server does not tell."""
    value: object = usage
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0
