"""Leaderboard, matrix, distribution and systems in a real browser: figures, charts and accessibility."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from spanplat.services.demo import load_demo
from tests.browser.accessibility import require_accessible
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser

LEADERBOARD = "/admin/leaderboard?reference=demo-sample-a&campaign=demo-sample-b&campaign=demo-overlap"
PAGES = (
    LEADERBOARD,
    LEADERBOARD.replace("leaderboard?", "leaderboard/matrix?"),
    "/admin/agreement/distribution?reference=demo-sample-a&hypothesis=demo-overlap",
    "/admin/systems?campaign=demo-sample-a&campaign=demo-overlap",
    "/admin/agreement/sentinels?reference=demo-sample-a&hypothesis=demo-overlap",
)


def wait_for_figures(page: Page) -> None:
    """Wait until everything is computed and on the page."""
    expect(page.locator("[aria-busy=true], [hx-trigger=load]")).to_have_count(0)


def require_charts(page: Page) -> None:
    for image in page.locator("img").all():
        image.scroll_into_view_if_needed()
        expect(image).not_to_have_js_property("naturalWidth", 0)


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_every_page_shows_its_figures_and_charts_and_is_accessible(
    live_server: LiveServer, new_page: Callable[..., Page], signed_in: Callable[[Page], Page], theme: str, width: int
) -> None:
    load_demo(live_server.database)
    page = signed_in(new_page(color_scheme=theme, viewport={"width": width, "height": 800}))
    for address in PAGES:
        page.goto(address)
        wait_for_figures(page)
        expect(page.get_by_role("table").first).to_be_visible()
        require_charts(page)
        require_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_another_measure_orders_the_page_and_stands_in_the_address(
    live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page]
) -> None:
    load_demo(live_server.database)
    signed_in(page).goto(LEADERBOARD)
    expect(page.get_by_role("heading", name="Under every measure")).to_be_visible()
    page.get_by_role("link", name="Identical spans (EM), any category").click()
    expect(page.get_by_role("heading", name="Identical spans (EM), any category")).to_be_visible()
    page.wait_for_url("**measure=exact.soft**")
    with page.expect_download() as download:
        page.get_by_role("link", name="Standings as CSV").click()
    assert download.value.suggested_filename == "leaderboard.csv"
