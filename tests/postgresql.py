"""PostgreSQL database that the tests of one process share, one after another."""

import uuid

from sqlalchemy import Connection, Engine, create_engine, text

# Whoever adds, changes or drops a table, column, index, constraint, trigger or function changes one of these; so does an upgrade.
_CATALOGS = ("pg_class", "pg_attribute", "pg_constraint", "pg_trigger", "pg_proc", "alembic_version")
_SCHEMA_STATE = text(
    " UNION ALL ".join(f"SELECT count(*), max(xmin::text::bigint) FROM {catalog}" for catalog in _CATALOGS)  # noqa: S608
)
_END_OTHER_SESSIONS = text(
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
_WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
_NAMES = text(
    "SELECT relkind, format('%I', relname) FROM pg_class "
    "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S') AND relname <> 'alembic_version'"
)


def is_waiting_for_a_lock(engine: Engine) -> bool:
    """Return whether a session of the engine's database waits for a lock."""
    # A new transaction each time, because a transaction sees the sessions as they were at its first look.
    with engine.connect() as connection:
        return bool(connection.scalar(_WAITING))


class PostgresqlDatabase:
    """A copy of a template database, emptied after each test.

    To create and drop a database writes some 20 MB and waits for the disk; to delete a test's few rows takes milliseconds.
    TRUNCATE would wait for the disk once for each table and index.

    Parameters
    ----------
    server
        Administrative connection to the server.
    template
        Name of a migrated database without rows.
    """

    def __init__(self, server: Engine, template: str) -> None:
        self._server = server
        self._template = template
        self._name = f"spanplat_test_{uuid.uuid4().hex}"
        self.url = server.url.set(database=self._name).render_as_string(hide_password=False)
        self._inside = create_engine(self.url, isolation_level="AUTOCOMMIT", pool_pre_ping=True)
        self._create()

    def empty(self) -> None:
        """End the sessions that a test left, delete all rows, and start all sequences anew.

        A database whose schema the test changed is replaced.
        """
        with self._inside.connect() as connection:
            connection.execute(_END_OTHER_SESSIONS)
            if intact := connection.execute(_SCHEMA_STATE).all() == self._schema_state:
                connection.exec_driver_sql(self._deletion)
        if not intact:
            self.drop()
            self._create()

    def drop(self) -> None:
        """Remove the database from the server."""
        self._inside.dispose()
        with self._server.connect() as connection:
            connection.exec_driver_sql(f'DROP DATABASE "{self._name}" WITH (FORCE)')

    def _create(self) -> None:
        with self._server.connect() as connection:
            connection.exec_driver_sql(f'CREATE DATABASE "{self._name}" TEMPLATE "{self._template}"')
        with self._inside.connect() as connection:
            self._schema_state = connection.execute(_SCHEMA_STATE).all()
            self._deletion = _deletion(connection)


def _deletion(connection: Connection) -> str:
    """Return statements that delete all rows, whatever refers to them or guards them, and start the sequences at one."""
    names = connection.execute(_NAMES).all()
    return "; ".join(
        [
            "BEGIN",
            "SET LOCAL session_replication_role = replica",  # without foreign keys and triggers
            *(f"DELETE FROM {name}" for kind, name in names if kind == "r"),  # noqa: S608
            *(f"SELECT setval('{name}', 1, false)" for kind, name in names if kind == "S"),
            "COMMIT",
        ]
    )
