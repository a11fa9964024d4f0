"""Administrators invite people, change roles, and read the audit log."""

import re
from html import unescape
from typing import Any

import pytest
from flask import Flask

from spanplat.db import Database
from spanplat.models import Role
from spanplat.services.accounts.audit import log_event
from spanplat.services.accounts.users import add_user, list_users
from spanplat.services.model_work.ensembles.filling import fill_ensemble


@pytest.fixture
def admin(signed_in: Any) -> Any:
    """Somebody who manages people, with the form token of their page."""
    visitor = signed_in(Role.ADMIN)
    visitor.get("/admin/people")
    return visitor


def ids(database: Database) -> dict[str, int]:
    with database.reading() as session:
        return {user.email: user.id for user in list_users(session)}


def link_in(text: str) -> str:
    found = re.search(r'id="invitation-link">https?://localhost(/invitations/[^<]+)<', text)
    assert found is not None
    return found[1]


def test_an_invited_person_chooses_a_password_and_is_in(admin: Any, app: Flask, stranger: Any) -> None:
    shown = admin.post("/admin/people/invitations", email="new@example.org", role="researcher")
    link = link_in(shown.text)
    assert "new@example.org" in stranger.get(link).text
    refused = stranger.post(link, password="too short", again="too short")
    assert (refused.status_code, "choose one with at least 12" in refused.text) == (422, True)
    differing = stranger.post(link, password="correct horse battery", again="other")
    assert (differing.status_code, "two passwords differ" in differing.text) == (422, True)
    guessable = stranger.post(link, password="1qaz2wsx3edc", again="1qaz2wsx3edc")
    assert (guessable.status_code, "easy to guess" in guessable.text) == (422, True)
    assert "Very strong" in stranger.post(f"{link}/strength", password="correct horse battery").text
    accepted = stranger.post(link, password="correct horse battery", again="correct horse battery")
    assert (accepted.status_code, accepted.headers["Location"]) == (303, "/")
    assert stranger.get("/admin/agreement").status_code == 200
    assert stranger.get("/admin/people").status_code == 403
    assert app.test_client().get(link).status_code == 410


def test_a_withdrawn_invitation_is_gone(admin: Any, stranger: Any) -> None:
    link = link_in(admin.post("/admin/people/invitations", email="new@example.org", role="viewer").text)
    assert admin.post("/admin/people/invitations/1/revoke").status_code == 303
    response = stranger.get(link)
    assert (response.status_code, "was withdrawn" in response.text) == (410, True)
    assert (
        stranger.post(f"{link}/strength", password="correct horse battery").status_code == 400
    )  # no page, no form token


def test_a_wrong_address_stays_in_the_form_with_its_problem(admin: Any) -> None:
    response = admin.post("/admin/people/invitations", email="nobody", role="viewer")
    assert response.status_code == 422
    assert "is not an email address" in response.text
    assert 'value="nobody"' in response.text


def test_a_new_role_holds_from_the_next_request(admin: Any, viewer: Any, demo: Database) -> None:
    assert 'name="status"' not in viewer.get("/admin/campaigns/demo-people").text
    admin.post(f"/admin/people/{ids(demo)['viewer@example.org']}/role", role="researcher")
    assert 'name="status"' in viewer.get("/admin/campaigns/demo-people").text


def test_a_closed_account_is_out_at_once(admin: Any, viewer: Any, demo: Database) -> None:
    admin.post(f"/admin/people/{ids(demo)['viewer@example.org']}/account", act="deactivate")
    assert viewer.get("/admin/agreement").status_code == 303
    assert "Open again" in admin.get("/admin/people").text


def test_the_last_administrator_cannot_close_their_own_account(admin: Any, demo: Database) -> None:
    response = admin.post(f"/admin/people/{ids(demo)['admin@example.org']}/account", act="deactivate")
    assert (response.status_code, "only administrator" in response.text) == (409, True)


def test_an_unknown_act_is_refused(admin: Any, demo: Database) -> None:
    response = admin.post(f"/admin/people/{ids(demo)['viewer@example.org']}/account", act="delete")
    assert (response.status_code, "choose one of" in response.text) == (422, True)


def test_the_log_names_who_did_what_and_downloads_as_it_is_shown(admin: Any, demo: Database) -> None:
    admin.post(f"/admin/people/{ids(demo)['viewer@example.org']}/role", role="researcher")
    admin.post("/admin/campaigns/demo-people/status", status="paused")
    page = admin.get("/admin/audit?thing=user").text
    assert "user.role_changed" in page
    assert "admin@example.org" in page
    assert "campaign.paused" not in page
    lines = admin.get("/admin/audit/audit?thing=campaign&subject=demo-people&format=csv").text.splitlines()
    assert lines[0] == "id,at,actor,name,verb,subject,detail"
    assert "campaign.paused,demo-people" in lines[1]


def test_what_a_line_says_more_is_written_for_people(admin: Any, demo: Database) -> None:
    fill_ensemble(demo, "both", ["demo-sample-a", "demo-sample-b"])
    with demo.transaction() as session:
        log_event(session, "campaign.extended", "both", per_output=[1, 2], seats=9)
        log_event(session, "pool.members_added", "good", annotators=["p1", "p2"])
        log_event(session, "campaign.reparsed", "both", changes=[{"item": 1}, {"item": 2}], checks=[])
    page = unescape(admin.get("/admin/audit").text)
    told = re.findall(r'<span title="([^"]*)">([^<]*)</span>', page)
    assert ("demo-sample-a, demo-sample-b", "members: demo-sample-a, demo-sample-b") in told
    (settings,) = [(full, short) for full, short in told if short.startswith("settings: ")]
    assert settings[0].startswith("aggregation mean, least overlap 0.")
    assert settings[1].endswith("…")
    assert ("1 → 2", "annotators per output: 1 → 2") in told
    assert ("p1, p2", "annotators: p1, p2") in told
    assert ("2 entries", "changes: 2 entries") in told
    assert ("–", "checks: –") in told
    assert not re.search(r"[{}]|\bNone\b", "".join(short for _full, short in told))


def test_a_filter_without_lines_says_so(admin: Any) -> None:
    assert "No line of the log fits" in admin.get("/admin/audit?subject=nothing").text


def test_older_lines_are_a_link_away(admin: Any, demo: Database) -> None:
    with demo.transaction() as session:
        for number in range(120):
            add_user(session, f"u{number}@example.org", "viewer")
    first = admin.get("/admin/audit").text
    older = re.search(r'rel="next" href="([^"]+)"', first)
    assert older is not None
    assert "u119@example.org" in first
    assert "u119@example.org" not in admin.get(older[1].replace("&amp;", "&")).text
