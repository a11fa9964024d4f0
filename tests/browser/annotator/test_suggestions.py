"""Post-editing: the spans of another campaign are suggestions, which annotators accept, change or dismiss."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from spanplat.models import Annotation, Campaign
from spanplat.schemas.record import AnnotationRecord
from spanplat.services.campaigns.exports import export_records
from tests.browser.accessibility import require_accessible
from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy
from tests.browser.annotator.studies import CONTENT, launch
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser

TEXT = "Enjoy views 🌉 of the Hudson River from select suites."
BOX = {"type": "no_errors", "label": "I did not find any errors"}
MODEL = (
    ("views 🌉", "incorrect"),
    ("Hudson River", "incorrect"),
    ("the Hudson", "misleading"),
    ("suites", "not-checkable"),
)


@pytest.fixture
def suggested(annotator: Annotator, open_study: OpenStudy, live_server: LiveServer) -> Annotator:
    """Somebody at a page on which four spans are suggested, each of which must be decided on."""
    return suggest(annotator, open_study, live_server, spans={"suggestions": "required"})


def suggest(
    annotator: Annotator, open_study: OpenStudy, live_server: LiveServer, spans: dict[str, Any] | None = None
) -> Annotator:
    model = open_study(TEXT)
    with live_server.database.transaction() as session:
        session.scalars(select(Campaign)).one().slug = "model"
    page = annotator.page
    page.goto(model.replace("study", "model"))
    marked = [
        {"start": TEXT.index(quote), "end": TEXT.index(quote) + len(quote), "category": category, "text": quote}
        for quote, category in MODEL
    ]
    answer = page.request.put(f"{annotator.base}/items/1", data={"revision": 0, "status": "complete", "spans": marked})
    assert answer.ok, answer.text()
    settings = {"suggestions_from": "model", "granularity": "character"} | (spans or {})
    launch(live_server.database, CONTENT | {"spans": settings, "questions": [BOX], "batches": {"regular": 1}})
    annotator.begin(model)
    expect(suggestions(page)).to_have_count(4)
    return annotator


def suggestions(page: Page) -> Any:
    return page.locator("#suggestion-list > li")


def record(live_server: LiveServer) -> AnnotationRecord:
    with live_server.database.reading() as session:
        [found] = export_records(session, "study")
    return found


def origins(live_server: LiveServer) -> list[tuple[str, str | None, str | None]]:
    """Return quote, decision and suggested quote of every stored span."""
    return [
        (span.text, (span.origin or {}).get("decision"), (span.origin or {}).get("suggestion", {}).get("text"))
        for span in record(live_server).spans
    ]


def test_suggestions_are_drawn_dashed_and_listed_apart_from_marks(suggested: Annotator) -> None:
    page = suggested.page
    expect(page.locator("#text mark.suggested").first).to_have_attribute("data-label", "1?")
    expect(page.locator("#text mark.suggested").first).to_have_css("outline-style", "dashed")
    expect(suggestions(page).first).to_contain_text("views 🌉 Incorrect suggestion")
    expect(suggested.rows).to_have_count(0)
    assert suggested.text.text_content() == TEXT


def test_with_keys_each_is_accepted_changed_or_dismissed_and_the_decisions_are_stored(
    suggested: Annotator, live_server: LiveServer
) -> None:
    page = suggested.page
    live = page.locator("#live")
    page.keyboard.press("a")
    expect(live).to_have_text("Suggestion: “views 🌉”, Incorrect.")
    page.keyboard.press("a")
    expect(live).to_have_text("Accepted “views 🌉”. Suggestion: “the Hudson”, Misleading.")
    page.keyboard.press("x")
    expect(live).to_contain_text("Dismissed “the Hudson”. Suggestion: “Hudson River”")
    page.keyboard.press("2")
    expect(suggested.rows.nth(1)).to_contain_text("Hudson River Not checkable")
    page.keyboard.press("Alt+Shift+ArrowLeft")
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#message")).to_have_text("Accept, change or dismiss every suggestion. Still to be decided: 1.")
    expect(page.locator("#decision")).to_contain_text("suites")
    page.keyboard.press("x")
    expect(page.locator("#all-decided")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#review-summary")).to_contain_text("Everything is done.")
    suggested.saved()
    assert origins(live_server) == [
        ("views 🌉", "accepted", "views 🌉"),
        ("Hudson Rive", "changed", "Hudson River"),
    ]
    assert [entry["text"] for entry in record(live_server).dismissed] == ["the Hudson", "suites"]
    assert record(live_server).status == "complete"


def test_decisions_survive_a_reload_and_can_be_taken_back(suggested: Annotator, live_server: LiveServer) -> None:
    page = suggested.page
    page.get_by_role("button", name="Accept “Hudson River”").click()
    page.get_by_role("button", name="Dismiss “suites”").click()
    suggested.saved()
    page.reload()
    expect(suggestions(page)).to_have_count(2)
    assert suggested.shown() == ["Hudson River"]
    page.get_by_text("Dismissed (1)").click()
    page.get_by_role("button", name="Bring back “suites”").click()
    expect(suggestions(page)).to_have_count(3)
    page.locator("#spans .delete").click()
    expect(page.get_by_text("Dismissed (1)")).to_be_visible()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(suggestions(page)).to_have_count(2)
    suggested.saved()
    assert origins(live_server) == [("Hudson River", "accepted", "Hudson River")]
    assert [entry["text"] for entry in record(live_server).dismissed] == ["suites"]


def test_all_that_are_left_are_accepted_at_once_and_one_undo_takes_them_back(
    suggested: Annotator, live_server: LiveServer
) -> None:
    page = suggested.page
    page.get_by_label(BOX["label"]).check()
    page.get_by_role("button", name="Accept all").click()
    expect(suggested.rows).to_have_count(4)
    expect(page.get_by_label(BOX["label"])).not_to_be_checked()
    page.keyboard.press("Control+z")
    expect(suggested.rows).to_have_count(0)
    expect(suggestions(page)).to_have_count(4)
    page.keyboard.press("Control+Shift+z")
    expect(suggested.rows).to_have_count(4)
    suggested.saved()
    assert {decision for _, decision, _ in origins(live_server)} == {"accepted"}


def test_a_click_selects_a_suggestion_and_its_buttons_decide(suggested: Annotator, live_server: LiveServer) -> None:
    page = suggested.page
    suggested.click("suites")
    decision = page.get_by_role("group", name="The selected suggestion")
    expect(decision).to_contain_text("suites")
    require_accessible(page)
    decision.get_by_role("button", name="Change").click()
    expect(page.get_by_role("group", name="The selected mark")).to_be_visible()
    page.get_by_label("Category", exact=True).select_option("Misleading")
    suggested.mark("Enjoy")
    suggested.saved()
    assert origins(live_server) == [("Enjoy", None, None), ("suites", "changed", "suites")]


def test_what_the_rules_forbid_stays_a_suggestion_and_is_said(
    annotator: Annotator, open_study: OpenStudy, live_server: LiveServer
) -> None:
    suggest(annotator, open_study, live_server, spans={"overlap": "forbid"})
    page = annotator.page
    page.get_by_role("button", name="Accept all").click()
    expect(annotator.rows).to_have_count(3)
    expect(suggestions(page)).to_have_count(1)
    expect(page.locator("#message")).to_have_text("Marks may not overlap here. Delete or change the other mark first.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#review-summary")).to_contain_text("Everything is done.")


def test_decided_with_a_finger(annotator_in: AnnotatorIn, open_study: OpenStudy, live_server: LiveServer) -> None:
    annotator = annotator_in(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    suggest(annotator, open_study, live_server)
    page = annotator.page
    page.get_by_role("button", name="Accept “views 🌉”").tap()
    page.get_by_role("group", name="The selected suggestion").get_by_role("button", name="Dismiss").tap()
    expect(suggestions(page)).to_have_count(2)
    annotator.saved()
    stored = select(Annotation.dismissed).order_by(Annotation.id)
    with live_server.database.reading() as session:
        assert [len(dismissed or []) for dismissed in session.scalars(stored)] == [0, 1]
