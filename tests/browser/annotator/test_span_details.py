"""Fields of each mark: subcategory, severity, reason and attributes."""

import pytest
from playwright.sync_api import expect

from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy

pytestmark = pytest.mark.browser

TEXT = "Enjoy views of the Hudson River from select suites."
ATTRIBUTES = [
    {"type": "text", "label": "Correction", "required": True},
    {"type": "choice", "label": "Confidence", "options": ["Sure", "Unsure"]},
    {"type": "checkbox", "label": "Seen twice"},
]


def test_attributes_that_the_campaign_defines_are_asked_stored_and_shown_again(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study(TEXT, spans={"attributes": ATTRIBUTES}))
    page = annotator.page
    annotator.mark("Hudson")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#message")).to_have_text("Please answer: Correction")
    correction = page.get_by_label("Correction")
    expect(correction).to_be_focused()
    page.keyboard.type("East 🌊")
    page.get_by_label("Confidence").select_option("Unsure")
    page.get_by_label("Seen twice").check()
    [span] = annotator.stored_spans()
    assert span["attributes"] == {"correction": "East 🌊", "confidence": "unsure", "seen-twice": True}
    expect(annotator.rows).to_contain_text("East 🌊 · Unsure · Seen twice")
    page.keyboard.press("Escape")
    expect(annotator.text).to_be_focused()
    page.keyboard.press("Escape")
    expect(correction).to_be_hidden()
    page.reload()
    page.locator("#spans .quote").click()
    expect(correction).to_have_value("East 🌊")
    expect(page.get_by_label("Confidence")).to_have_value("unsure")
    page.get_by_label("Seen twice").uncheck()
    page.get_by_label("Confidence").select_option("–")
    assert annotator.stored_spans()[0]["attributes"] == {"correction": "East 🌊"}
    page.keyboard.press("Control+Enter")
    expect(page.locator("#review-summary")).to_contain_text("Everything is done.")


def test_typing_is_one_step_to_undo_and_a_choice_is_another(annotator: Annotator, open_study: OpenStudy) -> None:
    severities = [{"name": "Minor"}, {"name": "Major"}]
    annotator.begin(open_study(TEXT, spans={"reason": "optional"}, severities=severities))
    page = annotator.page
    annotator.mark("Hudson")
    page.get_by_label("Reason").press_sequentially("wrong")
    page.get_by_label("Severity").select_option("Minor")
    page.get_by_label("Severity").select_option("Major")
    annotator.text.focus()
    steps = []
    for _ in range(4):
        [span] = annotator.stored_spans()
        steps.append((span.get("reason"), span.get("severity")))
        page.keyboard.press("Control+z")
    assert steps == [("wrong", "major"), ("wrong", "minor"), ("wrong", None), (None, None)]
    assert annotator.stored() == []


def test_a_mark_in_a_long_text_keeps_its_place_and_its_fields_in_sight(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    text = "".join(f"Sentence {number} speaks of rain and sun. " for number in range(300))
    annotator.begin(open_study(text, spans={"reason": "required"}))
    page = annotator.page
    annotator.edges("Sentence 150")  # scrolls there
    before = page.locator("#marking").evaluate("element => element.scrollTop")
    annotator.mark("Sentence 150")
    expect(page.get_by_label("Reason")).to_be_in_viewport()
    assert page.locator("#marking").evaluate("element => element.scrollTop") == before
    page.get_by_label("Reason").fill("too wet")
    assert page.locator("#marking").evaluate("element => element.scrollTop") == before


def test_another_category_brings_its_own_subcategories(annotator: Annotator, open_study: OpenStudy) -> None:
    categories = [
        {"name": "Accuracy", "subcategories": [{"name": "Addition"}]},
        {"name": "Style", "subcategories": [{"name": "Awkward"}, {"name": "Stiff"}]},
        {"name": "Other"},
    ]
    annotator.begin(open_study(TEXT, categories=categories))
    page = annotator.page
    annotator.mark("Hudson")
    subcategory = page.get_by_label("Subcategory")
    subcategory.select_option("Addition")
    page.get_by_label("Category", exact=True).focus()
    page.get_by_label("Category", exact=True).select_option("Style")
    expect(page.get_by_label("Category", exact=True)).to_be_focused()
    expect(subcategory).to_have_value("")
    subcategory.select_option("Stiff")
    [span] = annotator.stored_spans()
    assert (span["category"], span["subcategory"]) == ("style", "stiff")
    page.get_by_label("Category", exact=True).select_option("Other")
    expect(subcategory).to_have_count(0)
    assert "subcategory" not in annotator.stored_spans()[0]


def test_a_mark_chosen_in_the_list_is_shown_in_a_long_text(annotator: Annotator, open_study: OpenStudy) -> None:
    text = "".join(f"Sentence {number} speaks of rain and sun. " for number in range(300))
    annotator.begin(open_study(text))
    page = annotator.page
    annotator.mark("Sentence 0")
    annotator.mark("Sentence 299")
    page.locator("#spans .quote").first.click()
    expect(page.locator("#text mark").first).to_be_in_viewport()
    page.keyboard.press("n")
    expect(page.locator("#text mark").last).to_be_in_viewport()


def test_on_a_phone_nothing_covers_the_quote_of_the_selected_mark_in_any_direction(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    text = "درجة الحرارة اليوم في دبي مرتفعة جدا عند الظهر"
    annotator.begin(open_study(f"English, then:\n{text}.", spans={"reason": "optional"}))
    annotator.mark(text)
    inspector = annotator.page.locator("#inspector")
    inspector.locator("q").wait_for()
    covered = inspector.evaluate(
        """box => {
          const [quote, button] = ["q", ".delete"].map((part) => box.querySelector(part).getBoundingClientRect());
          return quote.right > button.left && quote.left < button.right && quote.bottom > button.top;
        }"""
    )
    assert not covered
