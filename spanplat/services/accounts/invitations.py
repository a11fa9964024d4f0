"""Invitations to staff accounts by a link with a random token, valid for one week and for one account."""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, Gone, NotFound
from spanplat.models import Invitation, Role, User
from spanplat.services.accounts.audit import log_event
from spanplat.services.accounts.users import add_user_with_password, find_user_by_address, require_address, require_role

VALID_FOR = timedelta(days=7)


def invite(session: Session, email: str, role: Role | str) -> tuple[Invitation, str]:
    """Create an invitation; an earlier open invitation to the same address is revoked.

    Parameters
    ----------
    session
        A session that may write.
    email
        Address of the new account.
    role
        Role of the new account.

    Returns
    -------
    Invitation
        The stored invitation.
    str
        The token for the link; only its digest is stored, so it can be shown only now.

    Raises
    ------
    InvalidInput
        If the address or the role is not valid.
    Conflict
        If there is already an account with this address.
    """
    address, role = require_address(email), require_role(role)
    if find_user_by_address(session, address) is not None:
        raise Conflict(f"{address} has an account already; change its role instead")
    now = datetime.now(UTC)
    # The older link may name another role, and must not create the account with it.
    session.execute(update(Invitation).where(Invitation.email == address, *_open(now)).values(revoked_at=now))
    token = secrets.token_urlsafe(24)
    invitation = Invitation(email=address, role=role, token_sha256=_digest(token), expires_at=now + VALID_FOR)
    session.add(invitation)
    session.flush()
    log_event(session, "invitation.made", address, role=role)
    return invitation, token


def open_invitations(session: Session) -> list[Invitation]:
    """Return the invitations that can still be accepted, newest first."""
    return list(session.scalars(select(Invitation).where(*_open(datetime.now(UTC))).order_by(Invitation.id.desc())))


def revoke_invitation(session: Session, invitation_id: int) -> Invitation:
    """Revoke an invitation; one that was accepted or revoked stays as it is.

    Raises
    ------
    NotFound
        If there is no such invitation.
    """
    invitation = session.get(Invitation, invitation_id)
    if invitation is None:
        raise NotFound(f"there is no invitation number {invitation_id}")
    if invitation.accepted_at is None and invitation.revoked_at is None:
        invitation.revoked_at = datetime.now(UTC)
        log_event(session, "invitation.revoked", invitation.email)
        session.flush()
    return invitation


def find_invitation(session: Session, token: str) -> Invitation:
    """Return the open invitation of a token.

    Raises
    ------
    NotFound
        If no invitation has this token.
    Gone
        If it was accepted or revoked, or has expired; the message says which.
    """
    invitation = session.scalar(select(Invitation).where(Invitation.token_sha256 == _digest(token)))
    if invitation is None:
        raise NotFound("there is no such invitation; check that the link is complete")
    if invitation.accepted_at is not None:
        raise Gone("this invitation has been accepted; sign in with the password chosen then")
    if invitation.revoked_at is not None:
        raise Gone("this invitation was withdrawn; ask the person who sent it for a new one")
    if invitation.expires_at <= datetime.now(UTC):
        raise Gone(f"this invitation was valid for {VALID_FOR.days} days; ask the person who sent it for a new one")
    return invitation


def accept_invitation(session: Session, token: str, password: str) -> User:
    """Create the account of an invitation, with the password that its owner chose.

    Raises
    ------
    NotFound, Gone
        As `find_invitation` does.
    InvalidInput
        If the password is too short, too long or easy to guess.
    Conflict
        If the invitation was accepted in the meantime, or there is already such an account.
    """
    invitation = find_invitation(session, token)
    user = add_user_with_password(session, invitation.email, invitation.role, password)
    now = datetime.now(UTC)
    # Tested again in the UPDATE: the invitation may have been used or revoked since it was read. The error rolls back the new account.
    taken = session.execute(
        update(Invitation).where(Invitation.id == invitation.id, *_open(now)).values(accepted_at=now)
    )
    if taken.rowcount != 1:  # type: ignore[attr-defined]
        raise Conflict("this invitation has just been used or withdrawn; reload the page")
    log_event(session, "invitation.accepted", invitation.email)
    return user


def _open(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return Invitation.accepted_at.is_(None), Invitation.revoked_at.is_(None), Invitation.expires_at > now


def _digest(token: str) -> str:
    # Only the digest is stored, so that a copy of the database contains no usable links.
    return hashlib.sha256(token.encode()).hexdigest()
