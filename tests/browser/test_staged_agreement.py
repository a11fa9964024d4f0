"""The agreement page in a real browser: headline figures come first, old figures are marked, and each stage is accessible."""

import threading
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import select, update

from spanplat.models import Annotation, Assignment, Campaign, Job
from spanplat.services.background import computations
from spanplat.services.demo import load_demo
from spanplat.worker.handlers import HANDLERS
from spanplat.worker.performing import Performer
from tests.browser.accessibility import require_accessible
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser

ADDRESS = "/admin/agreement?reference=demo-sample-a&hypothesis=demo-sample-b"
PRESENT = "These figures are those of the present data."


def test_small_work_fills_in_by_itself_and_the_cards_do_not_move(
    live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page]
) -> None:
    load_demo(live_server.database)
    signed_in(page).goto(ADDRESS)
    gamma = page.locator(".card").nth(2)
    expect(gamma).to_contain_text("γ")
    before = gamma.bounding_box()
    expect(page.get_by_text(PRESENT)).to_be_visible()
    expect(page.locator(".card").first.locator(".interval")).to_contain_text("–")
    after = gamma.bounding_box()
    assert before is not None
    assert after is not None
    assert (before["x"], before["y"]) == (after["x"], after["y"])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_worker_is_followed_until_it_is_done(
    live_server: LiveServer,
    new_page: Callable[..., Page],
    signed_in: Callable[[Page], Page],
    monkeypatch: pytest.MonkeyPatch,
    theme: str,
) -> None:
    load_demo(live_server.database)
    monkeypatch.setattr(computations, "AT_ONCE_SECONDS", 0.0)
    page = signed_in(new_page(color_scheme=theme, viewport={"width": 390, "height": 800}))
    page.goto(ADDRESS)
    expect(page.get_by_text("Waiting for the worker …")).to_be_visible()
    require_accessible(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped before everything was computed.")).to_be_visible()
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text("Waiting for the worker …")).to_be_visible()
    with live_server.database.reading() as session:
        job = session.scalars(select(Job).where(Job.kind == "result")).one()
    Performer(live_server.database, HANDLERS, "tester").perform(job.id)
    expect(page.get_by_text(PRESENT)).to_be_visible()
    expect(page.locator(".card").first.locator(".interval")).to_contain_text("–")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    require_accessible(page)


def test_an_explanation_that_is_read_stays_open_when_the_next_figures_come(
    live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page]
) -> None:
    load_demo(live_server.database)
    asked: list[Route] = []

    def let_the_first_pass(route: Route) -> None:
        asked.append(route)
        if len(asked) == 1 or goes_on.is_set():
            route.continue_()

    goes_on = threading.Event()
    signed_in(page).route("**/admin/computed/agreement?*", let_the_first_pass)
    page.goto(ADDRESS)
    summary = page.locator(".explain summary").first
    summary.press("Enter")
    expect(page.locator(".explanation").first).to_be_visible()
    goes_on.set()
    for route in asked[1:]:
        route.continue_()
    expect(page.get_by_text(PRESENT)).to_be_visible()
    expect(page.locator(".explanation").first).to_be_visible()
    expect(summary).to_be_focused()


def test_stopping_gives_up_the_question_how_far_it_is(
    live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    load_demo(live_server.database)
    monkeypatch.setattr(computations, "AT_ONCE_SECONDS", 0.0)
    held: list[Route] = []
    signed_in(page).route(
        "**/admin/computed/agreement?*",
        lambda route: held.append(route) if route.request.method == "GET" else route.continue_(),
    )
    with page.expect_request(lambda request: request.method == "GET" and "/admin/computed/" in request.url):
        page.goto(ADDRESS)
    with page.expect_event("requestfailed") as given_up:
        page.get_by_role("button", name="Stop").click()
    assert given_up.value == held[0].request
    expect(page.get_by_text("Stopped before everything was computed.")).to_be_visible()


def test_old_figures_are_marked_and_recomputed_when_asked(
    live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page]
) -> None:
    load_demo(live_server.database)
    signed_in(page).goto(ADDRESS)
    expect(page.get_by_text(PRESENT)).to_be_visible()
    with live_server.database.transaction() as session:
        campaign = session.scalars(select(Campaign).where(Campaign.slug == "demo-sample-b")).one()
        works = select(Assignment.id).where(Assignment.campaign_id == campaign.id)
        first = select(Annotation.id).where(Annotation.assignment_id.in_(works)).limit(1).scalar_subquery()
        session.execute(update(Annotation).where(Annotation.id == first).values(status="draft"))
    page.reload()
    expect(page.get_by_text("1 annotation of these figures counts no more.")).to_be_visible()
    require_accessible(page)
    page.get_by_role("button", name="Recompute").click()
    expect(page.get_by_text("35 outputs compared")).to_be_visible()
    expect(page.get_by_text(PRESENT)).to_be_visible()
