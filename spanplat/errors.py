"""The exception tree: all failures that a user can cause or meet, with their HTTP status.

``spanplat.web.errors`` maps them to HTTP, and ``spanplat.cli`` maps them to exit statuses. No other module does so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class UserMessage:
    """A sentence for annotators that can be translated: an English template and the values of its placeholders."""

    template: str
    """English text with placeholders such as ``%(minutes)s``."""
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the English sentence."""
        # Without values the template is no format string: a "%" in it stands for itself.
        return self.template % self.values if self.values else self.template


def user_message(template: str, **values: object) -> UserMessage:
    """Return a sentence for an error. The catalogs of translations collect the literal arguments of this function.

    >>> str(user_message("you have %(tries)s tries", tries=2))
    'you have 2 tries'
    """
    return UserMessage(template, values)


class SpanplatError(Exception):
    """A failure that the user should know about: the message says what failed, where, and how to fix it."""

    @property
    def user_message(self) -> UserMessage:
        """The message, which can be translated if it is meant for annotators."""
        first = self.args[0] if self.args else ""
        return first if isinstance(first, UserMessage) else UserMessage(str(first))


class InvalidInput(SpanplatError):
    """The input has the wrong form or meaning (HTTP 422)."""


class NotFound(SpanplatError):
    """The named thing does not exist (HTTP 404)."""


class Conflict(SpanplatError):
    """The request contradicts the present state (HTTP 409)."""


class NotAllowed(SpanplatError):
    """The user may not do this (HTTP 403)."""


class Gone(SpanplatError):
    """The named thing existed and has ended for good (HTTP 410)."""


class TooMany(SpanplatError):
    """A rate limit was exceeded (HTTP 429).

    Parameters
    ----------
    message
        Description of the limit.
    retry_after
        Seconds until the next attempt can succeed.
    """

    def __init__(self, message: UserMessage | str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(SpanplatError):
    """A required service (database, queue, provider) does not answer or is not ready (HTTP 503)."""
