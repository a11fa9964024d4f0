"""The gateway between the HTTP server, which reads and writes asynchronously, and the application, which does not.

Requests of annotators at work are short and alike, and a crowd sends hundreds a second. Where nothing but SQLite is asked they are
answered in the thread that reads them, one after the other, and nothing has to be handed over. With a thread for each, the threads of
a process wait for its interpreter at every statement that asks the database; that took a third of the saves a second. What writes for
long keeps that thread from everybody, so researchers' changes are short transactions.

All other requests, some of which take long or wait for other servers, are answered in threads. Their bodies are read and their answers
sent piece by piece, so that a large file is nowhere in memory as a whole.
"""

import asyncio
import contextlib
import io
import re
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
"""An event of ASGI; its key ``type`` says which."""
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

WORK = re.compile(r"/a/[^/]+(/items(/[0-9]+)?|/presence)?")
"""Paths of annotators at work: their page, its items, what they save. To arrive, to draw a chart or to submit may take longer."""
THREADS = 16
"""Requests of others than annotators that one process answers at once; most wait for the database or the client."""
ANNOTATORS_AT_ONCE = 8
"""Requests of annotators that one process answers at once in threads."""
SHORT_BODY = 256 * 1024
"""Bytes that are kept of every body that comes."""
PIECE = 64 * 1024
"""Bytes of an answer that are sent at a time, at least, where more follow."""
LONG_BODIES_AT_ONCE = 16
"""Longer bodies of annotators that are received at the same time; the others wait unread."""
LONG_BODY_SECONDS = 60.0
"""How long one of them may take, from the moment it is read on; who sends more slowly keeps others waiting."""


class Gateway:
    """ASGI application that answers with a WSGI application.

    A body that is short, and every body of an annotator, has come whole before the application is asked: it may read it inside a
    transaction, where nobody must wait for a slow connection. Longer bodies of others come while they are read, before a transaction
    begins (`spanplat.web.session.transaction`): in one, their thread would wait for the event loop, and the loop perhaps for it.

    Parameters
    ----------
    application
        What answers.
    asks_others
        Whether answering annotators at work means to wait for other processes, such as PostgreSQL or Redis; SQLite works in the thread
        that asks it.
    longest_body
        Of an annotator's request, in bytes; a longer one is left to the application to refuse, and no more of it is read.
    long_body_seconds
        How long an annotator's body that is not short may take; then the request is refused.
    """

    def __init__(
        self,
        application: "WSGIApplication",
        *,
        asks_others: bool,
        longest_body: int,
        long_body_seconds: float = LONG_BODY_SECONDS,
    ) -> None:
        self._application = application
        self._asks_others = asks_others
        self._longest_body = longest_body
        self._long_body_seconds = long_body_seconds
        self._threads = ThreadPoolExecutor(THREADS, "request")
        self._annotators = ThreadPoolExecutor(ANNOTATORS_AT_ONCE, "annotator")
        self._long_bodies = asyncio.Semaphore(LONG_BODIES_AT_ONCE)

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        environ = _environ(scope)
        path: str = environ["PATH_INFO"]
        is_annotator = path.startswith(ANNOTATOR_PATHS)
        body = _Body(environ, receive)
        try:
            await body.read_ahead(SHORT_BODY)
            if is_annotator and body.has_more:
                async with self._long_bodies, asyncio.timeout(self._long_body_seconds):
                    await body.read_ahead(self._longest_body)
        except ConnectionResetError:
            return
        except TimeoutError:
            await _send_whole(send, "408 Request Timeout", [], b"", closes=True)
            return
        if not self._asks_others and WORK.fullmatch(path):
            await _answer_here(self._application, environ, body, send)
        else:
            threads = self._annotators if is_annotator else self._threads
            await _Exchange(self._application, environ, body, send).run(threads)


class _Body:
    """The body of a request, as far as it has come."""

    def __init__(self, environ: "WSGIEnvironment", receive: Receive) -> None:
        self._receive = receive
        self._length = int(environ.get("CONTENT_LENGTH") or 0)
        self._parts: list[bytes] = []
        self._received = 0
        self.has_more = self._length > 0 or "HTTP_TRANSFER_ENCODING" in environ

    async def read_ahead(self, most: int) -> None:
        """Receive the body, unless it is longer than so many bytes; of one that does not say its length, receive no more than that."""
        while self.has_more and max(self._length, self._received) <= most:
            part = await self.receive()
            self._parts.append(part)
            self._received += len(part)

    async def receive(self) -> bytes:
        """Return the next part.

        Raises
        ------
        ConnectionResetError
            If the client is gone.
        """
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        self.has_more = message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part

    def take(self) -> bytes:
        """Return what was received ahead, and keep it no longer."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


async def _answer_here(application: "WSGIApplication", environ: "WSGIEnvironment", body: _Body, send: Send) -> None:
    """Answer in this thread a request whose body has come, and send the answer as a whole."""
    environ["wsgi.input"] = io.BytesIO(body.take())
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    answer: list[bytes] = []

    def start_response(
        status: str, headers: list[tuple[str, str]], _exc_info: object = None, /
    ) -> Callable[[bytes], object]:
        begun.append((status, headers))
        return answer.append

    chunks = application(environ, start_response)
    with _closing(chunks):
        answer.extend(chunks)
    await _send_whole(send, *begun[-1], b"".join(answer), closes=body.has_more)


class _GoneError(Exception):
    """Nobody waits for the answer any more."""


class _Exchange:
    """One request that is answered in a thread, while the event loop receives and sends for it.

    Pieces of the answer are held back until there are many bytes, or the end: most answers then need no waiting for the event loop.
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
        """Answer the request."""
        try:
            last = await self._loop.run_in_executor(threads, self._answer)
            await self._pass_on(last, is_last=True)
        except _GoneError:
            pass
        finally:
            if self._watch is not None:
                self._watch.cancel()

    def _answer(self) -> bytes:
        """Have the application answer; all of the answer but the last bytes is sent, and those are returned."""
        self._environ["wsgi.input"] = io.BufferedReader(_Stream(self._body.take(), self._receive))
        chunks = self._application(self._environ, self._start_response)
        with _closing(chunks):
            for chunk in chunks:
                self._hold(chunk)
        return b"".join(self._held)

    def _start_response(
        self, status: str, headers: list[tuple[str, str]], _exc_info: object = None, /
    ) -> Callable[[bytes], object]:
        self._beginning = status, headers
        return self._hold

    def _receive(self) -> bytes:
        """Return the next part of the body; nothing at its end."""
        part = b""
        while not part and self._body.has_more:
            part = self._wait_for(self._body.receive())
        return part

    def _hold(self, chunk: bytes) -> None:
        if self._is_gone:
            raise _GoneError
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
        if self._watch is None and not is_last:
            self._watch = self._loop.create_task(self._watch_for_leaving())

    async def _watch_for_leaving(self) -> None:
        """Note when the client is gone, for sending does not tell; what it still sends is of no use once it is being answered."""
        with contextlib.suppress(ConnectionResetError):
            while True:
                await self._body.receive()
        self._is_gone = True

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the event loop do something for this thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class _Stream(io.RawIOBase):
    """A body that is received while it is read."""

    def __init__(self, begun: bytes, receive: Callable[[], bytes]) -> None:
        self._part = memoryview(begun)
        self._receive = receive

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as the next part does; 0 at the end."""
        if not self._part:
            self._part = memoryview(self._receive())
        count = min(len(buffer), len(self._part))
        buffer[:count] = self._part[:count]
        self._part = self._part[count:]
        return count


async def _send_whole(
    send: Send, status: str, headers: Iterable[tuple[str, str]], body: bytes, *, closes: bool
) -> None:
    await send(_start(status, headers, closes=closes))
    await send({"type": "http.response.body", "body": body})


def _start(status: str, headers: Iterable[tuple[str, str]], *, closes: bool) -> Message:
    """Begin an answer; where a body is left unread, the connection ends with it, for the rest would have to be read first."""
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    if closes:
        encoded.append((b"connection", b"close"))
    return {"type": "http.response.start", "status": int(status[:3]), "headers": encoded}


def _environ(scope: Mapping[str, Any]) -> "WSGIEnvironment":
    """Return what WSGI tells of a request (PEP 3333), without its body.

    A header with an underscore in its name is left out: it could not be told from one with a hyphen, such as a proxy adds.
    """
    server, port = scope.get("server") or ("", None)
    client, client_port = scope.get("client") or ("", None)
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
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
        "wsgi.input_terminated": True,
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
        environ[name] = f"{environ[name]},{value}" if name in environ else value
    return environ


@contextlib.contextmanager
def _closing(chunks: object) -> Iterator[None]:
    """Tell the application, where it wants to know, that its answer was sent."""
    try:
        yield
    finally:
        close: Callable[[], object] | None = getattr(chunks, "close", None)
        if close is not None:
            close()
