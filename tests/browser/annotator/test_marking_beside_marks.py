"""Marking beside a selected mark: a press on letters starts a new selection, and the selected mark does not change."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy, swipe

pytestmark = pytest.mark.browser

TEXTS = {
    "en": "The whole family flew from Oslo to a small island in July.",
    "he": "המלון קרוב מאוד לים התיכון ויש בו בריכה גדולה.",
    "hi": "यह होटल समुद्र के बहुत पास है और कमरे साफ़ थे।",
    "ja": "このホテルは駅の近くにあり、部屋はとても静かでした。",
    "th": "โรงแรมอยู่ใกล้ทะเลและห้องพักสะอาดมาก",
    "ar": "يقع الفندق قرب البحر وفيه مسبح كبير.",
}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
WORDS = """([text, language]) => [...new Intl.Segmenter(language, { granularity: "word" }).segment(text)]
  .filter(({ isWordLike }) => isWordLike).map(({ segment, index }) => [segment, index])"""
SWIPE_PX = 12
KEEPS_SELECTION: dict[str, Any] = {"spans": {"reason": "optional"}}
"""With these settings a new mark stays selected, because its reason may be given next."""


def words_of(annotator: Annotator, language: str) -> list[tuple[str, int]]:
    """Return each word of the text as the browser segments it, with the number of its earlier occurrences."""
    text = TEXTS[language]
    words: list[list[Any]] = annotator.page.evaluate(WORDS, [text, language])
    return [(word, sum(text.startswith(word, at) for at in range(start))) for word, start in words]


def handles_shown(annotator: Annotator) -> None:
    """Wait until the handles stand at the mark made last, as they do when somebody goes on at leisure."""
    expect(annotator.page.locator(".handle.end")).to_be_visible()
    annotator.drawn()


def is_wide_enough_to_swipe(annotator: Annotator, word: str, occurrence: int) -> bool:
    """Tell whether a finger moves far enough over a word for its gesture to count as a swipe."""
    (start, _), (end, _) = annotator.edges(word, occurrence)
    return abs(end - start) > SWIPE_PX


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_every_word_is_marked_with_the_mouse_while_its_neighbour_is_selected(
    annotator: Annotator, open_study: OpenStudy, language: str, backwards: bool
) -> None:
    annotator.begin(open_study(TEXTS[language], **KEEPS_SELECTION))
    words = words_of(annotator, language)
    for number, (word, occurrence) in enumerate(reversed(words) if backwards else words):
        if number:
            handles_shown(annotator)
        annotator.mark(word, str(number % 3 + 1), occurrence=occurrence, backwards=backwards)
    assert [quote for quote, _ in annotator.stored()] == [word for word, _ in words]


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_every_word_is_marked_with_a_finger_while_its_neighbour_is_selected(
    annotator_in: AnnotatorIn, open_study: OpenStudy, language: str, backwards: bool
) -> None:
    annotator = annotator_in(**PHONE)
    annotator.begin(open_study(TEXTS[language], **KEEPS_SELECTION))
    words = [word for word in words_of(annotator, language) if is_wide_enough_to_swipe(annotator, *word)]
    for number, (word, occurrence) in enumerate(reversed(words) if backwards else words):
        if number:
            handles_shown(annotator)
        start, end = annotator.edges(word, occurrence)
        swipe(annotator.page, *((end, start) if backwards else (start, end)))
        annotator.page.locator("#chooser [data-category]").nth(number % 3).click()  # a tap so soon were a double tap
        expect(annotator.rows).to_have_count(number + 1)
    assert [quote for quote, _ in annotator.stored()] == [word for word, _ in words]


@pytest.mark.parametrize("height", [0.1, 0.5, 0.9], ids=["top", "middle", "bottom"])
@pytest.mark.parametrize(("selected", "drawn"), [("family", "flew"), ("flew", "family")], ids=["behind", "before"])
def test_a_drag_may_begin_anywhere_on_the_letter_that_touches_the_selected_mark(
    annotator: Annotator, open_study: OpenStudy, height: float, selected: str, drawn: str
) -> None:
    annotator.begin(open_study("A familyflew away.", **KEEPS_SELECTION))
    annotator.mark(selected, shift=True)
    handles_shown(annotator)
    text_top, text_height = annotator.page.evaluate(
        "(() => { const r = document.createRange(); r.selectNodeContents(document.querySelector('#text mark'));"
        " const { top, height } = r.getClientRects()[0]; return [top, height]; })()"
    )
    (left, _), (right, _) = annotator.edges(drawn)
    y = text_top + height * text_height
    near, far = (left, right) if drawn == "flew" else (right, left)
    annotator.page.keyboard.down("Shift")
    annotator.page.mouse.move(near, y)
    annotator.page.mouse.down()
    annotator.page.mouse.move((near + far) / 2, y)
    annotator.page.mouse.move(far, y)
    annotator.page.mouse.up()
    annotator.page.keyboard.up("Shift")
    annotator.page.keyboard.press("2")
    expect(annotator.rows).to_have_count(2)
    assert sorted(annotator.stored()) == sorted([(selected, "incorrect"), (drawn, "not-checkable")])


@pytest.mark.parametrize("quote", ["family flew", "whole family"], ids=["same start", "same end"])
def test_an_overlapping_mark_may_share_an_edge_with_the_selected_one(
    annotator: Annotator, open_study: OpenStudy, quote: str
) -> None:
    annotator.begin(open_study(TEXTS["en"], **KEEPS_SELECTION))
    annotator.mark("family")
    handles_shown(annotator)
    annotator.mark(quote, "2", backwards=quote == "whole family")
    assert sorted(annotator.stored()) == sorted([("family", "incorrect"), (quote, "not-checkable")])


@pytest.mark.parametrize("word", ["whole", "flew"])
def test_a_double_click_beside_the_selected_mark_marks_that_word(
    annotator: Annotator, open_study: OpenStudy, word: str
) -> None:
    annotator.begin(open_study(TEXTS["en"], **KEEPS_SELECTION))
    annotator.mark("family")
    handles_shown(annotator)
    start, end = annotator.edges(word)
    annotator.page.mouse.dblclick(*(start if word == "flew" else end))
    annotator.page.keyboard.press("2")
    expect(annotator.rows).to_have_count(2)
    assert sorted(annotator.stored()) == sorted([("family", "incorrect"), (word, "not-checkable")])


def test_a_finger_marks_letters_under_a_handle_of_the_line_above_and_a_tap_there_selects_their_mark(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(**PHONE)
    annotator.begin(open_study("The rooms have a fine view.\nWe met a guest who lives there.", **KEEPS_SELECTION))
    page = annotator.page
    annotator.mark("have")
    handles_shown(annotator)
    start, end = annotator.edges("who")
    reached = page.evaluate("([x, y]) => document.elementFromPoint(x, y).className", start)
    assert "handle" in reached, "the word does not stand where a finger could take the handle"
    swipe(page, start, end)
    page.locator("#chooser [data-category]").nth(1).click()
    expect(annotator.rows).to_have_count(2)
    assert annotator.stored() == [("have", "incorrect"), ("who", "not-checkable")]
    page.locator("#spans .quote").first.click()
    handles_shown(annotator)
    page.touchscreen.tap((start[0] + end[0]) / 2, start[1])
    expect(annotator.rows.nth(1).locator(".quote")).to_have_attribute("aria-pressed", "true")
    assert annotator.stored() == [("have", "incorrect"), ("who", "not-checkable")]
