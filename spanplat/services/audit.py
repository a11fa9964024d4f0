"""The audit log: what was changed, by whom, when. Lines are only ever added; the database refuses everything else.

Services say what happened; who did it stands in the session, where the entry point (web, command line, worker) put it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.models import Event, User


@dataclass(frozen=True)
class AuditLine:
    """One line of the log, with the actor's name as people know it."""

    id: int
    at: datetime
    actor: str
    """As stored, for instance ``user:3``."""
    actor_name: str
    """Email address of a user; the stored actor for anybody else."""
    verb: str
    subject: str
    detail: dict[str, Any]


def log_event(session: Session, verb: str, subject: str, **detail: Any) -> None:
    """Add a line to the log, in the transaction of what it tells about.

    Parameters
    ----------
    session
        The session that makes the change.
    verb
        What was done, as ``thing.done``, for instance ``campaign.opened``.
    subject
        To what: a slug, an address, a name. Never a secret.
    **detail
        What else is worth knowing; JSON values.
    """
    session.add(Event(actor=session.info.get("actor", "somebody"), verb=verb, subject=subject, detail=detail or None))


def list_events(
    session: Session,
    *,
    actor: str | None = None,
    subject: str | None = None,
    thing: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[AuditLine]:
    """Return lines of the log, newest first.

    Parameters
    ----------
    session
        A session that may read.
    actor, subject
        Only lines with exactly this actor or subject.
    thing
        Only lines about this kind of thing, the part of the verb before the dot.
    before
        Only lines older than the one with this id, to page on.
    limit
        At most so many.
    """
    wanted = select(Event).order_by(Event.id.desc()).limit(limit)
    if actor:
        wanted = wanted.where(Event.actor == actor)
    if subject:
        wanted = wanted.where(Event.subject == subject)
    if thing:
        wanted = wanted.where(Event.verb.startswith(f"{thing}.", autoescape=True))
    if before is not None:
        wanted = wanted.where(Event.id < before)
    events = list(session.scalars(wanted))
    names = actor_names(session, [event.actor for event in events])
    return [
        AuditLine(
            event.id,
            event.at,
            event.actor,
            names.get(event.actor, event.actor),
            event.verb,
            event.subject,
            event.detail or {},
        )
        for event in events
    ]


def actor_names(session: Session, actors: Sequence[str]) -> dict[str, str]:
    """Return the email addresses of those actors that are users."""
    ids = {int(actor.removeprefix("user:")) for actor in actors if actor.startswith("user:")}
    users = session.execute(select(User.id, User.email).where(User.id.in_(ids))) if ids else ()
    return {f"user:{user_id}": email for user_id, email in users}
