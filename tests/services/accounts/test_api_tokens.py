"""Personal tokens for scripts."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotFound
from spanplat.models import ApiToken, Scope, User
from spanplat.services.accounts.api_tokens import (
    create_token,
    find_token,
    is_use_worth_noting,
    list_tokens,
    note_use,
    revoke_token,
)
from spanplat.services.accounts.users import add_user, deactivate


@pytest.fixture
def ada(database: Database) -> User:
    with database.transaction() as session:
        add_user(session, "root@example.org", "admin")
        return add_user(session, "ada@example.org", "researcher")[0]


def test_a_token_names_its_owner_and_is_stored_as_a_digest(database: Database, ada: User) -> None:
    with database.transaction() as session:
        token, secret = create_token(session, ada, " notebook ", "read")
    assert secret.startswith("spanplat_")
    assert secret not in str(token.__dict__)
    with database.reading() as session:
        found = find_token(session, secret)
        assert found is not None
        assert (found.user.email, found.name, found.scope) == ("ada@example.org", "notebook", Scope.READ)
        assert find_token(session, secret + "x") is None
        assert find_token(session, "") is None


def test_a_revoked_token_ends_and_only_its_owner_revokes_it(database: Database, ada: User) -> None:
    with database.transaction() as session:
        token, secret = create_token(session, ada, "notebook", "write")
        with pytest.raises(NotFound, match="you have no token"):
            revoke_token(session, ada.id + 1, token.id)
        revoke_token(session, ada.id, token.id)
        revoke_token(session, ada.id, token.id)
    with database.reading() as session:
        assert find_token(session, secret) is None
        assert list_tokens(session, ada.id) == []


def test_a_closed_account_takes_its_tokens_along(database: Database, ada: User) -> None:
    with database.transaction() as session:
        _token, secret = create_token(session, ada, "notebook", "write")
        deactivate(session, ada.id)
    with database.reading() as session:
        assert find_token(session, secret) is None


@pytest.mark.parametrize(("name", "scope"), [("", "read"), ("x" * 101, "read"), ("notebook", "everything")])
def test_a_token_without_a_purpose_or_of_unknown_scope_is_refused(
    database: Database, ada: User, name: str, scope: str
) -> None:
    with database.transaction() as session, pytest.raises(InvalidInput):
        create_token(session, ada, name, scope)


def test_the_last_use_is_noted_now_and_then(database: Database, ada: User) -> None:
    with database.transaction() as session:
        token, _secret = create_token(session, ada, "notebook", "read")
        assert is_use_worth_noting(token)
        note_use(session, token.id)
        session.refresh(token)
        assert not is_use_worth_noting(token)
        long_ago = datetime.now(UTC) - timedelta(hours=1)
        session.execute(update(ApiToken).where(ApiToken.id == token.id).values(last_used_at=long_ago))
        session.refresh(token)
        assert is_use_worth_noting(token)
