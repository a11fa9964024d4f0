"""Replies that say nothing that can be used: a failure of the call, never an annotation without spans."""

from typing import Literal

from spanplat.errors import SpanplatError

Kind = Literal["empty", "refusal", "cut off", "no answer", "wrong shape"]

REFUSED = "the model refused"
"""How the message about a refusal begins."""


class UnreadableReply(SpanplatError):
    """A reply that is no answer to what was asked.

    Parameters
    ----------
    kind
        ``empty``, ``refusal`` (the model will not answer), ``cut off`` (it ends before the answer does), ``no answer`` (nothing in it
        has the form of one), ``wrong shape`` (it has the form, but not the content).
    message
        What is wrong, for people.
    """

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind
