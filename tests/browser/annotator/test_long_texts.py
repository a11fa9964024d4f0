"""A long text is laid out in blocks, and annotators do not notice them."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.annotator.person import AnnotatorIn, OpenStudy

pytestmark = pytest.mark.browser

PARAGRAPHS = (
    "Enjoy 👨‍👩‍👧 views of the river from select suites. " * 8,
    "",
    "The hotel has a pool. " * 16 + "It is heated",
    "in winter.",
    "درجة الحرارة 21 مئوية. " * 16,
    "  Ends e\u0301te\u0301.\n\n",
)
TEXT = "\n".join(PARAGRAPHS)

# How many UTF-16 units of the text stand before the caret.
PLACE = """() => {
  const range = document.createRange();
  range.setStart(document.getElementById("text"), 0);
  range.setEnd(getSelection().focusNode, getSelection().focusOffset);
  return range.toString().length;
}"""


def places_passed(page: Page, key: str) -> list[int]:
    """Press a key until the caret stands still; return the places where it stood."""
    places: list[int] = [page.evaluate(PLACE)]
    while True:
        page.keyboard.press(key)
        place = page.evaluate(PLACE)
        if place == places[-1]:
            return places
        places.append(place)


def test_a_long_text_is_marked_walked_through_and_copied_as_if_it_were_one_piece(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(permissions=["clipboard-read", "clipboard-write"])
    annotator.begin(open_study(TEXT))
    page = annotator.page
    assert page.locator("#text .block").count() > 2
    across = "heated\nin winter.\nدرجة"
    for quote in ("select", across, "e\u0301te\u0301"):
        annotator.mark(quote)
    assert [quote for quote, _ in annotator.stored()] == ["select", across, "e\u0301te\u0301"]
    page.reload()
    expect(annotator.rows).to_have_count(3)
    page.locator("body[data-ready]").wait_for()
    assert annotator.text.evaluate("element => element.textContent") == TEXT
    annotator.text.focus()
    page.keyboard.press("Control+Home")
    down = places_passed(page, "ArrowDown")
    assert len(down) > len(PARAGRAPHS) + 3
    assert places_passed(page, "ArrowUp") == down[::-1]
    page.keyboard.press("Control+Shift+End")
    page.keyboard.press("Control+c")
    assert page.evaluate("navigator.clipboard.readText()") == TEXT


def test_a_mark_leaves_the_blocks_it_does_not_touch_as_they_are(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in().begin(open_study(TEXT))
    annotator.page.evaluate(
        """() => {
          globalThis.touched = new Set();
          const observer = new MutationObserver((changes) => changes.forEach(({ target }) => touched.add(target.closest(".block"))));
          for (const block of document.querySelectorAll("#text .block")) observer.observe(block, { childList: true, subtree: true });
        }"""
    )
    annotator.mark("pool")
    assert annotator.page.evaluate("[...touched].map((block) => block.textContent)") == [
        "\n".join(PARAGRAPHS[1:3]) + "\n"
    ]


def test_work_on_a_long_text_begins_at_its_head_after_long_instructions(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    link = open_study(TEXT * 4, guidelines="Mark every error.\n\n" * 60)
    for options in ({"viewport": {"width": 1280, "height": 800}}, {"viewport": {"width": 390, "height": 844}}):
        page = annotator_in(**options).begin(link).page
        expect(page.locator("#text")).to_be_focused()
        expect(page.locator("#progress")).to_be_in_viewport()
        assert page.evaluate("[scrollY, document.getElementById('marking').scrollTop]") == [0, 0]
