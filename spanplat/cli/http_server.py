"""Options of uvicorn, and an HTTP/1.1 protocol with limits on the memory that a client can occupy."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

KEEP_ALIVE_SECONDS = 35
"""Longer than the usual pause between two saves of an annotator, so that the next save finds its connection open."""
GRACEFUL_SECONDS = 10
PARENT_LOOKED_FOR_SECONDS = 1
"""Interval at which a process checks that its parent process still exists."""
LONGEST_HEAD = 64 * 1024
"""Bytes of the first line and the headers of a request."""
MOST_HEADERS = 100


class HttpProtocol(HttpToolsProtocol):
    """One connection. It is closed if no request arrives, or if the head of a request is too long."""

    _head_bytes: float = 0
    """Bytes received of the head of a request; minus infinity while its body arrives."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time limit for the first request; it is the same as between two requests."""
        super().connection_made(transport)  # type: ignore[arg-type]
        # uvicorn starts this timer after a response only: a connection without any request would stay open for ever.
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        self._head_bytes += len(data)
        super().data_received(data)  # first, because it resets the count when the head is complete
        if self._head_bytes > LONGEST_HEAD and not self.transport.is_closing():
            self.send_400_response(f"The headers of a request may take {LONGEST_HEAD} bytes.")

    def on_headers_complete(self) -> None:
        """Handle the request, unless it has more headers than any browser sends."""
        self._head_bytes = float("-inf")
        if len(self.headers) > MOST_HEADERS:
            raise ValueError(f"more than {MOST_HEADERS} headers")  # the parser refuses the request then
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Reset the count for the next request."""
        self._head_bytes = 0
        super().on_message_complete()


UVICORN: dict[str, Any] = {
    "http": HttpProtocol,
    # The gateway understands HTTP requests only, neither WebSockets nor the events at start and end.
    "ws": "none",
    "interface": "asgi3",
    "lifespan": "off",
    # The logging of the process is configured already (`log_to_stderr`).
    "log_config": None,
    "log_level": "warning",
    "access_log": False,
    "server_header": False,  # it would name the server's software
    "proxy_headers": False,  # the application reads the proxy's headers, and only if the settings name a proxy
    "timeout_keep_alive": KEEP_ALIVE_SECONDS,
    "timeout_graceful_shutdown": GRACEFUL_SECONDS,
    "timeout_notify": PARENT_LOOKED_FOR_SECONDS,
}
