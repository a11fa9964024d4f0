"""Counts of events within a time window, in Redis or in the memory of this process."""

import logging
import threading
import time
from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple, TypeVar

from limits import RateLimitItem
from limits.errors import StorageError
from limits.storage import RedisStorage, Storage
from limits.strategies import FixedWindowRateLimiter

R = TypeVar("R")

PATIENCE_SECONDS = 1.0
"""Time limit for an answer of Redis."""
PAUSE_SECONDS = 10.0
"""Pause after a failure of Redis. Without it each request would wait for the time limit."""
SWEEP_SECONDS = 60.0
"""Interval at which expired counts are removed."""

_logger = logging.getLogger(__name__)


class _Count(NamedTuple):
    times: int
    ends_at: float
    """Seconds since the epoch."""


class ProcessMemory(Storage):
    """Counts in the memory of this process.

    `limits.storage.MemoryStorage` starts a thread every ten milliseconds to remove expired counts, and a request waits for the start.
    This class removes them itself, once a minute, when it counts.
    """

    STORAGE_SCHEME = None  # made directly, never found by the address of a storage

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, _Count] = {}
        self._lock = threading.Lock()
        self._sweeps_at = 0.0

    @property
    def base_exceptions(self) -> type[Exception]:
        """Exceptions of the storage. This one raises none, but `limits` requires a value."""
        return ValueError

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Add to a count and return it. An expired count starts again and lasts ``expiry`` seconds."""
        # Not the monotonic clock, because `limits` compares expiries with `time.time`.
        now = time.time()
        with self._lock:
            if now >= self._sweeps_at:
                self._counts = {name: count for name, count in self._counts.items() if count.ends_at > now}
                self._sweeps_at = now + SWEEP_SECONDS
            count = self._counts.get(key)
            if count is None or count.ends_at <= now:
                count = _Count(0, now + expiry)
            count = self._counts[key] = _Count(count.times + amount, count.ends_at)
        return count.times

    def get(self, key: str) -> int:
        """Return the count; 0 if it has expired."""
        # No lock: one look-up in a dictionary is atomic, and the entries never change in place.
        count = self._counts.get(key)
        return count.times if count is not None and count.ends_at > time.time() else 0

    def get_expiry(self, key: str) -> float:
        """Return when the count expires, in seconds since the epoch; the current time if there is no count."""
        count = self._counts.get(key)
        return time.time() if count is None else count.ends_at

    def check(self) -> bool:
        """Return True: the memory always works."""
        return True

    def reset(self) -> int:
        """Remove all counts and return their number."""
        with self._lock:
            forgotten, self._counts = len(self._counts), {}
        return forgotten

    def clear(self, key: str) -> None:
        """Remove one count."""
        with self._lock:
            self._counts.pop(key, None)


class SharedCounts:
    """Counts that all processes share through Redis; without Redis each process has its own.

    While Redis does not answer, each process counts for itself. A failure of Redis must not stop anybody's work.

    Parameters
    ----------
    redis_url
        Address of Redis; empty for none.
    """

    def __init__(self, redis_url: str) -> None:
        self._own = FixedWindowRateLimiter(ProcessMemory())
        self._shared = self._own
        if redis_url:
            patience: dict[str, Any] = {"socket_connect_timeout": PATIENCE_SECONDS, "socket_timeout": PATIENCE_SECONDS}
            self._shared = FixedWindowRateLimiter(RedisStorage(redis_url, wrap_exceptions=True, **patience))
        self._asks_again_at = 0.0

    def add(self, limit: RateLimitItem, *what: str) -> bool:
        """Count one event and return whether it is within the limit."""
        return self._ask(lambda counts: counts.hit(limit, *what))

    def has_room(self, limit: RateLimitItem, *what: str) -> bool:
        """Return whether one more event would be within the limit, without counting it."""
        return self._ask(lambda counts: counts.test(limit, *what))

    def seconds_left(self, limit: RateLimitItem, *what: str) -> int:
        """Return the seconds until the window ends, at least one."""
        return max(1, ceil(self._ask(lambda counts: counts.get_window_stats(limit, *what)).reset_time - time.time()))

    def _ask(self, question: Callable[[FixedWindowRateLimiter], R]) -> R:
        # Not locked: at worst several threads wait for Redis at the same time, once for each pause.
        if time.monotonic() >= self._asks_again_at:
            try:
                return question(self._shared)
            except StorageError:
                _logger.warning("Redis does not answer; each process counts for itself meanwhile")
                self._asks_again_at = time.monotonic() + PAUSE_SECONDS
        return question(self._own)
