"""A whole batch with the keyboard only, and the announcements for screen readers."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.annotator.person import Annotator, OpenStudy

pytestmark = pytest.mark.browser


def press(annotator: Annotator, *keys: str) -> None:
    for key in keys:
        annotator.page.keyboard.press(key)


def tab_to(annotator: Annotator, target: Locator) -> None:
    """Press Tab until something has the focus, as somebody without a mouse must."""
    expect(target).to_be_enabled()
    for _ in range(60):
        if target.evaluate("element => element === document.activeElement"):
            return
        annotator.page.keyboard.press("Tab")
    raise AssertionError("Tab does not lead there")


def test_a_batch_is_done_with_the_keyboard_alone_from_the_consent_form_to_the_code(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    asked = {"label": "What do you mark?", "options": ["Names", "Errors"], "answer": "Errors"}
    link = open_study(
        "Enjoy views of the river.",
        "مرحبا بالعالم اليوم.",
        spans={"granularity": "word", "reason": "required"},
        questions=[{"type": "likert", "label": "Impression"}, {"type": "text", "label": "Comment", "required": False}],
        consent={"text": "We ask you to mark errors."},
        comprehension={"questions": [asked]},
        platform={"service": "direct", "codes": {"completed": "DONE123"}},
    )
    page = annotator.page
    page.goto(link)
    tab_to(annotator, page.get_by_role("button", name="I agree and"))
    press(annotator, "Enter")
    tab_to(annotator, page.get_by_label("Names"))
    press(annotator, "ArrowDown")
    tab_to(annotator, page.get_by_role("button", name="Check my answers"))
    press(annotator, "Enter")
    start = page.get_by_role("button", name="Start")
    tab_to(annotator, start)
    page.locator("body[data-ready]").wait_for()
    press(annotator, "Enter")
    expect(annotator.text).to_be_focused()
    total = 2
    for number in range(1, total + 1):
        expect(page.locator("#progress")).to_have_text(f"{number} of {total}")
        text = annotator.text.evaluate("element => element.textContent")
        rightwards = text.startswith("Enjoy")
        tab_to(annotator, annotator.text)
        word = "Control+Shift+ArrowRight" if rightwards else "Control+Shift+ArrowLeft"
        press(annotator, "Control+Home", word)
        expect(page.locator("#live")).to_contain_text("Enjoy" if rightwards else "مرحبا")
        press(annotator, "2")
        first = ("Enjoy", "not-checkable") if rightwards else ("مرحبا", "not-checkable")
        press(annotator, "Enter")
        expect(page.get_by_label("Reason")).to_be_focused()
        page.keyboard.type("No 1 reason")
        press(annotator, "Enter")
        press(annotator, "Control+Enter")
        expect(page.locator("#message")).to_have_text("Please answer: Impression")
        press(annotator, "ArrowRight")
        tab_to(annotator, page.get_by_label("Comment"))
        page.keyboard.type("Read twice")
        assert annotator.stored(number) == [first]
        press(annotator, "Control+Enter")
    expect(page.locator("#review-summary")).to_contain_text("Everything is done.")
    press(annotator, "Control+Enter")
    expect(page.locator(".code")).to_have_text("DONE123")


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
    expect(annotator.page.locator(".caret >> nth=0")).to_be_visible()
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


def test_tab_visits_the_marks_of_the_text_and_then_goes_on(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("Enjoy views of the river."))
    page = annotator.page
    annotator.mark("Enjoy")
    annotator.mark("river")
    annotator.text.focus()
    press(annotator, "Control+Home")
    live = page.locator("#live")
    for quote in ("Enjoy", "river"):
        press(annotator, "Tab")
        expect(live).to_have_text(f"“{quote}”, Incorrect.")
        expect(annotator.text).to_be_focused()
    press(annotator, "Shift+Tab")
    expect(live).to_have_text("“Enjoy”, Incorrect.")
    press(annotator, "2")
    assert annotator.stored() == [("Enjoy", "not-checkable"), ("river", "incorrect")]
    press(annotator, "Tab", "Tab")
    expect(annotator.text).not_to_be_focused()
    expect(page.locator("#spans > .selected")).to_have_count(0)


def test_escape_then_tab_leaves_the_text_without_visiting_every_mark(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("Enjoy views of the river."))
    annotator.mark("river")
    annotator.text.focus()
    press(annotator, "Control+Home", "Escape", "Tab")
    expect(annotator.text).not_to_be_focused()


def test_enter_on_a_visited_mark_leads_to_what_is_asked_about_it(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("Enjoy views of the river.", spans={"reason": "required"}))
    annotator.text.focus()
    reason = annotator.page.get_by_label("Reason")
    press(annotator, "Control+Home", "Control+Shift+ArrowRight", "1", "Enter")
    expect(reason).to_be_focused()
    annotator.page.keyboard.type("not enjoyable")
    press(annotator, "Enter")
    expect(annotator.text).to_be_focused()
    press(annotator, "Control+Shift+ArrowRight", "2")
    assert [(span["text"], span.get("reason")) for span in annotator.stored_spans()] == [
        ("Enjoy", "not enjoyable"),
        ("views", None),
    ]


def test_keys_rest_while_an_input_method_composes(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("Enjoy views."))
    annotator.drag("views")
    annotator.text.evaluate(
        """element => element.dispatchEvent(
          new KeyboardEvent("keydown", { key: "1", isComposing: true, bubbles: true, cancelable: true }))"""
    )
    expect(annotator.page.locator("#chooser")).to_be_visible()
    assert annotator.shown() == []
    press(annotator, "1")
    assert annotator.stored() == [("views", "incorrect")]


def test_the_list_of_keys_names_what_this_campaign_has(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("Enjoy views.", spans={"omissions": True}))
    press(annotator, "?")
    keys = annotator.page.locator("#keys")
    for key in ("Alt+Shift+→", "Alt+←", "Tab", "0", "Ctrl+Z", "Del", "Enter"):
        expect(keys.locator("kbd", has_text=key).first).to_be_visible()
