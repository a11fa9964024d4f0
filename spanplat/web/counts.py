"""Counting how often something happened within a time, in Redis or in this process."""

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
"""How long a request waits for Redis."""
PAUSE_SECONDS = 10.0
"""How long Redis is left alone after it did not answer."""
SWEEP_SECONDS = 60.0
"""How often counts whose time is over are forgotten."""

_logger = logging.getLogger(__name__)


class _Count(NamedTuple):
    times: int
    ends_at: float
    """Seconds since the epoch."""


class ProcessMemory(Storage):
    """Counts in the memory of this process.

    `limits.storage.MemoryStorage` starts a thread every ten milliseconds to forget what is over, and a request waits for the start.
    This one forgets while it counts, once a minute.
    """

    STORAGE_SCHEME = None

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, _Count] = {}
        self._lock = threading.Lock()
        self._sweeps_at = 0.0

    @property
    def base_exceptions(self) -> type[Exception]:
        """What reading and writing may raise: nothing in particular."""
        return ValueError

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count so many more; a count that was over begins anew and lasts ``expiry`` seconds."""
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
        """Return the count."""
        count = self._counts.get(key)
        return count.times if count is not None and count.ends_at > time.time() else 0

    def get_expiry(self, key: str) -> float:
        """Return when the count is over, in seconds since the epoch; now, where nothing was counted."""
        count = self._counts.get(key)
        return time.time() if count is None else count.ends_at

    def check(self) -> bool:
        """Tell that it works."""
        return True

    def reset(self) -> int:
        """Forget everything; returns how many counts that were."""
        with self._lock:
            forgotten, self._counts = len(self._counts), {}
        return forgotten

    def clear(self, key: str) -> None:
        """Forget one count."""
        with self._lock:
            self._counts.pop(key, None)


class Counts:
    """How often what happened: counted in Redis where there is one, so that all processes count together; else in each process.

    While Redis does not answer, each process counts for itself: nobody's work is refused because something cannot be counted.

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
        """Count once more; tells whether that is within the limit."""
        return self._ask(lambda counts: counts.hit(limit, *what))

    def has_room(self, limit: RateLimitItem, *what: str) -> bool:
        """Tell whether once more would be within the limit."""
        return self._ask(lambda counts: counts.test(limit, *what))

    def seconds_left(self, limit: RateLimitItem, *what: str) -> int:
        """Return the seconds until counting begins anew, at least one."""
        return max(1, ceil(self._ask(lambda counts: counts.get_window_stats(limit, *what)).reset_time - time.time()))

    def _ask(self, question: Callable[[FixedWindowRateLimiter], R]) -> R:
        if time.monotonic() >= self._asks_again_at:
            try:
                return question(self._shared)
            except StorageError:
                _logger.warning("Redis does not answer; each process counts for itself meanwhile")
                self._asks_again_at = time.monotonic() + PAUSE_SECONDS
        return question(self._own)
