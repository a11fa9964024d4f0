"""Security headers of all responses."""

from typing import Any

import pytest
from flask import Flask, session

from spanplat.models import Role


def test_pages_allow_nothing_but_their_own_scripts_and_styles(stranger: Any) -> None:
    headers = stranger.get("/").headers
    assert headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize("path", ["/c/demo-people/start", "/a/unknown", "/a/unknown/items", "/c/unknown/start"])
def test_annotators_get_no_cookie_and_tell_nobody_where_they_were(stranger: Any, path: str) -> None:
    response = stranger.get(path)
    assert "Set-Cookie" not in response.headers
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cache-Control"] == "no-store"


def test_an_annotator_who_is_also_staff_is_a_stranger_on_the_annotators_pages(researcher: Any) -> None:
    response = researcher.get("/c/demo-people/start")
    assert "Set-Cookie" not in response.headers
    assert "Cookie" not in response.headers.get("Vary", "")


def test_a_view_of_the_annotators_cannot_start_a_session(app: Flask) -> None:
    with app.test_request_context("/a/unknown"), pytest.raises(RuntimeError, match="session is unavailable"):
        session["user"] = 1


def test_pages_have_no_inline_script_or_style(researcher: Any) -> None:
    for path in ("/", "/admin/campaigns/demo-people", "/admin/campaigns/demo-people/definition", "/admin/agreement"):
        text = researcher.get(path).text
        assert " style=" not in text
        assert "<style" not in text
        assert " onclick=" not in text
        assert "<script>" not in text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/healthz", "api.json"),
        ("/a/unknown/items", "api.json"),
        ("/admin/agreement/figures.json?reference=demo-sample-a&hypothesis=demo-sample-b", "figures.json"),
    ],
)
def test_answers_for_programs_are_files_and_never_pages(researcher: Any, path: str, name: str) -> None:
    response = researcher.get(path)
    assert response.mimetype == "application/json"
    assert response.headers["Content-Disposition"] == f"attachment; filename={name}"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/healthz",
        "/admin/agreement",
        "/admin/nothing",
        "/admin/audit/audit",
        "/c/demo-people/start",
        "/a/unknown",
    ],
)
def test_every_answer_names_its_kind_and_its_characters(signed_in: Any, path: str) -> None:
    kind = signed_in(Role.ADMIN).get(path).headers["Content-Type"]
    assert kind == "application/json" or kind.endswith("; charset=utf-8"), "JSON is UTF-8 by its definition"


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null", "http://localhost"])
def test_who_asks_from_elsewhere_gets_no_more_and_may_not_read_it(stranger: Any, researcher: Any, origin: str) -> None:
    assert stranger.get("/admin/agreement", Origin=origin).status_code == 303
    for visitor, path in ((stranger, "/"), (researcher, "/admin/agreement"), (stranger, "/a/unknown/items")):
        headers = visitor.get(path, Origin=origin).headers
        assert [name for name, _value in headers if name.lower().startswith("access-control")] == []
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_pages_travel_compressed(stranger: Any) -> None:
    response = stranger.client.get("/", headers={"Accept-Encoding": "br"})
    assert response.headers["Content-Encoding"] == "br"
