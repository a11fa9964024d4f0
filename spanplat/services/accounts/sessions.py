"""Sessions of staff, as signed cookies with a user id, the user's epoch and a random key.

The database stores only the sessions that have ended. So a request writes nothing, and signing out also ends copies of the cookie. A
new epoch ends all sessions of a user.
"""

import secrets
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from spanplat.models import EndedSession, User

LONGEST_SESSION = timedelta(days=30)
"""Maximum time from signing in to the end of a session."""


class SessionName(NamedTuple):
    """Content of a session cookie."""

    user_id: int
    epoch: str
    key: str

    def __str__(self) -> str:
        return f"{self.user_id}:{self.epoch}:{self.key}"


def new_session_key() -> str:
    """Return a random key for a new session."""
    return secrets.token_urlsafe(12)


def read_session_name(text: str) -> SessionName | None:
    """Return the parts of a session's name, or None if the text is not a valid name."""
    user_id, _, rest = text.partition(":")
    epoch, _, key = rest.partition(":")
    return SessionName(int(user_id), epoch, key) if user_id.isdecimal() and epoch and key else None


def find_session_user(session: Session, name: SessionName) -> User | None:
    """Return the user of a session, or None if the session has ended."""
    # Closing an account starts a new epoch, so `deactivated_at` need not be tested here.
    ended = exists().where(EndedSession.key == name.key)
    return session.scalar(select(User).where(User.id == name.user_id, User.session_epoch == name.epoch, ~ended))


def end_session(session: Session, key: str) -> None:
    """End one session: its cookie and all copies of it are refused from now on."""
    now = datetime.now(UTC)
    # A cookie older than this is refused because of its age, so its row is no longer needed.
    session.execute(delete(EndedSession).where(EndedSession.ended_at < now - LONGEST_SESSION))
    if session.scalar(select(EndedSession.id).where(EndedSession.key == key)) is None:
        session.add(EndedSession(key=key, ended_at=now))
        session.flush()
