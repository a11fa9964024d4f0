"""The audit log."""

import pytest
from sqlalchemy import delete, text, update
from sqlalchemy.exc import DatabaseError

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.models import Event
from spanplat.services.accounts.audit import list_events, log_event
from spanplat.services.accounts.users import add_user, change_role


def test_a_line_says_who_did_what_to_whom(database: Database) -> None:
    with database.transaction() as session:
        root, _password = add_user(session, "root@example.org", "admin")
        ada, _password = add_user(session, "ada@example.org", "viewer")
    with database.transaction() as session:
        session.info["actor"] = f"user:{root.id}"
        change_role(session, ada.id, "researcher")
    with database.reading() as session:
        line = list_events(session)[0]
    assert (line.actor_name, line.verb, line.subject) == ("root@example.org", "user.role_changed", "ada@example.org")
    assert line.detail == {"before": "viewer", "after": "researcher"}


def test_what_was_rolled_back_leaves_no_line(database: Database) -> None:
    def fail() -> None:
        with database.transaction() as session:
            log_event(session, "campaign.opened", "hotels")
            add_user(session, "ada@example.org", "root")

    with pytest.raises(InvalidInput, match="there is no role"):
        fail()
    with database.reading() as session:
        assert list_events(session) == []


@pytest.mark.parametrize("change", [update(Event).values(actor="nobody"), delete(Event)])
def test_the_database_refuses_to_change_or_delete_lines(database: Database, change: object) -> None:
    with database.transaction() as session:
        log_event(session, "campaign.opened", "hotels")
    with pytest.raises(DatabaseError, match="only added to"), database.transaction() as session:
        session.execute(change)  # type: ignore[call-overload]
    with database.reading() as session:
        assert [line.actor for line in list_events(session)] == ["somebody"]


def test_postgresql_refuses_to_empty_the_log_too(postgresql_url: str) -> None:
    database = Database(postgresql_url)
    with database.transaction() as session:
        log_event(session, "campaign.opened", "hotels")
    with pytest.raises(DatabaseError, match="only added to"), database.transaction() as session:
        session.execute(text("TRUNCATE event"))
    with database.reading() as session:
        assert len(list_events(session)) == 1
    database.dispose()


def test_the_log_is_filtered_and_paged(database: Database) -> None:
    with database.transaction() as session:
        for number in range(3):
            log_event(session, "campaign.opened", f"c{number}")
        log_event(session, "user.added", "ada@example.org")
    with database.reading() as session:
        assert [line.subject for line in list_events(session, thing="campaign", limit=2)] == ["c2", "c1"]
        assert [line.verb for line in list_events(session, subject="ada@example.org")] == ["user.added"]
        oldest = list_events(session, limit=3)[-1]
        assert [line.subject for line in list_events(session, before=oldest.id)] == ["c0"]
        assert list_events(session, actor="cli") == []
