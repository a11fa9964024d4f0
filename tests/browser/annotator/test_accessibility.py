"""axe-core finds no violation on the annotator's pages, in either theme."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import require_accessible
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
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    require_accessible(page)
    page.get_by_role("button", name="Start").click()
    annotator.ready()
    require_accessible(page)
    annotator.mark("Hudson River")
    annotator.mark("the Hudson", "2")
    page.keyboard.press("n")
    require_accessible(page)
    annotator.drag("Enjoy")
    require_accessible(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#message")).to_contain_text("severe")
    require_accessible(page)
    for panel in ("i", "?"):
        page.keyboard.press("Escape")
        page.locator("#text").focus()
        page.keyboard.press(panel)
        require_accessible(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Review").click()
    expect(page.locator("#review-summary")).to_contain_text("Not finished yet")
    require_accessible(page)
    page.get_by_role("button", name="Item 1").last.click()
    page.get_by_label("Severity").select_option("Minor")  # the review led to what is missing
    page.locator("#spans .quote").nth(1).click()
    page.get_by_label("Severity").select_option("Minor")
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
    # 1280 pixels at 400 % are 320 pixels of width, and 1024 are 256 of height.
    annotator = annotator_in(viewport={"width": 320, "height": 256})
    attributes = [{"type": "text", "label": "What it should say instead"}]
    spans = {"reason": "optional", "omissions": True, "attributes": attributes}
    annotator.begin(open_study("Enjoy views of the Hudson River.", source=SOURCE, questions=QUESTIONS, spans=spans))
    annotator.mark("Hudson")
    annotator.page.locator("#spans .quote").click()
    assert annotator.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    stays = """[...document.querySelectorAll("body *")].filter((element) => element.checkVisibility()
      && ["fixed", "sticky"].includes(getComputedStyle(element).position)).map((element) => element.className)"""
    assert annotator.page.evaluate(stays) == [], "a bar that stays leaves no room for the text"
    require_accessible(annotator.page)


def test_where_the_reader_chose_the_colours_lanes_can_still_be_told_apart(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(forced_colors="active")
    annotator.begin(open_study("Enjoy views of the Hudson River."))
    annotator.mark("Hudson River")
    annotator.mark("the Hudson", "2")
    both = annotator.page.locator("#text mark").filter(has_text="Hudson")
    lanes = both.evaluate("mark => getComputedStyle(mark).backgroundImage.split('repeating-linear').length - 1")
    assert lanes == 2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_beside_the_way_are_accessible(annotator_in: AnnotatorIn, open_study: OpenStudy, theme: str) -> None:
    practice = {
        "item": {"split": "test", "example": "0", "system": "alder"},
        "golds": [[{"quote": "Hudson River", "category": "incorrect"}]],
        "explanation": "It is the **Thames**.",
    }
    link = open_study(
        "Enjoy views of the Hudson River.",
        "A second text.",
        consent={"text": "We ask you to mark errors."},
        annotators={"invited": ["ann", "eve"]},
        platform={"ask_name": True},
        practice=[practice],
        batches={"regular": 1},
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
    expect(page.get_by_role("heading", name="You did not agree to take part")).to_be_visible()
    require_accessible(page)  # ended without consent
    page.goto(link.replace("/study/", "/nothing/"))
    require_accessible(page)  # no such study
    page.goto(f"{link}?annotator=eve")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").click()
    page.locator("body[data-ready]").wait_for()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("You marked nothing.")).to_be_visible()
    require_accessible(page)  # feedback on a practice text
    page.get_by_role("button", name="Begin the work").click()
    page.locator("body[data-ready]").wait_for()
    page.locator("#submit-form").evaluate("form => form.submit()")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("#text")).to_have_count(0)
    require_accessible(page)  # submitted before everything was done


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_of_the_researchers_preview_is_accessible(
    annotator_in: AnnotatorIn, open_study: OpenStudy, signed_in: Callable[[Page], Page], theme: str
) -> None:
    asked = {"label": "What do you mark?", "options": ["Errors", "Names"], "answer": "Errors"}
    open_study(
        "Enjoy views of the Hudson River.",
        source=SOURCE,
        questions=QUESTIONS,
        consent={"text": "We ask you to mark errors."},
        comprehension={"questions": [asked]},
    )
    page = signed_in(annotator_in(color_scheme=theme).page)
    for shown in ("consent", "comprehension", "work", "done"):
        page.goto(f"/admin/campaigns/study/preview?page={shown}")
        page.get_by_text("Nothing you do here is stored.").click()
        if shown == "work":
            page.locator("body[data-ready]").wait_for()
        require_accessible(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_preview_of_a_task_is_accessible(annotator_in: AnnotatorIn, open_study: OpenStudy, theme: str) -> None:
    link = open_study("Enjoy views of the Hudson River.", platform={"service": "mturk"})
    page = annotator_in(color_scheme=theme).page
    page.goto(f"{link}?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=h")
    expect(page.get_by_text("Mark every error.")).to_be_visible()
    require_accessible(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_way_of_marking_is_accessible(annotator_in: AnnotatorIn, open_study: OpenStudy, theme: str) -> None:
    attributes = [
        {"type": "text", "label": "Correction"},
        {"type": "choice", "label": "Confidence", "options": ["Sure", "Unsure"]},
        {"type": "checkbox", "label": "Seen twice"},
    ]
    link = open_study(
        "Enjoy views of the Hudson River.",
        rival="A view of the bridge.",
        source="Riverside. No pets.",
        item={"kind": "pair"},
        categories=[
            {"name": "Accuracy", "subcategories": [{"name": "Addition"}]},
            {"name": "Left out", "side": "source"},
            *({"name": f"Kind {number}"} for number in range(20)),
        ],
        severities=[{"name": "Minor"}, {"name": "Major"}],
        spans={"omissions": True, "reason": "required", "attributes": attributes},
    )
    annotator = annotator_in(color_scheme=theme, reduced_motion="reduce")
    page = annotator.page
    annotator.begin(link)
    require_accessible(page)
    texts = {page.locator(f"#{place}").text_content(): place for place in ("text", "second-text")}
    annotator.drag("Hudson", within=texts["Enjoy views of the Hudson River."])
    require_accessible(page)
    page.keyboard.press("1")
    expect(page.get_by_label("Subcategory")).to_be_visible()
    require_accessible(page)
    annotator.drag("pets", within="source-text")
    require_accessible(page)
    page.locator("#text").focus()
    for key in ("Control+Home", "0"):
        page.keyboard.press(key)
    expect(page.get_by_role("combobox", name="Filter the categories")).to_be_focused()
    require_accessible(page)
    page.keyboard.press("Enter")
    expect(page.locator("mark.omission")).to_have_count(1)
    page.keyboard.press("f")
    require_accessible(page)
