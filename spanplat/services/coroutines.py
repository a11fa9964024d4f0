"""Asynchronous work done by those who are not."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def to_the_end(going: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread of its own where this one has an event loop already (a notebook, a browser test)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(going)
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(asyncio.run, going).result()
