"""A server process under gunicorn. This module cannot be imported on Windows, because gunicorn cannot."""

import os
import signal

from uvicorn_worker import UvicornWorker

from spanplat.cli.http_server import UVICORN


class ServerProcess(UvicornWorker):  # type: ignore[misc]
    """Uvicorn worker that stops when its parent process is gone."""

    CONFIG_KWARGS = UVICORN

    async def callback_notify(self) -> None:
        """Send a heartbeat to the parent process; stop if the parent is gone."""
        await super().callback_notify()
        # A parent that is killed cannot tell its children; the system gives them another parent then.
        if os.getppid() != self.ppid:
            signal.raise_signal(signal.SIGTERM)
