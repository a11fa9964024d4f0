"""A whole batch with the keyboard alone, and what a screen reader is told."""

import pytest
from playwright.sync_api import expect

from tests.browser.annotator.person import Annotator, OpenStudy

pytestmark = pytest.mark.browser


def press(annotator: Annotator, *keys: str) -> None:
    for key in keys:
        annotator.page.keyboard.press(key)


def test_a_batch_is_done_with_the_keyboard_alone(annotator: Annotator, open_study: OpenStudy) -> None:
    link = open_study("Enjoy views of the river.", "مرحبا بالعالم اليوم.", spans={"granularity": "word"})
    page = annotator.page
    page.goto(link)
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    page.get_by_role("button", name="Start").focus()
    press(annotator, "Enter")
    expect(annotator.text).to_be_focused()
    total = 2
    for number in range(1, total + 1):
        expect(page.locator("#progress")).to_have_text(f"{number} of {total}")
        text = annotator.text.evaluate("element => element.textContent")
        rightwards = text.startswith("Enjoy")
        annotator.text.focus()
        word = "Control+Shift+ArrowRight" if rightwards else "Control+Shift+ArrowLeft"
        press(annotator, "Control+Home", word)
        expect(page.locator("#live")).to_contain_text("Enjoy" if rightwards else "مرحبا")
        press(annotator, "2")
        first = ("Enjoy", "not-checkable") if rightwards else ("مرحبا", "not-checkable")
        assert annotator.stored(number) == [first]
        press(annotator, "Control+Enter")
    expect(page.locator("#review-summary")).to_contain_text("Everything is done.")
    press(annotator, "Control+Enter")
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()


def test_enter_opens_the_chooser_and_its_buttons_are_walked_with_arrows(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("Enjoy views of the river."))
    annotator.text.focus()
    press(annotator, "Control+Home", "Control+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Enter")
    expect(annotator.page.locator("#chooser button").first).to_be_focused()
    press(annotator, "ArrowDown", "ArrowDown", "Enter")
    assert annotator.stored() == [("views", "misleading")]
    expect(annotator.page.locator("#live")).to_have_text("Marked “views” as Misleading.")


def test_the_caret_stays_in_the_text_and_goes_on_after_a_mark(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("Enjoy views."))
    annotator.text.focus()
    press(annotator, "Control+Home", "ArrowLeft", "ArrowUp")
    expect(annotator.page.locator("#caret")).to_be_visible()
    press(annotator, "Control+Shift+ArrowRight", "1", "Control+Shift+ArrowRight", "2", "Control+End", "ArrowRight")
    assert annotator.stored() == [("Enjoy", "incorrect"), ("views", "not-checkable")]
    assert annotator.page.evaluate("document.activeElement.id") == "text"


def test_marks_are_walked_changed_and_deleted_with_keys(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("Enjoy views of the river."))
    annotator.mark("Enjoy")
    annotator.mark("river")
    press(annotator, "n", "n")
    expect(annotator.page.locator("#live")).to_have_text("“river”, Incorrect.")
    press(annotator, "3", "p")
    expect(annotator.page.locator("#live")).to_have_text("“Enjoy”, Incorrect.")
    press(annotator, "Delete")
    assert annotator.stored() == [("river", "misleading")]
    expect(annotator.page.locator("#live")).to_have_text("Deleted “Enjoy”.")


def test_keys_rest_while_a_field_takes_text(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("Enjoy views.", questions=[{"type": "text", "label": "Comment"}]))
    annotator.mark("Enjoy")
    annotator.page.get_by_label("Comment").focus()
    annotator.page.keyboard.type("12 in?")
    press(annotator, "Backspace")
    expect(annotator.page.get_by_label("Comment")).to_have_value("12 in")
    expect(annotator.page.locator("#instructions")).to_be_hidden()
    assert annotator.stored() == [("Enjoy", "incorrect")]
