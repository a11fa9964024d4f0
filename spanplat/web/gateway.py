"""Gateway between the asynchronous HTTP server (ASGI) and the synchronous application (WSGI).

The event loop only receives and sends. The application may wait for a lock, a disk or another server; if it waited on the event loop,
all requests would wait. So a thread answers each request. There are four thread pools: annotators and researchers have separate ones,
and so have readers and writers. A transaction that holds the write lock for long thus delays other writers, but no reader.

Bodies are received and answers are sent in pieces, so that a large file is never in memory as a whole.
"""

import asyncio
import contextlib
import io
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote_to_bytes

from spanplat.web.headers import ANNOTATOR_PATHS

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

T = TypeVar("T")

Message = dict[str, Any]
"""ASGI event; its key ``type`` names the kind."""
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

READERS, WRITERS = 16, 8
"""Number of requests of researchers that one process answers at once: requests that read, and requests that may write."""
ANNOTATORS_READING, ANNOTATORS_WRITING = 3, 2
"""Number of requests of annotators that one process answers at once.

More threads would only wait for each other at the interpreter: with eight and four, a save needs a tenth more processor
time (bench/README.md). A request that waits for the write lock holds one or two database connections. With so few
writers, readers always find a free connection (`Database` opens at most 32).
"""
SHORT_BODY = 256 * 1024
"""Bytes of each body that are received before a thread starts."""
PIECE = 64 * 1024
"""Least number of bytes that are sent at once, except at the end of an answer."""
LONG_BODIES_AT_ONCE = 16
"""Number of long bodies of annotators that are received at the same time; others wait unread."""
LONG_BODY_SECONDS = 60.0
"""Time limit for one long body. A slow sender would block one of the few places above."""


class Gateway:
    """ASGI application that answers with a WSGI application.

    Short bodies and all bodies of annotators are received completely before the application is called. The application may read them
    inside a write transaction, and no transaction should wait for a slow connection. Long bodies of researchers are received while the
    application reads them. It does so before a transaction begins (`spanplat.web.session.transaction`).

    Parameters
    ----------
    application
        The WSGI application.
    longest_body
        Maximum length of an annotator's body, in bytes. The gateway receives no more; the application refuses the request.
    long_body_seconds
        Time limit for a long body of an annotator; after it the request is refused.
    """

    def __init__(
        self,
        application: "WSGIApplication",
        *,
        longest_body: int,
        long_body_seconds: float = LONG_BODY_SECONDS,
    ) -> None:
        self._application = application
        self._longest_body = longest_body
        self._long_body_seconds = long_body_seconds
        self._readers = ThreadPoolExecutor(READERS, "reader")
        self._writers = ThreadPoolExecutor(WRITERS, "writer")
        self._annotators_reading = ThreadPoolExecutor(ANNOTATORS_READING, "annotator-reading")
        self._annotators_writing = ThreadPoolExecutor(ANNOTATORS_WRITING, "annotator-writing")
        self._long_bodies = asyncio.Semaphore(LONG_BODIES_AT_ONCE)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        environ = _environ(scope)
        path: str = environ["PATH_INFO"]
        is_annotator = path.startswith(ANNOTATOR_PATHS)
        body = _Body(environ, receive)
        try:
            await body.read_ahead(SHORT_BODY)
            if is_annotator and body.has_more:
                # The time starts when a place is free: a client must not fail because others are slow.
                async with self._long_bodies, asyncio.timeout(self._long_body_seconds):
                    await body.read_ahead(self._longest_body)
        except ConnectionResetError:
            return
        except TimeoutError:
            await send(_start("408 Request Timeout", [], closes=True))
            await send({"type": "http.response.body", "body": b""})
            return
        exchange = _Exchange(self._application, environ, body, send)
        begun = body.take()
        if is_annotator:  # nothing more is received, even of a body that is too long
            environ["wsgi.input"] = io.BytesIO(begun)
        else:
            environ["wsgi.input"] = io.BufferedReader(_Stream(begun, exchange.receive))
        await exchange.run(self._threads_for(environ["REQUEST_METHOD"], path))

    def _threads_for(self, method: str, path: str) -> ThreadPoolExecutor:
        # A start link (/c/) assigns a seat, so it writes, although browsers follow links with GET.
        reads = method in ("GET", "HEAD", "OPTIONS") and not path.startswith("/c/")
        if path.startswith(ANNOTATOR_PATHS):
            return self._annotators_reading if reads else self._annotators_writing
        return self._readers if reads else self._writers


class _Body:
    """Body of a request, received in parts."""

    def __init__(self, environ: "WSGIEnvironment", receive: Receive) -> None:
        self._receive = receive
        self._length = int(environ.get("CONTENT_LENGTH") or 0)
        self._parts: list[bytes] = []
        self._received = 0
        self.has_more = self._length > 0 or "HTTP_TRANSFER_ENCODING" in environ

    async def read_ahead(self, most: int) -> None:
        """Receive the body if it has at most ``most`` bytes. If its length is unknown, stop after that many bytes."""
        while self.has_more and max(self._length, self._received) <= most:
            part = await self.receive()
            self._parts.append(part)
            self._received += len(part)

    async def receive(self) -> bytes:
        """Return the next part.

        Raises
        ------
        ConnectionResetError
            If the client closed the connection.
        """
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        self.has_more = message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part

    def take(self) -> bytes:
        """Return the parts received so far, and release them."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


class _GoneError(Exception):
    """The client closed the connection during the answer."""


class _Exchange:
    """One request that a thread answers, while the event loop receives and sends.

    Chunks of the answer are collected up to `PIECE` bytes. A short answer is sent as a whole at the end, and its thread never waits
    for the event loop.
    """

    def __init__(self, application: "WSGIApplication", environ: "WSGIEnvironment", body: _Body, send: Send) -> None:
        self._application, self._environ = application, environ
        self._body, self._send = body, send
        self._loop = asyncio.get_running_loop()
        self._beginning: tuple[str, list[tuple[str, str]]] | None = None
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._watch: asyncio.Task[None] | None = None
        self._is_gone = False

    async def run(self, threads: ThreadPoolExecutor) -> None:
        """Answer the request in one of these threads."""
        try:
            # The last piece is sent after the thread is free again: a slow client then occupies no thread.
            last = await self._loop.run_in_executor(threads, self._answer)
            await self._pass_on(last, is_last=True)
        except _GoneError:
            pass
        finally:
            if self._watch is not None:
                self._watch.cancel()

    def _answer(self) -> bytes:
        """Call the application, send all but the last piece of its answer, and return the last piece."""
        chunks = self._application(self._environ, self._start_response)
        with _closing(chunks):
            for chunk in chunks:
                self._hold(chunk)
        return b"".join(self._held)

    def _start_response(
        self, status: str, headers: list[tuple[str, str]], _exc_info: object = None, /
    ) -> Callable[[bytes], object]:
        # Kept until the first bytes are sent: until then an error handler may replace the status and headers (PEP 3333).
        self._beginning = status, headers
        return self._hold

    def receive(self) -> bytes:
        """Return the next part of the body; empty at its end. The answering thread calls this."""
        part = b""
        # ASGI allows empty parts in the middle of a body, but an empty read means its end.
        while not part and self._body.has_more:
            part = self._wait_for(self._body.receive())
        return part

    def _hold(self, chunk: bytes) -> None:
        if self._is_gone:
            raise _GoneError
        # Checked before the chunk is added, so that the last chunk always stays for the end, when the thread is free.
        if self._held_bytes >= PIECE:
            self._wait_for(self._pass_on(b"".join(self._held), is_last=False))
            self._held.clear()
            self._held_bytes = 0
        self._held.append(chunk)
        self._held_bytes += len(chunk)

    async def _pass_on(self, chunk: bytes, *, is_last: bool) -> None:
        if self._beginning is not None:
            await self._send(_start(*self._beginning, closes=self._body.has_more))
            self._beginning = None
        await self._send({"type": "http.response.body", "body": chunk, "more_body": not is_last})
        # Only a long answer needs the watch: it makes the thread stop early.
        if self._watch is None and not is_last:
            self._watch = self._loop.create_task(self._watch_for_leaving())

    async def _watch_for_leaving(self) -> None:
        """Note when the client is gone. Sending raises no error then, so receive until the end; what still arrives is dropped."""
        with contextlib.suppress(ConnectionResetError):
            while True:
                await self._body.receive()
        self._is_gone = True

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the event loop and return its result to this thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class _Stream(io.RawIOBase):
    """File object of a body that is received while it is read."""

    def __init__(self, begun: bytes, receive: Callable[[], bytes]) -> None:
        self._part = memoryview(begun)
        self._receive = receive

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Copy bytes of the next part into the buffer and return their number; 0 at the end."""
        if not self._part:
            # A memoryview, because slices of bytes would copy the rest of the part at every read.
            self._part = memoryview(self._receive())
        count = min(len(buffer), len(self._part))
        buffer[:count] = self._part[:count]
        self._part = self._part[count:]
        return count


def _start(status: str, headers: Iterable[tuple[str, str]], *, closes: bool) -> Message:
    """Return the event that begins an answer.

    With ``closes`` the connection ends after the answer. This is necessary if the body was not read to its end: otherwise the rest
    would have to be received before the next request.
    """
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    if closes:
        encoded.append((b"connection", b"close"))
    return {"type": "http.response.start", "status": int(status[:3]), "headers": encoded}


def _environ(scope: Mapping[str, Any]) -> "WSGIEnvironment":
    """Return the WSGI environment of a request (PEP 3333), without its body.

    Headers with an underscore in their names are left out. WSGI names them like headers with a hyphen, so that a client could forge a
    header that only the proxy may set.
    """
    server, port = scope.get("server") or ("", None)
    client, client_port = scope.get("client") or ("", None)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        # PEP 3333 wants the bytes as Latin-1 characters; the server's own `path` is decoded as UTF-8.
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server,
        "SERVER_PORT": str(port or ""),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client,
        "REMOTE_PORT": str(client_port or ""),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.input_terminated": True,  # the stream ends by itself, also for chunked bodies without a length
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        if b"_" in raw_name:
            continue
        name, value = raw_name.decode("latin-1").upper().replace("-", "_"), raw_value.decode("latin-1")
        if name not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            name = f"HTTP_{name}"
        # Repeated headers are one list with commas (RFC 9110, section 5.3).
        environ[name] = f"{environ[name]},{value}" if name in environ else value
    return environ


@contextlib.contextmanager
def _closing(chunks: object) -> Iterator[None]:
    """Call the answer's ``close`` at the end, if it has one (PEP 3333)."""
    try:
        yield
    finally:
        close: Callable[[], object] | None = getattr(chunks, "close", None)
        if close is not None:
            close()
