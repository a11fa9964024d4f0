"""Lookup of studies and generations by name."""

from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, NotFound
from spanplat.models import Generation, Study

Named = TypeVar("Named", Study, Generation)

_LISTED = 20
_WORDS = {Study: ("study", "studies"), Generation: ("generation", "generations")}


def find_named(session: Session, table: type[Named], slug: str) -> Named:
    """Return the study or generation of this name.

    Raises
    ------
    NotFound
        If there is none. The message lists the existing ones.
    """
    found = session.scalar(select(table).where(table.slug == slug))
    if found is None:
        one, many = _WORDS[table]
        known = ", ".join(session.scalars(select(table.slug).order_by(table.slug).limit(_LISTED))) or "none yet"
        raise NotFound(f"there is no {one} {slug!r} ({many}: {known})")
    return found


def list_named(session: Session, table: type[Named]) -> list[Named]:
    """Return all studies or all generations, newest first."""
    return list(session.scalars(select(table).order_by(table.id.desc())))


def require_free_name(session: Session, table: type[Named], slug: str) -> None:
    """Check that a name is free.

    Raises
    ------
    Conflict
        If it is taken.
    """
    if session.scalar(select(table.id).where(table.slug == slug)) is not None:
        one, _ = _WORDS[table]
        raise Conflict(f"there is a {one} {slug!r} already; choose another slug, or run that one")
