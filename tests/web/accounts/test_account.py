"""The page of one's own account: password, sessions and API tokens."""

import contextlib
import io
import re
import sqlite3
from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import make_url

from spanplat.db import Database
from spanplat.models import Role
from spanplat.services.accounts.users import add_user
from spanplat.services.crowd.pools import add_people
from spanplat.web.policy import Access, access_of

NEW = "correct horse battery"


@pytest.fixture
def ada(demo: Database, stranger: Any) -> Any:
    """A researcher who signed in by form, with her password."""
    with demo.transaction() as session:
        _user, stranger.password = add_user(session, "ada@example.org", Role.RESEARCHER)
    stranger.sign_in("ada@example.org", stranger.password)
    stranger.get("/admin/account")
    return stranger


def token_of(visitor: Any, scope: str) -> str:
    shown = visitor.post("/admin/account/tokens", name="notebook", scope=scope)
    found = re.search(r'id="secret">([^<]+)<', shown.text)
    assert found is not None
    return found[1]


def bearer(app: Flask, token: str) -> Any:
    client = app.test_client()

    def ask(method: str, path: str, **options: Any) -> Any:
        return client.open(path, method=method, headers={"Authorization": f"Bearer {token}"}, **options)

    return ask


class WatchedForm(io.RawIOBase):
    """The body of a request, which notes whether somebody could write when it was read."""

    def __init__(self, content: bytes, database: Database) -> None:
        self._content = io.BytesIO(content)
        self._path = make_url(database.url).database or ""
        self.could_others_write: list[bool] = []

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with contextlib.closing(sqlite3.connect(self._path, timeout=0)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
                self.could_others_write.append(True)
            except sqlite3.OperationalError:
                self.could_others_write.append(False)
        return self._content.readinto(buffer)


def test_nobody_waits_with_writing_for_a_script_that_sends_slowly(ada: Any, app: Flask, demo: Database) -> None:
    with demo.transaction() as session:
        add_people(session, "experts", "prolific", ["PID-1"], datetime.now(UTC))
    content = b"annotator=somebody"
    form = WatchedForm(content, demo)
    removed = bearer(app, token_of(ada, "write"))(
        "POST",
        "/admin/pools/experts/remove",
        content_type="application/x-www-form-urlencoded",
        environ_overrides={"wsgi.input": form, "CONTENT_LENGTH": str(len(content))},
    )
    assert removed.status_code == 303
    assert form.could_others_write
    assert all(form.could_others_write)


def test_a_new_password_keeps_this_session_and_ends_the_others(ada: Any, app: Flask) -> None:
    other = type(ada)(app.test_client())
    other.sign_in("ada@example.org", ada.password)
    changed = ada.post("/admin/account/password", present=ada.password, new=NEW, again=NEW)
    assert (changed.status_code, changed.headers["Location"]) == (303, "/admin/account?done=password")
    assert "was changed" in ada.get("/admin/account?done=password").text
    assert other.get("/admin/account").status_code == 303
    assert type(ada)(app.test_client()).sign_in("ada@example.org", NEW).status_code == 303


@pytest.mark.parametrize(
    ("present", "new", "again", "problem"),
    [
        ("wrong", NEW, NEW, "present password is not right"),
        (None, "short", "short", "at least 12"),
        (None, "1qaz2wsx3edc", "1qaz2wsx3edc", "easy to guess"),
        (None, NEW, "other", "two new passwords differ"),
    ],
)
def test_a_password_that_cannot_be_changed_says_why(
    ada: Any, present: str | None, new: str, again: str, problem: str
) -> None:
    form = {"present": ada.password if present is None else present, "new": new, "again": again}
    response = ada.post("/admin/account/password", **form)
    assert (response.status_code, problem in response.text) == (422, True)


def test_guessing_the_present_password_is_slowed_down_whoever_the_form_names(ada: Any) -> None:
    for number in range(31):
        ada.client.environ_base["REMOTE_ADDR"] = f"192.0.2.{number}"
        form = {"present": "guess", "new": NEW, "again": NEW, "email": f"{number}@example.org"}
        status = ada.post("/admin/account/password", **form).status_code
        assert status == (422 if number < 30 else 429)


@pytest.mark.parametrize(
    ("typed", "told", "score"),
    [
        ("", "", None),
        ("x9$Kq", "Too short", "1"),
        ("1qaz2wsx3edc", "Guessed at once", "0"),
        ("Password12345!", "Still easy to guess. This is similar to a commonly used password", "2"),
        (NEW, "Very strong", "4"),
        (NEW * 10, "Very strong", "4"),
    ],
)
def test_the_strength_of_a_new_password_is_told_while_it_is_typed(
    ada: Any, typed: str, told: str, score: str | None
) -> None:
    response = ada.post("/admin/account/password/strength", htmx=True, new=typed)
    assert response.status_code == 200
    assert told in response.text
    assert re.findall(r' value="(\d)"', response.text) == ([] if score is None else [score])


def test_signing_out_everywhere_ends_this_session_too(ada: Any) -> None:
    ada.post("/admin/account/sign-out-everywhere")
    assert ada.get("/admin/account").status_code == 303


def test_a_reading_token_looks_and_changes_nothing(ada: Any, app: Flask) -> None:
    ask = bearer(app, token_of(ada, "read"))
    figures = ask("GET", "/admin/agreement/figures.json?reference=demo-sample-a&hypothesis=demo-sample-b")
    assert (figures.status_code, "char" in figures.json) == (200, True)
    assert ask("POST", "/admin/campaigns/demo-people/status", data={"status": "paused"}).status_code == 403


@pytest.mark.parametrize("name", ["token", "access_token", "api_token", "bearer", "authorization"])
def test_a_token_in_an_address_opens_nothing(ada: Any, app: Flask, name: str) -> None:
    token = token_of(ada, "read")
    address = "/admin/agreement/figures.json?reference=demo-sample-a&hypothesis=demo-sample-b"
    assert app.test_client().get(f"{address}&{name}={token}").status_code == 303
    assert bearer(app, token)("GET", address).status_code == 200


def test_a_writing_token_needs_no_form_token(ada: Any, app: Flask) -> None:
    ask = bearer(app, token_of(ada, "write"))
    assert ask("POST", "/admin/campaigns/demo-people/status", data={"status": "paused"}).status_code == 303
    assert "Paused" in ada.get("/admin/campaigns/demo-people").text


def test_a_token_does_no_more_than_its_owner(ada: Any, app: Flask) -> None:
    ask = bearer(app, token_of(ada, "write"))
    assert ask("GET", "/admin/people").status_code == 403


def test_a_reading_token_sends_nothing_wherever_it_is_sent(ada: Any, app: Flask) -> None:
    ask = bearer(app, token_of(ada, "read"))
    adapter = app.url_map.bind("localhost")
    for rule in app.url_map.iter_rules():
        access = access_of(app, rule.endpoint)
        if access in (Access.PUBLIC, Access.ANNOTATOR_TOKEN):
            continue
        address = adapter.build(rule.endpoint, dict.fromkeys(rule.arguments, 1))
        for method in (rule.methods or set()) - {"GET", "HEAD", "OPTIONS"}:
            assert ask(method, address).status_code == 403, (method, address)


@pytest.mark.parametrize("scope", ["read", "write"])
def test_no_token_manages_the_account_it_belongs_to(ada: Any, app: Flask, scope: str) -> None:
    ask = bearer(app, token_of(ada, scope))
    assert ask("GET", "/admin/account").status_code == 403
    assert ask("POST", "/admin/account/tokens", data={"name": "another", "scope": "write"}).status_code == 403
    assert ask("POST", "/admin/account/sign-out-everywhere").status_code == 403
    assert "another" not in ada.get("/admin/account").text


@pytest.mark.parametrize(("header", "status"), [("Basic x", 400), ("Bearer x", 303), ("Bearer spanplat_x", 303)])
def test_a_session_cannot_skip_the_form_token_with_an_invented_header(ada: Any, header: str, status: int) -> None:
    address = "/admin/campaigns/demo-people"
    response = ada.client.post(f"{address}/status", data={"status": "paused"}, headers={"Authorization": header})
    assert response.status_code == status
    assert response.headers.get("Location", "/") == "/", "who shows a wrong token is a stranger"
    assert 'value="paused"' in ada.get(address).text, "it can still be paused, so it was not"


def test_a_revoked_token_is_asked_to_sign_in(ada: Any, app: Flask) -> None:
    ask = bearer(app, token_of(ada, "read"))
    page = ada.get("/admin/account").text
    address = re.search(r'action="(/admin/account/tokens/\d+/revoke)"', page)
    assert address is not None
    ada.post(address[1])
    response = ask("GET", "/admin/agreement/figures.json?reference=demo-sample-a&hypothesis=demo-sample-b")
    assert response.status_code == 303
    assert "notebook" not in ada.get("/admin/account").text


def test_the_token_is_shown_once_and_its_use_noted(ada: Any, app: Flask) -> None:
    token = token_of(ada, "read")
    page = ada.get("/admin/account").text
    assert token not in page
    assert "never" in page
    bearer(app, token)("GET", "/admin/agreement")
    assert "just now" in ada.get("/admin/account").text


def test_a_token_needs_a_name(ada: Any) -> None:
    response = ada.post("/admin/account/tokens", name=" ", scope="read")
    assert (response.status_code, "needs a name" in response.text) == (422, True)


def test_no_account_changes_things_as_quickly_as_a_program_could(app: Flask, ada: Any, viewer: Any) -> None:
    app.config["SPANPLAT_MOST_CHANGES"] = "3 per minute"
    address = "/admin/account/notices/1/read"
    viewer.get("/admin/account")
    ada.get("/admin/account")
    assert [ada.post(address).status_code for _ in range(5)] == [303, 303, 303, 429, 429]
    assert viewer.post(address).status_code == 303, "everybody is counted alone"
    assert ada.get("/admin/account").status_code == 200, "looking is not counted"


def test_no_annotator_saves_as_quickly_as_a_program_could(app: Flask, stranger: Any) -> None:
    app.config["SPANPLAT_MOST_CHANGES"] = "3 per minute"
    addresses = [stranger.get("/c/demo-people/start").location for _ in range(2)]
    asked = [stranger.client.post(f"{addresses[0]}/presence").status_code == 429 for _ in range(4)]
    assert asked == [False, False, False, True]
    assert stranger.client.post(f"{addresses[1]}/presence").status_code != 429
