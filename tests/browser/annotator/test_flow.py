"""From the start link to the completion code."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.annotator.person import Annotator, OpenStudy

pytestmark = pytest.mark.browser

BOX = {"type": "no_errors", "label": "I did not find any errors in this summary"}
PROLIFIC = "?PROLIFIC_PID=ann&STUDY_ID=study&SESSION_ID=session"


def test_a_batch_is_annotated_reviewed_and_submitted_for_the_code(annotator: Annotator, open_study: OpenStudy) -> None:
    link = open_study(
        "First text here.",
        "Second text here.",
        consent={"text": "We ask you to **mark errors**."},
        questions=[BOX, {"type": "likert", "label": "Overall impression", "lowest": "bad", "highest": "good"}],
        platform={"service": "prolific", "codes": {"completed": "DONE123"}},
        final_message="You helped *a lot*.",
    )
    page: Page = annotator.page
    page.goto(link + PROLIFIC)
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_role("heading", name="Instructions")).to_be_visible()
    page.get_by_role("button", name="Start").click()
    message, progress = page.locator("#message"), page.locator("#progress")

    page.get_by_role("button", name="Next").click()
    expect(message).to_have_text("Mark a span or tick the box.")
    annotator.mark("text")
    page.get_by_role("button", name="Next").click()
    expect(message).to_have_text("Please answer: Overall impression")
    page.get_by_label("4", exact=True).check()
    page.get_by_role("button", name="Next").click()
    expect(progress).to_have_text("2 of 2")

    page.get_by_role("button", name="Review").click()
    expect(page.locator("#review-summary")).to_contain_text("Not finished yet: 2.")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    page.get_by_role("button", name="Item 2: not begun").click()

    page.get_by_label(BOX["label"]).check()
    page.get_by_label("5", exact=True).check()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#review-summary")).to_contain_text("Everything is done.")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    expect(page.locator(".code")).to_have_text("DONE123")
    expect(page.get_by_role("link", name="Return to the platform")).to_have_attribute(
        "href", "https://app.prolific.com/submissions/complete?cc=DONE123"
    )
    expect(page.locator(".prose em")).to_have_text("a lot")
    page.reload()
    expect(page.locator(".code")).to_have_text("DONE123")
    page.goto(link + PROLIFIC)
    expect(page.locator(".code")).to_have_text("DONE123")


def test_coming_back_by_the_link_resumes_at_the_first_item_that_is_not_done(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    link = open_study("First text here.", "Second text here.", "Third text here.", platform={"service": "prolific"})
    annotator.begin(link + PROLIFIC)
    annotator.mark("text")
    annotator.page.keyboard.press("Control+Enter")
    expect(annotator.page.locator("#progress")).to_have_text("2 of 3")
    annotator.saved()
    address = annotator.base
    annotator.page.goto("about:blank")
    annotator.page.goto(link + PROLIFIC)
    assert annotator.base == address
    expect(annotator.page.locator("#progress")).to_have_text("2 of 3")
    expect(annotator.page.get_by_role("button", name="Item 1, done")).to_be_visible()
    annotator.page.get_by_role("button", name="Back").click()
    expect(annotator.rows).to_have_count(1)


def test_a_change_after_an_item_was_done_is_saved_and_keeps_it_done_only_while_nothing_is_missing(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("First text here.", "Second text here.", questions=[BOX]))
    page = annotator.page
    annotator.mark("text")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_have_text("2 of 2")
    page.get_by_role("button", name="Back").click()
    expect(annotator.rows).to_have_count(1)
    annotator.mark("here", "2")
    assert annotator.stored() == [("text", "incorrect"), ("here", "not-checkable")]
    expect(page.get_by_role("button", name="Item 1, done")).to_be_visible()
    for _ in range(2):
        page.locator("#spans .delete").first.click()
    expect(page.get_by_role("button", name="Item 1, begun, not finished")).to_be_visible()


def test_every_kind_of_question_is_asked_stored_and_shown_again(annotator: Annotator, open_study: OpenStudy) -> None:
    questions = [
        {"type": "checkbox", "label": "I know this hotel"},
        {"type": "choice", "label": "Language", "options": ["Fluent", "Not fluent"]},
        {"type": "choices", "label": "Problems", "options": ["Typos", "Style", "Length"]},
        {"type": "likert", "label": "Impression", "points": 7},
        {"type": "slider", "label": "Quality", "help": "0 is unusable."},
        {"type": "text", "label": "Comment"},
    ]
    annotator.begin(open_study("First text here.", questions=questions))
    page = annotator.page
    page.get_by_label("I know this hotel").check()
    page.get_by_label("Not fluent").check()
    page.get_by_label("Typos").check()
    page.get_by_label("Length").check()
    page.get_by_label("6", exact=True).check()
    page.get_by_label("Quality").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("Comment").fill("Fine 🌧️")
    annotator.saved()
    answers = page.request.get(f"{annotator.base}/items/1").json()["answers"]
    assert answers == {
        "i-know-this-hotel": True,
        "language": "not-fluent",
        "problems": ["typos", "length"],
        "impression": 6,
        "quality": 51,
        "comment": "Fine 🌧️",
    }
    page.reload()
    expect(page.get_by_label("I know this hotel")).to_be_checked()
    expect(page.get_by_label("Not fluent")).to_be_checked()
    expect(page.get_by_label("Style")).not_to_be_checked()
    expect(page.get_by_label("Length")).to_be_checked()
    expect(page.get_by_label("6", exact=True)).to_be_checked()
    expect(page.get_by_label("Quality")).to_have_value("51")
    expect(page.get_by_label("Comment")).to_have_value("Fine 🌧️")


def test_the_box_for_no_errors_and_a_mark_exclude_each_other(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("First text here.", questions=[BOX]))
    box = annotator.page.get_by_label(BOX["label"])
    box.check()
    annotator.mark("text")
    expect(box).not_to_be_checked()
    expect(box).to_be_disabled()
    expect(annotator.page.locator("#message")).to_have_text("The box was unticked, because you marked something.")
    annotator.page.keyboard.press("Control+z")
    expect(box).to_be_enabled()
    annotator.saved()


def test_instructions_and_keys_are_one_key_away_and_give_the_place_back(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("First text here."))
    page = annotator.page
    annotator.mark("text")
    page.keyboard.press("i")
    expect(page.locator("#instructions")).to_contain_text("Mark every error.")
    expect(annotator.rows).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    expect(page.locator("#instructions")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()


def test_the_find_box_leads_to_what_stands_folded_in_the_source(annotator: Annotator, open_study: OpenStudy) -> None:
    views = {f"room {number}": "the yard" for number in range(40)} | {"suite": "the Hudson"}
    source = {"name": "Riverside", "views": views}
    annotator.begin(open_study("First text here.", source=source))
    page = annotator.page
    expect(page.get_by_text("the Hudson")).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("hudson")
    expect(page.get_by_text("the Hudson")).to_be_visible()
    expect(page.locator("#found")).to_have_text("1 / 1")


def test_a_list_of_records_is_a_table(annotator: Annotator, open_study: OpenStudy) -> None:
    source = {"events": [{"time": {"minute": 3}, "type": "Goal"}, {"time": {"minute": 9}, "type": "Card"}]}
    annotator.begin(open_study("First text here.", source=source))
    table = annotator.page.get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(["time · minute", "type"])
    expect(table.get_by_role("cell")).to_have_text(["3", "Goal", "9", "Card"])


def test_of_a_pair_both_texts_are_shown_and_the_better_one_is_chosen(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    question = {"type": "preference", "label": "Which text reads better?", "tie": True}
    texts = ("The hotel is near the river.", "Near the river lies a hotel.")
    annotator.begin(
        open_study(texts[0], rival=texts[1], item={"kind": "pair"}, questions=[question], categories=[], slug="study")
    )
    page = annotator.page
    shown = [annotator.text.text_content(), page.locator("#second-text").text_content()]
    assert sorted(shown, key=str) == sorted(texts)
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#message")).to_have_text("Please answer: Which text reads better?")
    page.get_by_role("radio", name="Second text").check()
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#review-summary")).to_contain_text("Everything is done.")
    assert page.request.get(f"{annotator.base}/items/1").json()["answers"] == {"which-text-reads-better": "second"}


def test_the_aspect_asked_about_stands_above_the_text(annotator: Annotator, open_study: OpenStudy) -> None:
    item = {"kind": "aspect", "aspects": [{"name": "Fluency", "description": "Is it good English?"}]}
    annotator.begin(open_study("The hotel is near the river.", item=item))
    expect(annotator.page.locator("#task")).to_have_text("Fluency")


def test_the_divider_moves_with_pointer_and_keys_and_is_remembered(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("The hotel is near the river.", source="Riverside, 200 m from the river."))
    page = annotator.page
    divider = page.get_by_role("separator", name="Width of the source")
    divider.hover()
    page.mouse.down()
    page.mouse.move(640, 300)
    page.mouse.up()
    expect(divider).to_have_attribute("aria-valuenow", "50")
    divider.press("ArrowRight")
    expect(divider).to_have_attribute("aria-valuenow", "55")
    page.reload()
    page.get_by_role("button", name="Start").click()
    expect(divider).to_have_attribute("aria-valuenow", "55")
