"""The gateway: the WSGI environment, separate threads for readers and writers, and clients that disconnect."""

import contextlib
import http.client
import queue
import socket
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from spanplat.cli.http_server import LONGEST_HEAD, MOST_HEADERS
from spanplat.web.gateway import ANNOTATORS_READING, ANNOTATORS_WRITING, READERS, SHORT_BODY, WRITERS

from .conftest import LONGEST_BODY, LONGEST_WAIT, Serve

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ANNOTATOR, RESEARCHER = "/a/token/items/1", "/campaigns"


@contextlib.contextmanager
def ask(
    port: int, path: str, body: bytes | Iterable[bytes] | None = None, method: str = "PUT"
) -> Iterator[http.client.HTTPResponse]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_WAIT)) as connection:
        connection.request(method, path, body)
        with connection.getresponse() as response:
            yield response


def said(port: int, path: str, body: bytes | Iterable[bytes] | None = None, method: str = "PUT") -> bytes:
    with ask(port, path, body, method) as response:
        assert response.status == 200
        return response.read()


def begin(port: int, head: str, body: bytes = b"") -> socket.socket:
    """Send the beginning of a request, in a connection of its own."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=LONGEST_WAIT)
    connection.sendall(head.replace("\n", "\r\n").encode() + body)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes."""
    with connection:
        return b"".join(iter(lambda: connection.recv(2**16), b""))


def echo(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    body = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


class Telling:
    """An application that remembers what it was told last."""

    def __init__(self) -> None:
        self.environ: WSGIEnvironment = {}
        self.thread = ""

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        self.environ = environ
        self.thread = threading.current_thread().name
        start_response("200 OK", [("Content-Length", "0")])
        return []


@pytest.mark.parametrize("where", ["a", "admin"])
def test_the_application_is_told_what_was_asked(serve: Serve, where: str) -> None:
    telling = Telling()
    head = (
        f"POST /{where}/caf%C3%A9%2Fbar?q=%C3%A9&r=1 HTTP/1.1\nHost: example.org\nContent-Type: text/plain\n"
        "Accept-Language: de\nX-Several: one\nx-several: two\nContent-Length: 2\nConnection: close\n\nhi"
    )
    read_all(begin(serve(telling), head))
    told = telling.environ
    assert told["PATH_INFO"].encode("latin-1").decode() == f"/{where}/café/bar"
    assert (told["REQUEST_METHOD"], told["QUERY_STRING"], told["HTTP_HOST"]) == ("POST", "q=%C3%A9&r=1", "example.org")
    assert (told["CONTENT_TYPE"], told["CONTENT_LENGTH"]) == ("text/plain", "2")
    assert (told["HTTP_ACCEPT_LANGUAGE"], told["HTTP_X_SEVERAL"]) == ("de", "one,two")
    assert (told["REMOTE_ADDR"], told["SERVER_PROTOCOL"]) == ("127.0.0.1", "HTTP/1.1")


def test_nobody_passes_for_the_proxy_with_an_underscore(serve: Serve) -> None:
    telling = Telling()
    head = "GET / HTTP/1.1\nHost: x\nX-Forwarded-For: 192.0.2.1\nX_Forwarded_For: 203.0.113.9\nConnection: close\n\n"
    read_all(begin(serve(telling), head))
    assert telling.environ["HTTP_X_FORWARDED_FOR"] == "192.0.2.1"


@pytest.mark.parametrize("path", [ANNOTATOR, RESEARCHER])
@pytest.mark.parametrize("length", [0, 1, SHORT_BODY, SHORT_BODY + 1, LONGEST_BODY])
@pytest.mark.parametrize("says_length", [True, False])
def test_a_body_comes_whole(serve: Serve, path: str, length: int, says_length: bool) -> None:
    body = bytes(number % 251 for number in range(length))
    pieces = body if says_length else (body[begins : begins + 50_000] for begins in range(0, length, 50_000))
    assert said(serve(echo), path, pieces) == body


def test_a_longer_body_of_somebody_who_is_no_annotator_comes_while_it_is_read(serve: Serve) -> None:
    body = bytes(3 * LONGEST_BODY)
    assert said(serve(echo), RESEARCHER, body) == body


def test_of_a_body_that_is_too_long_for_an_annotator_no_more_is_read(serve: Serve) -> None:
    lengths: queue.Queue[int] = queue.Queue()

    def counting(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        lengths.put(len(environ["wsgi.input"].read()))
        return Threads()(environ, start_response)

    port = serve(counting)
    with begin(port, f"PUT {ANNOTATOR} HTTP/1.1\nHost: x\nContent-Length: {LONGEST_BODY + 1}\n\n") as connection:
        assert b"connection: close" in read_all(connection), "the rest would have to be read first"
        assert lengths.get(timeout=LONGEST_WAIT) == 0
    with begin(port, f"PUT {ANNOTATOR} HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n") as connection:
        with contextlib.suppress(ConnectionError):  # what is refused need not be read to its end
            for _ in range(100):
                connection.sendall(b"%x\r\n%b\r\n" % (SHORT_BODY, bytes(SHORT_BODY)))
        assert LONGEST_BODY < lengths.get(timeout=LONGEST_WAIT) < 2 * LONGEST_BODY, "it shows that it is too long"


class Threads:
    """An application that answers with the name of the thread it is asked in."""

    def __call__(self, _environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        name = threading.current_thread().name.encode()
        start_response("200 OK", [("Content-Length", str(len(name)))])
        return [name]


@pytest.mark.parametrize(
    ("method", "path", "threads"),
    [
        ("GET", "/a/token", "annotator-reading"),
        ("GET", ANNOTATOR, "annotator-reading"),
        ("PUT", ANNOTATOR, "annotator-writing"),
        ("POST", "/a/token/submit", "annotator-writing"),
        ("GET", "/c/study/start", "annotator-writing"),
        ("GET", RESEARCHER, "reader"),
        ("HEAD", "/healthz", "reader"),
        ("POST", RESEARCHER, "writer"),
    ],
)
def test_everybody_is_answered_in_threads_for_what_they_do(serve: Serve, method: str, path: str, threads: str) -> None:
    telling = Telling()
    with ask(serve(telling), path, method=method) as response:
        assert response.status == 200
    assert telling.thread.startswith(f"{threads}_")


class Busy:
    """An application that is at work on a request whose body is ``stay`` until it may leave."""

    def __init__(self) -> None:
        self.may_leave = threading.Event()
        self.asked = threading.Semaphore(0)
        """Raised each time that it is asked to stay."""

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if environ["wsgi.input"].read() == b"stay":
            self.asked.release()
            assert self.may_leave.wait(LONGEST_WAIT)
        return Threads()(environ, start_response)


@pytest.mark.parametrize(
    ("method", "path", "at_once"),
    [
        ("GET", ANNOTATOR, ANNOTATORS_READING),
        ("PUT", ANNOTATOR, ANNOTATORS_WRITING),
        ("GET", RESEARCHER, READERS),
        ("PUT", RESEARCHER, WRITERS),
    ],
)
def test_however_many_are_busy_others_are_answered(serve: Serve, method: str, path: str, at_once: int) -> None:
    """Annotators do not wait for researchers, nor researchers for annotators, nor who reads for who writes, nor the reverse."""
    busy = Busy()
    port = serve(busy)
    others = {("GET", ANNOTATOR), ("PUT", ANNOTATOR), ("GET", RESEARCHER), ("PUT", RESEARCHER)} - {(method, path)}
    with ThreadPoolExecutor(at_once + 1) as pool:
        staying = [pool.submit(said, port, path, b"stay", method) for _ in range(at_once + 1)]
        for _ in range(at_once):
            assert busy.asked.acquire(timeout=LONGEST_WAIT)
        assert all(said(port, other, method=other_method) for other_method, other in others)
        assert not any(one.done() for one in staying)
        busy.may_leave.set()
        assert all(one.result(LONGEST_WAIT) for one in staying)


@pytest.mark.parametrize("length", [100, SHORT_BODY + 1], ids=["short", "long"])
def test_whoever_sends_slowly_keeps_nobody_waiting(serve: Serve, length: int) -> None:
    asked: list[int] = []

    def counting(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        asked.append(int(environ["CONTENT_LENGTH"]))
        return echo(environ, start_response)

    port = serve(counting)
    head = f"PUT {ANNOTATOR} HTTP/1.1\nHost: x\nConnection: close\nContent-Length: {length}\n\n"
    slow = [begin(port, head, b"x" * (length - 1)) for _ in range(2 * WRITERS)]
    assert said(port, ANNOTATOR, b"fast") == b"fast"
    assert asked == [4], "the application is asked when all has come"
    for connection in slow:
        connection.sendall(b"x")
    assert [read_all(connection).endswith(b"x" * length) for connection in slow] == [True] * 2 * WRITERS


def test_whoever_sends_much_too_slowly_is_refused(serve: Serve) -> None:
    telling = Telling()
    port = serve(telling, long_body_seconds=0.1)
    head = f"PUT {ANNOTATOR} HTTP/1.1\nHost: x\nContent-Length: {SHORT_BODY + 1}\n\n"
    assert read_all(begin(port, head, b"x" * SHORT_BODY)).startswith(b"HTTP/1.1 408 ")
    assert telling.environ == {}


@pytest.mark.parametrize("path", [ANNOTATOR, RESEARCHER])
def test_the_application_never_takes_a_part_of_a_body_for_the_whole(serve: Serve, path: str) -> None:
    outcomes: list[str] = []
    is_over = threading.Event()

    def reading(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        try:
            outcomes.append(f"{len(environ['wsgi.input'].read())} bytes")
        except ConnectionResetError:
            outcomes.append("broken off")
            raise
        finally:
            is_over.set()
        return Threads()(environ, start_response)

    port = serve(reading)
    chunk = b"%x\r\n%b\r\n" % (SHORT_BODY + 1, bytes(SHORT_BODY + 1))
    begin(port, f"PUT {path} HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n", chunk).close()
    if path == RESEARCHER:
        assert is_over.wait(LONGEST_WAIT)
    assert said(port, path, b"next")
    assert outcomes == (["broken off"] if path == RESEARCHER else []) + ["4 bytes"]


class Endless:
    """An application that answers without end, and knows when it was told to stop."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def __call__(self, _environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        start_response("200 OK", [])
        return self.numbers()

    def numbers(self) -> Iterator[bytes]:
        try:
            while True:
                yield bytes(2**16)
        finally:
            self.ended.set()


def test_a_long_answer_is_sent_while_it_is_made_and_ends_when_nobody_reads_on(serve: Serve) -> None:
    endless = Endless()
    with ask(serve(endless), RESEARCHER, method="GET") as response:
        assert len(response.read(10 * 2**16)) == 10 * 2**16
        assert not endless.ended.is_set()
    assert endless.ended.wait(LONGEST_WAIT)


@pytest.mark.parametrize("path", [ANNOTATOR, RESEARCHER])
def test_an_answer_in_pieces_comes_whole_and_its_end_is_told(serve: Serve, path: str) -> None:
    closed = threading.Event()

    class Pieces:
        def __iter__(self) -> Iterator[bytes]:
            return iter([b"one ", b"", b"two ", b"three"])

        def close(self) -> None:
            closed.set()

    def in_pieces(_environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        start_response("200 OK", [])(b"written, ")
        return Pieces()

    assert said(serve(in_pieces), path) == b"written, one two three"
    assert closed.is_set()


@pytest.mark.parametrize("path", [ANNOTATOR, RESEARCHER])
def test_the_head_alone_can_be_asked_for(serve: Serve, path: str) -> None:
    with ask(serve(Threads()), path, method="HEAD") as response:
        assert (response.status, response.read()) == (200, b"")
        assert int(response.getheader("Content-Length", "0")) > 0


@pytest.mark.parametrize("path", [ANNOTATOR, RESEARCHER])
def test_a_mistake_of_the_application_is_an_answer_too(serve: Serve, path: str) -> None:
    def mistaken(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if environ["wsgi.input"].read() == b"fail":
            raise RuntimeError("it failed")
        return Threads()(environ, start_response)

    port = serve(mistaken)
    with ask(port, path, b"fail") as response:
        assert (response.status, b"it failed" in response.read()) == (500, False)
    assert said(port, path)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(["X-Long: " + "x" * 2 * LONGEST_HEAD], id="long"),
        pytest.param([f"X-{number}: x" for number in range(MOST_HEADERS + 1)], id="many"),
        pytest.param(["X-Endless: " + "x" * 2 * LONGEST_HEAD, None], id="endless"),
    ],
)
def test_strangers_cannot_make_the_server_keep_much(serve: Serve, headers: list[str | None]) -> None:
    telling = Telling()
    is_whole = None not in headers
    head = "GET / HTTP/1.1\n" + "\n".join(line for line in headers if line) + ("\n\n" if is_whole else "")
    with contextlib.suppress(ConnectionError):  # what is refused need not be read to its end
        assert read_all(begin(serve(telling), head)).startswith(b"HTTP/1.1 400 ")
    assert telling.environ == {}


def test_a_connection_on_which_nothing_is_asked_is_closed(serve: Serve) -> None:
    port = serve(Telling(), keep_alive_seconds=1)
    assert read_all(begin(port, "")) == b""
    assert read_all(begin(port, "GET / HTTP/1.1\nHost: x\n\n")).startswith(b"HTTP/1.1 200 ")
