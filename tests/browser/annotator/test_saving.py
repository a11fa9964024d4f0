"""Work is never lost: offline, a closed tab, a second tab, a lost answer, a failing server, an expired lease."""

import itertools
import threading
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, Request, Route, expect
from sqlalchemy import select, update

from spanplat.models import Assignment
from spanplat.services.crowd.leases import expire_leases
from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser

TEXT = "Enjoy views of the Hudson River from select suites."
ITEM = "**/items/1"
LONG_COMMENTS = [{"type": "text", "label": label, "max_length": 20_000} for label in ("Comment", "Translation")]
OPENED = datetime(2026, 3, 2, 10, tzinfo=UTC)


def save_state(page: Page) -> Locator:
    return page.locator("#save-state")


@pytest.fixture
def requests(annotator: Annotator) -> list[str]:
    """What the page sends of its item, while its clock stands still but for what a test lets pass."""
    sent: list[str] = []
    annotator.page.clock.install(time=OPENED)
    annotator.page.on(
        "request", lambda request: sent.append(request.method) if request.url.endswith("/items/1") else None
    )
    return sent


def test_a_change_is_sent_within_a_second(annotator: Annotator, open_study: OpenStudy, requests: list[str]) -> None:
    annotator.begin(open_study(TEXT))
    annotator.page.clock.pause_at(OPENED + timedelta(hours=1))
    annotator.mark("Hudson")
    assert requests == []
    with annotator.page.expect_response(ITEM) as response:
        annotator.page.clock.run_for(1000)
    assert response.value.ok
    annotator.page.clock.resume()
    expect(save_state(annotator.page)).to_have_text("Saved")


def test_reading_is_told_once_a_minute_and_being_away_is_not(annotator: Annotator, open_study: OpenStudy) -> None:
    page = annotator.page
    page.clock.install(time=OPENED)
    annotator.begin(open_study(TEXT))
    page.clock.pause_at(OPENED + timedelta(hours=1))
    told: list[Request] = []
    page.on("request", lambda request: told.append(request) if request.url.endswith("/presence") else None)
    page.mouse.move(200, 300)
    with page.expect_response("**/presence") as response:
        page.clock.run_for(60_000)
    assert response.value.status == 204
    page.clock.run_for(600_000)
    with page.expect_response("**/presence"):
        page.mouse.move(220, 310)
        page.clock.run_for(60_000)
    assert len(told) == 2


def test_marking_on_without_pause_does_not_put_the_save_off(
    annotator: Annotator, open_study: OpenStudy, requests: list[str]
) -> None:
    annotator.begin(open_study(TEXT))
    annotator.page.clock.pause_at(OPENED + timedelta(hours=1))
    annotator.page.get_by_role("button", name="Misleading").click()
    with annotator.page.expect_request(ITEM):
        for word in ("Enjoy", "views", "of", "the", "Hudson", "River"):
            annotator.drag(word)
            annotator.page.clock.run_for(200)
    assert requests[:1] == ["PUT"]


def test_offline_work_is_kept_said_so_and_sent_when_the_network_returns(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study(TEXT))
    page = annotator.page
    page.context.set_offline(True)
    annotator.mark("Hudson")
    expect(save_state(page)).to_have_text("Offline, kept here")
    annotator.mark("select", "2")
    page.context.set_offline(False)
    assert annotator.stored() == [("Hudson", "incorrect"), ("select", "not-checkable")]


def test_a_message_about_a_lost_connection_goes_when_the_connection_is_back(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    page = annotator.begin(open_study(TEXT, "The pool is open all year.")).page
    page.context.set_offline(True)
    page.locator("#next").click()
    expect(page.locator("#message")).to_contain_text("No connection. Your work is kept on this device")
    page.context.set_offline(False)
    expect(page.locator("#message")).to_be_empty()
    expect(save_state(page)).to_have_text("Saved")
    page.locator("#next").click()
    expect(page.locator("#progress")).to_have_text("2 of 2")


def test_work_done_offline_survives_a_closed_tab(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    page = annotator.page
    address, context = annotator.base, page.context
    context.set_offline(True)
    annotator.mark("Hudson")
    expect(save_state(page)).to_have_text("Offline, kept here")
    page.close()
    context.set_offline(False)
    later = context.new_page()
    later.goto(address)
    expect(later.locator("#spans q")).to_have_text("Hudson")
    annotator.page = later
    assert annotator.stored() == [("Hudson", "incorrect")]


def test_leaving_the_page_at_once_still_saves(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    annotator.mark("Hudson")
    address = annotator.base
    annotator.page.goto("about:blank")
    annotator.page.goto(address)
    assert annotator.shown() == ["Hudson"]
    assert annotator.stored() == [("Hudson", "incorrect")]


def test_a_lost_answer_is_asked_for_again_and_changes_nothing(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    sent: list[str] = []
    answers_come = threading.Event()

    def lose_answers(route: Route) -> None:
        if answers_come.is_set():
            route.continue_()
            return
        sent.append(route.request.post_data or "")
        route.fetch()
        route.abort()

    annotator.page.route(ITEM, lose_answers)
    annotator.mark("Hudson")
    expect(save_state(annotator.page)).to_have_text("Offline, kept here")
    answers_come.set()
    annotator.mark("select", "2")
    assert set(sent) == {sent[0]}
    assert annotator.stored() == [("Hudson", "incorrect"), ("select", "not-checkable")]
    assert annotator.page.request.get(f"{annotator.base}/items/1").json()["revision"] == 2


def test_a_failing_server_is_tried_again(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    answers = itertools.cycle([503, 500])
    is_well = threading.Event()
    annotator.page.route(
        ITEM, lambda route: route.continue_() if is_well.is_set() else route.fulfill(status=next(answers))
    )
    failures = itertools.count(1)
    with annotator.page.expect_response(lambda response: response.status >= 500 and next(failures) == 2):
        annotator.mark("Hudson")
    expect(save_state(annotator.page)).to_have_text("Offline, kept here")
    is_well.set()
    assert annotator.stored() == [("Hudson", "incorrect")]


def test_a_long_comment_in_chinese_is_saved_although_it_has_more_bytes_than_characters(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    page = annotator.begin(open_study(TEXT, questions=LONG_COMMENTS)).page
    page.get_by_label("Translation").fill("河" * 11_000)
    page.get_by_label("Comment").fill("景" * 11_000)
    annotator.saved()
    answers = page.request.get(f"{annotator.base}/items/1").json()["answers"]
    assert answers == {"comment": "景" * 11_000, "translation": "河" * 11_000}


def test_a_long_save_is_not_refused_while_another_one_is_under_way(annotator: Annotator, open_study: OpenStudy) -> None:
    page = annotator.begin(open_study(TEXT, "A second text.", questions=LONG_COMMENTS)).page
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route(ITEM, hold_the_first)
    with page.expect_request(ITEM):
        page.get_by_label("Comment").fill("景" * 14_000)
    page.locator("#next").click()
    expect(page.locator("#progress")).to_have_text("2 of 2")
    with page.expect_response("**/items/2") as response:
        page.get_by_label("Comment").fill("河" * 14_000)
    assert response.value.ok
    held[0].continue_()
    annotator.saved()


def test_a_page_of_the_network_in_place_of_an_answer_acknowledges_nothing(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study(TEXT))
    is_signed_in = threading.Event()
    annotator.page.route(
        ITEM,
        lambda route: (
            route.continue_() if is_signed_in.is_set() else route.fulfill(body="<h1>Sign in to the hotel's Wi-Fi</h1>")
        ),
    )
    annotator.mark("Hudson")
    expect(save_state(annotator.page)).to_have_text("Offline, kept here")
    is_signed_in.set()
    assert annotator.stored() == [("Hudson", "incorrect")]


def test_an_item_that_was_asked_for_while_its_save_was_on_its_way_shows_what_was_saved(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study(TEXT, "A second text."))
    page = annotator.page
    before = page.request.get(f"{annotator.base}/items/1")
    held: dict[str, Route] = {}

    def hold_the_first_of_each(route: Route) -> None:
        if held.setdefault(route.request.method, route) is not route:
            route.continue_()

    page.route(ITEM, hold_the_first_of_each)
    annotator.mark("Hudson")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#progress")).to_have_text("2 of 2")
    with page.expect_request(lambda request: request.method == "GET" and request.url.endswith("/items/1")):
        page.get_by_role("button", name="Back").click()
    held["PUT"].continue_()
    annotator.saved()
    held["GET"].fulfill(response=before)
    expect(page.locator("#progress")).to_have_text("1 of 2")
    assert annotator.shown() == ["Hudson"]
    annotator.mark("suites", "2")
    assert annotator.stored() == [("Hudson", "incorrect"), ("suites", "not-checkable")]


def test_an_idle_second_tab_shows_at_once_what_the_first_saved(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    second = Annotator(annotator.page.context.new_page())
    second.page.goto(annotator.base)
    second.page.get_by_role("button", name="Start").click()
    second.ready()
    annotator.mark("Hudson")
    expect(second.page.locator("#message")).to_contain_text("in another tab")
    assert second.shown() == ["Hudson"]
    second.mark("suites", "2")
    assert second.stored() == [("Hudson", "incorrect"), ("suites", "not-checkable")]
    expect(annotator.rows).to_have_count(2)


def test_a_second_tab_that_was_cut_off_overwrites_nothing_is_told_and_can_bring_its_version_back(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    annotator.begin(open_study(TEXT))
    page = annotator.page
    second = Annotator(page.context.new_page())
    second.page.goto(annotator.base)
    second.page.get_by_role("button", name="Start").click()
    second.ready()
    is_back = threading.Event()
    # What the other tab saves cannot be fetched.
    second.page.route(ITEM, lambda route: route.continue_() if is_back.is_set() else route.abort())
    annotator.mark("Hudson")
    annotator.saved()
    second.mark("suites", "2")
    expect(save_state(second.page)).to_have_text("Offline, kept here")
    is_back.set()
    expect(second.page.locator("#message")).to_contain_text("changed in another tab")
    assert second.shown() == ["Hudson"]
    assert second.stored() == [("Hudson", "incorrect")]
    second.page.keyboard.press("Control+z")
    assert second.stored() == [("suites", "not-checkable")]


def test_a_place_that_went_to_somebody_else_is_said_and_the_work_kept(
    annotator: Annotator, annotator_in: AnnotatorIn, live_server: LiveServer, open_study: OpenStudy
) -> None:
    link = open_study(TEXT, annotators={"per_output": 1})
    annotator.hear_nothing()
    annotator.begin(link)
    annotator.mark("Hudson")
    annotator.saved()
    now = datetime.now(UTC)
    with live_server.database.transaction() as session:
        session.execute(update(Assignment).values(lease_expires_at=now - timedelta(minutes=1)))
        [campaign_id] = session.scalars(select(Assignment.campaign_id)).all()
        expire_leases(session, campaign_id, now)
    other = annotator_in()
    other.begin(link)
    annotator.mark("suites")
    expect(annotator.page.get_by_role("heading", name="Your time for this batch ran out")).to_be_visible()


def test_after_submitting_an_open_tab_shows_that_it_is_done(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    page = annotator.page
    stale = Annotator(page.context.new_page())
    stale.hear_nothing()
    stale.page.goto(annotator.base)
    stale.page.get_by_role("button", name="Start").click()
    stale.ready()
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    stale.mark("Hudson")
    expect(stale.page.get_by_role("heading", name="Thank you")).to_be_visible()


def test_submitting_many_times_shows_one_and_the_same_page(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT, platform={"service": "direct", "codes": {"completed": "DONE123"}}))
    page = annotator.page
    page.keyboard.press("Control+Enter")
    page.get_by_role("button", name="Submit").dblclick()
    expect(page.locator(".code")).to_have_text("DONE123")
    for _ in range(2):
        again = page.request.post(f"{page.url.removesuffix('/submit')}/submit")
        assert again.ok
        assert "DONE123" in again.text()


def test_spans_of_a_text_that_is_not_shown_are_carried_along_untouched(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    categories = [{"name": "Incorrect"}, {"name": "Omission", "side": "source"}]
    annotator.begin(
        open_study(TEXT, categories=categories, source={"facts": "The hotel has a pool.", "text": "A pool."})
    )
    address = f"{annotator.base}/items/1"
    omission = {"start": 14, "end": 20, "category": "omission", "text": "a pool", "side": "source", "field": "facts"}
    field = annotator.page.request.put(address, data={"revision": 0, "status": "draft", "spans": [omission]})
    assert field.ok, field.text()
    annotator.page.reload()
    assert annotator.shown() == []
    annotator.drag("Hudson")
    expect(annotator.rows).to_have_count(1)
    annotator.saved()
    spans = annotator.page.request.get(address).json()["spans"]
    assert sorted(span["category"] for span in spans) == ["incorrect", "omission"]


def test_undo_after_another_tabs_save_brings_back_spans_of_a_text_that_is_not_shown_too(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    categories = [{"name": "Incorrect"}, {"name": "Omission", "side": "source"}]
    annotator.hear_nothing()
    annotator.begin(
        open_study(TEXT, categories=categories, source={"facts": "The hotel has a pool.", "text": "A pool."})
    )
    page, address = annotator.page, f"{annotator.base}/items/1"
    omission = {"start": 14, "end": 20, "category": "omission", "text": "a pool", "side": "source", "field": "facts"}
    assert page.request.put(address, data={"revision": 0, "status": "draft", "spans": [omission]}).ok
    page.reload()
    annotator.ready()
    assert page.request.put(address, data={"revision": 1, "status": "draft", "spans": []}).ok
    annotator.drag("Hudson")
    expect(page.locator("#message")).to_contain_text("changed in another tab")

    def categories_stored() -> list[str]:
        annotator.saved()
        return sorted(span["category"] for span in page.request.get(address).json()["spans"])

    assert categories_stored() == []
    page.keyboard.press("Control+z")
    expect(annotator.rows).to_have_count(1)
    assert categories_stored() == ["incorrect", "omission"]
    page.keyboard.press("Control+Shift+z")
    expect(annotator.rows).to_have_count(0)
    assert categories_stored() == []


def test_leaving_the_study_is_in_sight_and_takes_a_second_click(annotator: Annotator, open_study: OpenStudy) -> None:
    page = annotator.begin(open_study(TEXT)).page
    leave, withdraw = (
        page.get_by_role("button", name=name, exact=True) for name in ("Leave", "Withdraw from the study")
    )
    leave.click()
    expect(withdraw).to_be_visible()
    page.keyboard.press("Escape")
    expect(withdraw).to_be_hidden()
    expect(leave).to_be_focused()
    leave.click()
    withdraw.click()
    expect(page.get_by_role("heading", name="You withdrew from this study")).to_be_visible()


def test_one_can_leave_while_reading_the_instructions_for_the_first_time(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    page = annotator.page
    page.goto(open_study(TEXT))
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    page.get_by_role("button", name="Leave", exact=True).click()
    page.get_by_role("button", name="Withdraw from the study").click()
    expect(page.get_by_role("heading", name="You withdrew from this study")).to_be_visible()
