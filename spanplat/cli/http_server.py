"""How uvicorn serves: its options, and HTTP/1.1 with bounds on what strangers may make the server keep in memory."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

KEEP_ALIVE_SECONDS = 35
"""Longer than the pause between two saves of an annotator who thinks, so that the next one finds its connection open."""
GRACEFUL_SECONDS = 10
PARENT_LOOKED_FOR_SECONDS = 1
"""How often a process looks whether the one that started it is still there."""
LONGEST_HEAD = 64 * 1024
"""Bytes of the first line and the headers of a request."""
MOST_HEADERS = 100


class HttpProtocol(HttpToolsProtocol):
    """One connection; closed when it is opened and nothing is asked, or when what is asked has too long a beginning."""

    _head_bytes: float = 0
    """Received since the beginning of a request was expected; minus infinity while its body comes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let as little time pass before the first request as between two of them."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > LONGEST_HEAD and not self.transport.is_closing():
            self.send_400_response(f"The headers of a request may take {LONGEST_HEAD} bytes.")

    def on_headers_complete(self) -> None:
        """Answer the request, unless it has more headers than any browser sends."""
        self._head_bytes = float("-inf")
        if len(self.headers) > MOST_HEADERS:
            raise ValueError(f"more than {MOST_HEADERS} headers")  # the parser refuses the request then
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect another request."""
        self._head_bytes = 0
        super().on_message_complete()


UVICORN: dict[str, Any] = {
    "http": HttpProtocol,
    "ws": "none",
    "interface": "asgi3",
    "lifespan": "off",
    "log_config": None,
    "log_level": "warning",
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,  # who may say whose request it is stands in our settings
    "timeout_keep_alive": KEEP_ALIVE_SECONDS,
    "timeout_graceful_shutdown": GRACEFUL_SECONDS,
    "timeout_notify": PARENT_LOOKED_FOR_SECONDS,
}
