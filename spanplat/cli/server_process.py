"""A process of the server, as gunicorn starts and watches it; gunicorn does not import on Windows."""

import os
import signal

from uvicorn_worker import UvicornWorker

from spanplat.cli.http_server import UVICORN


class ServerProcess(UvicornWorker):  # type: ignore[misc]
    """Serves with uvicorn, and no longer than the process that started it lives."""

    CONFIG_KWARGS = UVICORN

    async def callback_notify(self) -> None:
        """Tell the process that started this one that it works; stop when that is gone, however it went."""
        await super().callback_notify()
        if os.getppid() != self.ppid:
            signal.raise_signal(signal.SIGTERM)
