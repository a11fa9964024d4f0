"""Time as a run sees it, so that tests can make it pass."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Tells seconds that only grow, and lets some pass."""

    def now(self) -> float:
        """Return seconds since some moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let seconds pass."""
        ...


class RealClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return seconds since some moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let seconds pass."""
        await asyncio.sleep(seconds)
