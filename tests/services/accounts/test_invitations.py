"""Invitations to staff accounts by link."""

import base64
from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from spanplat.db import Database
from spanplat.errors import Conflict, Gone, InvalidInput, NotFound
from spanplat.models import Invitation, Role
from spanplat.services.accounts.invitations import (
    accept_invitation,
    find_invitation,
    invite,
    open_invitations,
    revoke_invitation,
)
from spanplat.services.accounts.users import add_user, authenticate

PASSWORD = "correct horse battery"


def test_who_accepts_chooses_a_password_and_has_the_role(database: Database) -> None:
    with database.transaction() as session:
        _invitation, token = invite(session, "Ada@example.org", Role.RESEARCHER)
    with database.transaction() as session:
        accept_invitation(session, token, PASSWORD)
    with database.reading() as session:
        user = authenticate(session, "ada@example.org", PASSWORD)
        assert user is not None
        assert user.role == Role.RESEARCHER
        assert open_invitations(session) == []
        with pytest.raises(Gone, match="has been accepted"):
            find_invitation(session, token)


def test_the_token_is_random_and_not_stored(database: Database) -> None:
    with database.transaction() as session:
        invitation, token = invite(session, "ada@example.org", "viewer")
        _other, another = invite(session, "bob@example.org", "viewer")
    assert token not in invitation.token_sha256
    assert token not in str(invitation.__dict__)
    assert {len(base64.urlsafe_b64decode(each)) * 8 for each in (token, another)} == {192}
    assert token != another


def test_a_short_password_leaves_the_invitation_open(database: Database) -> None:
    with database.transaction() as session:
        _invitation, token = invite(session, "ada@example.org", "viewer")
    with pytest.raises(InvalidInput, match="at least 12"), database.transaction() as session:
        accept_invitation(session, token, "short")
    with database.reading() as session:
        assert find_invitation(session, token).email == "ada@example.org"


def test_inviting_again_ends_the_first_link(database: Database) -> None:
    with database.transaction() as session:
        _first, old = invite(session, "ada@example.org", "viewer")
        _second, new = invite(session, "ada@example.org", "admin")
    with database.reading() as session:
        assert find_invitation(session, new).role == Role.ADMIN
        with pytest.raises(Gone, match="was withdrawn"):
            find_invitation(session, old)


def test_a_withdrawn_an_old_and_an_invented_link_say_what_they_are(database: Database) -> None:
    with database.transaction() as session:
        invitation, withdrawn = invite(session, "ada@example.org", "viewer")
        revoke_invitation(session, invitation.id)
        late, old = invite(session, "bob@example.org", "viewer")
        session.execute(update(Invitation).where(Invitation.id == late.id).values(expires_at=datetime.now(UTC)))
    with database.reading() as session:
        with pytest.raises(Gone, match="was withdrawn"):
            find_invitation(session, withdrawn)
        with pytest.raises(Gone, match="valid for 7 days"):
            find_invitation(session, old)
        with pytest.raises(NotFound, match="link is complete"):
            find_invitation(session, "invented")


def test_nobody_is_invited_twice_to_one_account(database: Database) -> None:
    with database.transaction() as session:
        add_user(session, "ada@example.org", "viewer")
        with pytest.raises(Conflict, match="has an account already"):
            invite(session, "ADA@example.org", "admin")
