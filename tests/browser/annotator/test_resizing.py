"""Resizing a mark with its handles, by mouse and by touch, and with keys."""

import pytest
from playwright.sync_api import expect

from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy, swipe

pytestmark = pytest.mark.browser

TEXT = "Enjoy views of the Hudson River from select suites."
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def drag_handle(annotator: Annotator, edge: str, to: str, *, shift: bool = False) -> None:
    """Take a handle to the far side of a quote."""
    first, last = annotator.edges(to)
    target = first if edge == "start" else last
    mouse, keyboard = annotator.page.mouse, annotator.page.keyboard
    mouse.move(*annotator.handle(edge))
    mouse.down()
    held = annotator.handle(edge)
    if shift:
        keyboard.down("Shift")
    mouse.move(target[0], held[1], steps=4)
    mouse.up()
    if shift:
        keyboard.up("Shift")


def begin_with_mark(annotator: Annotator, link: str, quote: str) -> None:
    annotator.begin(link)
    annotator.mark(quote)
    annotator.click(quote)
    expect(annotator.page.locator(".handle.end")).to_be_visible()


def test_handles_move_either_end_by_whole_words_and_each_drag_is_one_step(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    begin_with_mark(annotator, open_study(TEXT), "Hudson")
    drag_handle(annotator, "end", "Riv")
    assert annotator.stored() == [("Hudson River", "incorrect")]
    drag_handle(annotator, "start", "iews")
    assert annotator.stored() == [("views of the Hudson River", "incorrect")]
    drag_handle(annotator, "end", "Hud")
    assert annotator.stored() == [("views of the Hudson", "incorrect")]
    for expected in ("views of the Hudson River", "Hudson River", "Hudson"):
        annotator.page.keyboard.press("Control+z")
        assert annotator.stored() == [(expected, "incorrect")]


def test_shift_moves_a_handle_by_characters(annotator: Annotator, open_study: OpenStudy) -> None:
    begin_with_mark(annotator, open_study("A family 👨‍👩‍👧‍👦 of cafe\u0301s."), "family")
    drag_handle(annotator, "start", "mily", shift=True)
    assert annotator.stored() == [("mily", "incorrect")]
    drag_handle(annotator, "end", "👨‍👩‍👧‍👦", shift=True)
    assert annotator.stored() == [("mily 👨‍👩‍👧‍👦", "incorrect")]


@pytest.mark.parametrize(
    ("text", "until", "longer"),
    [
        ("درجة الحرارة 21 مئوية اليوم في دبي.", "مئوية", "الحرارة 21 مئوية"),
        ("このホテルは駅の近くです。", "駅", "ホテルは駅"),
    ],
)
def test_handles_follow_the_direction_and_the_words_of_a_script(
    annotator: Annotator, open_study: OpenStudy, text: str, until: str, longer: str
) -> None:
    begin_with_mark(annotator, open_study(text), "الحرارة" if until == "مئوية" else "ホテル")
    drag_handle(annotator, "end", until)
    assert annotator.stored() == [(longer, "incorrect")]


def test_where_overlap_is_forbidden_a_handle_stops_at_the_next_mark_and_says_so(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study(TEXT, spans={"overlap": "forbid"}))
    annotator.mark("River")
    annotator.mark("views")
    annotator.click("views")
    drag_handle(annotator, "end", "Hudson River")
    expect(annotator.page.locator("#message")).to_contain_text("Marks may not overlap here.")
    assert annotator.stored()[1:] == [("River", "incorrect")]
    assert annotator.stored()[0][0].startswith("views")
    annotator.click("views")
    annotator.page.keyboard.press("Escape")
    annotator.click("River")
    for _ in range(6):
        annotator.page.keyboard.press("Alt+ArrowLeft")
    expect(annotator.page.locator("#message")).to_contain_text("Marks may not overlap here.")
    quotes = [quote for quote, _ in annotator.stored()]
    assert " ".join(quotes).count("views") == 1
    assert quotes[1].endswith("River")


def test_keys_move_either_end_and_a_run_of_them_is_one_step(annotator: Annotator, open_study: OpenStudy) -> None:
    begin_with_mark(annotator, open_study(TEXT), "Hudson")
    keyboard = annotator.page.keyboard
    keyboard.press("Alt+Shift+ArrowRight")
    keyboard.press("Alt+Shift+ArrowRight")
    assert annotator.stored() == [("Hudson River from", "incorrect")]
    expect(annotator.page.locator("#live")).to_have_text("Hudson River from")
    keyboard.press("Alt+ArrowLeft")
    keyboard.press("Control+Alt+ArrowLeft")
    keyboard.press("Control+Alt+ArrowLeft")
    assert annotator.stored() == [("f the Hudson River from", "incorrect")]
    keyboard.press("Alt+Shift+ArrowLeft")
    assert annotator.stored() == [("f the Hudson River", "incorrect")]
    for expected in ("f the Hudson River from", "Hudson River from", "Hudson"):
        keyboard.press("Control+z")
        assert annotator.stored() == [(expected, "incorrect")]


def test_keys_never_leave_an_empty_mark(annotator: Annotator, open_study: OpenStudy) -> None:
    begin_with_mark(annotator, open_study(TEXT), "Hudson")
    for key in ("Alt+Shift+ArrowLeft", "Alt+ArrowRight"):
        for _ in range(3):
            annotator.page.keyboard.press(key)
    assert annotator.stored() == [("Hudson", "incorrect")]


def test_in_a_text_from_right_to_left_the_left_arrow_leads_to_its_end(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    begin_with_mark(annotator, open_study("המלון קרוב מאוד לים התיכון."), "קרוב")
    annotator.page.keyboard.press("Alt+Shift+ArrowLeft")
    assert annotator.stored() == [("קרוב מאוד", "incorrect")]
    annotator.page.keyboard.press("Alt+ArrowRight")
    assert annotator.stored() == [("המלון קרוב מאוד", "incorrect")]


def test_a_drag_that_passes_the_handles_of_the_selected_mark_marks_what_it_covers(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(**PHONE)
    annotator.begin(open_study("Rooms have a view.\nFrom the bar there is a better one."))
    annotator.mark("view")
    annotator.page.locator("#spans .quote").tap()
    expect(annotator.page.locator(".handle.end")).to_be_visible()
    annotator.mark("From the bar there", "2")  # under what can be held of the handles of the line above
    assert annotator.stored() == [("view", "incorrect"), ("From the bar there", "not-checkable")]


def test_handles_are_dragged_with_a_finger_and_large_enough_for_it(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(**PHONE)
    annotator.begin(open_study(TEXT))
    annotator.mark("Hudson")
    annotator.page.locator("#spans .quote").tap()
    handle = annotator.page.locator(".handle.end")
    expect(handle).to_be_visible()
    hit = handle.evaluate(
        """element => {
          const { width, height, touchAction } = getComputedStyle(element, "::after");
          return [parseFloat(width), parseFloat(height), getComputedStyle(element).touchAction];
        }"""
    )
    assert hit[0] >= 44
    assert hit[1] >= 44
    assert hit[2] == "none"
    _, [x, y] = annotator.edges("from")
    box = handle.bounding_box()
    assert box is not None
    [left, top] = annotator.handle("end")
    down = y - (box["y"] + box["height"] / 2)
    swipe(annotator.page, [left, top], [x, top + down])
    expect(annotator.rows).to_contain_text("Hudson River from")
    assert annotator.stored() == [("Hudson River from", "incorrect")]


def test_handles_at_the_border_of_a_phone_do_not_widen_the_page(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(**PHONE)
    page = annotator.page
    page.goto(open_study("يقع فندق Riverside على بعد 21 دقيقة من محطة القطار، ويضم 3 مسابح.", language="ar"))
    page.locator("#start").click()
    annotator.mark("دقيقة من محطة")
    page.locator("#spans .quote").click()
    expect(page.locator(".handle.end")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
