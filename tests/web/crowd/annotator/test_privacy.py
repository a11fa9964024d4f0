"""Stored data about a person: consent, work and platform ids, but no IP address."""

from collections.abc import Callable, Iterator
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import MetaData, select

from spanplat.db import Database
from spanplat.models import Annotator, Participation, Role
from spanplat.services.accounts.users import add_user
from spanplat.services.crowd.pools import add_people
from spanplat.web.accounts.sign_in import StaffMember
from tests.cli.test_secrets import as_text
from tests.services.crowd.test_annotating import NOW
from tests.web.crowd.annotator.conftest import PERSON

Arrive = Callable[..., str]
FROM = "203.0.113.77"
FORWARDED_FOR = "198.51.100.23"


def everything_stored(database: Database) -> list[Any]:
    """Return every value of every table."""
    tables = MetaData()
    tables.reflect(database.engine)
    with database.reading() as session:
        return [value for table in tables.sorted_tables for row in session.execute(select(table)) for value in row]


def test_no_address_of_a_persons_machine_is_stored(
    client: FlaskClient, database: Database, open_study: Callable[..., None], arrive: Arrive
) -> None:
    client.environ_base["REMOTE_ADDR"] = FROM
    client.environ_base["HTTP_X_FORWARDED_FOR"] = FORWARDED_FOR
    client.environ_base["HTTP_USER_AGENT"] = "Netscape of ann"
    open_study(consent={"version": "3", "text": "We keep your marks."})
    address = arrive()
    client.post(f"{address}/consent", data={"agreed": "yes", "version": "3"})
    for position in (1, 2):
        assert client.put(f"{address}/items/{position}", json={"revision": 0, "status": "complete"}).status_code == 200
    client.post(f"{address}/presence")
    assert "DONE123" in client.post(f"{address}/submit").text
    stored = "\n".join(map(str, everything_stored(database)))
    assert PERSON["PROLIFIC_PID"] in stored, "what is stored was looked through"
    assert [kept for kept in (FROM, FORWARDED_FOR, "Netscape") if kept in stored] == []


def test_which_consent_was_shown_and_when_it_was_given_is_stored(
    client: FlaskClient, database: Database, open_study: Callable[..., None], arrive: Arrive
) -> None:
    open_study(consent={"version": "3", "text": "We keep your marks."})
    address = arrive()
    client.post(f"{address}/consent", data={"agreed": "yes", "version": "3"})
    with database.reading() as session:
        kept = session.scalars(select(Participation)).one()
        assert kept.consent_version == "3"
        assert kept.consented_at is not None
        assert kept.consented_at >= kept.created_at


def test_no_page_and_no_export_names_people_by_the_ids_of_their_platform(
    client: FlaskClient, database: Database, open_study: Callable[..., None], arrive: Arrive
) -> None:
    """Nor does anything else that is asked for with GET: the files about pay and the list of a pool are asked for with POST."""
    person = {"PROLIFIC_PID": "Pid-of-ann", "SESSION_ID": "Session-of-ann"}
    open_study()
    address = arrive(**person)
    for position in (1, 2):
        client.put(f"{address}/items/{position}", json={"revision": 0, "status": "complete"})
    assert "DONE123" in client.post(f"{address}/submit").text
    with database.transaction() as session:
        add_people(session, "careful", "prolific", ["Pid-of-ann", "Pid-of-bob"], NOW)
        pseudonym = session.scalars(select(Annotator.pseudonym).where(Annotator.external_id == "Pid-of-ann")).one()
        admin = StaffMember.of(add_user(session, "root@example.org", Role.ADMIN)[0])
    with client.session_transaction() as cookie:
        cookie["_user_id"] = admin.get_id()
    told = dict(every_answer(client.application, client))
    assert pseudonym in told["/admin/campaigns/study/export.csv"]
    assert pseudonym in told["/admin/pools/careful"]
    ids = ("Pid-of-ann", "Pid-of-bob", "Session-of-ann")
    assert [(path, kept) for path, text in told.items() for kept in ids if kept in text] == []


def every_answer(app: Flask, client: FlaskClient) -> Iterator[tuple[str, str]]:
    """Ask for everything that staff may ask for, once with each study and pool; yield address and answer."""
    adapter = app.url_map.bind("localhost")
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or set()) or not rule.rule.startswith("/admin"):
            continue
        for slug, extension in (("study", "jsonl"), ("study", "csv"), ("careful", "csv"), ("reports", "csv")):
            examples: dict[str, Any] = {"slug": slug, "extension": extension, "format_name": extension}
            path = adapter.build(rule.endpoint, {name: examples.get(name, 1) for name in rule.arguments})
            response = client.get(path)
            assert response.status_code < 500, path
            yield path, f"{response.headers}\n{as_text(response.get_data())}"
