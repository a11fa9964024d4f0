"""Adding a dataset in a real browser."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from spanplat.services.demo import load_demo
from tests.browser.accessibility import require_accessible
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small table whose text column has a name nobody would guess."""
    rows = [
        {
            "nr": number,
            "maker": maker,
            "words": f"It is day {number}, says {maker}.",
            "facts": {"day": number, "sky": ["blue", "grey"]},
        }
        for number in range(3)
        for maker in ("a", "b")
    ]
    file = tmp_path / "weather.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return file


def test_columns_are_settled_while_looking_at_the_items(
    page: Page, signed_in: Callable[[Page], Page], table: Path
) -> None:
    signed_in(page)
    page.get_by_role("link", name="Datasets").click()
    page.get_by_label("File").set_input_files(table)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("no column looks like the text")
    page.wait_for_load_state()
    choose(page, "text", "words")
    expect(page.get_by_text("It is day 0, says a.")).to_be_visible()
    choose(page, "system", "maker")
    choose(page, "key", "nr")
    choose(page, "source", "facts")
    expect(page.get_by_text("It is day 0, says b.")).to_be_visible()
    expect(page.get_by_text("grey").first).to_be_visible()
    require_accessible(page)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("The import waits for the worker")).to_be_visible()
    require_accessible(page)


def choose(page: Page, role: str, column: str) -> None:
    with page.expect_navigation():
        page.locator(f"select[name={role}]").select_option(column)


def test_what_is_chosen_before_the_scripts_are_there_is_shown(
    page: Page, signed_in: Callable[[Page], Page], table: Path
) -> None:
    held: list[Route] = []
    signed_in(page).goto("/admin/datasets")
    page.route("**/main*.js", lambda route: route.continue_() if held else held.append(route))
    page.get_by_label("File").set_input_files(table)
    with page.expect_request("**/main*.js"):
        page.get_by_role("button", name="Send").click()
    page.locator("select[name=text]").select_option("words")
    with page.expect_navigation():
        held[0].continue_()
    expect(page.get_by_text("It is day 0, says a.")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("alert")).to_contain_text("no column looks like the text")
    assert page.evaluate("performance.getEntriesByType('navigation')[0].type") == "back_forward"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_the_pages_are_accessible_and_fit_their_window(
    live_server: LiveServer, new_page: Callable[..., Page], signed_in: Callable[[Page], Page], scheme: str, width: int
) -> None:
    load_demo(live_server.database)
    page = signed_in(new_page(color_scheme=scheme, viewport={"width": width, "height": 844}))
    page.goto("/admin/datasets")
    require_accessible(page)
    page.locator("tbody a").first.click()
    expect(page.get_by_role("search")).to_be_visible()
    require_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
