"""Declarative base, names of constraints, and column types that several tables share."""

from datetime import UTC, datetime
from typing import Annotated, Any

from sqlalchemy import JSON, DateTime, Dialect, MetaData, String, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, mapped_column

# SQLite gives constraints no names, and Alembic needs a name to change a constraint.
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(TypeDecorator[datetime]):
    """Date and time in UTC. SQLite does not store the time zone, so it is added when a value is read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC. Reject values without a time zone."""
        del dialect
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs its time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the date and time in UTC."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# Not JSONB, which loses the order of keys: sources and definitions are shown and hashed in their original order.
Json = JSON(none_as_null=True)

Id = Annotated[int, mapped_column(primary_key=True)]
Sha256 = Annotated[str, mapped_column(String(64))]
Moment = Annotated[datetime, mapped_column(UtcDateTime())]
Now = Annotated[datetime, mapped_column(UtcDateTime(), default=lambda: datetime.now(UTC))]


class Base(DeclarativeBase):
    """Base class of all tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {dict[str, Any]: Json, list[Any]: Json, Any: Json, datetime: UtcDateTime()}  # noqa: RUF012
