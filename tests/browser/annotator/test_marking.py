"""Marking with the mouse: what was dragged is what the server stores, and what the page shows after a reload."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SCRIPTS = [
    ("Enjoy views of the Hudson River from select suites.", "Hudson River"),
    ("The family 👨‍👩‍👧‍👦 arrived 🇨🇿 on time 👍🏽 today.", "👨‍👩‍👧‍👦 arrived 🇨🇿"),
    ("Le cafe\u0301 de la e\u0301tude ferme.", "e\u0301tude"),
    ("درجة الحرارة 21 مئوية اليوم في دبي.", "مئوية اليوم"),
    ("המלון קרוב מאוד לים התיכון.", "קרוב מאוד"),
    ("यह होटल समुद्र के पास है।", "समुद्र के"),
    ("โรงแรมอยู่ใกล้ทะเล", "ใกล้"),
    ("このホテルは駅の近くです。", "ホテル"),
    ("Two  spaces,\n\n  an indent\tand a tab.", "spaces,\n\n  an indent"),
]


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize(("text", "quote"), SCRIPTS)
def test_a_drag_stores_exactly_what_it_covers(
    annotator, open_study: Callable[..., str], text: str, quote: str, backwards: bool
) -> None:
    annotator.begin(open_study(text))
    expect(annotator.text).to_have_text(text, use_inner_text=False)
    annotator.mark(quote, backwards=backwards)
    assert annotator.stored() == [(quote, "incorrect")]
    annotator.page.reload()
    assert annotator.shown() == [quote]
    assert annotator.text.evaluate("element => element.textContent") == text
    assert annotator.page.locator("#text mark").all_text_contents() == [quote]
