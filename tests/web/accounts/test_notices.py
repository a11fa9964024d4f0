"""The owner of an account sees notices about it on their start page."""

from collections.abc import Callable
from typing import Any

import pyotp
import pytest
from flask import Flask
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Role, User
from spanplat.services.accounts.api_tokens import create_token
from spanplat.services.accounts.second_factor import (
    begin_enrolment,
    confirm_enrolment,
    open_enrolment,
    reset_second_factor,
    take_code,
)
from spanplat.services.accounts.users import add_user, change_role, reset_password
from tests.web.conftest import Visitor

ADA, ADMIN = "ada@example.org", "admin@example.org"
TITLE = "Since you last signed in"


@pytest.fixture
def ada(app: Flask, demo: Database) -> tuple[Callable[[], Visitor], str]:
    """A way for Ada to sign in with a browser of its own, and her password."""
    with demo.transaction() as session:
        _user, password = add_user(session, ADA, Role.RESEARCHER)

    def enter() -> Visitor:
        visitor = Visitor(app.test_client())
        assert visitor.sign_in(ADA, password).status_code == 303
        return visitor

    return enter, password


def test_nothing_is_told_where_nothing_happened(ada: Any) -> None:
    enter, _password = ada
    for _ in range(2):
        assert TITLE not in enter().get("/").text


def test_a_sign_in_elsewhere_is_told_until_it_is_read(ada: Any) -> None:
    enter, _password = ada
    here = enter()
    enter()
    page = here.get("/").text
    assert TITLE in page
    assert "a sign-in" in page
    address = page.partition('action="/admin/account/notices/')[2].partition('"')[0]
    assert here.post(f"/admin/account/notices/{address}").location == "/"
    assert TITLE not in here.get("/").text
    assert "a sign-in" in here.get("/admin/account").text, "there it stays"


def test_what_others_did_to_an_account_is_told_at_the_next_sign_in(ada: Any, app: Flask, demo: Database) -> None:
    enter, password = ada
    enter()
    with demo.transaction() as session:
        admin, user = (session.scalars(select(User).where(User.email == name)).one() for name in (ADMIN, ADA))
        session.info["actor"] = f"user:{admin.id}"
        create_token(session, user, "script", "read")
        change_role(session, user.id, Role.VIEWER)
        begin_enrolment(session, user.id, password)
        enrolment = open_enrolment(session, user.id)
        assert enrolment is not None
        _user, codes = confirm_enrolment(session, user.id, pyotp.TOTP(enrolment.secret).now())
        assert take_code(session, user.id, codes[0])
        session.info["actor"] = "cli"
        reset_second_factor(session, ADA)
        password = reset_password(session, ADA)
    visitor = Visitor(app.test_client())
    visitor.sign_in(ADA, password)
    page = visitor.get("/").text
    assert f"a token for scripts was made (by {ADMIN})" in page
    assert f"the role was changed (by {ADMIN})" in page
    assert f"the second factor was turned on (by {ADMIN})" in page
    assert f"a recovery code was used (by {ADMIN})" in page
    assert "the second factor was taken away (by cli)" in page
    assert "a new password was given out (by cli)" in page


def test_a_password_that_was_changed_is_told_at_the_next_sign_in(ada: Any, app: Flask) -> None:
    enter, password = ada
    elsewhere, new = enter(), "three unrelated words of hers"
    elsewhere.get("/admin/account")
    assert elsewhere.post("/admin/account/password", present=password, new=new, again=new).status_code == 303
    visitor = Visitor(app.test_client())
    visitor.sign_in(ADA, new)
    assert "the password was changed" in visitor.get("/").text


def test_nobody_reads_what_happened_to_another(ada: Any, viewer: Any) -> None:
    enter, _password = ada
    enter()
    enter()
    assert "a sign-in" not in viewer.get("/admin/account").text
    assert TITLE not in viewer.get("/").text
