"""Marking with the mouse: what was dragged is what the server stores, and what the page shows after a reload."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.annotator.person import Annotator, OpenStudy

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


def top_of(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize(("text", "quote"), SCRIPTS)
def test_a_drag_stores_exactly_what_it_covers(
    annotator: Annotator, open_study: OpenStudy, text: str, quote: str, backwards: bool
) -> None:
    annotator.begin(open_study(text))
    expect(annotator.text).to_have_text(text, use_inner_text=False)
    annotator.mark(quote, backwards=backwards)
    assert annotator.stored() == [(quote, "incorrect")]
    annotator.page.reload()
    assert annotator.shown() == [quote]
    assert annotator.text.evaluate("element => element.textContent") == text
    assert annotator.page.locator("#text mark").all_text_contents() == [quote]


def test_markup_in_a_text_and_its_source_stays_text(annotator: Annotator, open_study: OpenStudy) -> None:
    text = "If a<b then <b>bold</b> & <script>document.title='run'</script> ends."
    annotator.begin(open_study(text, source={"<i>name</i>": "<img src=x onerror=alert(1)>", "n": "a & b"}))
    annotator.mark("<b>bold</b>")
    assert annotator.stored() == [("<b>bold</b>", "incorrect")]
    assert annotator.text.evaluate("element => element.textContent") == text
    assert annotator.page.locator("#source img, #source i, #text b, #text script").count() == 0
    expect(annotator.page.locator("#source")).to_contain_text("<img src=x onerror=alert(1)>")
    assert "run" not in annotator.page.title()


@pytest.mark.parametrize(
    ("granularity", "drag", "marked"),
    [
        ("word", "udson Riv", "Hudson River"),
        ("word", "afé", "Café"),
        ("word", "“Café”", "“Café”"),
        ("word", "3.", "3.5"),
        ("word", " views ", "views"),
        ("character", "dson R", "dson R"),
        ("character", " views ", " views "),
        ("sentence", "quiet", "It is quiet."),
        ("sentence", "3.5 stars. It", "The “Café” has 3.5 stars. It is quiet."),
    ],
)
def test_a_drag_is_widened_to_the_granularity_of_the_campaign(
    annotator: Annotator, open_study: OpenStudy, granularity: str, drag: str, marked: str
) -> None:
    text = "Nice views of Hudson River. The “Café” has 3.5 stars. It is quiet."
    annotator.begin(open_study(text, spans={"granularity": granularity}))
    annotator.mark(drag)
    assert annotator.stored() == [(marked, "incorrect")]


def test_shift_marks_single_characters_but_never_splits_one(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("A family 👨‍👩‍👧 of cafe\u0301s."))
    annotator.mark("ami", shift=True)
    annotator.mark("👨‍👩‍👧", shift=True)
    annotator.mark("fe\u0301", shift=True)
    assert annotator.stored() == [("ami", "incorrect"), ("👨‍👩‍👧", "incorrect"), ("fe\u0301", "incorrect")]


def test_with_a_category_chosen_first_every_drag_marks_with_it_until_escape(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("Enjoy views of the Hudson River from select suites."))
    annotator.page.get_by_role("button", name="Misleading").click()
    annotator.drag("Enjoy")
    annotator.drag("River")
    annotator.page.keyboard.press("2")
    annotator.drag("select")
    annotator.page.keyboard.press("Escape")
    annotator.drag("suites")
    expect(annotator.page.locator("#chooser")).to_be_visible()
    annotator.page.keyboard.press("Escape")
    expect(annotator.page.locator("#chooser")).to_be_hidden()
    assert annotator.stored() == [("Enjoy", "misleading"), ("River", "misleading"), ("select", "not-checkable")]


def test_the_chooser_stands_at_the_selection_and_marks_with_a_click(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("Enjoy views of the Hudson River from select suites."))
    annotator.drag("Hudson")
    chooser = annotator.page.locator("#chooser")
    assert top_of(chooser) < top_of(annotator.page.locator("#categories")) + 20
    chooser.get_by_role("button", name="Not checkable").click()
    assert annotator.stored() == [("Hudson", "not-checkable")]


def test_overlapping_marks_are_drawn_apart_named_and_each_can_be_selected(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("Enjoy views of the Hudson River from select suites."))
    annotator.mark("views of the Hudson River", "1")
    annotator.mark("Hudson River from", "2")
    annotator.mark("Hudson", "3")
    lines = annotator.page.locator("#text mark", has_text="Hudson").evaluate(
        "mark => [getComputedStyle(mark).backgroundImage.split('repeating-linear').length - 1, mark.style.backgroundPosition]"
    )
    assert lines[0] == 3
    assert len(set(lines[1].split(",0 "))) == 3
    assert annotator.page.locator("#text mark[data-label]").evaluate_all(
        "marks => marks.map((m) => m.dataset.label)"
    ) == [
        "1",
        "2·3",
    ]
    selected = annotator.page.locator("#spans > .selected q")
    for quote in ("Hudson", "Hudson River from", "views of the Hudson River"):
        annotator.click("Hudson")
        expect(selected).to_have_text(quote)


def test_a_mark_can_change_its_category_be_deleted_and_every_step_be_undone(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("Enjoy views of the Hudson River from select suites."))
    keyboard = annotator.page.keyboard
    annotator.mark("Hudson River")
    annotator.click("Hudson River")
    keyboard.press("3")
    assert annotator.stored() == [("Hudson River", "misleading")]
    annotator.page.get_by_label("Category", exact=True).select_option("Not checkable")
    assert annotator.stored() == [("Hudson River", "not-checkable")]
    keyboard.press("Escape")
    annotator.page.get_by_role("button", name="Delete “Hudson River”").click()
    expect(annotator.rows).to_have_count(0)
    for expected in (["not-checkable"], ["misleading"], ["incorrect"], []):
        keyboard.press("Control+z")
        assert [category for _, category in annotator.stored()] == expected
    for expected in (["incorrect"], ["misleading"], ["not-checkable"], []):
        annotator.page.get_by_role("button", name="Redo").click()
        assert [category for _, category in annotator.stored()] == expected


def test_where_overlap_is_forbidden_the_page_says_so_at_once_and_stores_nothing(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("Enjoy views of the Hudson River.", spans={"overlap": "forbid"}))
    annotator.mark("Hudson River")
    annotator.drag("the Hudson")
    annotator.page.keyboard.press("2")
    expect(annotator.page.locator("#message")).to_have_text(
        "Marks may not overlap here. Delete or change the other mark first."
    )
    assert annotator.stored() == [("Hudson River", "incorrect")]


def test_an_exclusive_category_covers_the_whole_text_and_stands_alone(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    categories = [{"name": "Incorrect"}, {"name": "Unintelligible", "exclusive": True}]
    annotator.begin(open_study("Enjoy views of the Hudson River.", categories=categories))
    annotator.mark("views", "2")
    annotator.drag("Hudson")
    annotator.page.keyboard.press("1")
    expect(annotator.page.locator("#message")).to_contain_text("stands alone")
    assert annotator.stored() == [("Enjoy views of the Hudson River.", "unintelligible")]


def test_severity_subcategory_and_reason_are_asked_where_the_campaign_wants_them(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    link = open_study(
        "Enjoy views of the Hudson River.",
        categories=[{"name": "Accuracy", "subcategories": [{"name": "Addition"}, {"name": "Omission"}]}],
        severities=[{"name": "Minor"}, {"name": "Major"}],
        spans={"reason": "required"},
    )
    annotator.begin(link)
    annotator.drag("Hudson")  # the only category needs no choosing
    page = annotator.page
    message = page.locator("#message")
    page.keyboard.press("Control+Enter")
    expect(message).to_have_text("Please choose how severe this is.")
    expect(page.get_by_label("Severity")).to_be_focused()
    page.get_by_label("Severity").select_option("Major")
    page.keyboard.press("Control+Enter")
    expect(message).to_have_text("Please give a reason for this mark.")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("Wrong river 1")  # a category's digit inside a field is a digit
    page.get_by_label("Subcategory").select_option("Addition")
    annotator.saved()
    [span] = page.request.get(f"{annotator.base}/items/1").json()["spans"]
    assert (span["severity"], span["subcategory"], span["reason"]) == ("major", "addition", "Wrong river 1")


def test_a_text_of_twenty_thousand_characters_is_marked_where_it_was_dragged(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    text = "".join(f"Sentence {number} speaks of 🌧️ and sun. " for number in range(600))
    assert len(text) > 20_000
    annotator.begin(open_study(text))
    annotator.mark("Sentence 1 speaks")
    annotator.mark("Sentence 599 speaks", "2")
    assert annotator.stored() == [("Sentence 1 speaks", "incorrect"), ("Sentence 599 speaks", "not-checkable")]


def test_a_selection_made_by_touch_asks_for_the_category_below(
    new_page: Callable[..., Page], open_study: OpenStudy
) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.goto(open_study("Enjoy views of the Hudson River from select suites."))
    page.get_by_role("button", name="Start").tap()
    page.locator("#text").tap()
    # A long press selects; no touch event tells of the handles dragged after it, only the selection changes.
    page.evaluate(
        """() => {
          const node = document.getElementById("text").firstChild;
          getSelection().setBaseAndExtent(node, 21, node, 28);
        }"""
    )
    chooser = page.locator("#chooser")
    expect(chooser).to_be_visible()
    assert top_of(chooser) > 500
    chooser.get_by_role("button", name="Misleading").tap()
    expect(page.locator("#spans q")).to_have_text("Hudson River")


def test_a_double_click_selects_the_word_under_it(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("Enjoy views of the Hudson River from select suites."))
    [[left, y], [right, _]] = annotator.edges("Hudson")
    annotator.page.mouse.dblclick((left + right) / 2, y)
    annotator.page.keyboard.press("1")
    assert annotator.stored() == [("Hudson", "incorrect")]
