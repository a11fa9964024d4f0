"""Each route declares who may use it, and refuses everybody else."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from flask import Blueprint, Flask
from sqlalchemy import select
from werkzeug.routing import Rule

from spanplat.db import Database
from spanplat.models import Base, Role
from spanplat.settings import Settings
from spanplat.web import app as web_app
from spanplat.web.policy import Access, access_of, policy, require_declared

EXAMPLES: dict[str, Any] = {
    "slug": "demo-people",
    "token": "unknown",
    "position": 1,
    "extension": "csv",
    "output_id": 1,
}
FIELDS = ("status", "act", "name", "slug", "email", "note", "definition")
"""Of forms, so that what is sent is more than nothing."""


def _requests(app: Flask) -> list[tuple[str, str, Access]]:
    """Return method, address and policy of every route, with examples in its variable parts."""
    adapter = app.url_map.bind("localhost")
    found = []
    rules: list[Rule] = list(app.url_map.iter_rules())
    for rule in rules:
        access = access_of(app, rule.endpoint)
        assert access is not None
        address = adapter.build(rule.endpoint, {name: EXAMPLES.get(name, 1) for name in rule.arguments})
        found += [(method, address, access) for method in (rule.methods or set()) - {"OPTIONS", "HEAD"}]
    return found


def test_every_route_declares_who_may_use_it(app: Flask) -> None:
    require_declared(app)
    assert {access for _method, _path, access in _requests(app)} >= {
        Access.PUBLIC,
        Access.ANNOTATOR_TOKEN,
        Access.VIEWER,
        Access.RESEARCHER,
    }


def test_an_application_with_an_undeclared_route_does_not_start(
    demo: Database, web_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten = ModuleType("forgotten")
    forgotten.blueprint = Blueprint("forgotten", __name__)  # type: ignore[attr-defined]
    forgotten.blueprint.add_url_rule("/forgotten", "page", lambda: "")
    monkeypatch.setattr(web_app, "PAGES", (*web_app.PAGES, forgotten))
    with pytest.raises(RuntimeError, match=r"/forgotten \(forgotten.page\) does not declare who may use it"):
        web_app.create_app(Settings(home=web_home, _env_file=None), demo)


def test_a_route_for_token_bearers_needs_a_token_in_its_address(demo: Database, web_home: Path) -> None:
    app = web_app.create_app(Settings(home=web_home, _env_file=None), demo)
    app.add_url_rule("/a/nothing", "nothing", policy("annotator-token")(lambda: ""))
    with pytest.raises(RuntimeError, match="has no <token>"):
        require_declared(app)


def test_what_each_role_may_do_is_what_is_written_here(app: Flask) -> None:
    """Whoever opens a route to more people has to change this too."""
    own_or_harmless = {"account", "second_factor", "preview", "computed"}
    """One's own account, previews that store nothing, and figures that are computed."""
    open_to_all = {
        "accounts.ask_for_code", "accounts.sign_in", "accounts.sign_in_with_code", "accounts.sign_out",
        "annotator.previewed_example_chart", "annotator.start", "health.healthz",
        "invitations.accept", "invitations.show", "invitations.strength", "overview.index",
    }  # fmt: skip
    for rule in app.url_map.iter_rules():
        access, part = access_of(app, rule.endpoint), rule.endpoint.partition(".")[0]
        changes = not (rule.methods or set()) <= {"GET", "HEAD", "OPTIONS"}
        assert (access is Access.PUBLIC) == (rule.endpoint in open_to_all), rule.endpoint
        assert (access is Access.ANNOTATOR_TOKEN) == rule.rule.startswith("/a/"), rule.endpoint
        assert (access is Access.ADMIN) == (part in ("people", "audit")), rule.endpoint
        if access is Access.VIEWER and changes:
            assert part in own_or_harmless, rule.endpoint


@pytest.mark.parametrize("role", [None, *Role])
def test_every_route_lets_in_exactly_those_it_declares(
    app: Flask, role: Role | None, signed_in: Callable[[Role], Any], stranger: Any
) -> None:
    app.config["WTF_CSRF_ENABLED"] = False  # the policy is what is asked about here
    visitor = stranger if role is None else signed_in(role)
    rank = {Access.VIEWER: 0, Access.RESEARCHER: 1, Access.ADMIN: 2}
    have = -1 if role is None else rank[Access(str(role))]
    for method, address, access in _requests(app):
        if address in ("/sign-out", "/admin/account/sign-out-everywhere"):
            continue
        response = visitor.client.open(address, method=method)
        if access in (Access.PUBLIC, Access.ANNOTATOR_TOKEN) or have >= rank[access]:
            assert response.status_code not in (401, 403), (method, address)
            assert not response.headers.get("Location", "").startswith("/?next="), (method, address)
        elif role is None:
            assert response.status_code == 303, (method, address)
            assert response.headers["Location"].startswith("/"), (method, address)
        else:
            assert response.status_code == 403, (method, address)


def _contents(database: Database) -> dict[str, list[Any]]:
    with database.reading() as session:
        return {table.name: list(session.execute(select(table))) for table in Base.metadata.sorted_tables}


FIGURES = {"agreement_result", "job"}
PEOPLE = {"user", "invitation", "api_token", "second_factor", "recovery_code"}


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.RESEARCHER])
def test_whatever_a_role_sends_changes_only_what_it_may_change(
    app: Flask, demo: Database, role: Role | None, signed_in: Callable[[Role], Any], stranger: Any
) -> None:
    """Asks of the database what the test above asks of the answers: a viewer has only figures computed."""
    app.config["WTF_CSRF_ENABLED"] = False
    visitor = stranger if role is None else signed_in(role)
    before = _contents(demo)
    for method, address, access in _requests(app):
        if access not in (Access.PUBLIC, Access.ANNOTATOR_TOKEN) and not address.startswith("/admin/account"):
            visitor.client.open(address, method=method, data=dict.fromkeys(FIELDS, "closed") | {"role": "admin"})
    after = _contents(demo)
    changed = {name for name, rows in before.items() if after[name] != rows}
    if role is Role.RESEARCHER:
        assert changed & PEOPLE == set()
        assert "campaign" in changed, "otherwise these requests show nothing"
    else:
        assert changed <= (FIGURES if role is Role.VIEWER else set())


def test_who_is_not_signed_in_comes_back_to_the_page_after_signing_in(stranger: Any) -> None:
    response = stranger.get("/admin/campaigns/demo-people/definition")
    assert response.status_code == 303
    assert response.headers["Location"] == "/?next=/admin/campaigns/demo-people/definition"


def test_a_live_part_of_a_page_whose_session_ended_leads_to_the_sign_in(stranger: Any) -> None:
    response = stranger.get("/admin/campaigns/demo-people", HX_Request="true")
    assert (response.status_code, response.headers["HX-Redirect"]) == (401, "/")


def test_a_program_without_a_session_gets_json(stranger: Any) -> None:
    response = stranger.get("/admin/agreement/figures.json", Accept="application/json")
    assert (response.status_code, response.json) == (401, {"error": "sign in first"})


def test_the_page_offers_no_button_that_its_reader_may_not_use(viewer: Any, researcher: Any) -> None:
    address = "/admin/campaigns/demo-people"
    assert 'name="status"' not in viewer.get(address).text
    assert 'name="status"' in researcher.get(address).text
