"""The exception tree: every failure a user can cause or meet, with the exit status or HTTP status it maps to.

The mapping to HTTP stands in ``spanplat.web.errors``, the one to exit statuses in ``spanplat.cli``; nothing else translates them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Saying:
    """A sentence that annotators may read, and so can be said in another language: English, with what fills its places."""

    template: str
    """With places such as ``%(minutes)s``."""
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        """Say it in English."""
        return self.template % self.values if self.values else self.template


def say(template: str, **values: object) -> Saying:
    """Return a sentence for an error; catalogs of translations collect what stands in calls of this.

    >>> str(say("you have %(tries)s tries", tries=2))
    'you have 2 tries'
    """
    return Saying(template, values)


class SpanplatError(Exception):
    """Something failed for a reason worth telling the user: the message says what, where and how to mend it."""

    @property
    def saying(self) -> Saying:
        """The message, to be said in another language where it is meant for annotators."""
        first = self.args[0] if self.args else ""
        return first if isinstance(first, Saying) else Saying(str(first))


class InvalidInput(SpanplatError):
    """What was given does not have the form or the meaning it needs (HTTP 422)."""


class NotFound(SpanplatError):
    """What was named does not exist (HTTP 404)."""


class Conflict(SpanplatError):
    """What was asked contradicts the present state (HTTP 409)."""


class NotAllowed(SpanplatError):
    """Who asked may not do this (HTTP 403)."""


class Gone(SpanplatError):
    """What was named existed and has ended for good (HTTP 410)."""


class TooMany(SpanplatError):
    """More was asked for at a time than anybody gets (HTTP 429).

    Parameters
    ----------
    message
        What is too much.
    retry_after
        Seconds until it is worth asking again.
    """

    def __init__(self, message: Saying | str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(SpanplatError):
    """A service this needs (database, queue, provider) does not answer or is not ready (HTTP 503)."""
