"""A real server on a fresh database, and a real Chromium to visit it with."""

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from werkzeug.serving import make_server

from spanplat.db import Database
from spanplat.models import Role
from spanplat.services.users import add_user
from spanplat.settings import Settings
from spanplat.web.app import create_app
from tests.conftest import skip_or_fail


@dataclass(frozen=True)
class LiveServer:
    """A running server, its address, and the database behind it."""

    url: str
    app: Flask
    database: Database


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the whole run."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        if executable is None and not Path(playwright.chromium.executable_path).exists():
            skip_or_fail("there is no Chromium; install one, or run: playwright install chromium")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def live_server(sqlite_database: Database, web_home: Path) -> Iterator[LiveServer]:
    """A server on a free port with an empty database."""
    app = create_app(Settings(home=web_home, _env_file=None), sqlite_database)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield LiveServer(f"http://127.0.0.1:{server.server_port}", app, sqlite_database)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def new_page(browser: Browser, live_server: LiveServer) -> Iterator[Callable[..., Page]]:
    """Open pages in contexts of their own; what the page reports as an error, or its security policy blocks, fails the test.

    Arguments go to ``browser.new_context``: ``viewport``, ``color_scheme``, ``has_touch`` and so on.
    """
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def open_page(**options: object) -> Page:
        context = browser.new_context(base_url=live_server.url, **options)  # type: ignore[arg-type]
        contexts.append(context)
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
        page.wait_for_url("**/")
        return page

    return sign_in
