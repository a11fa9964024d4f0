"""Annotators' requests take turns; nobody waits for a slow connection, nor too long for anybody."""

import io
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from flask import Flask
from werkzeug.test import EnvironBuilder, run_wsgi_app

from spanplat.web.turns import Turns

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

LONGEST_WAIT = 60.0
LONGEST_BODY = 1000


class Busy:
    """An application that is at work on a request whose body is ``stay`` until it may leave."""

    def __init__(self) -> None:
        self.began, self.may_leave = threading.Event(), threading.Event()
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        body = environ["wsgi.input"].read()
        if body == b"stay":
            self.began.set()
            assert self.may_leave.wait(LONGEST_WAIT)
        with self._lock:
            self.at_once -= 1
        if body == b"fail":
            raise RuntimeError("it failed")
        start_response("200 OK", [])
        return [body]


class Arriving:
    """A body that says when it is asked for, and comes when it may."""

    def __init__(self, content: bytes) -> None:
        self.length = len(content)
        self.is_asked_for, self.may_come = threading.Event(), threading.Event()
        self._content = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        self.is_asked_for.set()
        assert self.may_come.wait(LONGEST_WAIT)
        return self._content.read(size)


Ask = Callable[..., "Future[bytes]"]


@pytest.fixture
def busy() -> Busy:
    return Busy()


def request(path: str, body: bytes | Arriving, length: int | None) -> "WSGIEnvironment":
    environ = EnvironBuilder(path=path, method="PUT").get_environ()
    environ["wsgi.input"] = io.BytesIO(body) if isinstance(body, bytes) else body
    if length is None:
        environ |= {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    else:
        environ["CONTENT_LENGTH"] = str(length)
    return environ


def asker(pool: ThreadPoolExecutor, application: Turns) -> Ask:
    def ask(path: str, body: bytes | Arriving = b"") -> "Future[bytes]":
        environ = request(path, body, len(body) if isinstance(body, bytes) else body.length)
        return pool.submit(lambda: b"".join(run_wsgi_app(application, environ)[0]))

    return ask


@pytest.mark.parametrize("at_once", [1, 3])
def test_only_so_many_annotators_are_answered_at_once(busy: Busy, at_once: int) -> None:
    with ThreadPoolExecutor(16) as pool:
        ask = asker(pool, Turns(busy, at_once, LONGEST_BODY, patience=LONGEST_WAIT))
        first = []
        for _ in range(at_once):
            busy.began.clear()
            first.append(ask("/a/token/items/1", b"stay"))
            assert busy.began.wait(LONGEST_WAIT)
        others = [ask("/c/study/start", b"%d" % number) for number in range(8)]
        assert busy.at_once == at_once
        busy.may_leave.set()
        assert {one.result(LONGEST_WAIT) for one in first} == {b"stay"}
        assert [other.result(LONGEST_WAIT) for other in others] == [b"%d" % number for number in range(8)]
    assert busy.most_at_once == at_once


def test_researchers_do_not_stand_in_line(busy: Busy) -> None:
    with ThreadPoolExecutor(2) as pool:
        ask = asker(pool, Turns(busy, 1, LONGEST_BODY, patience=LONGEST_WAIT))
        annotator = ask("/a/token/submit", b"stay")
        assert busy.began.wait(LONGEST_WAIT)
        assert ask("/campaigns").result(LONGEST_WAIT) == b""
        busy.may_leave.set()
        assert annotator.result(LONGEST_WAIT) == b"stay"


def test_whoever_sends_slowly_keeps_nobody_waiting(busy: Busy) -> None:
    with ThreadPoolExecutor(2) as pool:
        ask = asker(pool, Turns(busy, 1, LONGEST_BODY, patience=LONGEST_WAIT))
        body = Arriving(b"slow")
        slow = ask("/a/token/items/1", body)
        assert body.is_asked_for.wait(LONGEST_WAIT)
        assert ask("/a/token/items/2", b"fast").result(LONGEST_WAIT) == b"fast"
        body.may_come.set()
        assert slow.result(LONGEST_WAIT) == b"slow"


def test_nobody_waits_long_for_one_who_takes_long(busy: Busy) -> None:
    with ThreadPoolExecutor(2) as pool:
        ask = asker(pool, Turns(busy, 1, LONGEST_BODY, patience=0.01))
        stuck = ask("/a/token/items/1", b"stay")
        assert busy.began.wait(LONGEST_WAIT)
        assert ask("/a/token/items/2", b"on").result(LONGEST_WAIT) == b"on"
        assert busy.most_at_once == 2
        busy.may_leave.set()
        assert stuck.result(LONGEST_WAIT) == b"stay"


def test_a_failure_ends_the_turn(busy: Busy) -> None:
    with ThreadPoolExecutor(1) as pool:
        ask = asker(pool, Turns(busy, 1, LONGEST_BODY, patience=LONGEST_WAIT))
        with pytest.raises(RuntimeError, match="it failed"):
            ask("/a/token/items/1", b"fail").result(LONGEST_WAIT)
        assert ask("/a/token/items/1", b"next").result(LONGEST_WAIT) == b"next"


@pytest.mark.parametrize(
    ("says_its_length", "expected"), [(True, "413"), (False, "422")], ids=["with its length", "in chunks, cut short"]
)
def test_a_body_that_is_too_long_is_refused(app: Flask, says_its_length: bool, expected: str) -> None:
    body = b" " * app.config["MAX_CONTENT_LENGTH"] + b"{}"
    _, status, _ = run_wsgi_app(app, request("/a/token/items/1", body, len(body) if says_its_length else None))
    assert status.startswith(expected)


def test_a_body_that_breaks_off_is_not_taken_for_whole(app: Flask) -> None:
    _, status, _ = run_wsgi_app(app, request("/a/token/items/1", b"{}", 3))
    assert status.startswith("400")
