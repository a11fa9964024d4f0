"""Statements that both databases understand, and what they did."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import CursorResult, Result
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from spanplat.models.base import Base


def insert_absent(session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose unique keys are not taken; leave the others as they are."""
    if not rows:
        return
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    session.execute(insert(table).on_conflict_do_nothing(), [dict(row) for row in rows])


def rows_changed(result: Result[Any]) -> int:
    """Return how many rows an UPDATE or DELETE changed."""
    if not isinstance(result, CursorResult):
        raise TypeError("only an UPDATE or DELETE changes rows")
    return result.rowcount
