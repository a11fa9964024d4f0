"""No page of the annotator's has a violation that axe-core can find, in either theme."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.annotator.person import AnnotatorIn, OpenStudy

pytestmark = pytest.mark.browser

SOURCE = {"name": "Riverside", "rooms": [{"kind": "suite", "beds": 2}, {"kind": "single", "beds": 1}], "pets": True}
QUESTIONS = [
    {"type": "no_errors", "label": "I did not find any errors"},
    {"type": "likert", "label": "Overall impression", "lowest": "bad", "highest": "good"},
    {"type": "slider", "label": "Quality", "help": "0 is unusable."},
    {"type": "choices", "label": "Problems", "options": ["Typos", "Style"]},
    {"type": "text", "label": "Comment"},
]


def require_accessible(page: Page) -> None:
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_from_consent_to_the_code_is_accessible(
    annotator_in: AnnotatorIn, open_study: OpenStudy, theme: str
) -> None:
    link = open_study(
        "Enjoy views of the Hudson River.",
        source=SOURCE,
        questions=QUESTIONS,
        spans={"reason": "optional"},
        severities=[{"name": "Minor"}, {"name": "Major"}],
        consent={"text": "We ask you to mark errors."},
        comprehension={
            "questions": [{"label": "What do you mark?", "options": ["Errors", "Names"], "answer": "Errors"}]
        },
        platform={"service": "direct", "codes": {"completed": "DONE123"}},
    )
    annotator = annotator_in(color_scheme=theme, reduced_motion="reduce")
    page = annotator.page
    page.goto(link)
    require_accessible(page)
    page.get_by_role("button", name="I agree").click()
    page.get_by_label("Names").check()
    page.get_by_role("button", name="Check my answers").click()
    expect(page.get_by_role("alert")).to_contain_text("you have 1 more try")
    require_accessible(page)
    page.get_by_label("Errors").check()
    page.get_by_role("button", name="Check my answers").click()
    require_accessible(page)
    page.get_by_role("button", name="Start").click()
    require_accessible(page)
    annotator.mark("Hudson River")
    annotator.mark("the Hudson", "2")
    page.keyboard.press("n")
    require_accessible(page)
    annotator.drag("Enjoy")
    require_accessible(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Next").click()
    require_accessible(page)
    for panel in ("i", "?"):
        page.keyboard.press("Escape")
        page.locator("#text").focus()
        page.keyboard.press(panel)
        require_accessible(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Review").click()
    require_accessible(page)
    page.get_by_role("button", name="Item 1").last.click()
    for row in range(2):
        page.get_by_label("Severity").nth(row).select_option("Minor")
    page.get_by_label("4", exact=True).check()
    page.get_by_label("Quality").press("ArrowRight")
    page.get_by_label("Typos").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    require_accessible(page)


def test_at_four_hundred_percent_nothing_must_be_scrolled_sideways(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    # 1280 pixels at 400 % are 320 pixels of width.
    annotator = annotator_in(viewport={"width": 320, "height": 640})
    annotator.begin(open_study("Enjoy views of the Hudson River.", source=SOURCE, questions=QUESTIONS))
    annotator.mark("Hudson")
    assert annotator.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    require_accessible(annotator.page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_beside_the_way_are_accessible(annotator_in: AnnotatorIn, open_study: OpenStudy, theme: str) -> None:
    link = open_study(
        "Enjoy views of the Hudson River.",
        consent={"text": "We ask you to mark errors."},
        annotators={"invited": ["ann"]},
        platform={"ask_name": True},
    )
    page = annotator_in(color_scheme=theme).page
    page.goto(link)
    expect(page.get_by_role("textbox")).to_be_visible()
    require_accessible(page)  # asked for a name
    page.goto(f"{link}?annotator=bob")
    expect(page.get_by_role("heading", level=1)).to_contain_text("no place for you")
    require_accessible(page)  # turned away
    page.goto(f"{link}?annotator=ann")
    page.get_by_role("button", name="I do not agree").click()
    require_accessible(page)  # ended without consent
    page.goto(link.replace("/study/", "/nothing/"))
    require_accessible(page)  # no such study


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_preview_of_a_task_is_accessible(annotator_in: AnnotatorIn, open_study: OpenStudy, theme: str) -> None:
    link = open_study("Enjoy views of the Hudson River.", platform={"service": "mturk"})
    page = annotator_in(color_scheme=theme).page
    page.goto(f"{link}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=h")
    expect(page.get_by_text("Mark every error.")).to_be_visible()
    require_accessible(page)
