"""The stand-in as an HTTP server in a thread."""

import asyncio
import contextlib
import json
import re
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tests.standin.batches import Batches
from tests.standin.script import BATCH_SHARE, Answer, Call, Cut, Hang, Hold, Ledger, Raw, Reply, Script, Trouble, always
from tests.standin.wire import INTERFACES, error_body, prompt_of, rate_limit_headers, reply_body, stream_events

_BOUNDARY = re.compile(r'boundary="?([^";]+)')


class StandIn:
    """Answers like a provider, as its script says.

    Parameters
    ----------
    script
        Gives the answer to a call; by default every text has nothing to mark.
    latency
        Seconds before a proper answer.
    key
        The only key it accepts; any, or none, where it is None.
    """

    def __init__(self, script: Script | None = None, *, latency: float = 0.0, key: str | None = None) -> None:
        self.script = script or always(Reply())
        self.ledger = Ledger()
        self.batches = Batches(self._complete_in_batch)
        self.active = 0
        self.most_active = 0
        self._latency = latency
        self._key = key
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stand-in", daemon=True)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._released = asyncio.Event()
        self.port = 0

    @property
    def url(self) -> str:
        """Address for Anthropic's SDK; OpenAI's wants ``/v1`` after it."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._tasks)

    def release(self) -> None:
        """Let go of what is held or hangs, now and from now on."""
        self._loop.call_soon_threadsafe(self._released.set)

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=2**26, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._released.set()
        assert self._server is not None
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}  # with those of connections that are only being made
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._serve(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()  # nobody reads what is left
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; tell whether the connection stays."""
        head = await reader.readuntil(b"\r\n\r\n")
        start, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, path, _ = start.split(" ")
        headers = {name.strip().lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        content = await _body(reader, headers)
        interface = INTERFACES.get(path.partition("?")[0])
        if self._key is not None and headers.get("authorization") != f"Bearer {self._key}":
            trouble = Trouble(
                401, f"Incorrect API key provided: {headers.get('authorization', 'none')}", "invalid_api_key"
            )
            await _send(writer, 401, error_body(interface or "chat", trouble))
            return True
        if interface is None:
            status, answer = self._elsewhere(method, path, headers, content)
            if isinstance(answer, str) and self.batches.cuts:
                self.batches.cuts -= 1
                half = answer.encode()[: len(answer) // 2]
                writer.write(_head(200, {"content-length": str(len(answer.encode()))}) + half)
                await writer.drain()
                return False
            await _send(writer, status, answer)
            return True
        body = json.loads(content)
        call = self.ledger.begin(interface, body, headers, prompt_of(body))
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        try:
            return await self._answer(writer, call, self.script(call))
        finally:
            self.active -= 1

    async def _answer(self, writer: asyncio.StreamWriter, call: Call, answer: Answer) -> bool:
        match answer:
            case Raw():
                await _send(writer, 200, answer.body, {"content-type": answer.content_type})
            case Hang():
                await self._released.wait()
                return False
            case Cut() | Trouble(within=True) if call.body.get("stream"):
                await self._break_off(writer, call, answer)
                return False
            case Trouble():
                await _send(writer, answer.status, error_body(call.interface, answer), answer.headers)
            case Cut():
                writer.write(
                    b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{"id": "x", '
                )
                await writer.drain()
                return False
            case Hold():
                await self._released.wait()
                await self._reply(writer, call, answer.reply)
            case Reply():
                await self._reply(writer, call, answer)
        return True

    async def _break_off(self, writer: asyncio.StreamWriter, call: Call, answer: Cut | Trouble) -> None:
        """Begin a stream, and end it with an error or without a word."""
        body = reply_body(call.interface, call.body, Reply('{"annotations": ['), (1, 1, 0), call.number)
        writer.write(_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"}))
        for event in list(stream_events(call.interface, body))[:3]:
            writer.write(_chunk(_event(*event)))
        if isinstance(answer, Trouble):
            error = error_body(call.interface, answer)
            writer.write(_chunk(_event("error" if call.interface == "messages" else "", error)) + b"0\r\n\r\n")
        elif answer.politely:
            writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _reply(self, writer: asyncio.StreamWriter, call: Call, reply: Reply) -> None:
        if self._latency or reply.delay:
            await asyncio.sleep(self._latency + reply.delay)
        body = reply_body(call.interface, call.body, reply, self.ledger.bill(call, reply), call.number)
        headers = rate_limit_headers(call.interface, 999) | dict(reply.headers)
        if not call.body.get("stream"):
            await _send(writer, 200, body, headers)
            return
        writer.write(_head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"} | headers))
        for name, event in stream_events(call.interface, body):
            writer.write(_chunk(_event(name, event)))
            await writer.drain()
        writer.write((_chunk("data: [DONE]\n\n") if call.interface == "chat" else b"") + b"0\r\n\r\n")
        await writer.drain()

    def _elsewhere(  # noqa: PLR0911 (one for each address)
        self, method: str, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[int, Any]:
        """Serve files and batches, and the stand-in's own account."""
        match [method, *path.partition("?")[0].strip("/").split("/")]:
            case ["GET", "ledger"]:
                return 200, self.ledger.totals()
            case ["POST", "v1", "files"]:
                return 200, self.batches.upload(_uploaded(headers, content))
            case ["GET", "v1", "files", name, "content"]:
                return 200, self.batches.files[name]
            case ["POST", "v1", "messages", "batches"]:
                return self._hand_in("messages", json.loads(content))
            case ["GET", "v1", "messages", "batches", name, "results"]:
                return 200, self.batches.results(name)
            case ["POST", "v1", "batches"]:
                return self._hand_in(INTERFACES[json.loads(content)["endpoint"]], json.loads(content))
            case ["GET", "v1", "batches"]:
                return 200, self.batches.list("chat")
            case ["GET", "v1", "messages", "batches"]:
                return 200, self.batches.list("messages")
            case ["POST", "v1", "messages", "batches", name, "cancel"] | ["POST", "v1", "batches", name, "cancel"]:
                return 200, self.batches.cancel(name)
            case ["GET", "v1", "messages", "batches", name] | ["GET", "v1", "batches", name] if (
                name in self.batches.batches
            ):
                return 200, self.batches.describe(self.batches.batches[name])
        return 404, error_body("chat", Trouble(404, f"there is nothing at {path}", "not_found"))

    def _hand_in(self, interface: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        trouble = self.batches.troubles.pop(0) if self.batches.troubles else None
        if trouble is None:
            return 200, self.batches.create(interface, body)
        if trouble.status >= 500:
            self.batches.create(interface, body)
        return trouble.status, error_body(interface, trouble)

    def _complete_in_batch(self, interface: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        call = self.ledger.begin(interface, body, {}, prompt_of(body))
        answer = self.script(call)
        if isinstance(answer, Trouble):
            return answer.status, error_body(interface, answer)
        assert isinstance(answer, Reply)
        tokens = self.ledger.bill(call, answer, share=BATCH_SHARE)
        return 200, reply_body(interface, body, answer, tokens, call.number)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    content = b""
    while size := int(await reader.readline(), 16):
        content += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return content


def _uploaded(headers: Mapping[str, str], content: bytes) -> str:
    """Return the file of a form."""
    boundary = _BOUNDARY.search(headers["content-type"])
    assert boundary is not None
    for part in content.split(b"--" + boundary[1].encode()):
        head, _, body = part.partition(b"\r\n\r\n")
        if b"filename=" in head:
            return body.removesuffix(b"\r\n").decode()
    raise AssertionError("the form has no file")


async def _send(writer: asyncio.StreamWriter, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    kind = "text/plain" if isinstance(body, str) else "application/json"
    writer.write(
        _head(status, {"content-type": kind, "content-length": str(len(content))} | dict(headers or {})) + content
    )
    with contextlib.suppress(ConnectionError):
        await writer.drain()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode("latin-1")


def _event(name: str, data: dict[str, Any]) -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"


def _chunk(text: str) -> bytes:
    content = text.encode()
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"
