"""Notices about changes to an account, shown to its owner in spanplat; spanplat sends no mail."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.models import Event, User
from spanplat.services.accounts.audit import actor_names, log_event

SIGNED_IN = "user.signed_in"
TOLD = (
    SIGNED_IN,
    "user.password_changed",
    "user.password_reset",
    "user.role_changed",
    "user.signed_out_everywhere",
    "user.deactivated",
    "user.reactivated",
    "user.second_factor_on",
    "user.second_factor_off",
    "user.second_factor_reset",
    "user.recovery_codes_renewed",
    "user.recovery_code_used",
    "token.made",
    "token.revoked",
)
"""Verbs of the audit log about which the owner of an account gets a notice."""


class Notice(NamedTuple):
    """Notice of one change to an account."""

    id: int
    at: datetime
    verb: str
    actor_name: str
    """Email address of the person who made the change, or ``cli`` for the command line on the server."""


def note_sign_in(session: Session, user: User) -> tuple[int, int]:
    """Log a sign-in; return the log ids of the sign-in before (0 if there was none) and of this one."""
    newest = (
        select(Event.id).where(Event.verb == SIGNED_IN, Event.subject == user.email).order_by(Event.id.desc()).limit(1)
    )
    # Read before the new line is added; afterwards the same query finds the new one.
    before = session.scalar(newest)
    log_event(session, SIGNED_IN, user.email)
    session.flush()
    return before or 0, session.scalars(newest).one()


def list_notices(session: Session, email: str, *, after: int = 0, but: int = 0, limit: int = 20) -> list[Notice]:
    """Return the notices of an account, newest first.

    Parameters
    ----------
    session
        A session that may read.
    email
        Address of the account.
    after
        Log id; only later lines are returned.
    but
        Log id of a line to leave out.
    limit
        Maximum number of notices.
    """
    told = Event.subject == email, Event.verb.in_(TOLD), Event.id > after, Event.id != but
    events = list(session.scalars(select(Event).where(*told).order_by(Event.id.desc()).limit(limit)))
    names = actor_names(session, [event.actor for event in events])
    return [Notice(event.id, event.at, event.verb, names.get(event.actor, event.actor)) for event in events]
