"""The studio's tables in a real browser: sorting, searching, addresses, live updates and downloads."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Campaign
from spanplat.services.demo import load_demo
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser

TITLES = ("Alpha", "Beta", "Gamma", "=Delta", "Epsilon", "Zeta", "Été", "Eta (old)")


@pytest.fixture
def overview(sqlite_database: Database, page: Page, signed_in: Callable[[Page], Page]) -> Page:
    """The overview of eight campaigns."""
    with sqlite_database.transaction() as session:
        for number, title in enumerate(TITLES):
            named = {"slug": f"c-{number}", "title": title, "definition": {}, "definition_sha256": "0" * 64}
            session.add(Campaign(kind="external", status="closed", **named))
    return signed_in(page)


def titles(page: Page) -> list[str]:
    return page.locator("#campaigns tbody tr:visible th a").all_inner_texts()


def expect_titles(page: Page, wanted: list[str]) -> None:
    expect(page.locator("#campaigns tbody th a")).to_have_text(wanted)


def test_the_overview_is_sorted_and_searched_and_stays_so(overview: Page, sqlite_database: Database) -> None:
    own_order = titles(overview)
    heading = overview.get_by_role("columnheader", name="Campaign")
    heading.get_by_role("link").click()
    overview.wait_for_url("**/?sort=campaign")
    expect_titles(overview, ["=Delta", "Alpha", "Beta", "Epsilon", "Eta (old)", "Été", "Gamma", "Zeta"])
    expect(heading.get_by_role("link")).to_be_focused()
    overview.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    overview.keyboard.press("/")
    overview.keyboard.type("ETA")
    expect(overview.get_by_role("status").filter(has_text="of")).to_have_text("3 of 8")
    expect_titles(overview, ["Zeta", "Eta (old)", "Beta"])
    overview.wait_for_url(lambda url: "sort=campaign-" in url and "find=ETA" in url)

    overview.reload()
    expect_titles(overview, ["Zeta", "Eta (old)", "Beta"])
    field = overview.get_by_role("searchbox")
    field.click()
    with sqlite_database.transaction() as session:
        session.scalars(select(Campaign).where(Campaign.slug == "c-0")).one().title = "Theta"
    expect(overview.get_by_role("link", name="Theta")).to_be_visible()
    expect_titles(overview, ["Zeta", "Theta", "Eta (old)", "Beta"])
    expect(field).to_be_focused()
    with overview.expect_download() as download:
        overview.get_by_role("link", name="Download these rows").click()
    lines = download.value.path().read_bytes().decode().split("\r\n")
    assert lines[0].startswith("Campaign,Kind,Status,Annotations")
    assert [line.partition(",")[0] for line in lines[1:-1]] == ["Zeta", "Theta", "Eta (old)", "Beta"]

    field.press("Escape")
    expect(overview.locator("#campaigns tbody tr")).to_have_count(8)
    heading.get_by_role("link").click()
    expect(heading).not_to_have_attribute("aria-sort", re.compile("."))
    expect_titles(overview, ["Theta" if title == "Alpha" else title for title in own_order])
    overview.wait_for_url("**/")


def test_a_search_typed_while_the_table_is_replaced_is_not_lost(overview: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    overview.route(re.compile(r"\?sort=campaign$"), hold)
    with overview.expect_request(re.compile(r"\?sort=campaign$")):
        overview.get_by_role("columnheader", name="Campaign").get_by_role("link").click()
    field = overview.get_by_role("searchbox")
    # The answer arrives after the typing and before the delayed request of the search.
    field.fill("eta ")
    held[0].continue_()
    expect_titles(overview, ["Beta", "Eta (old)", "Zeta"])
    expect(field).to_have_value("eta ")
    overview.wait_for_url(lambda url: "sort=campaign" in url and "find=eta" in url)


def test_a_filter_of_the_page_leaves_the_table_sorted(
    live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page]
) -> None:
    load_demo(live_server.database)
    board = "/admin/leaderboard?reference=demo-sample-a&campaign=demo-sample-b&campaign=demo-overlap"
    signed_in(page).goto(board)
    heading = page.locator("#standings th:has(.sort)").first
    expect(heading).to_be_visible(timeout=60_000)
    heading.get_by_role("link").click()
    expect(heading).to_have_attribute("aria-sort", re.compile("."))
    page.locator("select[name=measure]").select_option("exact.soft")
    page.wait_for_url(lambda url: "measure=exact.soft" in url and "standings.sort=" in url)
    expect(heading).to_have_attribute("aria-sort", re.compile("."), timeout=60_000)


def test_batches_are_found_by_typing_and_stay_so(
    live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page]
) -> None:
    load_demo(live_server.database)
    signed_in(page).goto("/admin/campaigns/demo-people")
    page.wait_for_load_state()
    page.get_by_role("searchbox", name="Find batches").fill("9")
    rows = page.locator("#progress tbody tr")
    expect(rows).to_have_count(1)
    page.wait_for_url("**/demo-people?find=9")
    page.get_by_role("searchbox", name="Find batches").fill("")
    expect(rows).to_have_count(9)
    page.locator("#sort-batch").click()
    page.wait_for_url("**/demo-people?sort=batch")
    expect(page.locator("th[aria-sort='ascending']")).to_be_visible()
    page.locator("#sort-batch").click()
    page.wait_for_url("**/demo-people?sort=batch-")
    expect(rows.first.get_by_role("rowheader")).to_have_text("9")
