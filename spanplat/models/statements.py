"""SQL statements that work on both databases."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from sqlalchemy import ColumnElement, CursorResult, Executable, Insert, Result, Table, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from spanplat.models.base import Base

Row = TypeVar("Row", bound=Base)


def insert_absent(session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose unique keys do not exist. Ignore the other rows."""
    if not rows:
        return
    session.execute(_inserting_absent(table, session.get_bind().dialect.name), [dict(row) for row in rows])


def insert_absent_ids(session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]]) -> set[int]:
    """Insert rows like `insert_absent`, and return the ids of the rows that were inserted."""
    if not rows:
        return set()
    inserting = _inserting_absent(table, session.get_bind().dialect.name)
    identifier = cast("Table", table.__table__).c.id
    return set(session.scalars(inserting.returning(identifier), [dict(row) for row in rows]))


def add_absent(session: Session, table: type[Row], row: Mapping[str, Any]) -> Row | None:
    """Insert a row and return it. If its unique keys exist, change nothing and return None."""
    added: Row | None = session.scalar(_adding_absent(table, session.get_bind().dialect.name), dict(row))
    return added


# SQLAlchemy has ON CONFLICT only in the classes of the dialects.
@cache
def _inserting_absent(table: type[Base], dialect: str) -> Insert:
    insert_here = sqlite.insert if dialect == "sqlite" else postgresql.insert
    return insert_here(table).on_conflict_do_nothing()


@cache
def _adding_absent(table: type[Base], dialect: str) -> Executable:
    return _inserting_absent(table, dialect).returning(table)


def insert_rows(session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert many rows of one table without the ORM, which for thousands of rows would block other writers for a second."""
    if rows:
        session.connection().execute(insert(cast("Table", table.__table__)), [dict(row) for row in rows])


def insert_in_order(
    session: Session, table: type[Base], rows: Sequence[Mapping[str, Any]], own: ColumnElement[bool]
) -> list[int]:
    """Insert many rows like `insert_rows`, and return their ids in the order of the rows. ``own`` is a condition for all rows."""
    if not rows:
        return []
    insert_rows(session, table, rows)
    identifier = cast("Table", table.__table__).c.id
    # Ids ascend in the order of the rows, and only one process at a time adds rows with this condition.
    newest = session.scalars(select(identifier).where(own).order_by(identifier.desc()).limit(len(rows)))
    return list(newest)[::-1]


def rows_changed(result: Result[Any]) -> int:
    """Return the number of rows that an UPDATE or DELETE changed."""
    if not isinstance(result, CursorResult):
        raise TypeError("only an UPDATE or DELETE changes rows")
    return result.rowcount
