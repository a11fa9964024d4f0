"""Creation and upgrade of the database schema."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from spanplat import paths
from spanplat.db import Database
from spanplat.errors import InvalidInput, Unavailable


@dataclass(frozen=True)
class SchemaState:
    """Present version of the database's schema, and the version that this spanplat needs."""

    present: str | None
    """None when the database is empty."""
    needed: str
    known: bool
    """Whether this spanplat knows the present version; a newer spanplat has made an unknown one."""

    @property
    def is_current(self) -> bool:
        """Whether the database needs no upgrade."""
        return self.present == self.needed


def configuration() -> Config:
    """Return Alembic's configuration; it is in code, so that the wheel needs no ini file."""
    config = Config()
    config.set_main_option("script_location", str(paths.MIGRATIONS))
    config.set_main_option("path_separator", "os")
    return config


def inspect_schema(database: Database) -> SchemaState:
    """Compare the database's schema version with the needed one.

    Raises
    ------
    Unavailable
        If the database does not answer.
    """
    scripts = ScriptDirectory.from_config(configuration())
    needed = scripts.get_current_head()
    if needed is None:
        raise Unavailable(f"no migrations were found in {paths.MIGRATIONS}; the installation is incomplete")
    try:
        # Not as a writer: commands check the schema at their start, and must not wait for the write lock.
        with database.engine.connect().execution_options(spanplat_writes=False) as connection:
            present = MigrationContext.configure(connection).get_current_revision()
    except OperationalError as error:
        raise Unavailable(f"the database does not answer: {error.orig}") from error
    known = present is None or any(script.revision == present for script in scripts.walk_revisions())
    return SchemaState(present, needed, known)


def initialise(database: Database) -> SchemaState:
    """Create the database, or upgrade it to the version that this spanplat needs; do nothing if it is current.

    Returns
    -------
    SchemaState
        The state before.

    Raises
    ------
    InvalidInput
        If a newer spanplat has made the database.
    """
    state = inspect_schema(database)
    if not state.known:
        raise InvalidInput(_newer(state))
    if not state.is_current:
        config = configuration()
        with database.engine.connect() as connection, _nothing_cascades(connection):
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
    return state


@contextlib.contextmanager
def _nothing_cascades(connection: Connection) -> Iterator[None]:
    """Switch foreign keys off while SQLite rebuilds tables.

    A rebuild drops the old table. With foreign keys on, this would delete the rows of other tables that refer to it. SQLite can
    switch them only outside a transaction, so this context is around all migrations.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    driver = connection.connection.cursor()
    driver.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        # Ends a transaction that failed; within one, the pragma would do nothing.
        connection.rollback()
        driver.execute("PRAGMA foreign_keys = ON")
        driver.close()


def require_current(database: Database) -> None:
    """Raise unless the database has the schema version that this spanplat needs.

    Raises
    ------
    InvalidInput
        If it has not; the message names the command that fixes it.
    """
    state = inspect_schema(database)
    if state.present is None:
        raise InvalidInput("there is no database here yet; create it with: spanplat init")
    if not state.known:
        raise InvalidInput(_newer(state))
    if not state.is_current:
        raise InvalidInput("the database was made by an older spanplat; upgrade it with: spanplat init")


def _newer(state: SchemaState) -> str:
    return (
        f"the database has schema version {state.present}, which this spanplat does not know (it needs {state.needed}): "
        "it was made by a newer spanplat; install that version, or point SPANPLAT_DATABASE_URL or SPANPLAT_HOME elsewhere"
    )
