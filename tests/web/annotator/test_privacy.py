"""What is kept of a person: what they agreed to and when, their work, the ids their platform sent, and no address of a machine."""

from collections.abc import Callable
from typing import Any

from flask.testing import FlaskClient
from sqlalchemy import MetaData, select

from spanplat.db import Database
from spanplat.models import Participation
from tests.web.annotator.conftest import PERSON

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
