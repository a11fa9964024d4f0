"""Personal tokens for scripts that act for a user; a token has the rights of its owner, or fewer if it may only read."""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput, NotFound
from spanplat.models import ApiToken, Scope, User
from spanplat.services.accounts.audit import log_event

PREFIX = "spanplat_"
"""Beginning of every token, so that people and secret scanners recognise it."""

USE_NOTED_EVERY = timedelta(minutes=5)


def create_token(session: Session, user: User, name: str, scope: Scope | str) -> tuple[ApiToken, str]:
    """Create a token.

    Parameters
    ----------
    session
        A session that may write.
    user
        Owner of the token.
    name
        Purpose of the token, so that its owner recognises it.
    scope
        ``read`` or ``write``.

    Returns
    -------
    ApiToken
        The stored token.
    str
        The token itself; only its digest is stored, so it can be shown only now.

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
    """Return the tokens of a user that were not revoked, newest first."""
    own = select(ApiToken).where(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
    return list(session.scalars(own.order_by(ApiToken.id.desc())))


def revoke_token(session: Session, user_id: int, token_id: int) -> None:
    """Revoke a token of a user; revoking it again changes nothing.

    Raises
    ------
    NotFound
        If the user has no such token.
    """
    token = session.get(ApiToken, token_id)
    # The same answer for tokens of others, so that ids reveal nothing.
    if token is None or token.user_id != user_id:
        raise NotFound(f"you have no token number {token_id}")
    if token.revoked_at is None:
        token.revoked_at = datetime.now(UTC)
        log_event(session, "token.revoked", token.user.email, name=token.name)
        session.flush()


def find_token(session: Session, secret: str) -> ApiToken | None:
    """Return the token of a secret, or None if it was revoked or its owner's account is closed."""
    if not secret.startswith(PREFIX):
        return None
    working = ApiToken.revoked_at.is_(None), User.deactivated_at.is_(None)
    return session.scalar(select(ApiToken).join(ApiToken.user).where(ApiToken.hash == _digest(secret), *working))


def is_use_worth_noting(token: ApiToken) -> bool:
    """Return whether the stored time of last use is old enough to be updated, so that not every request writes."""
    return token.last_used_at is None or datetime.now(UTC) - token.last_used_at > USE_NOTED_EVERY


def note_use(session: Session, token_id: int) -> None:
    """Store that a token was used now."""
    session.execute(update(ApiToken).where(ApiToken.id == token_id).values(last_used_at=datetime.now(UTC)))


def _digest(secret: str) -> str:
    # No slow hash and no salt, as for passwords: nobody can guess 32 random bytes, and the lookup needs a fixed digest.
    return hashlib.sha256(secret.encode()).hexdigest()
