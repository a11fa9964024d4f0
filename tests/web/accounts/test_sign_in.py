"""Signing in: permission, length of a session, and the next page."""

import base64
from datetime import timedelta
from typing import Any

import pytest
from argon2 import PasswordHasher
from flask import Flask
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Role, User
from spanplat.services.accounts.sessions import new_session_key
from spanplat.services.accounts.users import add_user, reset_password
from spanplat.settings import Settings
from spanplat.web.accounts.sign_in import local_path
from spanplat.web.app import create_app


@pytest.fixture
def account(demo: Database) -> tuple[str, str]:
    """Address and password of a user."""
    with demo.transaction() as session:
        user, password = add_user(session, "ada@example.org", Role.RESEARCHER)
    return user.email, password


def test_the_right_password_lets_in(stranger: Any, account: tuple[str, str]) -> None:
    response = stranger.sign_in("ADA@example.org ", account[1])
    assert (response.status_code, response.headers["Location"]) == (303, "/")
    assert "ada@example.org" in stranger.get("/").text


@pytest.mark.parametrize("email", ["ada@example.org", "nobody@example.org", ""])
def test_wrong_credentials_are_refused_with_one_message_for_all(
    stranger: Any, account: tuple[str, str], email: str
) -> None:
    del account
    response = stranger.sign_in(email, "wrong")
    assert response.status_code == 422
    assert "No account has this address and password" in response.text


def test_signing_in_starts_a_new_session(stranger: Any, account: tuple[str, str]) -> None:
    with stranger.client.session_transaction() as session:
        session["planted"] = "by somebody else"
    stranger.sign_in(*account)
    with stranger.client.session_transaction() as session:
        assert "planted" not in session
        first = session["_user_id"]
    stranger.sign_in(*account)
    with stranger.client.session_transaction() as session:
        assert session["_user_id"] != first


def test_what_a_form_asks_for_is_not_taken_from_the_address(stranger: Any, account: tuple[str, str]) -> None:
    stranger.get("/")
    assert stranger.post(f"/sign-in?email={account[0]}&password={account[1]}").status_code == 422
    assert stranger.get("/admin/agreement").status_code == 303


def test_every_session_has_a_key_that_nobody_guesses() -> None:
    keys = {new_session_key() for _ in range(1000)}
    assert len(keys) == 1000
    assert {len(base64.urlsafe_b64decode(key)) * 8 for key in keys} == {96}


def test_signing_out_ends_the_session(stranger: Any, account: tuple[str, str]) -> None:
    stranger.sign_in(*account)
    stranger.get("/")
    assert stranger.get("/admin/agreement").status_code == 200
    response = stranger.post("/sign-out")
    assert (response.status_code, response.headers["Clear-Site-Data"]) == (303, '"cache"'), (
        "an annotator's storage stays"
    )
    assert stranger.get("/admin/agreement").status_code == 303


def test_a_copy_of_the_cookie_is_worth_nothing_after_signing_out(
    stranger: Any, account: tuple[str, str], app: Flask
) -> None:
    elsewhere = type(stranger)(app.test_client())
    elsewhere.sign_in(*account)
    stranger.sign_in(*account)
    stranger.get("/")
    cookie = stranger.client.get_cookie("spanplat")
    thief = app.test_client()
    thief.set_cookie("spanplat", cookie.value)
    assert thief.get("/admin/agreement").status_code == 200
    stranger.post("/sign-out")
    assert thief.get("/admin/agreement").status_code == 303
    assert elsewhere.get("/admin/agreement").status_code == 200, "another session of the same person goes on"


def test_a_new_password_signs_out_everywhere(stranger: Any, account: tuple[str, str], demo: Database) -> None:
    stranger.sign_in(*account)
    assert stranger.get("/admin/agreement").status_code == 200
    with demo.transaction() as session:
        reset_password(session, account[0])
    assert stranger.get("/admin/agreement").status_code == 303


def test_a_form_without_the_token_of_its_page_is_refused(app: Flask, account: tuple[str, str]) -> None:
    form = {"email": account[0], "password": account[1]}
    response = app.test_client().post("/sign-in", data=form)
    assert response.status_code == 400
    assert "Nothing was changed" in response.text


@pytest.mark.parametrize(
    ("wanted", "lands"),
    [
        ("/admin/agreement?reference=a&hypothesis=b", "/admin/agreement?reference=a&hypothesis=b"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("/\tevil", "/"),
        ("", "/"),
    ],
)
def test_after_signing_in_only_pages_of_this_server_follow(
    stranger: Any, account: tuple[str, str], wanted: str, lands: str
) -> None:
    assert stranger.sign_in(*account, next=wanted).headers["Location"] == lands


def test_a_local_path_keeps_its_query() -> None:
    assert local_path("/x?next=//y") == "/x?next=//y"
    assert local_path("x") == ""


def test_guessing_is_slowed_down_and_success_is_not(stranger: Any, account: tuple[str, str]) -> None:
    assert [stranger.sign_in(*account).status_code for _ in range(11)] == [303] * 11
    stranger.get("/")
    statuses = [stranger.post("/sign-in", email="eve@example.org", password="guess").status_code for _ in range(11)]
    assert statuses == [422] * 10 + [429]
    response = stranger.post("/sign-in", email=account[0], password=account[1])
    assert response.status_code == 429
    assert "Too many attempts" in response.text


def test_the_cookie_is_for_this_site_and_out_of_reach_of_scripts(stranger: Any) -> None:
    cookie = stranger.get("/").headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_behind_encryption_the_cookie_travels_encrypted_only(demo: Database, web_home: Any) -> None:
    settings = Settings(home=web_home, base_url="https://study.example.org", _env_file=None)
    client = create_app(settings, demo).test_client()
    response = client.get("/", headers={"X-Forwarded-Proto": "https"})
    cookie = response.headers["Set-Cookie"]
    assert cookie.startswith("__Host-spanplat=")
    assert "Secure" in cookie
    assert response.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"


def test_who_signs_in_with_a_password_that_is_easy_to_guess_is_told_to_choose_another(
    stranger: Any, account: tuple[str, str], demo: Database
) -> None:
    weak = "1qaz2wsx3edc"
    with demo.transaction() as session:  # chosen before such passwords were refused
        user = session.scalars(select(User).where(User.email == account[0])).one()
        user.password_hash = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(weak)
    response = stranger.sign_in(account[0], weak, next="/admin/datasets")
    assert (response.status_code, response.headers["Location"]) == (303, "/admin/account?done=weak")
    assert "Choose another one now" in stranger.get("/admin/account?done=weak").text


def test_an_old_session_has_to_sign_in_again(app: Flask, viewer: Any) -> None:
    assert app.permanent_session_lifetime == timedelta(days=30)
    assert viewer.get("/admin/datasets").status_code == 200
    app.config["PERMANENT_SESSION_LIFETIME"] = timedelta(seconds=-1)  # as if the time were over
    assert viewer.get("/admin/datasets").headers["Location"] == "/?next=/admin/datasets"
