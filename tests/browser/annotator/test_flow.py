"""From the start link to the completion code."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from spanplat.models import Annotation
from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy
from tests.browser.conftest import LiveServer

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


def test_coming_back_by_the_link_resumes_at_the_item_that_was_open(annotator: Annotator, open_study: OpenStudy) -> None:
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
    annotator.page.goto("about:blank")
    annotator.page.goto(link + PROLIFIC)
    expect(annotator.page.locator("#progress")).to_have_text("1 of 3")
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
    expect(annotator.page.locator("#task")).to_have_text("Fluency Is it good English?")


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


def test_an_answer_stays_with_its_item_when_the_next_is_opened_from_within_the_field(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study("First text.", "Second text.", questions=[{"type": "text", "label": "Comment"}]))
    page = annotator.page
    comment = page.get_by_label("Comment")
    comment.fill("About the first")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_have_text("2 of 2")
    expect(comment).to_have_value("")
    expect(annotator.text).to_be_focused()
    comment.fill("About the second")
    page.get_by_role("button", name="Back").click()
    expect(comment).to_have_value("About the first")
    annotator.saved()


def test_panels_give_the_focus_and_the_caret_back(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study("First text here.", questions=[{"type": "text", "label": "Comment"}]))
    page = annotator.page
    annotator.text.focus()
    for key in ("i", "?", "Escape"):
        page.keyboard.press(key)
    expect(annotator.text).to_be_focused()
    page.keyboard.press("Control+Shift+ArrowRight")
    page.keyboard.press("1")
    assert annotator.stored() == [("First", "incorrect")]
    page.get_by_role("button", name="Instructions").click()
    page.get_by_role("button", name="Close the instructions").click()
    expect(page.get_by_role("button", name="Instructions")).to_be_focused()


def test_what_is_required_is_asked_for_and_what_is_not_can_be_taken_back(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    questions = [
        {"type": "checkbox", "label": "I read the source", "required": True},
        {"type": "choices", "label": "Problems", "options": ["Typos", "Style", "Length"], "minimum": 2},
        {"type": "choice", "label": "Register", "options": ["Formal", "Casual"]},
        {"type": "likert", "label": "Impression", "points": 3, "required": False},
        {"type": "slider", "label": "Quality", "required": False},
        {"type": "text", "label": "Why", "required": True},
    ]
    annotator.begin(open_study("First text here.", questions=questions))
    page = annotator.page
    message = page.locator("#message")

    def next_needs(text: str) -> None:
        page.get_by_role("button", name="Next").click()
        expect(message).to_have_text(text)

    next_needs("Please answer: I read the source")
    page.get_by_label("I read the source").check()
    next_needs("Please choose at least 2: Problems")
    page.get_by_label("Typos").check()
    next_needs("Please choose at least 2: Problems")
    page.get_by_label("Style").check()
    next_needs("Please answer: Register")
    page.get_by_label("Casual").check()
    next_needs("Please answer: Why")
    page.get_by_label("Why").fill("Because")
    page.get_by_label("2", exact=True).check()
    page.get_by_label("Quality").press("ArrowLeft")
    for _ in range(2):
        page.get_by_role("button", name="Clear the answer").first.click()
    expect(page.locator("output[for=answer-quality]")).to_have_text("–")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#review-summary")).to_contain_text("Everything is done.")
    answers = page.request.get(f"{annotator.base}/items/1").json()["answers"]
    assert set(answers) == {"i-read-the-source", "problems", "register", "why"}


def test_the_review_leads_to_what_an_item_still_lacks(annotator: Annotator, open_study: OpenStudy) -> None:
    question = {"type": "likert", "label": "Overall impression"}
    annotator.begin(open_study("First text here.", "Second text here.", questions=[question]))
    page = annotator.page
    annotator.mark("text")
    annotator.saved()
    page.get_by_role("button", name="Review").click()
    expect(page.locator("#review-summary")).to_contain_text("Not finished yet: 1, 2.")
    expect(page.locator("#strip [aria-current=step]")).to_have_text("Review")
    page.get_by_role("button", name="Back").click()
    expect(page.locator("#strip [aria-current=step]")).to_have_text("1")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Item 1: begun, not finished").click()
    expect(page.locator("#message")).to_have_text("Please answer: Overall impression")
    expect(page.get_by_label("1", exact=True)).to_be_focused()


def test_each_group_reads_its_own_wording_in_the_question_and_in_what_is_missing(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    question = {"type": "likert", "label": "Impression", "wording": {"a": "How good is it?", "b": "How bad is it?"}}
    link = open_study("First text here.", questions=[question], groups=[{"name": "A"}, {"name": "B"}])
    read = set()
    for _ in range(2):
        annotator = annotator_in().begin(link)
        annotator.page.get_by_role("button", name="Next").click()
        expect(annotator.page.locator("#message")).to_contain_text("Please answer: How")
        read.add(str(annotator.page.locator("#questions legend").text_content()).strip())
    assert read == {"How good is it?", "How bad is it?"}


def test_only_time_spent_at_the_page_is_counted(
    annotator: Annotator, open_study: OpenStudy, live_server: LiveServer
) -> None:
    page = annotator.page
    page.clock.install()
    annotator.hear_nothing()  # in two hours it would ask often
    annotator.begin(open_study("First text here."))
    page.clock.run_for(500)
    expect(page).to_have_title(re.compile("^1/1"))  # what counts the time is there
    page.clock.run_for(5_000)
    page.mouse.move(300, 300)
    page.clock.run_for(3_600_000)  # an hour for lunch
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.clock.run_for(3_600_000)  # another in a different tab
    page.evaluate("delete document.hidden")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.clock.run_for(2_000)
    annotator.drag("text")
    page.keyboard.press("1")
    page.clock.run_for(2_000)
    annotator.saved()
    with live_server.database.reading() as session:
        [seconds] = session.scalars(select(Annotation.seconds)).all()
    assert seconds is not None
    assert 7 <= seconds <= 600, "the clock runs on by itself too, but not for two hours"


def test_of_a_batch_of_hundreds_every_item_is_reached_and_the_text_keeps_its_room(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    aspects = [{"name": f"Aspect {number}"} for number in range(1, 301)]
    asked: dict[str, Any] = {"item": {"kind": "aspect", "aspects": aspects}, "batches": {"regular": 1000}}
    annotator.begin(open_study("First text here.", "Second text here.", **asked))
    page = annotator.page
    entries = page.locator("#strip button[data-position]")
    expect(entries).to_have_count(600)
    assert page.locator("#text").is_visible()
    assert page.locator("#text").bounding_box()["y"] < 400  # type: ignore[index]
    entries.last.click()
    expect(page.locator("#strip [aria-current=step]")).to_have_text("600")
    expect(page.locator("#progress")).to_have_text("600 of 600")
    expect(page.locator("#strip [aria-current=step]")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Back").click()
    expect(page.locator("#strip [aria-current=step]")).to_have_text("599")
    page.reload()
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#strip [aria-current=step]")).to_have_text("599")
    expect(page.locator("#strip [aria-current=step]")).to_be_in_viewport(ratio=1)
