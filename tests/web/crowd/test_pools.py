"""Pools in the browser: members by pseudonym, changes by hand, roles and the audit log."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Annotator, Qualification, Role
from spanplat.services.accounts.audit import list_events
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.pools import add_to_pool, list_members
from tests.services.crowd.test_annotating import NOW

SignedIn = Callable[[Role], Any]


@pytest.fixture
def database(app: Flask) -> Database:
    """The database behind the application."""
    found: Database = app.extensions["spanplat_database"]
    return found


@pytest.fixture
def qualified(database: Database) -> str:
    """Put somebody into a pool who passed a qualification long ago; returns the pseudonym."""
    with database.transaction() as session:
        campaign = find_campaign(session, "demo-people")
        person = Annotator(kind="human", source="prolific", external_id="PID-PASSED", pseudonym="p-passed")
        session.add(person)
        session.flush()
        passed = {"status": "passed", "score": 0.8125, "attempts": 1, "decided_at": NOW}
        session.add(Qualification(campaign_id=campaign.id, annotator_id=person.id, **passed))
        add_to_pool(session, "experts", person.id, NOW, campaign=campaign, expires_at=NOW + timedelta(days=1))
    return "p-passed"


def test_a_large_pool_is_sorted_searched_and_downloaded_over_all_its_pages(signed_in: SignedIn, qualified: str) -> None:
    researcher = signed_in(Role.RESEARCHER)
    researcher.get("/admin/pools/experts")
    researcher.post("/admin/pools/experts/members", source="mturk", ids="\n".join(f"W{n}" for n in range(120)))
    first = researcher.get("/admin/pools/experts").text
    assert first.count('name="annotator"') == 100
    assert qualified in first
    assert qualified not in researcher.get("/admin/pools/experts?page=2").text
    by_score = researcher.get("/admin/pools/experts?sort=score-", HX_Request="true").text
    assert by_score.lstrip().startswith('<div id="members"')
    assert by_score.index(qualified) < by_score.index("added by hand")
    found = researcher.get("/admin/pools/experts?find=prolific").text
    assert found.count('name="annotator"') == 1
    assert "Nobody here fits these words." in researcher.get("/admin/pools/experts?find=zzz").text
    rows = researcher.get("/admin/pools/experts/table/members?format=csv&find=mturk").text.splitlines()
    assert rows[0] == "annotator,from,qualification,score,since,valid_until"
    assert len(rows) == 121


def test_people_are_added_by_their_ids_seen_by_pseudonym_and_taken_out_again(
    database: Database, signed_in: SignedIn
) -> None:
    researcher = signed_in(Role.RESEARCHER)
    assert "There is no pool yet." in researcher.get("/admin/pools").text
    made = researcher.post("/admin/pools", pool="experts", source="prolific", ids="PID-1\n\n PID-2 \r\nPID-1")
    assert (made.status_code, made.location) == (303, "/admin/pools/experts")
    page = researcher.get(made.location).text
    assert page.count("added by hand") == 2
    assert "PID-1" not in page
    researcher.post("/admin/pools/experts/members", source="mturk", ids="WORKER")
    with database.reading() as session:
        members = list_members(session, "experts")
        ids = {person.external_id: person.pseudonym for person in session.scalars(select(Annotator))}
    assert [member.source for member in members] == ["prolific", "prolific", "mturk"]
    researcher.post("/admin/pools/experts/remove", annotator=ids["PID-1"])
    assert ids["PID-1"] not in researcher.get(made.location).text
    with database.reading() as session:
        lines = list_events(session, thing="pool")
    assert [line.verb for line in lines] == ["pool.members_removed", "pool.members_added", "pool.members_added"]
    assert lines[0].detail == {"annotators": [ids["PID-1"]]}
    assert lines[0].actor_name == "researcher@example.org"


def test_who_passed_stands_there_with_the_score_and_how_long_it_counts(qualified: str, signed_in: SignedIn) -> None:
    page = signed_in(Role.VIEWER).get("/admin/pools/experts").text
    for shown in (qualified, "0.81", "demo-people", "5 May 2026", "over"):
        assert shown in page


def test_the_list_names_people_and_is_given_to_researchers_only_and_on_the_record(
    database: Database, qualified: str, signed_in: SignedIn
) -> None:
    assert signed_in(Role.VIEWER).post("/admin/pools/experts.csv").status_code == 403
    researcher = signed_in(Role.RESEARCHER)
    researcher.get("/admin/pools/experts")
    file = researcher.post("/admin/pools/experts.csv")
    assert file.headers["Content-Disposition"] == "attachment; filename=experts.csv"
    assert file.headers["Cache-Control"] == "no-store"
    header, line = file.text.splitlines()
    assert header == "platform_id,source,annotator,qualification,score,added_at,expires_at"
    assert line.startswith(f"PID-PASSED,prolific,{qualified},demo-people,0.8125,2026-05-04T12:00")
    with database.reading() as session:
        assert [line.verb for line in list_events(session, thing="pool")] == ["pool.downloaded"]


def test_viewers_look_and_change_nothing(database: Database, qualified: str, signed_in: SignedIn) -> None:
    viewer = signed_in(Role.VIEWER)
    page = viewer.get("/admin/pools/experts").text
    assert "Download the list" not in page
    assert 'name="annotator"' not in page
    for path in ("", "/experts/members", "/experts/remove"):
        assert viewer.post(f"/admin/pools{path}", source="prolific", ids="X", pool="experts").status_code == 403
    with database.reading() as session:
        assert [member.pseudonym for member in list_members(session, "experts")] == [qualified]


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"pool": "Two Words", "source": "prolific", "ids": "a"}, "lower-case letters, digits and hyphens"),
        ({"pool": "p", "source": "prolific", "ids": " \n"}, "name at least one person"),
        ({"pool": "p", "source": "nowhere", "ids": "a"}, "choose one of prolific"),
        ({"pool": "p", "source": "prolific", "ids": "x" * 300}, "is no id"),
    ],
)
def test_what_cannot_be_added_is_said_beside_what_was_typed(
    signed_in: SignedIn, form: dict[str, str], problem: str
) -> None:
    researcher = signed_in(Role.RESEARCHER)
    researcher.get("/admin/pools")
    answer = researcher.post("/admin/pools", **form)
    assert answer.status_code == 422
    assert problem in answer.text
    assert f'value="{form["pool"]}"' in answer.text
