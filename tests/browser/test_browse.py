"""Browsing texts in a real browser, with the keyboard."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from spanplat.services.demo import load_demo
from tests.browser.accessibility import require_accessible
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser


@pytest.fixture
def reader(live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page]) -> Page:
    """A researcher over the demo."""
    load_demo(live_server.database)
    return signed_in(page)


def test_texts_are_read_one_after_the_other_with_the_keyboard(reader: Page) -> None:
    reader.get_by_role("link", name="Texts").click()
    reader.wait_for_url("**/admin/browse")
    reader.keyboard.press("j")
    for key, place in (("Enter", "1 of 38"), ("j", "2 of 38"), ("k", "1 of 38")):
        with reader.expect_navigation(wait_until="load"):
            reader.keyboard.press(key)
        expect(reader.get_by_text(place)).to_be_visible()


def test_a_mark_and_its_entry_light_up_together(reader: Page) -> None:
    reader.goto("/admin/browse?campaign=demo-sample-a&marked=all")
    with reader.expect_navigation():
        reader.locator(".excerpt a").first.click()
    entry = reader.locator(".spans-of-layer .cluster").first
    entry.hover()
    expect(reader.locator(".mark.chosen").first).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_the_pages_are_accessible_and_fit_their_window(
    live_server: LiveServer, new_page: Callable[..., Page], signed_in: Callable[[Page], Page], scheme: str, width: int
) -> None:
    load_demo(live_server.database)
    page = signed_in(new_page(color_scheme=scheme, viewport={"width": width, "height": 844}))
    page.goto("/admin/browse?campaign=demo-sample-a&campaign=demo-sample-b&marked=some")
    require_accessible(page)
    page.locator(".excerpt a").first.click()
    for layout in ("One below the other", "Side by side"):
        expect(page.locator(".layouts strong")).to_have_text(layout)
        page.wait_for_load_state()
        require_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if layout == "One below the other":
            page.get_by_role("link", name="Side by side").click()
