"""The exception tree: every failure a user can cause or meet, with the exit status or HTTP status it maps to.

The mapping to HTTP stands in ``spanplat.web.errors``, the one to exit statuses in ``spanplat.cli``; nothing else translates them.
"""


class SpanplatError(Exception):
    """Something failed for a reason worth telling the user: the message says what, where and how to mend it."""


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


class Unavailable(SpanplatError):
    """A service this needs (database, queue, provider) does not answer or is not ready (HTTP 503)."""
