"""Work is never lost: offline, a closed tab, a second tab, a lost answer, a failing server, an expired place."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from sqlalchemy import select, update

from spanplat.models import Assignment, Example, SourceText
from spanplat.services.claims import expire_leases
from spanplat.text import sha256_of
from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser

TEXT = "Enjoy views of the Hudson River from select suites."
ITEM = "**/items/1"


def save_state(page: Page) -> Locator:
    return page.locator("#save-state")


def test_a_change_reaches_the_server_within_a_second(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    with annotator.page.expect_response(ITEM, timeout=1000) as response:
        annotator.mark("Hudson")
    assert response.value.ok
    expect(save_state(annotator.page)).to_have_text("Saved")


def test_marking_on_without_pause_does_not_put_the_save_off(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    annotator.page.get_by_role("button", name="Misleading").click()
    with annotator.page.expect_request(ITEM, timeout=1500):
        for word in ("Enjoy", "views", "of", "the", "Hudson", "River", "from", "select", "suites"):
            annotator.drag(word)


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
    lost: list[str] = []

    def lose_first_answer(route: Route) -> None:
        if route.request.method == "PUT" and not lost:
            lost.append(route.request.post_data or "")
            route.fetch()
            route.abort()
        else:
            route.continue_()

    annotator.page.route(ITEM, lose_first_answer)
    annotator.mark("Hudson")
    expect(save_state(annotator.page)).to_have_text("Offline, kept here")
    annotator.mark("select", "2")
    assert annotator.stored() == [("Hudson", "incorrect"), ("select", "not-checkable")]
    assert annotator.page.request.get(f"{annotator.base}/items/1").json()["revision"] == 2


def test_a_failing_server_is_tried_again(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    answers = iter([503, 500])

    def fail_twice(route: Route) -> None:
        status = next(answers, None) if route.request.method == "PUT" else None
        if status is None:
            route.continue_()
        else:
            route.fulfill(status=status)

    annotator.page.route(ITEM, fail_twice)
    annotator.mark("Hudson")
    expect(save_state(annotator.page)).to_have_text("Offline, kept here")
    assert annotator.stored() == [("Hudson", "incorrect")]


def test_an_idle_second_tab_shows_at_once_what_the_first_saved(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    second = Annotator(annotator.page.context.new_page())
    second.page.goto(annotator.base)
    second.page.get_by_role("button", name="Start").click()
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
    second.page.route(ITEM, lambda route: route.abort())  # what the other tab saves cannot be fetched
    annotator.mark("Hudson")
    annotator.saved()
    second.mark("suites", "2")
    expect(save_state(second.page)).to_have_text("Offline, kept here")
    second.page.unroute(ITEM)
    expect(second.page.locator("#message")).to_contain_text("changed in another tab")
    assert second.shown() == ["Hudson"]
    assert second.stored() == [("Hudson", "incorrect")]
    second.page.keyboard.press("Control+z")
    assert second.stored() == [("suites", "not-checkable")]


def test_a_place_that_went_to_somebody_else_is_said_and_the_work_kept(
    annotator: Annotator, annotator_in: AnnotatorIn, live_server: LiveServer, open_study: OpenStudy
) -> None:
    link = open_study(TEXT, annotators={"per_output": 1})
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
    stale.page.goto(annotator.base)
    stale.page.get_by_role("button", name="Start").click()
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


def test_spans_of_another_text_are_carried_along_untouched(
    annotator: Annotator, live_server: LiveServer, open_study: OpenStudy
) -> None:
    categories = [{"name": "Incorrect"}, {"name": "Omission", "side": "source"}]
    annotator.begin(open_study(TEXT, categories=categories))
    source = "The hotel has a pool."
    with live_server.database.transaction() as session:
        example_id = session.scalars(select(Example.id)).one()
        session.add(SourceText(example_id=example_id, field="facts", text=source, text_sha256=sha256_of(source)))
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


def test_leaving_the_study_is_two_clicks_away(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT))
    annotator.page.keyboard.press("i")
    annotator.page.get_by_text("Leave the study").click()
    annotator.page.get_by_role("button", name="Withdraw from the study").click()
    expect(annotator.page.get_by_role("heading", name="You withdrew from this study")).to_be_visible()
