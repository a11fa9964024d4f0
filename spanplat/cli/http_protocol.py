"""HTTP/1.1 as uvicorn speaks it, with bounds on what strangers may make the server keep in memory."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 64 * 1024
"""Bytes of the first line and the headers of a request."""
MOST_HEADERS = 100


class HttpProtocol(HttpToolsProtocol):
    """One connection; closed when it is opened and nothing is asked, or when what is asked has too long a beginning."""

    _head_bytes: float = 0
    """Received since the beginning of a request was expected; without end in the negative while its body is."""

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
