"""Staff accounts."""

import pytest

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Role, User
from spanplat.services.users import add_user, authenticate, reset_password


def test_a_new_user_signs_in_with_the_generated_password(database: Database) -> None:
    with database.transaction() as session:
        user, password = add_user(session, " Ada@Example.org ", "researcher")
    with database.reading() as session:
        found = authenticate(session, "ada@example.ORG", password)
        assert found is not None
        assert (found.id, found.email, found.role) == (user.id, "ada@example.org", Role.RESEARCHER)
        assert authenticate(session, "ada@example.org", password + "x") is None
        assert authenticate(session, "bob@example.org", password) is None


def test_the_password_is_not_stored(database: Database) -> None:
    with database.transaction() as session:
        user, password = add_user(session, "ada@example.org", Role.ADMIN)
    assert user.password_hash.startswith("$argon2id$")
    assert password not in user.password_hash


def test_two_users_cannot_share_an_address(database: Database) -> None:
    with database.transaction() as session:
        add_user(session, "ada@example.org", Role.ADMIN)
        with pytest.raises(Conflict, match=r"there is a user ada@example\.org already"):
            add_user(session, "ADA@example.org", Role.VIEWER)


@pytest.mark.parametrize("email", ["ada", "ada@", "@example.org", "a b@example.org", ""])
def test_what_is_not_an_address_is_refused(database: Database, email: str) -> None:
    with database.transaction() as session, pytest.raises(InvalidInput, match="not an email address"):
        add_user(session, email, Role.VIEWER)


def test_an_unknown_role_is_answered_with_those_there_are(database: Database) -> None:
    with database.transaction() as session, pytest.raises(InvalidInput, match="viewer, researcher, admin"):
        add_user(session, "ada@example.org", "root")


def test_a_new_password_replaces_the_old_one_and_ends_every_session(database: Database) -> None:
    with database.transaction() as session:
        user, old = add_user(session, "ada@example.org", Role.VIEWER)
        epoch = user.session_epoch
        new = reset_password(session, "ada@example.org")
    with database.reading() as session:
        assert authenticate(session, "ada@example.org", old) is None
        assert authenticate(session, "ada@example.org", new) is not None
        stored = session.get(User, user.id)
        assert stored is not None
        assert stored.session_epoch != epoch


def test_nobody_gets_a_password_who_is_no_user(database: Database) -> None:
    with database.transaction() as session, pytest.raises(NotFound, match="no user nobody@example"):
        reset_password(session, "nobody@example.org")
