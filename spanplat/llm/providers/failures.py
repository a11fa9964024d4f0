"""Errors of the SDKs as failed calls. The two SDKs use the same names for their errors."""

import contextlib
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import Any, TypeVar

from spanplat.llm.keys import without_keys
from spanplat.llm.provider import CallFailed

LONGEST_MESSAGE = 600

_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
"""HTTP statuses by the names of errors within streams. Such a response began with status 200."""

_TOO_LONG = "context_length_exceeded"
_TOO_LONG_WORDS = "prompt is too long"
_SHORTEN = "; use a shorter prompt, such as one without examples, or a model that accepts longer ones"

T = TypeVar("T")


async def calling(sdk: ModuleType, key: str | None, call: Awaitable[T]) -> T:
    """Await a call of an SDK.

    Raises
    ------
    CallFailed
        If it fails. The message contains no key.
    """
    import httpx2  # noqa: PLC0415 (comes with the SDKs, and is loaded with them)

    try:
        return await call
    # The order matters: a time-out is a connection error for the SDKs, and both are an APIError.
    except sdk.APITimeoutError as error:
        # Without a connection, nothing can have been billed. After a connection, it can.
        if isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            raise CallFailed("the server could not be reached in time", kind="unreachable") from None
        raise CallFailed("the server did not answer in time (model.timeout)", kind="timeout") from error
    except sdk.APIStatusError as error:
        message, code = _said(error.body)
        # Within a stream the response began with 200, so only the error's name tells the status.
        status = error.status_code if error.status_code >= 400 else status_of(code)
        raise CallFailed(
            without_keys(f"the server answers {status}: {message}", key),
            status=status,
            code=code,
            retry_after=retry_after(error.response.headers),
        ) from None  # the SDK's error contains the request, and so the key
    except sdk.APIConnectionError as error:
        cause = f": {error.__cause__}" if error.__cause__ and str(error.__cause__) else ""
        if isinstance(error.__cause__, httpx2.ConnectError):
            message = without_keys(f"the server cannot be reached{cause}", key)
            raise CallFailed(message, kind="unreachable") from None
        message = f"the connection to the server failed or was cut{cause}"
        raise CallFailed(without_keys(message, key), kind="connection") from None
    except sdk.APIError as error:  # sent within a stream
        message, code = _said(error.body)
        raise CallFailed(
            without_keys(f"the server ended its reply with an error: {message}", key), status=status_of(code), code=code
        ) from None
    except httpx2.TimeoutException as error:
        raise CallFailed("the server fell silent in the middle of its reply (model.timeout)", kind="timeout") from error
    except httpx2.TransportError as error:
        message = f"the connection to the server was cut in the middle of its reply: {error}"
        raise CallFailed(without_keys(message, key), kind="connection") from None
    except ValueError as error:  # a body that is no JSON
        raise CallFailed(f"the server's response is no JSON: {error}", kind="unintelligible") from None


def failure_within(response: Mapping[str, Any], key: str | None) -> CallFailed | None:
    """Return the failure in a response with a good status, as gateways send it, or None if there is none."""
    error = response.get("error")
    # A response with content is read by its interface: OpenAI's responses have the field ``error`` beside their output.
    if not isinstance(error, Mapping) or any(name in response for name in ("choices", "output", "content")):
        return None
    message, code = _said(response)
    return CallFailed(without_keys(f"the server reports: {message}", key), status=status_of(code), code=code)


def status_of(code: str | None) -> int:
    """Return the HTTP status for a provider's name of an error, or 500 if the name is not known."""
    # Some gateways give the status itself as the code of the error.
    if code is not None and code.isdecimal() and 400 <= int(code) < 600:
        return int(code)
    return _STATUSES.get(code or "", 500)


def _said(body: object) -> tuple[str, str | None]:
    """Return the message in the body of an error, and the provider's name for the error."""
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    if not isinstance(body, Mapping):
        return (str(body or "").strip() or "no reason given")[:LONGEST_MESSAGE], None
    # OpenAI's code is more exact than its type, and may be null. Anthropic has only a type.
    code = body.get("code") or body.get("type")
    message = str(body.get("message") or "no reason given")[:LONGEST_MESSAGE]
    if code == _TOO_LONG or message.startswith(_TOO_LONG_WORDS):
        message = message.rstrip(".") + _SHORTEN
    return message, str(code) if code else None


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds to wait by a response's headers: ``Retry-After`` as a number or a date, or in milliseconds.

    >>> retry_after({"retry-after": "3"}), retry_after({"retry-after-ms": "250"}), retry_after({})
    (3.0, 0.25, None)
    """
    # Not in the standard, but more exact, so the SDKs prefer it too.
    with contextlib.suppress(KeyError, ValueError):
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    value = headers.get("retry-after")
    if value is None:
        return None
    with contextlib.suppress(ValueError):
        return max(0.0, float(value))
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    # A date with the zone -0000 has no time zone in Python.
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
