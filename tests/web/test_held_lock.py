"""A transaction that holds the write lock delays other writers, but no reader."""

import contextlib
import http.client
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from flask import Flask, url_for
from sqlalchemy import make_url

from spanplat.db import Database
from spanplat.models import Role
from spanplat.web.gateway import ANNOTATORS_WRITING

from .conftest import LONGEST_WAIT, Serve, Visitor

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

MOST_SECONDS = 0.3
ATTEMPTS = 5
"""How often a page may be asked for: on a machine with other work, a page can take long without waiting for the lock."""
SAVE = {"revision": 0, "status": "draft", "spans": [], "answers": {}, "seconds": 1}


class Arrivals:
    """The application, which also tells how many requests that write have reached it."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.came = threading.Semaphore(0)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in ("PUT", "POST"):
            self.came.release()
        return self.app(environ, start_response)


class Client:
    """Sends requests to the server, each on a connection of its own."""

    def __init__(self, port: int, cookie: str = "") -> None:
        self.port = port
        self.cookie = cookie

    def send(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> http.client.HTTPResponse:
        """Return the answer; its body has been read."""
        headers = {"Cookie": self.cookie} | ({"Content-Type": kind} if kind else {})
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST_WAIT)) as connection:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            response.read()
            return response

    def fetch(self, path: str) -> tuple[int, float]:
        """Return the status of a page, and the seconds until it has come."""
        began = time.perf_counter()
        status = self.send("GET", path).status
        return status, time.perf_counter() - began


@contextlib.contextmanager
def write_lock_of(database: Database) -> Iterator[None]:
    """Hold the write lock with a connection that the server knows nothing of."""
    file = make_url(database.url).database
    assert file is not None
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def pages_of(app: Flask, annotator: str) -> list[str]:
    """Return the addresses that only read: the annotator's, and the studio's that need no more than a campaign's name."""
    values: dict[str, Any] = {"slug": "demo-people", "token": annotator, "position": 1}
    pages = []
    with app.test_request_context():
        for rule in app.url_map.iter_rules():
            needs_other_token = "token" in rule.arguments and not rule.rule.startswith("/a/<token>")
            if "GET" not in (rule.methods or ()) or rule.endpoint == "annotator.start" or needs_other_token:
                continue
            if rule.arguments <= values.keys():
                pages.append(url_for(rule.endpoint, **{name: values[name] for name in rule.arguments}))
    return pages


@pytest.fixture
def cookie(signed_in: Callable[[Role], Visitor], app: Flask) -> str:
    """The cookie of an administrator."""
    stored = signed_in(Role.ADMIN).client.get_cookie(app.config["SESSION_COOKIE_NAME"])
    assert stored is not None
    return f"{stored.key}={stored.value}"


def test_pages_that_only_read_do_not_wait_for_the_write_lock(
    app: Flask, demo: Database, serve: Serve, cookie: str
) -> None:
    arrivals = Arrivals(app)
    client = Client(serve(arrivals), cookie)
    link = client.send("GET", "/c/demo-people/start?annotator=ann").headers["Location"] or ""
    token = link.rpartition("/")[2]
    client.send("POST", f"/a/{token}/consent", b"agreed=yes", "application/x-www-form-urlencoded")
    assert arrivals.came.acquire(blocking=False)
    pages = pages_of(app, token)
    usual = {page: client.fetch(page)[0] for page in pages}
    assert {"/healthz", "/", f"/a/{token}", f"/a/{token}/items", f"/a/{token}/items/1"} <= usual.keys()
    assert "/admin/campaigns/demo-people" in usual
    assert usual["/healthz"] == usual[f"/a/{token}/items/1"] == usual["/admin/campaigns/demo-people"] == 200

    save = ("PUT", f"/a/{token}/items/1", json.dumps(SAVE).encode(), "application/json")
    with ThreadPoolExecutor(2 * ANNOTATORS_WRITING) as pool:
        with write_lock_of(demo):
            saves = [pool.submit(client.send, *save) for _ in range(2 * ANNOTATORS_WRITING)]
            for _ in range(ANNOTATORS_WRITING):
                assert arrivals.came.acquire(timeout=LONGEST_WAIT)
            for page in pages:
                answers: list[tuple[int, float]] = []
                while not answers or (answers[-1][1] >= MOST_SECONDS and len(answers) < ATTEMPTS):
                    answers.append(client.fetch(page))
                assert answers[-1][0] == usual[page]
                assert answers[-1][1] < MOST_SECONDS, f"{page} took {answers}"
            assert not any(save.done() for save in saves)
        assert {save.result(LONGEST_WAIT).status for save in saves} == {200}
