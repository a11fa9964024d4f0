"""The researcher's pages in a real browser: live, reachable by everybody, safe without inline code."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Campaign, Unplaced
from spanplat.services.demo import load_demo

pytestmark = pytest.mark.browser

AGREEMENT = "/admin/agreement?reference=demo-sample-a&hypothesis=demo-sample-b"
PAGES = (
    "/",
    "/admin/campaigns/demo-people",
    "/admin/campaigns/demo-overlap",
    "/admin/campaigns/demo-sample-a/statistics",
    "/admin/campaigns/demo-sample-a/unplaced",
    "/admin/campaigns/demo-people/definition",
    "/admin/campaigns/demo-sample-a/export",
    "/admin/agreement",
    AGREEMENT,
    "/admin/nothing",
)


@pytest.fixture
def demo(sqlite_database: Database) -> Database:
    """The demo behind the server, with one record that could not be placed."""
    load_demo(sqlite_database)
    with sqlite_database.transaction() as session:
        campaign = session.scalars(select(Campaign).where(Campaign.slug == "demo-sample-a")).one()
        session.add(Unplaced(campaign_id=campaign.id, kind="span", record={"text": "x"}, reason="no such category"))
    return sqlite_database


@pytest.fixture
def staff_page(demo: Database, page: Page, signed_in: Callable[[Page], Page]) -> Page:
    """A page of a signed-in researcher over the demo."""
    del demo
    return signed_in(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [(1280, 800), (390, 844)], ids=["wide", "narrow"])
def test_every_page_is_accessible_and_fits_its_window(
    demo: Database,
    new_page: Callable[..., Page],
    signed_in: Callable[[Page], Page],
    scheme: str,
    viewport: tuple[int, int],
) -> None:
    del demo
    page = new_page(color_scheme=scheme, viewport={"width": viewport[0], "height": viewport[1]})
    page.goto("/")
    problems = _problems(page)
    signed_in(page)
    for address in PAGES:
        page.goto(address)
        if address == AGREEMENT:
            page.locator("#figures").wait_for()
        problems += _problems(page)
    assert problems == []


def _problems(page: Page) -> list[str]:
    found = Axe().run(page)
    problems = [f"{page.url}: {found.generate_report()}"] if found.violations_count else []
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        problems.append(f"{page.url} scrolls sideways")
    return problems


def test_the_overview_changes_without_reload(staff_page: Page, demo: Database) -> None:
    staff_page.evaluate("window.sameDocument = true")
    with demo.transaction() as session:
        session.scalars(select(Campaign).where(Campaign.slug == "demo-people")).one().title = "Renamed meanwhile"
    expect(staff_page.get_by_role("link", name="Renamed meanwhile")).to_be_visible(timeout=15_000)
    assert staff_page.evaluate("window.sameDocument") is True


def test_a_live_part_that_did_not_change_is_left_alone(staff_page: Page) -> None:
    staff_page.goto("/admin/campaigns/demo-people")
    for _answer in range(2):  # the first answer gives the tag, the second has the same
        with staff_page.expect_response(lambda response: "page=1" in response.url):
            pass
    staff_page.evaluate("document.querySelector('#progress').marked = true")
    with staff_page.expect_response(lambda response: "page=1" in response.url) as answer:
        pass
    answer.value.finished()
    assert staff_page.evaluate("document.querySelector('#progress').marked") is True


def test_the_link_for_annotators_is_copied(
    demo: Database, new_page: Callable[..., Page], signed_in: Callable[[Page], Page]
) -> None:
    del demo
    page = signed_in(new_page(permissions=["clipboard-read", "clipboard-write"]))
    page.goto("/admin/campaigns/demo-people")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#start-link").text_content()


def test_a_campaign_is_paused_and_opened_again(staff_page: Page) -> None:
    staff_page.goto("/admin/campaigns/demo-people")
    staff_page.get_by_role("button", name="Pause").click()
    expect(staff_page.locator("header .state")).to_have_text("Paused")
    expect(staff_page.get_by_text("Nobody gets in by it")).to_be_visible()
    staff_page.get_by_role("button", name="Open").click()
    expect(staff_page.locator("header .state")).to_have_text("Open")


def test_two_campaigns_are_chosen_and_compared(staff_page: Page) -> None:
    staff_page.goto("/admin/agreement")
    staff_page.get_by_label("Reference").select_option("demo-sample-a")
    staff_page.wait_for_url("**reference=demo-sample-a**")
    staff_page.get_by_label("Hypothesis").select_option("demo-sample-b")
    expect(staff_page.get_by_text("36 outputs compared")).to_be_visible(timeout=30_000)
    expect(staff_page.get_by_role("heading", name="Character F1, same category")).to_be_visible()


def test_figures_that_cannot_be_had_leave_a_reason_in_their_place(staff_page: Page) -> None:
    reason = '<div class="notice danger" role="alert">The database does not answer.</div>'
    staff_page.route("**/agreement/figures**", lambda route: route.fulfill(status=503, body=reason))
    staff_page.goto(AGREEMENT)
    expect(staff_page.get_by_role("alert")).to_have_text("The database does not answer.")
    expect(staff_page.get_by_text("Comparing")).to_be_hidden()


def test_filters_are_sent_when_their_list_closes(staff_page: Page) -> None:
    staff_page.goto(AGREEMENT)
    staff_page.get_by_text("System: all").click()
    boxes = staff_page.locator("input[name=system]")
    boxes.nth(0).check()
    boxes.nth(1).check()
    staff_page.keyboard.press("Escape")
    staff_page.wait_for_url("**system=**system=**")
    expect(staff_page.locator("#figures")).to_be_visible(timeout=30_000)


def test_an_explanation_opens_by_keyboard_and_closes_on_escape(staff_page: Page) -> None:
    staff_page.goto(AGREEMENT)
    summary = staff_page.locator(".explain summary").first
    summary.focus()
    staff_page.keyboard.press("Enter")
    explanation = staff_page.locator(".explanation").first
    expect(explanation).to_contain_text("harmonic mean")
    staff_page.keyboard.press("Escape")
    expect(explanation).to_be_hidden()
    expect(summary).to_be_focused()


def test_when_the_session_ends_a_live_page_leads_to_the_sign_in(staff_page: Page) -> None:
    staff_page.goto("/admin/campaigns/demo-people")
    staff_page.context.clear_cookies()
    expect(staff_page.get_by_role("button", name="Sign in")).to_be_visible(timeout=15_000)


def test_when_the_server_is_away_the_page_says_so(staff_page: Page) -> None:
    staff_page.goto("/admin/campaigns/demo-people")
    staff_page.context.set_offline(True)
    expect(staff_page.get_by_text("The server does not answer")).to_be_visible(timeout=15_000)
    staff_page.context.set_offline(False)
    expect(staff_page.get_by_text("The server does not answer")).to_be_hidden(timeout=15_000)
