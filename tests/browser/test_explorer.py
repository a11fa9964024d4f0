"""The disagreement explorer in a real browser: keyboard, links between text and list, both themes, both widths."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Output
from spanplat.services.demo import load_demo
from tests.browser.accessibility import require_accessible

pytestmark = pytest.mark.browser

LIST = "/admin/agreement/outputs?reference=demo-sample-a&hypothesis=demo-sample-b"


@pytest.fixture
def demo(sqlite_database: Database) -> Database:
    """The demo behind the server."""
    load_demo(sqlite_database)
    return sqlite_database


@pytest.fixture
def explorer(demo: Database, page: Page, signed_in: Callable[[Page], Page]) -> Page:
    """The list of outputs before a signed-in researcher."""
    del demo
    signed_in(page).goto(LIST)
    return page


def open_first(page: Page) -> None:
    """Open the first output of the list and wait until its script listens."""
    page.locator(".outputs .excerpt a").first.click()
    page.wait_for_url("**/outputs/*")


def require_accessible_and_fitting(page: Page) -> None:
    require_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_list_and_output_are_accessible_and_fit_the_window(
    demo: Database, new_page: Callable[..., Page], signed_in: Callable[[Page], Page], scheme: str, width: int
) -> None:
    del demo
    page = signed_in(new_page(color_scheme=scheme, viewport={"width": width, "height": 800}))
    page.goto(LIST)
    require_accessible_and_fitting(page)
    open_first(page)
    expect(page.locator("#text .mark").first).to_be_visible()
    require_accessible_and_fitting(page)


def test_the_keyboard_leads_through_list_and_outputs(explorer: Page) -> None:
    rows = explorer.locator(".outputs .excerpt a")
    explorer.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    explorer.keyboard.press("j")
    explorer.keyboard.press("k")
    explorer.keyboard.press("j")
    expect(rows.nth(1)).to_be_focused()
    explorer.keyboard.press("Enter")
    place = explorer.get_by_role("navigation", name="Outputs")
    expect(place).to_contain_text("2 of 36")
    for key, expected in (("ArrowRight", "3 of 36"), ("k", "2 of 36"), ("j", "3 of 36"), ("ArrowLeft", "2 of 36")):
        explorer.wait_for_load_state()
        explorer.keyboard.press(key)
        expect(place).to_contain_text(expected)


def test_slash_goes_to_the_search_and_letters_there_are_only_letters(explorer: Page) -> None:
    open_first(explorer)
    explorer.keyboard.press("/")
    search = explorer.get_by_label("Find outputs whose text contains")
    expect(search).to_be_focused()
    explorer.keyboard.type("junk")
    expect(search).to_have_value("junk")
    explorer.keyboard.press("Enter")
    expect(explorer).to_have_url(re.compile(r"/outputs\?.*q=junk"))
    expect(explorer.get_by_text("No output fits this choice")).to_be_visible()


def test_the_text_on_the_page_is_the_stored_text(explorer: Page, demo: Database) -> None:
    with demo.reading() as session:
        stored = {output.id: output.text for output in session.scalars(select(Output))}
    open_first(explorer)
    text = explorer.locator("#text")
    expect(text).to_be_visible()
    output_id = int(re.findall(r"/outputs/(\d+)", explorer.url)[0])
    assert text.evaluate("element => element.textContent") == stored[output_id]
    assert text.evaluate("element => getComputedStyle(element).whiteSpace") == "pre-wrap"


def test_reference_lies_above_the_line_and_hypothesis_below(explorer: Page) -> None:
    explorer.goto(f"{LIST}&type=boundary")
    open_first(explorer)
    for who, side in (("reference", "Top"), ("hypothesis", "Bottom")):
        mark = explorer.locator(f"#text .mark.{who}").first
        widths = mark.evaluate(
            "element => { const s = getComputedStyle(element); return [s.borderTopWidth, s.borderBottomWidth]; }"
        )
        assert widths == (["4px", "0px"] if side == "Top" else ["0px", "4px"])
        color = mark.evaluate(f"element => getComputedStyle(element).border{side}Color")
        assert color not in ("rgb(0, 0, 0)", "rgba(0, 0, 0, 0)", "transparent")


def test_a_mark_and_its_entry_in_the_list_belong_together(explorer: Page) -> None:
    open_first(explorer)
    mark = explorer.locator("#text .mark").last
    number = mark.get_attribute("data-cluster")
    mark.click()
    expect(explorer.locator(f"#cluster-{number}")).to_have_class(re.compile("chosen"))
    expect(explorer.locator(f"#cluster-{number}")).to_be_in_viewport()


def test_everything_is_reached_without_scripts(
    demo: Database, new_page: Callable[..., Page], signed_in: Callable[[Page], Page]
) -> None:
    del demo
    page = signed_in(new_page(java_script_enabled=False))
    page.goto(LIST)
    page.get_by_role("navigation", name="Kinds of disagreement").get_by_role("link", name="Missing").click()
    page.wait_for_url("**type=missing**")
    page.get_by_label("Text contains").fill("the")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**q=the**")
    assert "type=missing" in page.url
    open_first(page)
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("navigation", name="Outputs")).to_contain_text("2 of")
    expect(page.locator(".cluster .type").first).to_have_text("Missing")
