"""Marking with the mouse: the server stores exactly the dragged words, and a reload shows them."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy, swipe

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
    ("Flags 🇨🇿🇩🇪🇪🇸 and keys 1️⃣2️⃣ here.", "🇩🇪"),
    ("Zalgo a\u0302\u0323\u0301b c\u0327o\u0308d and e\u0301.", "c\u0327o\u0308d"),
    ("The word שלום stands before 21 and מחיר 30 too.", "שלום"),
    ("سعر الغرفة 120 يورو (Wi-Fi) مجانا.", "الغرفة 120 يورو"),
    ("“Quoted,” he said: „Zitat“ and «citation».", "“Quoted,”"),
    ("if a<b && c>d then &amp; stays", "a<b"),
    ("क्षत्रिय और विद्यार्थी यहाँ हैं।", "विद्यार्थी"),
    ("東京タワーは高いです。とても。", "東京タワー"),
    ("𝒜 𝓂𝒶𝓉𝒽 😀\u200d💻\ufe0f end", "𝓂𝒶𝓉𝒽"),
    ("A line 🌧️ ended\r\nby another system.\r\n\r\nThe last.", "ended\nby another"),
]
STORED = {text.replace("\r\n", "\n"): quote for text, quote in SCRIPTS}
"""Which quote is marked in each text, as texts are stored."""


def top_of(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["y"]


def each_item(annotator: Annotator, texts: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Go through a batch and give the position of each item, its text, and the quote to mark in it; ends at the review."""
    page = annotator.page
    page.locator("#strip [data-position='1']").click()
    for position in range(1, len(texts) + 1):
        expect(page.locator("#progress")).to_have_text(f"{position} of {len(texts)}")
        text = annotator.text.text_content() or ""
        assert text in texts, "the page shows another text than the one stored"
        yield position, text, texts[text]
        page.keyboard.press("Control+Enter")
    expect(page.locator("#review-summary")).to_contain_text("Everything is done.")
    annotator.saved()


def require_marked(annotator: Annotator, texts: dict[str, str], category: str) -> None:
    """After a reload every item shows, and the server has, exactly its quote."""
    annotator.page.reload()
    annotator.page.locator("body[data-ready]").wait_for()
    for position, text, quote in each_item(annotator, texts):
        assert annotator.stored(position) == [(quote, category)]
        assert annotator.shown() == [quote]
        assert annotator.text.evaluate("element => element.textContent") == text
        assert "".join(annotator.page.locator("#text mark").all_text_contents()) == quote


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_in_every_script_a_drag_stores_exactly_what_it_covers(
    annotator: Annotator, open_study: OpenStudy, backwards: bool
) -> None:
    annotator.begin(open_study(*(text for text, _ in SCRIPTS)))
    for _, _, quote in each_item(annotator, STORED):
        annotator.mark(quote, backwards=backwards)
    require_marked(annotator, STORED, "incorrect")


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
    ("granularity", "widened"),
    [
        (
            "word",
            {"udson Riv": "Hudson River", "afé": "Café", "“Café”": "“Café”", "3.": "3.5", " views ": "views"},
        ),
        ("character", {"dson R": "dson R", " views ": " views "}),
        ("sentence", {"quiet": "It is quiet.", "3.5 stars. It": "The “Café” has 3.5 stars. It is quiet."}),
    ],
)
def test_a_drag_is_widened_to_the_granularity_of_the_campaign(
    annotator: Annotator, open_study: OpenStudy, granularity: str, widened: dict[str, str]
) -> None:
    text = "Nice views of Hudson River. The “Café” has 3.5 stars. It is quiet."
    annotator.begin(open_study(text, spans={"granularity": granularity}))
    for dragged, marked in widened.items():
        annotator.mark(dragged)
        assert annotator.stored() == [(marked, "incorrect")]
        annotator.page.keyboard.press("Control+z")
        expect(annotator.rows).to_have_count(0)


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
    annotator.drag("Hudson")  # the only category needs no choosing; what else is asked stands ready
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


LONG = "".join(f"Sentence {number} speaks of 🌧️ and sun. " for number in range(600))
FAR_APART = ["Sentence 1 speaks", "Sentence 599 speaks"]


def test_a_text_of_twenty_thousand_characters_is_marked_where_it_was_dragged(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    assert len(LONG) > 20_000
    annotator.begin(open_study(LONG))
    for quote in FAR_APART:
        annotator.mark(quote)
        annotator.saved()  # what is asked about a mark has taken its place, so that nothing moves under the next drag
    assert annotator.stored() == [(quote, "incorrect") for quote in FAR_APART]
    annotator.page.reload()
    expect(annotator.rows).to_have_count(2)
    assert annotator.page.locator("#text mark").all_text_contents() == FAR_APART
    assert annotator.text.text_content() == LONG


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
          const node = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT).nextNode();
          getSelection().setBaseAndExtent(node, 21, node, 28);
        }"""
    )
    chooser = page.locator("#chooser")
    expect(chooser).to_be_visible()
    assert top_of(chooser) > 500
    chooser.get_by_role("button", name="Misleading").tap()
    expect(page.locator("#spans q")).to_have_text("Hudson River")


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


# A finger that goes from line to line scrolls: what it marks stands on one line, and narrow pages break lines early.
ON_ONE_LINE = {text: quote for text, quote in STORED.items() if "\n" not in text and len(text) < 45} | {
    "The 👨‍👩‍👧‍👦 arrived 🇨🇿 today.": "👨‍👩‍👧‍👦 arrived 🇨🇿",
    "Enjoy the Hudson River.": "Hudson River",
}


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_in_every_script_a_finger_that_goes_sideways_marks_what_it_passes(
    annotator_in: AnnotatorIn, open_study: OpenStudy, backwards: bool
) -> None:
    annotator = annotator_in(**PHONE)
    annotator.begin(open_study(*ON_ONE_LINE))
    misleading = annotator.page.locator("#chooser").get_by_role("button", name="Misleading")
    for _, _, quote in each_item(annotator, ON_ONE_LINE):
        start, end = annotator.edges(quote)
        swipe(annotator.page, *((end, start) if backwards else (start, end)))
        misleading.click()  # a tap so soon were a double tap
        expect(annotator.rows).to_have_count(1)
    require_marked(annotator, ON_ONE_LINE, "misleading")


def test_a_finger_marks_both_ends_of_a_text_of_twenty_thousand_characters(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(**PHONE)
    annotator.begin(open_study(LONG))
    annotator.page.keyboard.press("1")
    for number, word in enumerate(("Sentence", "599"), start=1):  # one word each, which no end of a line divides
        swipe(annotator.page, *annotator.edges(word))
        expect(annotator.rows).to_have_count(number)
    assert annotator.stored() == [("Sentence", "incorrect"), ("599", "incorrect")]
    assert [span["start"] for span in annotator.stored_spans()] == [0, LONG.index("599")]
    assert annotator.page.evaluate("scrollY > 10_000"), "the page went back to the mark made first"


def test_with_a_category_chosen_a_finger_marks_at_once_and_up_and_down_it_scrolls(
    annotator_in: AnnotatorIn, open_study: OpenStudy, wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    annotator = annotator_in(**PHONE)
    annotator.begin(open_study("Enjoy views of the Hudson River from select suites. " * 60))
    page = annotator.page
    page.keyboard.press("2")
    swipe(page, *annotator.edges("views"))
    expect(annotator.rows).to_have_count(1)
    assert annotator.stored() == [("views", "not-checkable")]
    swipe(page, [200, 500], [202, 200])
    wait_until(lambda: page.evaluate("scrollY") > 100)
    assert annotator.stored() == [("views", "not-checkable")]


def test_a_double_click_selects_the_word_under_it(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("Enjoy views of the Hudson River from select suites."))
    [[left, y], [right, _]] = annotator.edges("Hudson")
    annotator.page.mouse.dblclick((left + right) / 2, y)
    annotator.page.keyboard.press("1")
    assert annotator.stored() == [("Hudson", "incorrect")]
