"""Run coroutines in tests.

Playwright's synchronous interface leaves an event loop running in the main thread after a browser test, and a thread can have only one
loop. So each coroutine runs in a thread of its own.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a thread of its own."""
    return apart(asyncio.run, coroutine)


def apart(function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Call what runs coroutines in a thread of its own."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(function, *args, **kwargs).result()
