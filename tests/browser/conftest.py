"""A real server on a fresh database, and a real Chromium to visit it with."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, expect
from werkzeug.serving import make_server

from spanplat.db import Database
from spanplat.models import Role
from spanplat.services.accounts.users import add_user

# A slow machine is no reason to fail: what is waited for comes at last, or never.
LONGEST_WAIT_MS = 60_000
expect.set_options(timeout=LONGEST_WAIT_MS)


@dataclass(frozen=True)
class LiveServer:
    """A running server, its address, and the database behind it."""

    url: str
    app: Flask
    database: Database


class Served:
    """A WSGI application that knows how many requests it is answering, and takes its time for each.

    Parameters
    ----------
    app
        What answers.
    longest_pause
        Seconds that pass at most before and after; how many is left to chance, so that requests overtake each other.
    """

    def __init__(self, app: WSGIApplication, longest_pause: float) -> None:
        self.under_way = 0
        self._app = app
        self._longest_pause = longest_pause
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self._count(1)
        try:
            self._pause()
            answer = self._app(environ, start_response)
            try:
                # Whether or not somebody still listens, all that the application does is done then.
                return [b"".join(answer)]
            finally:
                if (close := getattr(answer, "close", None)) is not None:
                    close()
                self._pause()
        finally:
            self._count(-1)

    def _pause(self) -> None:
        time.sleep(random.uniform(0, self._longest_pause))  # noqa: S311

    def _count(self, more: int) -> None:
        with self._lock:
            self.under_way += more


@pytest.fixture
def live_server(
    sqlite_database: Database,
    application: Callable[[Database], Flask],
    wait_until: Callable[[Callable[[], bool]], None],
    pytestconfig: pytest.Config,
) -> Iterator[LiveServer]:
    """A server on a free port with an empty database, which is not taken away before the last request is answered."""
    app = application(sqlite_database)
    served = Served(app, pytestconfig.getoption("--slow-server"))
    server = make_server("127.0.0.1", 0, served, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield LiveServer(f"http://127.0.0.1:{server.server_port}", app, sqlite_database)
    server.shutdown()
    thread.join()
    wait_until(lambda: served.under_way == 0)
    server.server_close()


@pytest.fixture
def new_page(browser: Browser, live_server: LiveServer, pytestconfig: pytest.Config) -> Iterator[Callable[..., Page]]:
    """Open pages in contexts of their own; what the page reports as an error, or its security policy blocks, fails the test.

    Arguments go to ``browser.new_context``: ``viewport``, ``color_scheme``, ``has_touch`` and so on.
    """
    contexts: list[BrowserContext] = []
    problems: list[str] = []
    slowness = {"rate": pytestconfig.getoption("--slow-browser")}

    def slow_down(page: Page) -> None:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", slowness)

    def open_page(**options: object) -> Page:
        context = browser.new_context(base_url=live_server.url, **options)  # type: ignore[arg-type]
        contexts.append(context)
        context.set_default_timeout(LONGEST_WAIT_MS)
        if slowness["rate"] > 1:
            context.on("page", slow_down)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda message: problems.append(message.text) if "Content Security Policy" in message.text else None,
        )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page in a window of common size."""
    return new_page(viewport={"width": 1280, "height": 800})


@pytest.fixture
def signed_in(live_server: LiveServer) -> Callable[[Page], Page]:
    """Sign a page in as a researcher."""
    with live_server.database.transaction() as session:
        user, password = add_user(session, "researcher@example.org", Role.RESEARCHER)

    def sign_in(page: Page) -> Page:
        page.goto("/")
        page.get_by_label("Email").fill(user.email)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Sign out").wait_for()
        page.wait_for_load_state()
        return page

    return sign_in
