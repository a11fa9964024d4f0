"""A very small HTTP/1.1 client: keep-alive connections, cheap enough to imitate hundreds of browsers from one process."""

import asyncio
import contextlib
import json
import time
from typing import Any, NamedTuple, Protocol

FIRST_RETRY_SECONDS = 0.1
LONGEST_RETRY_SECONDS = 1.0
PATIENCE_SECONDS = 60.0


class Response(NamedTuple):
    """What the server answered."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Any:
        """Return the parsed body."""
        return json.loads(self.body)


class Requester(Protocol):
    """Whatever sends a request and waits for its answer."""

    async def request(self, method: str, path: str, body: bytes = b"") -> Response:
        """Send a request and wait for its answer."""

    async def close(self) -> None:
        """Close all connections; the next request opens others."""


class Connection:
    """One connection to the server, opened at the first request and again after the server closed it.

    Raises
    ------
    ConnectionError
        From `request`, when the connection cannot be made or breaks before the answer is complete.

    A request that is cancelled closes the connection, as a closed tab does.
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
        except asyncio.CancelledError:
            self._streams = None
            writer.close()
            raise
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


class Patient:
    """Sends again, after growing pauses, what was not answered, as the annotator's page does, but sooner.

    Raises
    ------
    ConnectionError
        From `request`, when nobody answered for a minute.
    """

    def __init__(self, inner: Requester) -> None:
        self._inner = inner

    async def request(self, method: str, path: str, body: bytes = b"") -> Response:
        """Send a request until it is answered."""
        pause, deadline = FIRST_RETRY_SECONDS, time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return await self._inner.request(method, path, body)
            except ConnectionError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_RETRY_SECONDS)

    async def close(self) -> None:
        """Close the connection."""
        await self._inner.close()


class ContradictionError(Exception):
    """The same request, sent twice at once, got two different answers."""


class Doubled:
    """Sends every request twice at once, as somebody does who double-clicks everything; both must get the same answer."""

    def __init__(self, first: Requester, second: Requester) -> None:
        self._both = first, second

    async def request(self, method: str, path: str, body: bytes = b"") -> Response:
        """Send a request twice and return the answer of both."""
        first, second = await asyncio.gather(*(one.request(method, path, body) for one in self._both))
        if _told(first) != _told(second):
            raise ContradictionError(f"{method} {path}: {_told(first)!r} and {_told(second)!r}")
        return first

    async def close(self) -> None:
        """Close both connections."""
        for one in self._both:
            await one.close()


def _told(response: Response) -> tuple[int, str | None, bytes]:
    """Return what an answer says: its status, where it leads, and its data (a page may name this moment)."""
    is_data = response.headers.get("content-type", "").startswith("application/json")
    return response.status, response.headers.get("location"), response.body if is_data else b""


async def _read_response(reader: asyncio.StreamReader) -> Response:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status_line, *lines = head.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers["content-length"]))
    return Response(int(status_line.split(" ", 2)[1]), headers, body)
