"""After failures, the database behind a real ``spanplat serve`` holds all work exactly once."""

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.db.schema import initialise
from spanplat.models import Annotation, Assignment, AssignmentStatus, Campaign, CheckResult, Item, Participation, Span
from tests.browser.annotator.person import Annotator
from tests.browser.annotator.studies import store_study
from tests.browser.conftest import LONGEST_WAIT_MS

pytestmark = pytest.mark.browser

TEXT = "Enjoy views of the Hudson River 🌉 from select suites."
COMMENT = {"type": "text", "label": "Comment"}
SECONDS = 1000
"""In the milliseconds of a page's clock."""
BETWEEN_TRIES = 31 * SECONDS
"""After a while without a server the page tries again every half a minute."""
WINDOW = {"width": 1280, "height": 800}


class Server:
    """A ``spanplat serve`` that can be killed and brought back on the same data."""

    def __init__(self, home: Path, database_url: str) -> None:
        self.database = Database(database_url)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SPANPLAT_")}
        self.environment |= {
            "SPANPLAT_HOME": str(home),
            "SPANPLAT_DATABASE_URL": database_url,
            "PYTHONUNBUFFERED": "1",
        }
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Return once requests are answered."""
        command = [sys.executable, "-m", "spanplat", "serve", "--port", str(self.port), "--workers", "2", "--no-worker"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment)
        assert self.process.stdout is not None
        assert any(re.search(r"http://\S+", line) for line in self.process.stdout), "the server ended"

    def kill(self) -> None:
        """End every process of the server at once, as a power cut would."""
        if self.process is None:
            return
        family = [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):  # some end by themselves when others do
                member.kill()
        self.process.communicate()
        psutil.wait_procs(family)
        self.process = None

    def open_study(self, slug: str, *texts: str, **parts: Any) -> str:
        """Store a study of its own and return its start link."""
        store_study(self.database, *texts, slug=slug, **parts)
        return f"http://127.0.0.1:{self.port}/c/{slug}/start"

    def stored(self, slug: str) -> dict[str, Any]:
        """Return what the database holds of a study, in counts and in quotes."""
        with self.database.reading() as session:
            of_study = select(Campaign.id).where(Campaign.slug == slug).scalar_subquery()
            annotations = select(Annotation).join(Item).where(Item.campaign_id == of_study)
            spans = select(Span.text).join(Annotation).join(Item).where(Item.campaign_id == of_study)
            participations = select(func.count(Participation.id)).where(Participation.campaign_id == of_study)
            return {
                "participations": session.scalars(participations).one(),
                "annotations": [
                    (annotation.status, annotation.answers)
                    for annotation in session.scalars(annotations.order_by(Annotation.id))
                ],
                "spans": session.scalars(spans.order_by(Span.annotation_id, Span.position)).all(),
            }


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which every test has a study of its own."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    """One server on SQLite for all tests; whoever kills it brings it back."""
    server = Server(home, f"sqlite:///{home}/spanplat.sqlite3")
    initialise(server.database)
    server.start()
    yield server
    server.kill()
    server.database.dispose()


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Make browsers that know nothing of each other; arguments go to ``browser.new_context``."""
    contexts: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        contexts.append(browser.new_context(viewport=WINDOW, **options))  # type: ignore[arg-type]
        contexts[-1].set_default_timeout(LONGEST_WAIT_MS)
        return contexts[-1]

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def context(new_context: Callable[..., BrowserContext]) -> BrowserContext:
    return new_context()


def begin(link: str, context: BrowserContext, name: str = "Ann") -> Annotator:
    return Annotator(context.new_page()).begin(f"{link}?annotator={name}")


def survive_a_crash(server: Server, new_context: Callable[..., BrowserContext], slug: str) -> None:
    """The server is killed while two people work: one types on until it is back, the other's device is switched off and on."""
    link = server.open_study(slug, TEXT, questions=[COMMENT])
    staying, leaving = new_context(), new_context()
    staying.clock.install()
    ann, bob = begin(link, staying, "Ann"), begin(link, leaving, "Bob")
    address = bob.base
    for person, word in ((ann, "Hudson"), (bob, "Enjoy")):
        person.mark(word)
        person.saved()
    comment = ann.page.get_by_label("Comment")
    comment.press_sequentially("The river ", delay=40)
    server.kill()
    comment.press_sequentially("is called 🌉 ", delay=40)
    ann.mark("suites", "2")
    bob.mark("views", "3")
    for person in (ann, bob):
        expect(person.page.locator("#save-state")).to_have_text("Offline, kept here")
    left_on_disk = leaving.storage_state()
    leaving.close()
    comment.focus()
    ann.page.keyboard.press("End")
    server.start()
    comment.press_sequentially("otherwise.", delay=40)
    staying.clock.fast_forward(BETWEEN_TRIES)
    ann.saved()
    said = {"comment": "The river is called 🌉 otherwise."}
    again = Annotator(new_context(storage_state=left_on_disk).new_page())
    again.page.goto(address)
    expect(again.rows).to_have_count(2)
    again.saved()
    assert server.stored(slug) == {
        "participations": 2,
        "annotations": [("draft", said), ("draft", {})],
        "spans": ["Hudson", "suites", "Enjoy", "views"],
    }
    ann.page.reload()
    expect(comment).to_have_value(said["comment"])
    expect(ann.rows).to_have_count(2)


def submit_three_times(server: Server, context: BrowserContext, slug: str) -> None:
    """Submit thrice at once in one tab, and once more in another."""
    link = server.open_study(
        slug,
        TEXT,
        platform={"service": "direct", "codes": {"completed": "DONE123"}},
        checks=[{"name": "quick", "type": "min_seconds", "seconds": 0.1}],
    )
    annotator = begin(link, context)
    annotator.mark("Hudson")
    annotator.page.keyboard.press("Control+Enter")
    annotator.saved()
    twin = Annotator(context.new_page())
    twin.hear_nothing()
    twin.page.goto(annotator.base)
    twin.page.get_by_role("button", name="Review").click()
    annotator.page.locator("#submit-form").evaluate("form => [1, 2, 3].forEach(() => form.requestSubmit())")
    expect(annotator.page.locator(".code")).to_have_text("DONE123")
    twin.page.get_by_role("button", name="Submit").click()
    expect(twin.page.locator(".code")).to_have_text("DONE123")
    with server.database.reading() as session:
        of_study = select(Assignment).join(Campaign).where(Campaign.slug == slug, Assignment.annotator_id.is_not(None))
        [assignment] = session.scalars(of_study).all()
        assert assignment.status == AssignmentStatus.SUBMITTED
        checked = select(func.count(CheckResult.id)).where(CheckResult.assignment_id == assignment.id)
        assert session.scalars(checked).one() == 1
    assert server.stored(slug) == {"participations": 1, "annotations": [("complete", {})], "spans": ["Hudson"]}


def test_when_the_server_is_killed_while_people_work_nothing_is_lost_by_who_stays_or_who_switches_off(
    server: Server, new_context: Callable[..., BrowserContext]
) -> None:
    survive_a_crash(server, new_context, "crash")


def test_submitting_three_times_and_from_two_tabs_submits_once(server: Server, context: BrowserContext) -> None:
    submit_three_times(server, context, "thrice")


def test_on_postgresql_too_a_crash_loses_nothing_and_submitting_three_times_submits_once(
    postgresql_url: str, tmp_path: Path, new_context: Callable[..., BrowserContext]
) -> None:
    server = Server(tmp_path, postgresql_url)
    server.start()
    try:
        survive_a_crash(server, new_context, "crash")
        submit_three_times(server, new_context(), "thrice")
    finally:
        server.kill()
        server.database.dispose()


def test_a_minute_without_a_network_loses_nothing_and_doubles_nothing(server: Server, context: BrowserContext) -> None:
    link = server.open_study("minute", TEXT, "A second text.")
    context.clock.install()
    annotator = begin(link, context)
    page = annotator.page
    saves: list[str] = []
    page.on("request", lambda request: saves.append(request.url) if request.method == "PUT" else None)
    context.set_offline(True)
    for word, key in (("Enjoy", "1"), ("Hudson", "2"), ("suites", "3")):
        annotator.mark(word, key)
    for _ in range(4):
        tried = len(saves)
        context.clock.fast_forward(15 * SECONDS)
        if len(saves) == tried:
            continue  # it waits longer from try to try
        expect(page.locator("#save-state")).to_have_text("Offline, kept here")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#message")).to_contain_text("No connection. Your work is kept on this device")
    expect(annotator.rows).to_have_count(3)
    assert saves, "nothing was tried while there was no network"
    assert server.stored("minute")["spans"] == []
    context.set_offline(False)
    annotator.saved()
    assert server.stored("minute") == {
        "participations": 1,
        "annotations": [("complete", {})],
        "spans": ["Enjoy", "Hudson", "suites"],
    }
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_have_text("2 of 2")


def test_another_device_without_anything_stored_goes_on_where_the_first_stopped(
    server: Server, new_context: Callable[..., BrowserContext]
) -> None:
    named = {"service": "direct", "ask_name": True}
    link = server.open_study("devices", TEXT, "A second text.", platform=named)
    first = new_context()
    annotator = begin(link, first)
    annotator.mark("Hudson")
    annotator.page.keyboard.press("Control+Enter")
    expect(annotator.page.locator("#progress")).to_have_text("2 of 2")
    annotator.mark("second")
    annotator.saved()
    address = annotator.base
    first.close()
    other = Annotator(new_context().new_page())
    other.page.goto(f"{link}?annotator=Ann")
    assert other.base == address
    expect(other.page.locator("#progress")).to_have_text("2 of 2")
    assert other.shown() == ["second"]
    assert server.stored("devices")["participations"] == 1


def test_of_two_devices_the_second_is_told_and_overwrites_nothing(
    server: Server, new_context: Callable[..., BrowserContext]
) -> None:
    here, there = new_context(), new_context()
    here.clock.install()
    first = begin(server.open_study("told", TEXT), here)
    second = Annotator(there.new_page())
    second.hear_nothing()
    second.begin(first.base)
    first.mark("Hudson")
    first.saved()
    second.mark("suites", "2")
    expect(second.page.locator("#message")).to_contain_text("changed in another tab or on another device")
    assert second.shown() == ["Hudson"]
    assert server.stored("told")["spans"] == ["Hudson"]
    second.page.keyboard.press("Control+z")
    expect(second.page.locator("#spans q")).to_have_text("suites")
    second.saved()
    assert server.stored("told")["spans"] == ["suites"]
    here.clock.fast_forward(10 * SECONDS)  # nobody touches the first device
    expect(first.page.locator("#spans q")).to_have_text("suites")
    expect(first.page.locator("#message")).to_contain_text("on another device; this is how it is now")
