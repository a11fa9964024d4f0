"""Steps before and during the work: MTurk's preview, practice, a warning."""

from playwright.sync_api import Page, expect

from tests.browser.annotator.paths import MTurk
from tests.browser.annotator.person import Annotator, OpenStudy

TEXTS = ("The view of the Hudson River is wonderful.", "The pool is open all year.")
ITEM = {"split": "test", "example": "0", "system": "alder"}
PROLIFIC = {"service": "prolific", "codes": {"completed": "DONE123", "screened_out": "OUT123", "no_consent": "BYE123"}}
PERSON = "PROLIFIC_PID=ann&STUDY_ID=study&SESSION_ID=s1"


def test_inside_mturks_frame_the_task_is_previewed_before_it_is_accepted(page: Page, open_study: OpenStudy) -> None:
    path = MTurk(page, open_study(*TEXTS, platform={"service": "mturk"}, guidelines="Mark every **error**."))
    frame = path.open("assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=hit")
    expect(frame.get_by_text("This is a preview.")).to_be_visible()
    accepted = path.come("ann")
    expect(accepted.get_by_role("button", name="Start")).to_be_visible()


def test_practice_says_so_and_gives_feedback_before_the_work_begins(page: Page, open_study: OpenStudy) -> None:
    practice = [
        {
            "item": ITEM,
            "golds": [[{"quote": "Hudson River", "category": "incorrect"}]],
            "explanation": "It is the **Thames**.",
        }
    ]
    start = open_study(*TEXTS, platform=PROLIFIC, practice=practice, batches={"regular": 1})
    page.goto(f"{start}?{PERSON}")
    assert "Thames" not in page.content()
    page.get_by_role("button", name="Start").click()
    page.locator("body[data-ready]").wait_for()
    expect(page.locator("#progress")).to_have_text("Practice 1 of 1")
    expect(page.get_by_role("navigation", name="Items")).to_have_count(0)
    expect(page).to_have_title("Practice 1 of 1 · Hotel highlights")
    page.get_by_role("button", name="See what was expected").click()
    expect(page.get_by_role("heading", name="Practice 1 of 1")).to_be_visible()
    expect(page.get_by_text("The Thames.")).to_be_visible()
    expect(page.get_by_text("You marked nothing.")).to_be_visible()
    page.get_by_role("button", name="Begin the work").click()
    page.locator("body[data-ready]").wait_for()
    expect(page.locator("#text")).to_have_text(TEXTS[1])
    expect(page.locator("#progress")).to_have_text("1 of 1")
    expect(page.get_by_role("button", name="Start")).to_have_count(0)
    page.go_back()
    page.reload()
    expect(page.locator("#text")).to_have_text(TEXTS[1])


def test_a_warning_is_shown_until_it_is_read(page: Page, open_study: OpenStudy) -> None:
    checks = [
        {
            "name": "slow-down",
            "type": "min_seconds",
            "seconds": 999,
            "on_fail": "warn",
            "message": "Please take your time.",
        }
    ]
    start = open_study(*TEXTS, platform=PROLIFIC, checks=checks)
    page.goto(f"{start}?{PERSON}")
    page.get_by_role("button", name="Start").click()
    page.locator("#next").click()
    warning = page.get_by_role("alert").filter(has_text="Please take your time.")
    expect(warning).to_be_visible()
    warning.get_by_role("button", name="I understand").click()
    expect(warning).to_be_hidden()


def test_who_is_screened_out_learns_it_with_the_very_item_and_works_on_nothing_more(
    page: Page, open_study: OpenStudy
) -> None:
    asked = {"label": "To show that you read this, choose blue.", "key": "colour", "type": "choice"}
    check = {"name": "blue", "type": "instructed", "question": "colour", "answer": "blue", "on_fail": "screen_out"}
    start = open_study(*TEXTS, platform=PROLIFIC, questions=[asked | {"options": ["Blue", "Red"]}], checks=[check])
    page.goto(f"{start}?{PERSON}")
    page.get_by_role("button", name="Start").click()
    page.locator("body[data-ready]").wait_for()
    page.route("**/items", lambda route: route.abort())  # by which the page would hear of it some seconds later
    page.get_by_label("Red").check()
    page.locator("#next").click()
    expect(page.get_by_role("heading", name="The study ends here for you")).to_be_visible()
    expect(page.get_by_text("This is no rejection of your work.")).to_be_visible()
    expect(page.locator(".code")).to_have_text("OUT123")


def test_the_last_page_tells_what_was_earned(page: Page, open_study: OpenStudy) -> None:
    rocket = {"quote": "Hudson River", "category": "incorrect"}
    check = {"name": "river", "type": "must_mark", "item": ITEM, "expected": rocket, "on_fail": "withhold_bonus"}
    paid = PROLIFIC | {"reward": "£2.40", "bonus": "£0.50 for passing the check"}
    start = open_study(*TEXTS, platform=paid, checks=[check], batches={"regular": 1, "attention": 1})
    for person, told in (("ann", "you earned it"), ("bob", "you did not earn it")):
        page.goto(f"{start}?PROLIFIC_PID={person}&STUDY_ID=study&SESSION_ID={person}")
        page.get_by_role("button", name="Start").click()
        for number in (1, 2):
            expect(page.locator("#progress")).to_have_text(f"{number} of 2")
            page.locator("body[data-ready]").wait_for()
            if person == "ann" and "Hudson" in page.locator("#text").inner_text():
                Annotator(page).mark("Hudson River")
            page.locator("#next").click()
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_text("Reward: £2.40 · paid through the platform you came from")).to_be_visible()
        expect(page.get_by_text(f"Bonus: £0.50 for passing the check · {told}")).to_be_visible()
