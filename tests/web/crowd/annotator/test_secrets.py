"""No route reveals secrets to the holder of a valid token, in any state of the work.

The addresses come from the application itself, so that each new route is tested too.
"""

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update
from werkzeug.routing import BuildError, Rule
from werkzeug.test import TestResponse

from spanplat.db import Database
from spanplat.models import Annotator, Assignment, AssignmentStatus, CampaignStatus, Participation
from spanplat.services.campaigns.amendments import put_in_force
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign, set_status
from spanplat.settings import Settings
from spanplat.web.app import create_app
from spanplat.web.policy import Access, access_of
from tests.services.crowd.test_annotating import NOW
from tests.web.crowd.annotator.planted import (
    ANN,
    CHECKED,
    CODES,
    PRACTISED,
    REGULAR,
    UNDERSTOOD,
    answer_item,
    answer_items,
    arrive,
    body_variants,
    checked_position,
    plant,
    practise,
    secrets_of,
    work_address,
)

READING, CHANGING = ("GET", "HEAD", "OPTIONS"), ("POST", "PUT", "PATCH", "DELETE")
FORGED_QUERY = {"page": "done", "item": "2", "batch": "2", "group": "x", "preview": "1", "token": "x", "format": "json"}
NO_ROUTES = (
    "/static/../spanplat.sqlite3",
    "/static/%2e%2e/%2e%2e/spanplat.sqlite3",
    "/static//etc/passwd",
    "/spanplat.sqlite3",
    "/.env",
    "/templates/annotator/work.html",
    "/campaigns/demo/human.yaml",
)

Reach = Callable[[FlaskClient, Database], str]


def _consented(client: FlaskClient, database: Database) -> str:
    del database
    address = arrive(client)
    client.post(f"{address}/consent", data={"agreed": "yes"})
    return address


def _declined(client: FlaskClient, database: Database) -> str:
    del database
    address = arrive(client)
    client.post(f"{address}/consent", data={"agreed": "no"})
    return address


def _misunderstood(client: FlaskClient, database: Database) -> str:
    address = _consented(client, database)
    for _ in range(2):
        client.post(f"{address}/comprehension", data={"what-do-you-mark": "names"})
    return address


def _practising(client: FlaskClient, database: Database) -> str:
    address = _consented(client, database)
    client.post(f"{address}/comprehension", data=UNDERSTOOD)
    return address


def _practised(client: FlaskClient, database: Database) -> str:
    address = _practising(client, database)
    practise(client, address)
    return address


def _half_done(client: FlaskClient, database: Database) -> str:
    del database
    address = work_address(client)
    answer_item(client, address, 1)
    return address


def _submitted(client: FlaskClient, database: Database) -> str:
    del database
    address = work_address(client)
    answer_items(client, address)
    assert CODES["completed"] in client.post(f"{address}/submit").text
    return address


def _inattentive(client: FlaskClient, database: Database) -> str:
    del database
    address = work_address(client)
    answer_items(client, address, choice="one")
    assert CODES["failed_attention"] in client.post(f"{address}/submit").text
    return address


def _screened_out(client: FlaskClient, database: Database) -> str:
    del database
    address = work_address(client)
    client.put(
        f"{address}/items/{checked_position(client, address)}",
        json={"revision": 0, "status": "complete", "spans": [], "answers": {"choose-the-second": "two"}},
    )
    assert CODES["screened_out"] in client.get(address).text
    return address


def _withdrawn(client: FlaskClient, database: Database) -> str:
    address = _half_done(client, database)
    client.post(f"{address}/withdraw")
    return address


def _lapsed(client: FlaskClient, database: Database) -> str:
    address = _half_done(client, database)
    with database.transaction() as session:
        held = Assignment.status == AssignmentStatus.HELD
        session.execute(update(Assignment).where(held).values(lease_expires_at=NOW.replace(year=2020)))
    for person in ("cleo", "dora", "planted-guest"):
        work_address(client, PROLIFIC_PID=person, SESSION_ID=f"session-of-{person}")
    return address


def _closed(client: FlaskClient, database: Database) -> str:
    address = _half_done(client, database)
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.CLOSED)
    return address


STATES: dict[str, Reach] = {
    "arrived": lambda client, _database: arrive(client),
    "consented": _consented,
    "declined": _declined,
    "misunderstood": _misunderstood,
    "practising": _practising,
    "practised": _practised,
    "working": lambda client, _database: work_address(client),
    "half done": _half_done,
    "submitted": _submitted,
    "inattentive": _inattentive,
    "screened out": _screened_out,
    "withdrawn": _withdrawn,
    "lapsed": _lapsed,
    "closed": _closed,
}


class Snapshots:
    """Puts the database back to how it was, so that each request meets the same state."""

    def __init__(self, database: Database) -> None:
        self.path = str(database.engine.url.database)
        self.kept = sqlite3.connect(":memory:")

    def take(self) -> None:
        with sqlite3.connect(self.path) as live:
            live.backup(self.kept)

    def restore(self) -> None:
        with sqlite3.connect(self.path) as live:
            self.kept.backup(live)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, sqlite_template: bytes, web_home: Path) -> bytes:
    """Bytes of a SQLite file with the study in it, and with what others did."""
    path = tmp_path_factory.mktemp("planted") / "planted.sqlite3"
    path.write_bytes(sqlite_template)
    database = Database(f"sqlite:///{path}")
    plant(database, create_app(Settings(home=web_home, _env_file=None), database).test_client())
    database.dispose()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.fixture
def sqlite_database(sqlite_from: Callable[[bytes], Database], planted: bytes) -> Database:
    """A fresh copy of the study with the secrets."""
    return sqlite_from(planted)


@pytest.fixture
def app(sqlite_database: Database, application: Callable[[Database], Flask]) -> Flask:
    """An application over it."""
    return application(sqlite_database)


def _addresses(app: Flask, rule: Rule, values: dict[str, list[Any]]) -> Iterator[str]:
    """Yield the addresses of a rule with everything a stranger may put into its variable parts."""
    adapter = app.url_map.bind("localhost")
    names = sorted(rule.arguments)
    for chosen in itertools.product(*(values.get(name, [1]) for name in names)):
        try:
            yield adapter.build(rule.endpoint, dict(zip(names, chosen, strict=True)))
        except BuildError:  # a converter that takes no such value
            yield rule.rule.split("<")[0] + "/".join(quote(str(value)) for value in chosen)


def _open_to_workers(app: Flask) -> list[Rule]:
    """Return the rules that need no account."""
    return [
        rule
        for rule in app.url_map.iter_rules()
        if access_of(app, rule.endpoint) in (Access.PUBLIC, Access.ANNOTATOR_TOKEN)
    ]


def _require_silence(response: TestResponse, secrets: dict[str, str], request: str) -> None:
    """Fail when anything in the answer is a secret now; what was given or asked with may be repeated."""
    told = f"{response.headers}\n{response.get_data(as_text=True)}"
    for text in (CHECKED, PRACTISED, *REGULAR):
        if text not in secrets:
            told = told.replace(text, "")
    found = {secret: why for secret, why in secrets.items() if secret in told and secret not in request}
    assert not found, f"{request} ({response.status_code}) tells {found}"
    assert response.status_code < 500, f"{request} answers {response.status_code}"


@pytest.mark.parametrize("state", STATES)
def test_no_request_of_a_worker_finds_a_secret(state: str, app: Flask, sqlite_database: Database) -> None:
    client = app.test_client()
    address = STATES[state](client, sqlite_database)
    token = address.removeprefix("/a/")
    snapshots = Snapshots(sqlite_database)
    snapshots.take()
    secrets = secrets_of(sqlite_database)
    mine: dict[str, list[Any]] = {
        "token": [token],
        "slug": ["study"],
        "position": [0, 1, 2],
        "number": [0, 1, 2],
        "chart": [0, 1],
    }
    forged: dict[str, list[Any]] = {
        "token": [token.swapcase(), token[:-1], f"{token}%00", "%"],
        "slug": ["planted-model", "nothing"],
    }
    for rule in _open_to_workers(app):
        own = list(_addresses(app, rule, mine))
        queries: tuple[dict[str, str], ...] = (FORGED_QUERY, ANN | {"invitation": token})
        asked: list[tuple[str, str, dict[str, str]]] = [
            *((method, path, {}) for path in (*own, *_addresses(app, rule, forged)) for method in READING),
            *(("GET", path, query) for path in own for query in queries),
        ]
        for method, path, query in asked:
            response = client.open(path, method=method, query_string=query)
            if rule.endpoint == "annotator.start":  # takes a seat where it can
                _require_silence(response, secrets_of(sqlite_database), f"{method} {path} {query}")
                snapshots.restore()
            else:
                _require_silence(response, secrets, f"{method} {path} {query}")
        allowed = rule.methods or set()
        for method in sorted(set(CHANGING) - allowed):
            _require_silence(client.open(own[0], method=method), secrets, f"{method} {own[0]}")
        for path, method, body in itertools.product(own, sorted(set(CHANGING) & allowed), body_variants()):
            response = client.open(path, method=method, **body)
            now = secrets_of(sqlite_database)
            _require_silence(response, now, f"{method} {path} {body}")
            if response.status_code < 400:  # something may be different now
                _require_silence(client.get(address), now, f"the page after {method} {path} {body}")
                snapshots.restore()


def test_nothing_of_the_researchers_answers_a_worker(app: Flask, sqlite_database: Database) -> None:
    client = app.test_client()
    token = _half_done(client, sqlite_database).removeprefix("/a/")
    secrets = secrets_of(sqlite_database)
    closed = [rule for rule in app.url_map.iter_rules() if rule not in _open_to_workers(app)]
    assert len(closed) > 50
    for rule in closed:
        for path in _addresses(app, rule, {"slug": ["study", "planted-model"], "token": [token]}):
            for method in READING + CHANGING:
                response = client.open(path, method=method, query_string={"token": token})
                assert response.status_code in (303, 400, 401, 404, 405) or method == "OPTIONS", (method, path)
                _require_silence(response, secrets, f"{method} {path}")


def test_addresses_that_are_none_lead_to_no_file(app: Flask, sqlite_database: Database) -> None:
    client = app.test_client()
    work_address(client)
    for path in NO_ROUTES:
        response = client.get(path)
        assert response.status_code == 404, path
        _require_silence(response, secrets_of(sqlite_database), path)


def test_no_static_file_tells_what_only_one_study_knows(app: Flask, sqlite_database: Database) -> None:
    client = app.test_client()
    page = client.get(work_address(client)).text
    addresses = {part.split('"')[0] for part in page.replace("'", '"').split('"') if part.startswith("/static/")}
    assert len(addresses) > 3
    for address in addresses:
        response = client.get(address)
        assert response.status_code == 200
        _require_silence(response, secrets_of(sqlite_database), address)
        response.close()


def test_guessing_a_token_and_the_ids_that_stand_in_files_leads_to_nobodys_page(
    app: Flask, sqlite_database: Database
) -> None:
    client = app.test_client()
    work_address(client)
    with sqlite_database.reading() as session:
        bob = session.scalars(select(Annotator).where(Annotator.external_id == "person-bob")).one()
        visit = session.scalars(select(Participation).where(Participation.annotator_id == bob.id)).one()
        guesses = [
            bob.pseudonym,
            bob.external_id,
            str(visit.id),
            visit.session_key,
            visit.token[:-1],
            visit.token.lower(),
        ]
    for guess in guesses:
        for path in ("", "/items", "/items/1", "/practice/1/items/1"):
            assert client.get(f"/a/{quote(guess, safe='')}{path}").status_code == 404
        assert client.get("/c/study/start", query_string={"invitation": guess}).status_code == 404


def test_a_platforms_id_alone_leads_to_a_visit_of_its_own_and_not_to_the_work_of_its_owner(
    app: Flask, sqlite_database: Database
) -> None:
    client = app.test_client()
    with sqlite_database.transaction() as session:
        campaign = find_campaign(session, "study")
        definition = definition_of(campaign)
        more = definition.annotators.model_copy(update={"max_batches": 2})  # else nobody gets in under his id any more
        put_in_force(session, campaign, definition.model_copy(update={"annotators": more}), "two batches")
    stolen = arrive(client, PROLIFIC_PID="person-bob", SESSION_ID="guessed")
    with sqlite_database.reading() as session:
        tokens = session.scalars(
            select(Participation.token).join(Annotator).where(Annotator.external_id == "person-bob")
        ).all()
    assert len(tokens) == 2
    told = client.get(stolen, follow_redirects=True).text + client.get(f"{stolen}/items").text
    assert [word for word in ("Answer-of-bob", "Reason-of-bob", CODES["completed"]) if word in told] == []
