"""Clock of a run. Tests use one of their own, so that they need not wait."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Source of monotonic time, and of pauses."""

    def now(self) -> float:
        """Return seconds since some moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        ...


class RealClock:
    """The machine's clock."""

    def now(self) -> float:
        """Return seconds since some moment."""
        # Not the time of day, which jumps when the machine's clock is set.
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        await asyncio.sleep(seconds)
