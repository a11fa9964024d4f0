"""Audit log: all changes with their actor and time. Lines are only added; the database refuses to change or delete them.

Services name the change. The actor is in ``session.info``, where the entry point (web, command line, worker) has put it.
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
    """One line of the log, with the name of the actor for display."""

    id: int
    at: datetime
    actor: str
    """Actor as stored, for instance ``user:3``."""
    actor_name: str
    """Email address of a user; the stored actor in all other cases."""
    verb: str
    subject: str
    detail: dict[str, Any]


def log_event(session: Session, verb: str, subject: str, **detail: Any) -> None:
    """Add a line to the log, in the same transaction as the change.

    Parameters
    ----------
    session
        The session that makes the change.
    verb
        The change, as ``thing.done``, for instance ``campaign.opened``.
    subject
        Slug, address or name of the thing that was changed. Never a secret.
    **detail
        Further JSON values about the change.
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
        Only lines older than the one with this id, for paging.
    limit
        Maximum number of lines.
    """
    wanted = select(Event).order_by(Event.id.desc()).limit(limit)
    if actor:
        wanted = wanted.where(Event.actor == actor)
    if subject:
        wanted = wanted.where(Event.subject == subject)
    if thing:
        wanted = wanted.where(Event.verb.startswith(f"{thing}.", autoescape=True))
    if before is not None:
        # By id and not by offset: lines added meanwhile must not shift the pages.
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
    """Return the email addresses of the actors that are users, by actor."""
    ids = {int(actor.removeprefix("user:")) for actor in actors if actor.startswith("user:")}
    users = session.execute(select(User.id, User.email).where(User.id.in_(ids))) if ids else ()
    return {f"user:{user_id}": email for user_id, email in users}
