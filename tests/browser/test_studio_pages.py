"""The researcher's pages in a real browser: live updates, accessibility, and no inline code."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import pytest
from playwright.sync_api import Page, Response, expect
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Campaign, Unplaced
from spanplat.services.demo import load_demo
from tests.browser.accessibility import problems_of

pytestmark = pytest.mark.browser

OPENED = datetime(2026, 3, 2, 10, tzinfo=UTC)
AGREEMENT = "/admin/agreement?reference=demo-sample-a&hypothesis=demo-sample-b"
PAGES = (
    "/",
    "/admin/campaigns/demo-people",
    "/admin/campaigns/demo-overlap",
    "/admin/campaigns/demo-sample-a/statistics",
    "/admin/campaigns/demo-sample-a/unplaced",
    "/admin/campaigns/demo-people/definition",
    "/admin/campaigns/demo-people/amend",
    "/admin/campaigns/demo-people/extend",
    "/admin/account",
    "/admin/drafts",
    "/admin/campaigns/demo-sample-a/export",
    "/admin/campaigns/demo-people/people",
    "/admin/campaigns/demo-people/checks",
    "/admin/campaigns/demo-overlap/prompt",
    "/admin/studies",
    "/admin/generations",
    "/admin/pools",
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


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_every_page_is_accessible_and_fits_its_window(
    demo: Database,
    new_page: Callable[..., Page],
    signed_in: Callable[[Page], Page],
    scheme: str,
    width: int,
) -> None:
    del demo
    page = new_page(color_scheme=scheme, viewport={"width": width, "height": 844})
    page.goto("/")
    problems = _problems(page)
    signed_in(page)
    for address in PAGES:
        page.goto(address)
        if address == AGREEMENT:
            expect(page.get_by_text("These figures are those of the present data.")).to_be_visible()
            expect(page.locator("[aria-busy=true], [hx-trigger=load]")).to_have_count(0)
        problems += _problems(page)
    assert problems == []


def _problems(page: Page) -> list[str]:
    found = problems_of(page)
    problems = [f"{page.url}: {found}"] if found else []
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        problems.append(f"{page.url} scrolls sideways")
    return problems


def test_the_overview_changes_without_reload(staff_page: Page, demo: Database) -> None:
    staff_page.evaluate("window.sameDocument = true")
    with demo.transaction() as session:
        session.scalars(select(Campaign).where(Campaign.slug == "demo-people")).one().title = "Renamed meanwhile"
    expect(staff_page.get_by_role("link", name="Renamed meanwhile")).to_be_visible()
    assert staff_page.evaluate("window.sameDocument") is True


def is_live_answer(response: Response) -> bool:
    return "hx-request" in response.request.headers


def test_a_live_part_that_did_not_change_is_left_alone(staff_page: Page) -> None:
    staff_page.goto("/admin/campaigns/demo-people")
    for _answer in range(2):  # the first answer gives the tag, the second has the same
        with staff_page.expect_response(is_live_answer):
            pass
    staff_page.evaluate("document.querySelector('#progress').marked = true")
    with staff_page.expect_response(is_live_answer) as answer:
        pass
    answer.value.finished()
    assert staff_page.evaluate("document.querySelector('#progress').marked") is True


def wait_for_live_answer(page: Page, words: str) -> None:
    """Wait for an answer with these words; one that was on its way already may be older."""
    for _answer in range(20):
        with page.expect_response(is_live_answer) as answer:
            pass
        if answer.value.status == HTTPStatus.OK and words in answer.value.text():
            return
    raise AssertionError(f"no answer has the words {words}")


def test_what_is_pressed_stays_until_it_is_let_go(staff_page: Page, demo: Database) -> None:
    staff_page.get_by_role("link", name="Errors in short reports (demo)").hover()
    staff_page.mouse.down()
    with demo.transaction() as session:
        session.scalars(select(Campaign).where(Campaign.slug == "demo-overlap")).one().title = "Renamed meanwhile"
    for _answer in range(2):  # when the second is asked for, the first has been dealt with
        wait_for_live_answer(staff_page, "Renamed meanwhile")
    staff_page.mouse.up()
    staff_page.wait_for_url("**/admin/campaigns/demo-people")


def test_the_link_for_annotators_is_copied(
    demo: Database, new_page: Callable[..., Page], signed_in: Callable[[Page], Page]
) -> None:
    del demo
    page = signed_in(new_page(permissions=["clipboard-read", "clipboard-write"]))
    page.clock.install(time=OPENED)
    page.goto("/admin/campaigns/demo-people")
    page.clock.pause_at(OPENED + timedelta(hours=1))  # the button says for two seconds what it did
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
    expect(staff_page.get_by_text("36 outputs compared")).to_be_visible()
    expect(staff_page.get_by_role("heading", name="Character F1, same category")).to_be_visible()


def test_figures_that_cannot_be_had_leave_a_reason_in_their_place(staff_page: Page) -> None:
    reason = '<div class="notice danger" role="alert">The database does not answer.</div>'
    staff_page.route("**/admin/computed/agreement**", lambda route: route.fulfill(status=503, body=reason))
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
    expect(staff_page.locator("#part-agreement .cards")).to_be_visible()


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
    expect(staff_page.get_by_role("button", name="Sign in")).to_be_visible()


def test_when_the_server_is_away_the_page_says_so(staff_page: Page) -> None:
    staff_page.goto("/admin/campaigns/demo-people")
    staff_page.context.set_offline(True)
    expect(staff_page.get_by_text("The server does not answer")).to_be_visible()
    staff_page.context.set_offline(False)
    expect(staff_page.get_by_text("The server does not answer")).to_be_hidden()
