"""A researcher's preview is the annotator's page; work in it stays in the tab."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import func, select

from spanplat.models import Annotation, Assignment, AssignmentStatus, Participation
from tests.browser.accessibility import require_accessible
from tests.browser.annotator.person import Annotator, OpenStudy
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser

BOX = {"type": "no_errors", "label": "No errors", "wording": {"b": "Nothing is wrong"}}


def test_marks_survive_moving_and_reloading_and_never_reach_the_database(
    page: Page, signed_in: Callable[[Page], Page], open_study: OpenStudy, live_server: LiveServer
) -> None:
    open_study("First text here.", "Second text here.", questions=[BOX], groups=[{"name": "A"}, {"name": "B"}])
    signed_in(page)
    page.goto("/admin/campaigns/study")
    page.get_by_role("link", name="Preview").click()
    annotator = Annotator(page)
    page.get_by_role("button", name="Start").click()
    annotator.mark("text")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_have_text("2 of 2")
    annotator.saved()
    page.reload()
    expect(page.locator("#progress")).to_have_text("2 of 2")
    page.get_by_role("button", name="Item 1, done").click()
    expect(annotator.rows).to_have_count(1)
    page.get_by_role("button", name="Item 2").click()
    page.get_by_label("No errors").check()
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    with live_server.database.reading() as session:
        assert session.scalars(select(func.count(Annotation.id))).one() == 0
        assert session.scalars(select(func.count(Participation.id))).one() == 0
        assert set(session.scalars(select(Assignment.status))) == {AssignmentStatus.OPEN}


def test_group_item_and_page_are_chosen_and_everything_can_be_forgotten(
    page: Page, signed_in: Callable[[Page], Page], open_study: OpenStudy
) -> None:
    open_study(
        "First text here.",
        "Second text here.",
        questions=[BOX],
        groups=[{"name": "A"}, {"name": "B"}],
        consent={"text": "We ask you."},
    )
    signed_in(page)
    page.goto("/admin/campaigns/study/preview")
    page.get_by_text("Nothing you do here is stored.").click()
    require_accessible(page)
    page.get_by_label("Group").select_option("B")
    page.get_by_label("Item", exact=True).fill("2")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#progress")).to_have_text("2 of 2")
    box = page.get_by_label("Nothing is wrong")
    box.check()
    annotator = Annotator(page)
    annotator.saved()
    page.reload()
    expect(box).to_be_checked()
    page.get_by_text("Nothing you do here is stored.").click()
    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()
    expect(box).not_to_be_checked()
    page.get_by_text("Nothing you do here is stored.").click()
    page.get_by_label("Page").select_option("Consent form")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_role("heading", name="Instructions")).to_be_visible()
