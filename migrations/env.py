"""Alembic's entry point; the connection comes from `spanplat.db.schema`, which configures Alembic in code."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import JSON, DateTime

from spanplat.models import Base
from spanplat.models.base import UtcDateTime


def render_item(kind: str, column: Any, _context: Any) -> str | Literal[False]:
    """Write our column types in plain SQLAlchemy, so that migrations never import models."""
    if kind == "type" and isinstance(column, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(column, JSON):
        return "sa.JSON()"
    return False


def compare_type(
    _context: Any, _inspected: Any, _metadata: Any, inspected_type: Any, metadata_type: Any
) -> bool | None:
    """Take our types for what they are in the database."""
    if isinstance(metadata_type, UtcDateTime):
        return not isinstance(inspected_type, DateTime)
    if isinstance(metadata_type, JSON):
        return not isinstance(inspected_type, JSON)
    return None


def is_ours(_object: Any, name: str | None, kind: str, _reflected: bool, _compared: Any) -> bool:
    """Leave the indexes for searching texts out of comparisons: not every server can have them."""
    name = name or ""
    if kind == "table":
        return not name.startswith(("output_search", "example_search"))
    return not (kind == "index" and name.endswith("_trgm"))


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    render_item=render_item,
    compare_type=compare_type,
    include_object=is_ours,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
