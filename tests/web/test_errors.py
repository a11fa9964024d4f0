"""Errors: one page for people, one JSON shape for programs, the right status for both."""

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from spanplat.db import Database
from spanplat.errors import Conflict, Gone, InvalidInput, NotAllowed, NotFound, SpanplatError, Unavailable
from spanplat.models import Role
from spanplat.settings import Settings
from spanplat.web.app import create_app
from spanplat.web.errors import status_of
from spanplat.web.policy import policy


class Special(Conflict):
    """A conflict of some service."""


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (InvalidInput, 422),
        (NotFound, 404),
        (Conflict, 409),
        (Special, 409),
        (NotAllowed, 403),
        (Gone, 410),
        (Unavailable, 503),
        (SpanplatError, 500),
    ],
)
def test_each_error_has_its_status(kind: type[SpanplatError], status: int) -> None:
    assert status_of(kind("why")) == status


@pytest.fixture
def app(demo: Database, web_home: Path) -> Flask:
    """An application of its own: the one that tests share takes no further routes."""
    return create_app(Settings(home=web_home, _env_file=None), demo)


@pytest.fixture
def failing(app: Flask) -> Flask:
    """The application with a route that fails in a way it did not expect, and one that meets a conflict."""

    @app.get("/fails")
    @policy("public")
    def fails() -> str:
        raise ZeroDivisionError("a secret of the house")

    @app.get("/conflicts")
    @policy("public")
    def conflicts() -> str:
        raise Conflict("the seat <b>3</b> is taken")

    return app


def test_people_get_a_page_with_the_reason(failing: Flask) -> None:
    response = failing.test_client().get("/conflicts")
    assert response.status_code == 409
    assert "<h1>This contradicts what is there now</h1>" in response.text
    assert "the seat &lt;b&gt;3&lt;/b&gt; is taken" in response.text


def test_a_fragment_gets_a_fragment(failing: Flask) -> None:
    response = failing.test_client().get("/conflicts", headers={"HX-Request": "true"})
    assert response.status_code == 409
    assert response.text.startswith('<div class="notice danger" role="alert">')


def test_programs_get_json(failing: Flask) -> None:
    response = failing.test_client().get("/conflicts", headers={"Accept": "application/json"})
    assert (response.status_code, response.json) == (409, {"error": "the seat <b>3</b> is taken"})


def test_the_unexpected_tells_nothing_about_the_inside(failing: Flask) -> None:
    response = failing.test_client().get("/fails")
    assert response.status_code == 500
    assert "Something went wrong on our side" in response.text
    assert "secret" not in response.text


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/a/unknown/items", "/a/unknown/items/1"])
def test_addresses_for_programs_answer_in_json_whatever_is_asked_for(stranger: Any, path: str) -> None:
    response = stranger.get(path, Accept="text/html")
    assert response.status_code == 404
    assert set(response.json) == {"error"}


def test_the_wrong_method_says_which_are_right(stranger: Any) -> None:
    response = stranger.post("/healthz")
    assert response.status_code in (400, 405)
    response = stranger.client.put("/a/unknown/items")
    assert response.status_code == 405
    assert "GET" in response.headers["Allow"]


def test_an_unknown_page_is_said_to_be_unknown(stranger: Any) -> None:
    response = stranger.get("/admin/nothing")
    assert response.status_code == 404
    assert "There is nothing at this address" in response.text


def test_health_is_open_to_everybody(stranger: Any) -> None:
    response = stranger.get("/healthz")
    assert response.json["status"] == "ok"


@pytest.mark.parametrize("number", [2**31, 10**30])
@pytest.mark.parametrize("address", ["/admin/browse/{}", "/a/unknown/items/{}", "/admin/agreement/outputs/{}"])
def test_a_number_that_no_database_knows_is_an_address_of_nothing(researcher: Any, address: str, number: int) -> None:
    assert researcher.get(address.format(number)).status_code == 404


@pytest.mark.parametrize("number", [-(10**30), 2**63, 10**30, "x"])
def test_a_number_in_a_question_that_no_database_knows_is_answered(signed_in: Any, number: object) -> None:
    response = signed_in(Role.ADMIN).get(f"/admin/audit?before={number}")
    assert response.status_code == 200
    assert "Audit log" in response.text
