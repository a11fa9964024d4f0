"""Twenty-two categories: hotkeys, and a search by part of the name."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import require_accessible
from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy

pytestmark = pytest.mark.browser

TEXT = "Enjoy views of the Hudson River from select suites."
NAMES = """Incorrect number, Incorrect name, Incorrect word, Context error, Not checkable, Other, Addition, Omission, Mistranslation,
Untranslated, Grammar, Spelling, Punctuation, Register, Inconsistency, Wrong term, Übertreibung, Awkward, Number or date,
Currency or unit, Name or address, Unintelligible"""
MANY: dict[str, Any] = {"categories": [{"name": " ".join(name.split())} for name in NAMES.split(",")]}


def test_every_category_has_a_key_of_its_own(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT, **MANY))
    keys = annotator.page.locator("#categories kbd").all_text_contents()
    assert keys == [*"123456789bcdeghjklmoqr"]
    annotator.mark("views", "r")
    annotator.mark("Hudson", "b")
    assert annotator.stored() == [("views", "unintelligible"), ("Hudson", "untranslated")]


def test_no_two_categories_look_the_same(annotator: Annotator, open_study: OpenStudy) -> None:
    text = " ".join(f"word{number}" for number in range(22))
    annotator.begin(open_study(text, **MANY))
    for number, key in enumerate("123456789bcdeghjklmoqr"):
        annotator.mark(f"word{number}", key)
    looks = annotator.page.locator("#text mark").evaluate_all(
        "marks => marks.map((mark) => getComputedStyle(mark).backgroundImage)"
    )
    assert len(set(looks)) == 22


def test_typing_filters_the_chooser_and_enter_picks(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT, **MANY))
    page = annotator.page
    annotator.text.focus()
    for key in ("Control+Home", "Control+ArrowRight", "Control+Shift+ArrowRight", "Enter"):
        page.keyboard.press(key)
    field = page.get_by_role("combobox", name="Filter the categories")
    expect(field).to_be_focused()
    require_accessible(page)
    page.keyboard.type("in")
    options = page.locator("#choices [role=option]:visible")
    expect(options).to_have_count(6)
    expect(page.locator("#choices [aria-selected=true]")).to_contain_text("Incorrect number")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "choice-incorrect-name")
    page.keyboard.press("Enter")
    assert annotator.stored() == [("views", "incorrect-name")]
    expect(annotator.text).to_be_focused()


def test_escape_leaves_the_chooser_and_the_text_untouched(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT, **MANY))
    page = annotator.page
    annotator.drag("Hudson")
    page.keyboard.press("f")
    page.keyboard.type("uber")  # capitals and accents need not be typed
    expect(page.locator("#choices [role=option]:visible")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("#chooser")).to_be_hidden()
    expect(annotator.text).to_be_focused()
    assert annotator.shown() == []


def test_typing_filters_the_bar_and_enter_chooses_for_the_next_drags(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study(TEXT, **MANY))
    page = annotator.page
    annotator.text.focus()
    page.keyboard.press("f")
    page.keyboard.type("gram")
    expect(page.locator("#categories button[data-category]:visible")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#categories button[data-category]:visible")).to_have_count(22)
    expect(annotator.text).to_be_focused()
    annotator.drag("Hudson")
    assert annotator.stored() == [("Hudson", "grammar")]


def test_the_bar_leaves_most_of_the_page_to_the_text(annotator_in: AnnotatorIn, open_study: OpenStudy) -> None:
    link = open_study(TEXT * 60, **MANY)
    for width, height in ((1280, 800), (390, 844)):
        annotator = annotator_in(viewport={"width": width, "height": height})
        annotator.begin(link)
        box = annotator.page.locator(".dock").bounding_box()
        assert box is not None
        assert box["height"] <= height / 4


def test_on_a_phone_the_chooser_is_a_sheet_with_targets_for_a_finger(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    annotator.begin(open_study(TEXT, **MANY))
    annotator.drag("Hudson")
    chooser = annotator.page.locator("#chooser")
    box = chooser.bounding_box()
    assert box is not None
    assert (box["x"], box["width"], round(box["y"] + box["height"])) == (0, 390, 844)
    heights = chooser.locator("button, input").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44
    require_accessible(annotator.page)
