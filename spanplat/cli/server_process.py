"""A process of the server, as gunicorn starts and watches it."""

import os
import signal
from typing import Any

from uvicorn_worker import UvicornWorker


def server_process(options: dict[str, Any]) -> type[UvicornWorker]:
    """Return the class of processes whose uvicorn has these options."""

    class ServerProcess(UvicornWorker):  # type: ignore[misc]
        CONFIG_KWARGS = options

        async def callback_notify(self) -> None:
            """Tell the process that started this one that it works; stop when that is gone, however it went."""
            await super().callback_notify()
            if os.getppid() != self.ppid:
                signal.raise_signal(signal.SIGTERM)

    return ServerProcess
