"""Error for replies that cannot be used. Such a reply is a failed call, never an annotation without spans."""

from typing import Literal

from spanplat.errors import SpanplatError

Kind = Literal["empty", "refusal", "cut off", "no answer", "wrong shape"]

REFUSED = "the model refused"
"""Beginning of the message about a refusal."""


class UnreadableReply(SpanplatError):
    """A reply that does not answer the request.

    Parameters
    ----------
    kind
        ``empty``, ``refusal`` (the model will not answer), ``cut off`` (it ends before the answer does), ``no answer`` (no part of it
        has the form of an answer), ``wrong shape`` (it has the form, but not the content).
    message
        Explanation for people.
    """

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind
