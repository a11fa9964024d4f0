"""Personal tokens with which scripts act for a user; a token can do no more than its owner, and less if it may only read."""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput, NotFound
from spanplat.models import ApiToken, Scope, User
from spanplat.services.audit import log_event

PREFIX = "spanplat_"
"""So that people and secret scanners know what they have found."""

USE_NOTED_EVERY = timedelta(minutes=5)


def create_token(session: Session, user: User, name: str, scope: Scope | str) -> tuple[ApiToken, str]:
    """Make a token.

    Parameters
    ----------
    session
        A session that may write.
    user
        Its owner.
    name
        What it is for, so that its owner knows it again.
    scope
        ``read`` or ``write``.

    Returns
    -------
    ApiToken
        The stored token.
    str
        The token itself; only its digest is stored, so this is the one chance to show it.

    Raises
    ------
    InvalidInput
        If the name is empty or longer than 100 characters, or there is no such scope.
    """
    label = name.strip()
    if not label or len(label) > 100:
        raise InvalidInput("a token needs a name of 1 to 100 characters that says what it is for")
    try:
        scope = Scope(scope)
    except ValueError as error:
        raise InvalidInput(f"there is no scope {scope!r}; choose one of {', '.join(Scope)}") from error
    secret = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken(user_id=user.id, name=label, scope=scope, hash=_digest(secret))
    session.add(token)
    session.flush()
    log_event(session, "token.made", user.email, name=label, scope=scope)
    return token, secret


def list_tokens(session: Session, user_id: int) -> list[ApiToken]:
    """Return a user's tokens that still work, newest first."""
    own = select(ApiToken).where(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
    return list(session.scalars(own.order_by(ApiToken.id.desc())))


def revoke_token(session: Session, user_id: int, token_id: int) -> None:
    """End a token of a user; ending it again changes nothing.

    Raises
    ------
    NotFound
        If the user has no such token.
    """
    token = session.get(ApiToken, token_id)
    if token is None or token.user_id != user_id:
        raise NotFound(f"you have no token number {token_id}")
    if token.revoked_at is None:
        token.revoked_at = datetime.now(UTC)
        log_event(session, "token.revoked", token.user.email, name=token.name)
        session.flush()


def find_token(session: Session, secret: str) -> ApiToken | None:
    """Return the token a script shows, unless it was revoked or its owner's account is closed."""
    if not secret.startswith(PREFIX):
        return None
    working = ApiToken.revoked_at.is_(None), User.deactivated_at.is_(None)
    return session.scalar(select(ApiToken).join(ApiToken.user).where(ApiToken.hash == _digest(secret), *working))


def is_use_worth_noting(token: ApiToken) -> bool:
    """Tell whether the stored time of last use is old enough to be written anew; not every request needs a write."""
    return token.last_used_at is None or datetime.now(UTC) - token.last_used_at > USE_NOTED_EVERY


def note_use(session: Session, token_id: int) -> None:
    """Store that a token was used now."""
    session.execute(update(ApiToken).where(ApiToken.id == token_id).values(last_used_at=datetime.now(UTC)))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
