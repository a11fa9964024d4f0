"""Search in texts and sources through an index of their trigrams, so that parts of words and scripts without spaces are found too.

SQLite gets two FTS5 tables that hold no text themselves; triggers on ``output`` and ``example`` keep them. A migration that rebuilds
one of these tables drops its triggers and has to make them again. PostgreSQL gets indexes of the extension pg_trgm. Where a server
has not got the extension, or does not let us have it, searching looks at every text instead, which is slower and finds the same.
"""

import logging
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

LOG = logging.getLogger("spanplat.migrations")
CHUNK = 500
EXAMPLE = sa.table(
    "example", sa.column("id", sa.Integer), sa.column("source", sa.JSON), sa.column("source_plain", sa.String)
)
SEARCHED = (("output", "text"), ("example", "source_plain"))


def upgrade() -> None:
    op.add_column("example", sa.Column("source_plain", sa.String(), server_default="", nullable=False))
    _fill()
    if op.get_bind().dialect.name == "sqlite":
        _index_sqlite()
    elif _has_trigrams():
        for table, column in SEARCHED:
            op.execute(f"CREATE INDEX ix_{table}_{column}_trgm ON {table} USING gin ({column} gin_trgm_ops)")


def downgrade() -> None:
    for table, column in SEARCHED:
        if op.get_bind().dialect.name == "sqlite":
            for act in ("insert", "delete", "update"):
                op.execute(f"DROP TRIGGER IF EXISTS {table}_search_{act}")
            op.execute(f"DROP TABLE IF EXISTS {table}_search")
        else:
            op.execute(f"DROP INDEX IF EXISTS ix_{table}_{column}_trgm")
    op.drop_column("example", "source_plain")


def _fill() -> None:
    connection = op.get_bind()
    last = 0
    while True:
        page = sa.select(EXAMPLE.c.id, EXAMPLE.c.source).where(EXAMPLE.c.id > last).order_by(EXAMPLE.c.id).limit(CHUNK)
        rows = connection.execute(page).all()
        if not rows:
            return
        connection.execute(
            sa.update(EXAMPLE).where(EXAMPLE.c.id == sa.bindparam("row")).values(source_plain=sa.bindparam("plain")),
            [{"row": identifier, "plain": _storable("\n".join(_leaves(source)))} for identifier, source in rows],
        )
        last = rows[-1][0]


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [leaf for one in inner for leaf in _leaves(one)]
    if isinstance(value, str):
        return [value]
    return [str(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _storable(text: str) -> str:
    return text.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8")


def _index_sqlite() -> None:
    connection = op.get_bind()
    try:
        with connection.begin_nested():
            op.execute("CREATE VIRTUAL TABLE trial_search USING fts5(text, tokenize='trigram')")
            op.execute("DROP TABLE trial_search")
    except sa.exc.OperationalError as error:
        LOG.warning("This SQLite has no index of trigrams (%s): searching looks at every text.", error.orig)
        return
    for table, column in SEARCHED:
        name = f"{table}_search"
        op.execute(
            f"CREATE VIRTUAL TABLE {name} USING fts5({column}, content='{table}', content_rowid='id', tokenize='trigram')"
        )
        add = f"INSERT INTO {name}(rowid, {column}) VALUES (new.id, new.{column});"  # noqa: S608 (names stand above)
        remove = f"INSERT INTO {name}({name}, rowid, {column}) VALUES ('delete', old.id, old.{column});"  # noqa: S608
        op.execute(f"CREATE TRIGGER {name}_insert AFTER INSERT ON {table} BEGIN {add} END")
        op.execute(f"CREATE TRIGGER {name}_delete AFTER DELETE ON {table} BEGIN {remove} END")
        op.execute(f"CREATE TRIGGER {name}_update AFTER UPDATE OF {column} ON {table} BEGIN {remove} {add} END")
        op.execute(f"INSERT INTO {name}({name}) VALUES ('rebuild')")  # noqa: S608


def _has_trigrams() -> bool:
    """Have the extension, if the server has it and lets us."""
    connection = op.get_bind()
    if connection.scalar(sa.text("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'")):
        return True
    if not connection.scalar(sa.text("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")):
        LOG.warning("The PostgreSQL server has no extension pg_trgm: searching looks at every text (docs/deploy.md).")
        return False
    try:
        with connection.begin_nested():
            op.execute("CREATE EXTENSION pg_trgm")
    except sa.exc.DBAPIError as error:
        LOG.warning(
            "This role may not create the extension pg_trgm (%s): searching looks at every text (docs/deploy.md).",
            error.orig,
        )
        return False
    return True
