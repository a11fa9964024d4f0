"""Whole visits from the platform's link to their end, with back, reload, a shared link and a second browser."""

from playwright.sync_api import Request, expect

from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy
from tests.browser.annotator.test_platforms import ITEM, PROLIFIC

TEXTS = ("The view of the Hudson River is wonderful.", "The pool is open all year.")


def finish(annotator: Annotator) -> None:
    """Leave every item as it is, and submit."""
    for number in range(1, len(TEXTS) + 1):
        expect(annotator.page.locator("#progress")).to_have_text(f"{number} of {len(TEXTS)}")
        annotator.page.locator("#next").click()
    annotator.page.get_by_role("button", name="Submit").click()


def test_a_shared_link_seats_each_apart_an_address_is_its_owners_work_and_nothing_leads_back_to_a_sent_form(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    link = open_study(*TEXTS, platform={"service": "direct", "codes": {"completed": "DONE123"}})
    ann, bob = annotator_in().begin(link), annotator_in().begin(link)
    assert ann.base != bob.base
    ann.mark("Hudson")
    ann.saved()
    bob.page.reload()
    expect(bob.text).to_have_text(TEXTS[0])
    assert bob.shown() == []

    elsewhere = annotator_in()
    elsewhere.hear_nothing()
    elsewhere.page.goto(ann.base)
    expect(elsewhere.rows).to_have_count(1)
    assert elsewhere.shown() == ["Hudson"]

    address = ann.base
    finish(ann)
    expect(ann.page.locator(".code")).to_have_text("DONE123")
    assert ann.page.url == address, "the form was sent, and a reload must not send it again"
    sent: list[Request] = []
    ann.page.on("request", lambda request: sent.append(request) if request.method != "GET" else None)
    for move in (ann.page.go_back, ann.page.reload, ann.page.go_forward, ann.page.reload):
        move()
        if ann.page.url == address:
            expect(ann.page.locator(".code")).to_have_text("DONE123")
            expect(ann.page.locator("#text")).to_have_count(0)
    assert sent == []
    elsewhere.page.reload()
    expect(elsewhere.page.locator(".code")).to_have_text("DONE123")
    expect(bob.page.get_by_role("button", name="Start")).to_be_visible()
    assert "DONE123" not in bob.page.content()


def begin_further_try(annotator: Annotator) -> None:
    annotator.page.get_by_role("button", name="Try once more").click()
    annotator.page.get_by_role("button", name="Start").click()
    annotator.page.locator("body[data-ready]").wait_for()


def open_exam(open_study: OpenStudy) -> str:
    gold = {"name": "river", "type": "gold", "item": ITEM, "golds": [[{"quote": "Hudson", "category": "incorrect"}]]}
    given = {"attempts": 2, "pass_code": "PASS123", "fail_code": "FAIL123", "pass_message": "Welcome!"}
    link = open_study(
        *TEXTS,
        kind="qualification",
        qualification_given=given,
        checks=[gold],
        batches={"regular": 0, "gold": 1},
        annotators={"per_output": 5, "withdrawn": "delete"},
        platform=PROLIFIC,
    )
    return f"{link}?PROLIFIC_PID=ann&STUDY_ID=study&SESSION_ID=s1"


def test_a_qualification_is_failed_tried_again_and_passed_with_the_code_for_each(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    page = annotator.begin(open_exam(open_study)).page
    page.locator("#next").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".code")).to_have_text("FAIL123")
    assert "PASS123" not in page.content()
    begin_further_try(annotator)
    annotator.mark("Hudson")
    page.locator("#next").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".code")).to_have_text("PASS123")
    expect(page.get_by_text("Welcome!")).to_be_visible()
    page.go_back()
    page.reload()
    expect(page.locator(".code")).to_have_text("PASS123")


def test_leaving_a_further_try_says_what_stays_and_leads_back_to_the_code_earned_before(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    page = annotator.begin(open_exam(open_study)).page
    page.locator("#next").click()
    page.get_by_role("button", name="Submit").click()
    begin_further_try(annotator)
    annotator.mark("Hudson")
    page.get_by_role("button", name="Leave", exact=True).click()
    expect(
        page.get_by_text("The answers of this try are then deleted. What you submitted before stays")
    ).to_be_visible()
    page.get_by_role("button", name="Leave this try").click()
    expect(page.get_by_text("You left the last try; its answers were deleted.")).to_be_visible()
    expect(page.locator(".code")).to_have_text("FAIL123")
    expect(page.get_by_role("button", name="Try once more")).to_have_count(0)
