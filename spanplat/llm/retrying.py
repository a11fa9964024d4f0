"""What to do after a call that brought no reply: a decision, taken without doing anything."""

from dataclasses import dataclass

from spanplat.llm.provider import CallFailed

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
LONGEST_RETRY_AFTER = 600.0
"""A provider that wants more patience than these seconds has run out of its quota."""

_PASSING = frozenset({408, 409, 429})
_HOPELESS = {
    401: "the key is not valid: check the environment variable that it comes from, for the worker too",
    402: "the account has no credit left: add some at the provider, or raise its limit, and run again",
    403: "the key may not use this model: allow it at the provider, or choose another model",
    404: "there is no such model or address: check model.model and model.base_url",
}
_NO_CREDIT = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})


@dataclass(frozen=True)
class AskAgain:
    """Ask again after a pause."""

    pause: float
    """Seconds."""
    slow_down: bool = False
    """Whether the provider has had too much: all others are to wait and slow down too."""


@dataclass(frozen=True)
class GiveUp:
    """Mark the item as failed, and go on with the others."""

    reason: str


@dataclass(frozen=True)
class StopRun:
    """End the run: every other item would meet the same."""

    reason: str


Decision = AskAgain | GiveUp | StopRun


def decide(failure: CallFailed, attempt: int, *, attempts: int, jitter: float) -> Decision:
    """Decide what follows a failed call.

    Parameters
    ----------
    failure
        What happened.
    attempt
        Which call of its item this was, counted from 1.
    attempts
        Calls that an item gets.
    jitter
        A random number from 0 to 1, so that items that failed together do not come back together.

    Returns
    -------
    AskAgain, GiveUp or StopRun
        Passing trouble (408, 409, 429, 5xx, time-outs, lost connections, responses that are none) is tried again, after what
        ``Retry-After`` says or pauses that double; what the provider refuses for good is not.
    """
    status = failure.status
    if failure.code in _NO_CREDIT:
        return StopRun(f"{_HOPELESS[402]} ({failure})")
    if status in _HOPELESS:
        return StopRun(f"{_HOPELESS[status]} ({failure})")
    passing = failure.kind != "status" or status in _PASSING or (status is not None and status >= 500)
    if not passing:
        return GiveUp(str(failure))
    if failure.retry_after is not None and failure.retry_after > LONGEST_RETRY_AFTER:
        return StopRun(f"the provider wants to be left alone for {failure.retry_after:.0f} seconds ({failure})")
    if attempt >= attempts:
        return GiveUp(str(failure) if attempts == 1 else f"{failure} (tried {attempt} times)")
    backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)) * (0.5 + jitter / 2)
    pause = backoff if failure.retry_after is None else failure.retry_after + jitter * min(1.0, backoff)
    return AskAgain(pause, slow_down=status in (429, 529, 503))
