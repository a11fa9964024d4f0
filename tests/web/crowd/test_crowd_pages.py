"""The tabs People and Checks: pseudonyms on the pages, platform ids only in the pay file for researchers."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import (
    Annotator,
    Assignment,
    AssignmentStatus,
    Batch,
    BatchItem,
    CampaignStatus,
    CheckResult,
    Participation,
    Role,
)
from spanplat.platforms.platform import Arrival
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.lifecycle import find_campaign, set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.crowd.participation import enter
from spanplat.services.crowd.withdrawing import withdraw
from tests.campaigns import create_campaign
from tests.services.crowd.test_annotating import NOW

SignedIn = Callable[[Role], Any]


@pytest.fixture
def crowd(app: Flask) -> str:
    """Open a campaign on the demo's texts that one person has come to."""
    database: Database = app.extensions["spanplat_database"]
    definition = CampaignDefinition.model_validate(
        {
            "slug": "crowd",
            "title": "Crowd",
            "data": {"dataset": "demo"},
            "categories": [{"name": "Wrong"}],
            "platform": {"service": "prolific", "reward": "£2", "bonus": "£1", "codes": {"completed": "DONE"}},
        }
    )
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, definition))
        set_status(session, "crowd", CampaignStatus.OPEN)
        enter(
            session, find_campaign(session, "crowd"), Arrival("prolific", "PID-0815", "s", {"SESSION_ID": "sub"}), NOW
        )
    return "/admin/campaigns/crowd"


def test_people_are_shown_by_pseudonym_and_paid_by_their_ids(crowd: str, signed_in: SignedIn) -> None:
    client = signed_in(Role.RESEARCHER)
    page = client.get(f"{crowd}/people").text
    assert "working" in page
    assert "PID-0815" not in page
    assert "Download the pay file" in page
    file = client.post(f"{crowd}/pay/pay.csv")
    assert file.headers["Content-Disposition"] == "attachment; filename=crowd-pay.csv"
    assert file.headers["Cache-Control"] == "no-store"
    assert "PID-0815,sub,p-" in file.text
    assert client.post(f"{crowd}/pay/bonuses.csv").text == ""


def test_approvals_are_offered_in_the_form_of_the_platform_and_possible_rejections_where_there_are_some(
    app: Flask, crowd: str, signed_in: SignedIn
) -> None:
    database: Database = app.extensions["spanplat_database"]
    client = signed_in(Role.RESEARCHER)
    client.get(f"{crowd}/people")
    assert client.post(f"{crowd}/pay/approvals.csv").text == "", "who still works is not to be paid yet"
    with database.transaction() as session:
        theirs = select(Assignment).join(Annotator, Annotator.id == Assignment.annotator_id)
        seat = session.scalars(theirs.where(Annotator.external_id == "PID-0815")).one()
        seat.status, seat.submitted_at, seat.outcome = AssignmentStatus.SUBMITTED, NOW, "completed"
    page = client.get(f"{crowd}/people").text
    assert "Download the approvals" in page
    assert "Download possible rejections" not in page
    file = client.post(f"{crowd}/pay/approvals.csv")
    assert file.text == "PID-0815\n"
    assert file.headers["Content-Disposition"] == "attachment; filename=crowd-approvals.csv"
    assert client.post(f"{crowd}/pay/rejections.csv").text == "platform_id,submission,reason\n"
    assert client.post(f"{crowd}/pay/refunds.csv").status_code == 404
    viewer = signed_in(Role.VIEWER)
    assert "approvals" not in viewer.get(f"{crowd}/people").text
    assert viewer.post(f"{crowd}/pay/approvals.csv").status_code == 403


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (10, ["£12.00"]),
        (15, ["£8.00", "below the recommended £9"]),
        (30, ["£4.00", "below the minimum of £6"]),
    ],
)
def test_what_the_reward_makes_an_hour_is_held_against_what_platforms_ask_for(
    app: Flask, crowd: str, signed_in: SignedIn, minutes: int, said: list[str]
) -> None:
    database: Database = app.extensions["spanplat_database"]
    with database.transaction() as session:
        theirs = select(Assignment).join(Annotator, Annotator.id == Assignment.annotator_id)
        seat = session.scalars(theirs.where(Annotator.external_id == "PID-0815")).one()
        assert seat.claimed_at is not None
        seat.status, seat.submitted_at = AssignmentStatus.SUBMITTED, seat.claimed_at + timedelta(minutes=minutes)
    page = signed_in(Role.VIEWER).get(f"{crowd}/people").text
    sentences = ("£12.00", "£8.00", "£4.00", "below the recommended £9", "below the minimum of £6")
    assert [sentence for sentence in sentences if sentence in page] == said


def test_two_hundred_people_have_pages_that_stay_when_they_refresh(app: Flask, crowd: str, signed_in: SignedIn) -> None:
    database: Database = app.extensions["spanplat_database"]
    with database.transaction() as session:
        _add_people(session, 204)
    client = signed_in(Role.RESEARCHER)
    first, second, last = (client.get(f"{crowd}/people?page={page}").text for page in (1, 2, 3))
    counts = [page.count('<th scope="row"><code>') for page in (first, second, last)]
    assert counts == [100, 100, 5]
    assert "p-000-x" in first
    assert "p-203-x" in last
    assert f'<a rel="next" href="{crowd}/people?page=3">' in second
    assert f'hx-get="{crowd}/people?page=2"' in second
    refreshed = client.get(f"{crowd}/people?page=2", HX_Request="true").text
    assert refreshed in second
    assert client.get(f"{crowd}/people?page=4").text.count('<th scope="row"><code>') == 5
    assert len(client.post(f"{crowd}/pay/pay.csv").text.splitlines()) == 206


def test_people_are_ordered_and_found_on_all_pages_and_downloaded_so(
    app: Flask, crowd: str, signed_in: SignedIn
) -> None:
    database: Database = app.extensions["spanplat_database"]
    with database.transaction() as session:
        _add_people(session, 204)
    client = signed_in(Role.VIEWER)
    shown = client.get(f"{crowd}/people?sort=annotator-&find=X").text
    assert re.findall(r'<th scope="row"><code>(.*?)</code>', shown)[:2] == ["p-203-x", "p-202-x"]
    assert "204 of 205" in shown
    assert 'aria-sort="descending"' in shown
    assert f'hx-get="{crowd}/people?sort=annotator-&amp;find=X"' in shown
    assert f'<a rel="next" href="{crowd}/people?sort=annotator-&amp;find=X&amp;page=2">' in shown
    file = client.get(f"{crowd}/people/table/people?sort=annotator-&find=X").text
    lines = file.splitlines()
    assert (len(lines), lines[1].partition(",")[0], lines[-1].partition(",")[0]) == (205, "p-203-x", "p-000-x")
    assert "PID-0815" not in client.get(f"{crowd}/people/table/people").text
    nobody = client.get(f"{crowd}/people?find=nobody+at+all").text
    assert "Nobody here fits these words." in nobody
    assert client.get(f"{crowd}/people?sort=salary").status_code == 422


def _add_people(session: Session, number: int) -> None:
    """Let people come whose pseudonyms are ``p-000-x`` and so on."""
    campaign_id = find_campaign(session, "crowd").id
    people = [
        Annotator(kind="human", source="prolific", external_id=f"{n}", pseudonym=f"p-{n:03}-x") for n in range(number)
    ]
    session.add_all(people)
    session.flush()
    for person in people:
        visit = {"token": f"token-{person.id}", "session_key": person.pseudonym, "parameters": {}}
        session.add(Participation(campaign_id=campaign_id, annotator_id=person.id, **visit))


@pytest.mark.parametrize("page", ["0", "-1", "x", "9" * 30])
@pytest.mark.parametrize("tab", ["", "/people", "/checks", "/unplaced"])
def test_a_page_that_cannot_be_is_told(crowd: str, signed_in: SignedIn, tab: str, page: str) -> None:
    response = signed_in(Role.VIEWER).get(f"{crowd}{tab}?page={page}")
    assert (response.status_code, "asks for something that does not exist" in response.text) == (422, True)


def test_viewers_see_people_but_get_no_pay_file(crowd: str, signed_in: SignedIn) -> None:
    client = signed_in(Role.VIEWER)
    assert "Download the pay file" not in client.get(f"{crowd}/people").text
    assert client.post(f"{crowd}/pay/pay.csv").status_code == 403


def test_the_checks_page_shows_what_the_rules_say(crowd: str, signed_in: SignedIn) -> None:
    page = signed_in(Role.VIEWER).get(f"{crowd}/checks").text
    assert "No check was answered yet." in page
    assert "nobody is asked for consent" in page


def _make(app: Flask, **platform: Any) -> None:
    definition = CampaignDefinition.model_validate(
        {
            "slug": "ruled",
            "title": "Ruled",
            "data": {"dataset": "demo"},
            "categories": [{"name": "Wrong"}],
            "consent": {"text": "Who, what, how long, pay, data, contact: ada@example.org."},
            "platform": {"service": "prolific", "codes": {"completed": "DONE", "screened_out": "OUT"}} | platform,
            "batches": {"regular": 4, "attention": 1},
            "checks": [
                {
                    "name": "flying-ferry",
                    "type": "must_abstain",
                    "item": {"split": "test", "example": "0", "system": "juniper"},
                    "on_fail": "screen_out",
                }
            ],
        }
    )
    database: Database = app.extensions["spanplat_database"]
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, definition))


def _status(app: Flask) -> str:
    database: Database = app.extensions["spanplat_database"]
    with database.reading() as session:
        return find_campaign(session, "ruled").status


def test_what_the_platforms_rules_refuse_is_not_opened_whatever_is_confirmed(app: Flask, signed_in: SignedIn) -> None:
    _make(app, reward="£0.10", minutes=30)
    client = signed_in(Role.RESEARCHER)
    client.get("/admin/campaigns/ruled")
    for confirmed in ({}, {"confirmed": "yes"}):
        response = client.post("/admin/campaigns/ruled/status", status="open", **confirmed)
        assert response.status_code == 409
        assert "below the minimum" in response.text
        assert "This is meant" not in response.text
    assert _status(app) == CampaignStatus.DRAFT


def test_what_the_platforms_rules_ask_about_is_opened_once_it_is_meant(app: Flask, signed_in: SignedIn) -> None:
    _make(app)
    client = signed_in(Role.RESEARCHER)
    client.get("/admin/campaigns/ruled")
    asked = client.post("/admin/campaigns/ruled/status", status="open")
    assert (asked.status_code, "This is meant: open it" in asked.text) == (409, True)
    assert _status(app) == CampaignStatus.DRAFT
    assert client.post("/admin/campaigns/ruled/status", status="open", confirmed="yes").status_code == 303
    assert _status(app) == CampaignStatus.OPEN


@pytest.mark.parametrize("tab", ["people", "checks"])
def test_a_tab_brings_itself_up_to_date_and_is_sent_only_when_something_changed(
    app: Flask, crowd: str, signed_in: SignedIn, tab: str
) -> None:
    client = signed_in(Role.RESEARCHER)
    page = client.get(f"{crowd}/{tab}").text
    assert f'hx-get="{crowd}/{tab}"' in page
    part = client.get(f"{crowd}/{tab}", HX_Request="true")
    assert part.text.startswith(f'<div id="{tab}"')
    assert "csrf_token" not in part.text
    tag = part.headers["ETag"]
    assert client.get(f"{crowd}/{tab}", HX_Request="true", If_None_Match=tag).status_code == 304
    _come_and_go(app, "PID-0816")
    changed = client.get(f"{crowd}/{tab}", HX_Request="true", If_None_Match=tag)
    assert (changed.status_code, "withdrew" in changed.text) == (200, tab == "people")


def test_groups_stand_beside_each_other_with_the_test_of_their_difference(app: Flask, signed_in: SignedIn) -> None:
    database: Database = app.extensions["spanplat_database"]
    parts = {"slug": "grouped", "title": "Grouped", "data": {"dataset": "demo"}, "categories": [{"name": "Wrong"}]}
    groups = {"groups": [{"key": "a", "name": "A"}, {"key": "b", "name": "B"}], "annotators": {"per_output": 4}}
    definition = CampaignDefinition.model_validate(parts | groups | {"platform": {"service": "prolific"}})
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, definition))
        campaign = set_status(session, "grouped", CampaignStatus.OPEN)
        for number in range(8):
            visit = enter(session, campaign, Arrival("prolific", f"p{number}", f"s{number}", {}), NOW)
            assert visit.assignment is not None
            items = select(BatchItem.item_id).where(BatchItem.batch_id == visit.assignment.batch_id)
            passed = visit.participation.group == "b"
            result = {"item_id": session.scalars(items).first(), "name": "x", "kind": "must_abstain", "passed": passed}
            session.add(CheckResult(assignment_id=visit.assignment.id, **result))
    page = re.sub(r"<[^>]+>|\s+", " ", signed_in(Role.VIEWER).get("/admin/campaigns/grouped/checks").text)
    assert re.search(r"a passed +b passed +p of the difference", page)
    assert re.search(r"\b0\.0.% +0/4 +100\.0.% +4/4 +0\.029", page), page[-900:]


def test_who_was_screened_out_is_ordered_and_found_and_downloaded_so(app: Flask, signed_in: SignedIn) -> None:
    _make(app)
    database: Database = app.extensions["spanplat_database"]
    with database.transaction() as session:
        campaign = find_campaign(session, "ruled")
        batch = session.scalars(select(Batch).where(Batch.campaign_id == campaign.id)).first()
        assert batch is not None
        item = session.scalars(select(BatchItem.item_id).where(BatchItem.batch_id == batch.id)).first()
        for number in range(102):
            person = Annotator(
                kind="human", source="prolific", external_id=f"o{number}", pseudonym=f"p-out-{number:03}"
            )
            session.add(person)
            session.flush()
            seat = Assignment(campaign_id=campaign.id, batch_id=batch.id, slot=100 + number, status="returned")
            seat.annotator_id, seat.outcome = person.id, "screened_out"
            session.add(seat)
            session.flush()
            name = "flying-ferry"
            session.add(CheckResult(assignment_id=seat.id, item_id=item, name=name, kind="gold", passed=False))
    client = signed_in(Role.VIEWER)
    page = "/admin/campaigns/ruled/checks"
    names = re.compile(r'<th scope="row"><code>(p-out-\d+)</code>')
    assert names.findall(client.get(page).text) == [f"p-out-{number:03}" for number in range(100)]
    shown = client.get(f"{page}?sort=annotator-&find=ferry", HX_Request="true").text
    assert names.findall(shown)[:2] == ["p-out-101", "p-out-100"]
    assert "102 of 102" in shown
    assert f'hx-get="{page}?sort=annotator-&amp;find=ferry"' in shown
    assert f'<a rel="next" href="{page}?sort=annotator-&amp;find=ferry&amp;page=2">' in shown
    lines = client.get(f"{page}/table/screened-out?sort=annotator-&find=ferry").text.splitlines()
    assert (len(lines), lines[1].split(",")[::2]) == (103, ["p-out-101", "flying-ferry"])
    assert "Nobody here fits these words." in client.get(f"{page}?find=nobody+at+all").text
    assert client.get(f"{page}?sort=salary").status_code == 422


def _come_and_go(app: Flask, person: str) -> None:
    """Let somebody come, fail a check, and withdraw."""
    database: Database = app.extensions["spanplat_database"]
    with database.transaction() as session:
        visit = enter(session, find_campaign(session, "crowd"), Arrival("prolific", person, person, {}), NOW)
        assert visit.assignment is not None
        item = session.scalars(select(BatchItem.item_id).where(BatchItem.batch_id == visit.assignment.batch_id)).first()
        failed = CheckResult(assignment_id=visit.assignment.id, item_id=item, name="x", kind="gold", passed=False)
        session.add(failed)
        withdraw(session, visit.participation.token)
