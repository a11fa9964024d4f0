"""Remaining requests and tokens, read from the rate-limit headers of a provider's responses."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
# "ms" comes before "m", because a regular expression takes the first alternative that fits:
# 20ms would otherwise be read as 20m and a rest.
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")


@dataclass(frozen=True)
class Remaining:
    """Rest of one limit, which refills at a steady rate."""

    left: float
    """Requests or tokens."""
    limit: float | None = None
    refilled: float | None = None
    """Seconds until the limit is full again."""

    def wait(self, needed: float) -> float:
        """Return the seconds until this much is available. Return 0 if it is, or if the provider does not say when.

        >>> Remaining(left=10, limit=60, refilled=50).wait(12)
        2.0
        >>> Remaining(left=10, limit=60, refilled=50).wait(10)
        0.0
        >>> Remaining(left=0, limit=60, refilled=60).wait(1000)
        60.0
        """
        missing = needed - self.left
        if missing <= 0 or self.refilled is None:
            return 0.0
        # Without the limit, the rate is not known.
        if self.limit is None or self.limit <= self.left:
            return self.refilled
        # The used part of the limit comes back at a steady rate, all of it after `refilled` seconds. A call larger than
        # the whole limit would wait for ever, so it waits only until the limit is full.
        return min(self.refilled, missing * self.refilled / (self.limit - self.left))


@dataclass(frozen=True)
class Allowance:
    """Remaining requests and tokens, as reported in one response."""

    requests: Remaining | None = None
    tokens: Remaining | None = None


def read_allowance(headers: Mapping[str, str], now: datetime | None = None) -> Allowance | None:
    """Return the allowance in the headers of OpenAI, Anthropic or a compatible server, or None if there is none.

    >>> read_allowance({"x-ratelimit-remaining-tokens": "900", "x-ratelimit-reset-tokens": "6m0.5s"})
    Allowance(requests=None, tokens=Remaining(left=900.0, limit=None, refilled=360.5))
    >>> read_allowance({"content-type": "text/html"})
    """
    moment = now or datetime.now(UTC)
    # OpenAI writes x-ratelimit-remaining-tokens, Anthropic anthropic-ratelimit-tokens-remaining.
    found = {
        kind: _remaining(headers, "x-ratelimit-{part}-" + kind, moment)
        or _remaining(headers, f"anthropic-ratelimit-{kind}-{{part}}", moment)
        for kind in ("requests", "tokens")
    }
    return Allowance(**found) if any(found.values()) else None


def _remaining(headers: Mapping[str, str], name: str, now: datetime) -> Remaining | None:
    left = _number(headers.get(name.format(part="remaining")))
    if left is None:
        return None
    return Remaining(
        left, _number(headers.get(name.format(part="limit"))), _seconds(headers.get(name.format(part="reset")), now)
    )


def _number(value: str | None) -> float | None:
    with contextlib.suppress(ValueError):
        return float(value) if value is not None else None
    return None


def _seconds(value: str | None, now: datetime) -> float | None:
    """Return the length of a duration (``1m2.5s``, ``20ms``) or the time until a moment (RFC 3339), in seconds."""
    if not value:
        return None
    # OpenAI sends durations, Anthropic times.
    if _DURATION.sub("", value) == "":
        return sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(value))
    with contextlib.suppress(ValueError, TypeError):
        moment = datetime.fromisoformat(value)
        return max(0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds())
    return None
