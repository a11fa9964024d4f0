"""Sessions of staff. A session is a signed cookie that names its user, their epoch and a random key; the database knows which ended.

So a request writes nothing, signing out ends one session wherever its cookie was copied to, and a new epoch ends all of a user.
"""

import secrets
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from spanplat.models import EndedSession, User

LONGEST_SESSION = timedelta(days=30)
"""From signing in."""


class SessionName(NamedTuple):
    """What a session's cookie says."""

    user_id: int
    epoch: str
    key: str

    def __str__(self) -> str:
        return f"{self.user_id}:{self.epoch}:{self.key}"


def new_session_key() -> str:
    """Return a key for a session that begins."""
    return secrets.token_urlsafe(12)


def read_session_name(text: str) -> SessionName | None:
    """Return the parts of a session's name, or None if it is none."""
    user_id, _, rest = text.partition(":")
    epoch, _, key = rest.partition(":")
    return SessionName(int(user_id), epoch, key) if user_id.isdecimal() and epoch and key else None


def find_session_user(session: Session, name: SessionName) -> User | None:
    """Return the user of a session that goes on, or None if it ended."""
    ended = exists().where(EndedSession.key == name.key)
    return session.scalar(select(User).where(User.id == name.user_id, User.session_epoch == name.epoch, ~ended))


def end_session(session: Session, key: str) -> None:
    """End one session: its cookie is refused from now on, wherever there are copies of it."""
    now = datetime.now(UTC)
    session.execute(delete(EndedSession).where(EndedSession.ended_at < now - LONGEST_SESSION))
    if session.scalar(select(EndedSession.id).where(EndedSession.key == key)) is None:
        session.add(EndedSession(key=key, ended_at=now))
        session.flush()
