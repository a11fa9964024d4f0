"""Setting up a campaign in a real browser, from a shipped study to its page."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from spanplat.services.campaigns.validation import STEPS
from spanplat.services.demo import load_demo
from tests.browser.accessibility import require_accessible
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser


@pytest.fixture
def writer(live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page]) -> Page:
    """A researcher over the demo, on a draft that starts from its campaign."""
    load_demo(live_server.database)
    return begin(signed_in(page))


def begin(page: Page) -> Page:
    page.goto("/")
    page.get_by_role("link", name="New campaign").click()
    page.get_by_label("Start from").select_option("campaign:demo-people")
    page.get_by_role("button", name="Begin").click()
    require_step(page, "1 Name and kind")
    return page


def go_to(page: Page, step: str) -> None:
    page.get_by_role("link", name=step).click()
    require_step(page, step)


def require_step(page: Page, step: str) -> None:
    """A step is open, and its scripts are there."""
    expect(page.get_by_role("link", name=step)).to_have_attribute("aria-current", "page")
    page.wait_for_load_state()


def test_a_mistake_is_said_while_typing_and_mended_before_the_campaign_is_made(writer: Page) -> None:
    writer.get_by_label("Short name").fill("Hotels here")
    expect(writer.locator("#state")).to_contain_text("lower-case letters")
    writer.get_by_label("Short name").fill("hotels-here")
    expect(writer.locator("#state")).to_contain_text("Nothing to mend here")
    writer.get_by_role("button", name="Data ›").click()
    require_step(writer, "2 Data")
    go_to(writer, "7 Assignment")
    writer.get_by_label("Regular").fill("4")
    expect(writer.locator("#state")).to_contain_text("Batches")
    writer.get_by_role("link", name="As text").click()
    expect(writer.locator("#yaml")).to_contain_text("slug: hotels-here")
    expect(writer.locator("#yaml")).to_contain_text("regular: 4")
    writer.get_by_role("link", name="Review and make").click()
    writer.get_by_role("button", name="Make the campaign").click()
    expect(writer.get_by_role("button", name="Open", exact=True)).to_be_visible()


def test_what_is_typed_before_the_scripts_are_there_is_saved(writer: Page) -> None:
    held: list[Route] = []
    writer.route("**/self_saving*.js", lambda route: held.append(route))  # noqa: PLW0108 (Playwright looks at its code)
    with writer.expect_request("**/self_saving*.js"):
        writer.reload(wait_until="commit")
    writer.get_by_label("Title").fill("Typed in a hurry")
    with writer.expect_response(lambda response: response.request.method == "POST"):
        held[0].continue_()
    expect(writer.locator("#unsaved")).to_be_hidden()
    writer.unroute_all()
    writer.reload()
    expect(writer.get_by_label("Title")).to_have_value("Typed in a hurry")


@pytest.mark.parametrize(
    ("role", "name"), [("link", "As text"), ("link", "Campaigns"), ("button", "Data ›"), ("button", "Save")]
)
def test_leaving_waits_until_what_was_typed_is_stored(writer: Page, role: Any, name: str) -> None:
    address, held = writer.url, list[Route]()

    def hold_the_first_save(route: Route) -> None:
        if is_save(route) and not held:
            held.append(route)
        else:
            route.continue_()

    writer.route("**/admin/drafts/**", hold_the_first_save)
    # On a slow machine the page saves by itself before anybody can click.
    with writer.expect_request(lambda request: request.method == "POST"):
        writer.get_by_label("Title").fill("Before I forget")
        writer.get_by_role(role, name=name, exact=True).click()
    expect(writer.locator("#unsaved")).to_be_visible()
    with writer.expect_navigation():
        held[0].continue_()
    writer.unroute_all()
    writer.goto(address)
    expect(writer.get_by_label("Title")).to_have_value("Before I forget")


def is_save(route: Route) -> bool:
    return "hx-request" in route.request.headers


def test_what_cannot_be_stored_keeps_the_page_until_leaving_is_meant(writer: Page) -> None:
    writer.route("**/admin/drafts/**", lambda route: route.abort() if is_save(route) else route.continue_())
    asked: list[str] = []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    writer.on("dialog", leave)
    title = writer.get_by_label("Title")
    with writer.expect_event("requestfailed"):  # after a pause in typing
        title.fill("The server is gone")
    with writer.expect_event("requestfailed"):  # on leaving the field
        title.press("Tab")
    with writer.expect_event("requestfailed"):
        writer.get_by_role("link", name="As text").click()
    expect(writer.locator("#connection")).to_be_visible()
    expect(title).to_have_value("The server is gone")
    assert asked == []
    writer.get_by_role("link", name="As text").click()
    expect(writer.locator("#yaml")).to_be_visible()
    assert asked == ["beforeunload"]


def test_a_category_is_added_and_gets_a_colour(writer: Page) -> None:
    go_to(writer, "3 Categories")
    before = writer.locator("#f-categories > .entry").count()
    with writer.expect_navigation():
        writer.get_by_role("button", name="Add to categories").click()
    expect(writer.locator("#f-categories > .entry")).to_have_count(before + 1)
    writer.locator(f"[id='f-categories.{before}.name']").fill("Brand new")
    writer.locator(f"[data-color-of='f-categories.{before}.color']").evaluate(
        "chooser => { chooser.value = '#123456'; chooser.dispatchEvent(new Event('input')); }"
    )
    expect(writer.locator("#state")).to_contain_text("Nothing to mend here")
    expect(writer.locator("#unsaved")).to_be_hidden()
    writer.reload()
    expect(writer.locator(f"[id='f-categories.{before}.name']")).to_have_value("Brand new")
    expect(writer.locator(f"[id='f-categories.{before}.color']")).to_have_value("#123456")


def test_the_words_a_check_expects_are_taken_from_its_text(writer: Page) -> None:
    go_to(writer, "6 Checks")
    quote = writer.locator("[id$='.expected.quote']").first
    place = (quote.get_attribute("id") or "").removeprefix("f-").removesuffix(".expected.quote")
    text = writer.locator(f"[data-text-of='{place}']")
    full = text.inner_text()
    text.evaluate(
        """text => {
          const range = document.createRange();
          range.setStart(text.firstChild, 4);
          range.setEnd(text.firstChild, 20);
          getSelection().removeAllRanges();
          getSelection().addRange(range);
        }"""
    )
    writer.locator(f"[data-expect='{place}']").click()
    expect(quote).to_have_value(full[4:20])
    expect(writer.locator(f"[id='f-{place}.expected.start']")).to_have_value("4")
    expect(writer.locator(f"[id='f-{place}.expected.end']")).to_have_value("20")
    expect(writer.locator("#state")).to_contain_text("Nothing to mend here")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_every_step_is_accessible_and_fits_its_window(
    live_server: LiveServer, new_page: Callable[..., Page], signed_in: Callable[[Page], Page], scheme: str, width: int
) -> None:
    load_demo(live_server.database)
    page = begin(signed_in(new_page(color_scheme=scheme, viewport={"width": width, "height": 844})))
    address = page.url.rpartition("/")[0]
    for step in (*STEPS, "review", "text"):
        page.goto(f"{address}/{step}")
        require_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, step
