"""Decision about a call without a reply: retry, give up, or stop the run. The caller carries it out."""

from dataclasses import dataclass

from spanplat.llm.provider import CallFailed

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds before the first retry, and the most before any. The pauses double in between."""
LONGEST_RETRY_AFTER = 600.0
"""Longest ``Retry-After``, in seconds, that a run waits for. A longer one means that a quota is used up."""

# 409 is a conflict at the provider that a second attempt resolves; both SDKs retry it too.
_PASSING = frozenset({408, 409, 429})
_HOPELESS = {
    401: "the key is not valid: check the environment variable that it comes from, for the worker too",
    402: "the account has no credit left: add some at the provider, or raise its limit, and run again",
    403: "the key may not use this model: allow it at the provider, or choose another model",
    404: "there is no such model or address: check model.model and model.base_url",
}
# The first and the last are codes of OpenAI, the other is an error type of Anthropic.
_NO_CREDIT = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})


@dataclass(frozen=True)
class Retry:
    """Ask again after a pause."""

    pause: float
    """Seconds."""
    slow_down: bool = False
    """Whether the provider is overloaded, so that all other calls have to wait and slow down too."""


@dataclass(frozen=True)
class GiveUp:
    """Mark the item as failed, and go on with the others."""

    reason: str


@dataclass(frozen=True)
class StopRun:
    """End the run, because every other item would fail too."""

    reason: str


Decision = Retry | GiveUp | StopRun


def decide(failure: CallFailed, attempt: int, *, attempts: int, jitter: float) -> Decision:
    """Decide what follows a failed call.

    Parameters
    ----------
    failure
        The failure.
    attempt
        Number of the call of its item, counted from 1.
    attempts
        Most calls of an item.
    jitter
        Random number from 0 to 1. Without it, items that failed together would be sent again together.

    Returns
    -------
    Retry, GiveUp or StopRun
        Temporary failures (408, 409, 429, 5xx, time-outs, lost connections, broken responses) are retried after the time in
        ``Retry-After``, or after pauses that double. Permanent failures are not retried.
    """
    # A code comes before the status: an account without credit answers 429 too, and no pause helps it.
    status = failure.status
    if failure.code in _NO_CREDIT:
        return StopRun(f"{_HOPELESS[402]} ({failure})")
    if status in _HOPELESS:
        return StopRun(f"{_HOPELESS[status]} ({failure})")
    # Every kind but a status means that no usable answer arrived, which a second attempt may change.
    passing = failure.kind != "status" or status in _PASSING or (status is not None and status >= 500)
    if not passing:
        return GiveUp(str(failure))
    if failure.retry_after is not None and failure.retry_after > LONGEST_RETRY_AFTER:
        return StopRun(
            f"the provider asks for a pause of {failure.retry_after:.0f} seconds, longer than a run waits ({failure})"
        )
    if attempt >= attempts:
        return GiveUp(str(failure) if attempts == 1 else f"{failure} (tried {attempt} times)")
    # From half the pause to the whole, so that calls that failed together are spread.
    backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)) * (0.5 + jitter / 2)
    # Never earlier than the provider asks, and spread over up to a second after it.
    pause = backoff if failure.retry_after is None else failure.retry_after + jitter * min(1.0, backoff)
    # 529 is Anthropic's status for an overloaded service.
    return Retry(pause, slow_down=status in (429, 529, 503))
