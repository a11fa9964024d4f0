"""Items with several texts to mark (a source, a pair), omissions, and items that ask about one span."""

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from spanplat.models import CampaignStatus, Span
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.lifecycle import set_status
from spanplat.services.campaigns.planning import plan_campaign
from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy
from tests.browser.conftest import LiveServer
from tests.campaigns import create_campaign

pytestmark = pytest.mark.browser

TEXT = "Enjoy views of the Hudson River from select suites."
FACTS = "The hotel 🏨 has a heated pool.\nNo pets."
SOURCE = {"facts": FACTS, "rooms": 12}
SIDES = [{"name": "Incorrect"}, {"name": "Omission", "side": "source"}, {"name": "Odd", "side": "both"}]


def shown_choices(page: Page) -> list[str]:
    expect(page.locator("#chooser")).to_be_visible()
    return [" ".join(name.split()) for name in page.locator("#chooser button:visible").all_inner_texts()]


def test_what_is_left_out_is_marked_in_the_field_of_the_source_that_the_campaign_names(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    link = open_study(TEXT, source=SOURCE, categories=SIDES, data={"dataset": "hotels", "source_text": "facts"})
    annotator.begin(link)
    page = annotator.page
    expect(page.locator("#source-text")).to_have_text(FACTS, use_inner_text=False)
    expect(page.locator("#source")).not_to_contain_text("heated")
    expect(page.locator("#source")).to_contain_text("12")
    annotator.drag("heated pool", within="source-text")
    assert shown_choices(page) == ["2 Omission in the source", "3 Odd"]
    page.keyboard.press("2")
    annotator.drag("Hudson")
    assert shown_choices(page) == ["1 Incorrect", "3 Odd"]
    page.keyboard.press("2")  # a category of the source does not belong in the text
    expect(page.locator("#message")).to_have_text("This category does not belong in this text.")
    annotator.mark("Hudson")
    assert annotator.stored() == [("Hudson", "incorrect"), ("heated pool", "omission")]
    [_, omission] = annotator.stored_spans()
    assert (omission["side"], omission["field"], omission["start"]) == ("source", "facts", 18)
    page.reload()
    expect(page.locator("#source-text mark")).to_have_text("heated pool")
    expect(annotator.rows.nth(1)).to_contain_text("in the source")
    annotator.click("heated pool", within="source-text")
    page.keyboard.press("Alt+ArrowLeft")
    page.keyboard.press("3")
    assert annotator.stored()[1] == ("a heated pool", "odd")


def test_the_only_category_of_the_source_needs_no_choosing(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT, source="No pets are allowed.", categories=SIDES[:2]))
    annotator.drag("pets", within="source-text")
    assert annotator.stored() == [("pets", "omission")]
    expect(annotator.page.locator("#source")).to_be_hidden()


def test_a_source_that_came_with_carriage_returns_is_marked_where_it_was_dragged(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    source = "First 🏨 line\r\n  second line\r\nthird e\u0301te\u0301 line"
    annotator.begin(open_study(TEXT, source=source, categories=SIDES[:2]))
    for quote in ("line\n  second", "e\u0301te\u0301"):
        annotator.drag(quote, within="source-text")
    assert annotator.stored() == [("line\n  second", "omission"), ("e\u0301te\u0301", "omission")]
    annotator.page.reload()
    expect(annotator.rows).to_have_count(2)
    assert annotator.page.locator("#source-text mark").all_text_contents() == ["line\n  second", "e\u0301te\u0301"]


def test_on_a_phone_the_source_is_marked_behind_its_tab(annotator_in: AnnotatorIn, open_study: OpenStudy) -> None:
    annotator = annotator_in(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    link = open_study(TEXT, source="No pets are allowed.", categories=SIDES, severities=[{"name": "Minor"}])
    annotator.begin(link)
    page = annotator.page
    annotator.mark("Hudson")
    page.locator("#sides [data-side=source]").tap()
    annotator.drag("pets", within="source-text")
    page.locator("#chooser").get_by_role("button", name="Omission").tap()
    page.get_by_label("Severity").select_option("Minor")
    expect(page.locator("#source-badge")).to_have_text("1")
    page.locator("#sides [data-side=text]").tap()
    expect(annotator.rows).to_have_count(2)
    for row in ("Hudson", "pets"):
        page.locator("#spans .quote", has_text=row).tap()
    expect(page.locator("#source-text mark")).to_be_in_viewport()
    assert annotator.stored() == [("Hudson", "incorrect"), ("pets", "omission")]
    assert annotator.stored_spans()[1]["severity"] == "minor"


def test_both_texts_of_a_pair_are_marked(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT, rival="A view of the 🌉 bridge.", item={"kind": "pair"}))
    page = annotator.page
    texts = [page.locator("#text").text_content(), page.locator("#second-text").text_content()]
    places = {text: ("text", "second-text")[position] for position, text in enumerate(texts)}
    annotator.drag("Hudson", within=places[TEXT])
    page.keyboard.press("1")
    annotator.drag("bridge", within=places["A view of the 🌉 bridge."])
    page.keyboard.press("2")
    spans = annotator.stored_spans()
    assert {span["text"]: (span["category"], texts[span["output"]]) for span in spans} == {
        "Hudson": ("incorrect", TEXT),
        "bridge": ("not-checkable", "A view of the 🌉 bridge."),
    }
    page.reload()
    expect(page.locator("#second-text mark")).to_have_count(1)
    expect(annotator.rows.nth(1)).to_contain_text("in the second text")


def test_overlap_is_forbidden_within_a_text_but_not_between_texts(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT, rival=TEXT[::-1], item={"kind": "pair"}, spans={"overlap": "forbid"}))
    first = annotator.page.locator("#text").text_content() or ""
    second = annotator.page.locator("#second-text").text_content() or ""
    for place, text in (("text", first), ("second-text", second)):
        annotator.drag(text[:5], within=place)
        annotator.page.keyboard.press("1")
    expect(annotator.rows).to_have_count(2)


@pytest.mark.parametrize("text", [TEXT, "درجة الحرارة 21 مئوية اليوم في دبي.", "👨‍👩‍👧 at the pool 🏊🏽 today"])
def test_something_missing_is_marked_at_the_caret_and_shown_as_a_wedge(
    annotator: Annotator, open_study: OpenStudy, text: str
) -> None:
    annotator.begin(open_study(text, spans={"omissions": True}))
    page = annotator.page
    annotator.text.focus()
    page.keyboard.press("Control+Home")
    forwards = "ArrowRight" if text.isascii() or text.startswith("👨") else "ArrowLeft"
    for key in (f"Control+{forwards}", f"Control+{forwards}", "0"):
        page.keyboard.press(key)
    expect(page.locator("#chooser button").first).to_be_focused()
    page.keyboard.press("2")
    [span] = annotator.stored_spans()
    assert span["start"] == span["end"] > 0
    assert span["category"] == "not-checkable"
    expect(page.locator("#live")).to_contain_text("(something is missing)")
    wedge = page.locator("#text mark.omission")
    expect(wedge).to_have_attribute("data-label", "2")
    assert annotator.text.evaluate("element => element.textContent") == text
    expect(annotator.rows).to_contain_text("something is missing")
    page.keyboard.press("Control+z")
    expect(wedge).to_have_count(0)


def test_the_button_for_something_missing_waits_for_a_click_and_the_wedge_can_be_clicked(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study(TEXT, spans={"omissions": True, "overlap": "forbid"}))
    page = annotator.page
    annotator.mark("views of the")
    button = page.get_by_role("button", name="Something is missing here")
    page.locator("body").click(position={"x": 300, "y": 400})
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    _, [x, y] = annotator.edges("Hudson River")
    page.mouse.click(x, y)
    page.keyboard.press("3")
    assert annotator.stored() == [("views of the", "incorrect"), ("", "misleading")]
    assert annotator.stored_spans()[1]["start"] == TEXT.index(" from")
    box = page.locator("#text mark.omission").bounding_box()
    assert box is not None
    page.mouse.click(box["x"], box["y"] + box["height"] + 6)
    expect(page.locator("#spans .selected")).to_contain_text("something is missing")
    page.keyboard.press("Delete")
    assert annotator.stored() == [("views of the", "incorrect")]


def test_something_missing_is_marked_with_a_finger(annotator_in: AnnotatorIn, open_study: OpenStudy) -> None:
    annotator = annotator_in(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    annotator.begin(open_study(TEXT, spans={"omissions": True}))
    page = annotator.page
    page.get_by_role("button", name="Something is missing here").tap()
    _, [x, y] = annotator.edges("Hudson")
    page.touchscreen.tap(x, y)
    page.locator("#chooser").get_by_role("button", name="Misleading").tap()
    expect(annotator.rows).to_have_count(1)
    assert annotator.stored() == [("", "misleading")]
    assert annotator.stored_spans()[0]["start"] == TEXT.index(" River")


def test_without_omissions_there_is_no_way_to_make_an_empty_mark(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    annotator.text.focus()
    annotator.page.keyboard.press("0")
    expect(annotator.page.locator("#missing")).to_have_count(0)
    expect(annotator.page.locator("#chooser")).to_be_hidden()


def test_the_span_to_be_judged_stands_out_in_the_text_and_is_announced(
    annotator: Annotator, open_study: OpenStudy, live_server: LiveServer
) -> None:
    text = "Two 🌧️ days, then the Hudson River."
    annotator.begin(open_study(text))
    annotator.mark("Hudson River")
    annotator.page.keyboard.press("Control+Enter")
    annotator.page.get_by_role("button", name="Submit").click()
    expect(annotator.page.get_by_role("heading", name="Thank you")).to_be_visible()
    judging = CampaignDefinition.model_validate(
        {
            "slug": "judging",
            "title": "Is it wrong?",
            "questions": [{"type": "choice", "label": "Right?", "options": ["Yes", "No"]}],
            "data": {"dataset": "hotels"},
            "item": {"kind": "span", "spans_from": "study"},
        }
    )
    with live_server.database.transaction() as session:
        assert session.scalars(select(Span.text)).all() == ["Hudson River"]
        set_status(session, create_campaign(session, plan_campaign(session, judging)).slug, CampaignStatus.OPEN)
    annotator.begin(f"{live_server.url}/c/judging/start")
    expect(annotator.page.locator("#text mark.judged")).to_have_text("Hudson River")
    expect(annotator.page.locator("#task")).to_contain_text("Is “Hudson River” Incorrect?")
