"""A very small HTTP/1.1 client: one keep-alive connection, cheap enough to imitate hundreds of browsers from one process."""

import asyncio
import contextlib
import json
from typing import Any, NamedTuple


class Response(NamedTuple):
    """What the server answered."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Any:
        """Return the parsed body."""
        return json.loads(self.body)


class Connection:
    """One connection to the server, opened at the first request and again after the server closed it.

    Raises
    ------
    ConnectionError
        From `request`, when the connection cannot be made or breaks before the answer is complete.
    """

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, method: str, path: str, body: bytes = b"") -> Response:
        """Send a request and wait for its answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nAccept: application/json, text/html\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            writer.write(head.encode() + body)
            response = await _read_response(reader)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            await self.close()
            raise ConnectionError(f"{method} {path}: the connection broke") from error
        if response.headers.get("connection") == "close":
            await self.close()
        return response

    async def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._streams is not None:
            _, writer = self._streams
            self._streams = None
            writer.close()
            with contextlib.suppress(ConnectionError):  # the server may have been faster
                await writer.wait_closed()


async def _read_response(reader: asyncio.StreamReader) -> Response:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status_line, *lines = head.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers["content-length"]))
    return Response(int(status_line.split(" ", 2)[1]), headers, body)
