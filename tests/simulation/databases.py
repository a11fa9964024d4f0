"""Fresh databases for measurements, removed afterwards."""

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import create_engine

from spanplat.db import Database
from spanplat.db.schema import initialise

KINDS = ("sqlite", "postgresql")
POSTGRESQL_URL = os.environ.get("SPANPLAT_TEST_POSTGRESQL_URL", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres")
"""Where databases may be created."""


@contextlib.contextmanager
def fresh_database(kind: str) -> Iterator[str]:
    """Give the URL of an empty migrated database; it is gone when the block ends."""
    with _empty_database(kind) as url:
        database = Database(url)
        initialise(database)
        database.dispose()
        yield url


@contextlib.contextmanager
def _empty_database(kind: str) -> Iterator[str]:
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="spanplat-bench-") as folder:
            yield f"sqlite:///{Path(folder) / 'bench.sqlite3'}"
        return
    server = create_engine(POSTGRESQL_URL, isolation_level="AUTOCOMMIT")
    name = f"spanplat_bench_{uuid.uuid4().hex}"
    with server.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
    try:
        yield server.url.set(database=name).render_as_string(hide_password=False)
    finally:
        with server.connect() as connection:
            connection.exec_driver_sql(f'DROP DATABASE "{name}" WITH (FORCE)')
        server.dispose()


def kinds_of(choice: str) -> tuple[str, ...]:
    """Return the kinds of database that an option of a script names."""
    return KINDS if choice == "both" else (choice,)
