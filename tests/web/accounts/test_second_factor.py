"""Signing in with a second factor, setting one up, and administrators who must have one."""

import re
import time
from pathlib import Path
from typing import Any

import pyotp
import pytest
from flask import Flask

from spanplat.db import Database
from spanplat.models import Role
from spanplat.services.accounts.second_factor import begin_enrolment, confirm_enrolment, open_enrolment
from spanplat.services.accounts.users import add_user
from spanplat.settings import Settings
from spanplat.web.app import create_app

PAGE = "/admin/account/second-factor"


class Person:
    """Somebody with a password and an app that makes codes."""

    def __init__(self, database: Database) -> None:
        self.email = "ada@example.org"
        with database.transaction() as session:
            user, self.password = add_user(session, self.email, Role.ADMIN)
            begin_enrolment(session, user.id, self.password)
            enrolment = open_enrolment(session, user.id)
            assert enrolment is not None
            self.app = pyotp.TOTP(enrolment.secret)
            _user, self.recovery_codes = confirm_enrolment(session, user.id, self.app.now())

    def next_code(self) -> str:
        """Return the code that a clock half a minute ahead shows: the present one was used to set the factor up."""
        return self.app.at(int(time.time()) + 30)


@pytest.fixture
def ada(demo: Database) -> Person:
    """An administrator with a second factor."""
    return Person(demo)


def test_the_password_alone_lets_nobody_in(stranger: Any, ada: Person) -> None:
    response = stranger.sign_in(ada.email, ada.password, next="/admin/people")
    assert (response.status_code, response.headers["Location"]) == (303, "/sign-in/code")
    assert stranger.get("/admin/people").headers["Location"] == "/?next=/admin/people"
    assert 'autocomplete="one-time-code"' in stranger.get("/sign-in/code").text
    response = stranger.post("/sign-in/code", code=ada.next_code())
    assert (response.status_code, response.headers["Location"]) == (303, "/admin/people")
    assert stranger.get("/admin/people").status_code == 200


def test_a_code_or_a_recovery_code_opens_one_session_only(stranger: Any, app: Flask, ada: Person) -> None:
    for code in (ada.next_code(), ada.recovery_codes[3]):
        first, second = (type(stranger)(app.test_client()) for _ in range(2))
        for visitor, status in ((first, 303), (second, 422)):
            visitor.sign_in(ada.email, ada.password)
            visitor.get("/sign-in/code")
            assert visitor.post("/sign-in/code", code=code).status_code == status
        assert first.get("/admin/people").status_code == 200
        assert "was used already" in second.post("/sign-in/code", code=code).text


def test_guessing_codes_is_slowed_down_wherever_the_guesses_come_from(stranger: Any, ada: Person) -> None:
    stranger.sign_in(ada.email, ada.password)
    stranger.get("/sign-in/code")
    for number in range(11):
        stranger.client.environ_base["REMOTE_ADDR"] = f"192.0.2.{number}"
        response = stranger.post("/sign-in/code", code="guess")
        assert response.status_code == (422 if number < 10 else 429)
    assert stranger.post("/sign-in/code", code=ada.next_code()).status_code == 429


def test_the_code_is_not_waited_for_longer_than_ten_minutes(stranger: Any, ada: Person) -> None:
    assert stranger.get("/sign-in/code").headers["Location"] == "/"
    stranger.sign_in(ada.email, ada.password)
    stranger.get("/sign-in/code")
    with stranger.client.session_transaction() as session:
        session["waiting"] = session["waiting"] | {"since": int(time.time()) - 601}
    response = stranger.post("/sign-in/code", code=ada.next_code())
    assert (response.status_code, response.headers["Location"]) == (303, "/")
    assert stranger.get("/admin/people").status_code == 303


def test_an_account_gets_a_second_factor_and_loses_it(stranger: Any, demo: Database) -> None:
    with demo.transaction() as session:
        _user, password = add_user(session, "bob@example.org", Role.VIEWER)
    stranger.sign_in("bob@example.org", password)
    stranger.get(PAGE)
    assert stranger.post(PAGE, password="wrong").status_code == 422
    assert stranger.post(PAGE, password=password).status_code == 303
    page = stranger.get(PAGE)
    assert page.headers["Cache-Control"] == "no-store"
    assert "<svg" in page.text
    assert " style=" not in page.text
    key = re.search(r'id="key">([A-Z2-7]+)<', page.text)
    assert key is not None
    wrong = stranger.post(f"{PAGE}/confirm", code="guess")
    assert (wrong.status_code, key[1] in wrong.text) == (422, True)
    shown = stranger.post(f"{PAGE}/confirm", code=pyotp.TOTP(key[1]).now())
    assert len(re.findall(r"^(?:.*>)?[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}", shown.text, re.MULTILINE)) == 10
    page = stranger.get(PAGE)
    assert "10 are left" in page.text
    assert key[1] not in page.text
    assert "10 are left" in stranger.post(f"{PAGE}/recovery-codes", password=password).text
    assert stranger.post(f"{PAGE}/off", password="wrong").status_code == 422
    assert stranger.post(f"{PAGE}/off", password=password).status_code == 303
    assert stranger.sign_in("bob@example.org", password).headers["Location"] == "/"


def test_administrators_set_a_second_factor_up_first_where_they_must(
    demo: Database, web_home: Path, stranger: Any, ada: Person
) -> None:
    settings = Settings(home=web_home, require_second_factor=True, _env_file=None)
    app = create_app(settings, demo)
    with demo.transaction() as session:
        passwords = {role: add_user(session, f"new-{role}@example.org", role)[1] for role in Role}
    admin, researcher, careful = (type(stranger)(app.test_client()) for _ in range(3))
    admin.sign_in("new-admin@example.org", passwords[Role.ADMIN])
    assert admin.get("/").headers["Location"] == PAGE
    assert admin.get("/admin/people").headers["Location"] == PAGE
    assert admin.post("/admin/people/invitations", email="eve@example.org", role="admin").headers["Location"] == PAGE
    assert admin.get("/admin/campaigns/demo-people", HX_Request="true").headers["HX-Redirect"] == PAGE
    assert "before they do anything else" in admin.get(PAGE).text
    made = re.search(r'id="secret">([^<]+)<', admin.post("/admin/account/tokens", name="x", scope="write").text)
    assert made is not None
    token = app.test_client().get("/admin/people", headers={"Authorization": f"Bearer {made[1]}"})
    assert (token.status_code, "need a second factor" in token.text) == (403, True)
    researcher.sign_in("new-researcher@example.org", passwords[Role.RESEARCHER])
    assert researcher.get("/admin/datasets").status_code == 200
    careful.sign_in(ada.email, ada.password)
    careful.get("/sign-in/code")
    careful.post("/sign-in/code", code=ada.next_code())
    assert careful.get("/admin/people").status_code == 200
