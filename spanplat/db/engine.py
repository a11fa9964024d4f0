"""The database engine and its transactions: `Database.transaction` to write, `Database.reading` to read, `Database.trial` to try.

SQLite runs in WAL mode. A writer takes the write lock at once (``BEGIN IMMEDIATE``). Otherwise a transaction could fail halfway, when
it begins to write after reading. ``synchronous=FULL`` makes a commit durable before the client gets an answer.
"""

import contextlib
import copy
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, OperationalError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from spanplat.errors import InvalidInput, Unavailable

if sys.platform != "win32":
    import fcntl

BUSY_TIMEOUT_MS = 30_000
"""For writers that do not wait in the `WriteQueue`, such as migrations or the program sqlite3."""
IDLE_SECONDS = 5.0
"""A PostgreSQL connection that was idle for longer is tested before it is used again."""


class WriteQueue:
    """Queue of the writers of one SQLite file, within a process and between processes.

    SQLite's own busy handler polls with growing pauses, so a writer may starve under load. A lock on a file beside the database is
    handed over at once and costs about ten microseconds.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread_lock = threading.Lock()
        self._descriptor = -1
        self._pid = 0

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for our turn to write; the turn ends with the block, or with the process."""
        # The file lock belongs to the descriptor, which all threads share: only this lock keeps them apart.
        with self._thread_lock:
            # On Windows one process serves, so the lock between threads is enough.
            if sys.platform == "win32":
                yield
                return
            # After a fork the child opens the file again: a lock on an inherited descriptor is shared with the parent.
            if self._pid != os.getpid():
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
                self._pid = os.getpid()
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)


class Database:
    """One database: an engine and the transactions on it.

    Parameters
    ----------
    url
        SQLAlchemy URL, SQLite or PostgreSQL (psycopg 3).
    pool_size
        Connections kept open per process; twice as many may be open at a time.
    actor
        Author of all changes through this object, for the audit log; transactions carry it in ``session.info["actor"]``.

    Raises
    ------
    InvalidInput
        If the URL is not one of a supported database, or the driver of PostgreSQL is not installed.
    """

    def __init__(self, url: str, *, pool_size: int = 16, actor: str = "somebody") -> None:
        self.url = url
        self.actor = actor
        self.write_queue: WriteQueue | None = None
        try:
            parsed = make_url(url)
            if parsed.get_backend_name() == "sqlite":
                if parsed.database in (None, "", ":memory:"):
                    raise InvalidInput("SQLite needs a file that several processes can open: sqlite:///path/to/file")
                self.write_queue = WriteQueue(Path(f"{parsed.database}-queue"))
            self.engine = _create_engine(url, pool_size)
        except ModuleNotFoundError as error:
            raise InvalidInput(
                "SPANPLAT_DATABASE_URL names PostgreSQL, but its driver is not installed; install it with: "
                "pip install 'spanplat[postgresql]'"
                if error.name == "psycopg"
                else f"SPANPLAT_DATABASE_URL names a database that is not supported ({error}); use SQLite or PostgreSQL"
            ) from error
        except (ArgumentError, ValueError) as error:  # ValueError: a port that is no number
            raise InvalidInput(
                f"SPANPLAT_DATABASE_URL is not a database address ({error}); use sqlite:///path or postgresql://user@host/name"
            ) from error
        if self.engine.dialect.name not in ("sqlite", "postgresql"):
            raise InvalidInput(f"{self.engine.dialect.name} is not supported; use SQLite or PostgreSQL")

    def acting_as(self, actor: str) -> "Database":
        """Return the same database, with the same connections, for work in the name of another actor."""
        other = copy.copy(self)
        other.actor = actor
        return other

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite (else PostgreSQL)."""
        return self.engine.dialect.name == "sqlite"

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Session]:
        """Give a session that may write; commit when the block ends, roll back when it raises."""
        # The connection first: a writer that has its turn must not wait for a free connection.
        with (
            self._connect(writes=True) as connection,
            self.write_queue.turn() if self.write_queue else contextlib.nullcontext(),
            connection.begin(),
            self.session_on(connection) as session,
        ):
            yield session

    @contextlib.contextmanager
    def session_on(self, connection: Connection) -> Iterator[Session]:
        """Give a session in the transaction of a connection; its changes are flushed when the block ends."""
        with Session(connection, expire_on_commit=False, info={"actor": self.actor}) as session:
            yield session
            session.flush()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """Give a session on one consistent snapshot; its changes are rolled back."""
        with self._connect(writes=False) as connection, Session(connection, expire_on_commit=False) as session:
            yield session

    @contextlib.contextmanager
    def trial(self) -> Iterator[Session]:
        """Give a session that may write; its changes are rolled back when the block ends."""
        with (
            self._connect(writes=True) as connection,
            self.write_queue.turn() if self.write_queue else contextlib.nullcontext(),
            # Nothing commits: a session that is closed rolls its transaction back.
            Session(connection, expire_on_commit=False, info={"actor": self.actor}) as session,
        ):
            yield session

    @contextlib.contextmanager
    def reading_then_writing(self) -> Iterator[tuple[Connection, Callable[[], AbstractContextManager[None]]]]:
        """Give a connection for reading, and a context manager for a block that writes and commits on it.

        The connection holds no lock while it reads, so others may change the data before the block. Each statement that writes must
        therefore check in its WHERE what it relies on. There is no snapshot: each statement reads what was committed last.

        >>> with database.reading_then_writing() as (connection, writing):
        ...     seat = connection.execute(FIND_SEAT).one()
        ...     with writing():
        ...         connection.execute(RENEW_LEASE, {"id": seat.id, "if_held_by": seat.annotator_id})
        """
        with self._connect(writes=True, begins=False) as connection:

            @contextlib.contextmanager
            def writing() -> Iterator[None]:
                turn: AbstractContextManager[None] = contextlib.nullcontext()
                if self.write_queue is not None:
                    # Ends the reading, so that the next statement begins a transaction, which takes the write lock.
                    connection.rollback()
                    connection.execution_options(spanplat_begins=True)
                    turn = self.write_queue.turn()
                with turn:
                    try:
                        yield
                        connection.commit()
                    except BaseException:
                        # Before the turn ends: otherwise the next writer would meet this transaction's lock.
                        connection.rollback()
                        raise

            yield connection, writing

    def refresh_statistics(self) -> None:
        """Update the planner's statistics after an import of many rows.

        PostgreSQL does so by itself about a minute later. Until then searches took five times as long. SQLite needs no statistics.
        """
        if not self.is_sqlite:
            with self.engine.begin() as connection:
                connection.exec_driver_sql("ANALYZE")

    @contextlib.contextmanager
    def _connect(self, *, writes: bool, begins: bool = True) -> Iterator[Connection]:
        try:
            connection = self.engine.connect()
        except OperationalError as error:
            raise Unavailable(f"the database does not answer: {error.orig}") from error
        with connection:
            # PostgreSQL gives a snapshot of the whole transaction on this level only; SQLite always does.
            if not self.is_sqlite and not writes:
                connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            yield connection.execution_options(spanplat_writes=writes, spanplat_begins=begins)

    def dispose(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _create_engine(url: str, pool_size: int) -> Engine:
    if not url.startswith("sqlite"):
        # The connection that was used last is used first, so that under load none is idle long enough to need a test.
        engine = create_engine(url, pool_size=pool_size, max_overflow=pool_size, pool_use_lifo=True)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", _test_if_idle)
        return engine
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        # The connection used last has the pages in its cache.
        pool_use_lifo=True,
        # The pool gives a connection to one thread at a time, but not always to the thread that opened it.
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000, "check_same_thread": False},
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _note_use(_connection: Any, entry: ConnectionPoolEntry) -> None:
    entry.info["used_at"] = time.monotonic()


def _test_if_idle(connection: Any, entry: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
    """Test a connection that was idle, because its server may have been restarted; `pool_pre_ping` would test at every use."""
    if time.monotonic() - entry.info.get("used_at", time.monotonic()) < IDLE_SECONDS:
        return
    import psycopg  # noqa: PLC0415 (only where PostgreSQL is used)

    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except psycopg.Error as error:
        # The pool answers this error with another connection, so the caller notices nothing.
        raise DisconnectionError("the connection was lost while idle") from error


def _prepare_sqlite(connection: Any, _entry: ConnectionPoolEntry) -> None:
    # The driver must not begin transactions of its own; `_begin_sqlite` does.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",  # SQLite ignores foreign keys unless each connection asks for them
        # A negative number is in KiB, not in pages.
        "cache_size = -32768",
        "temp_store = MEMORY",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
    connection.create_function("contains_folded", 2, _contains_folded, deterministic=True)


def _contains_folded(text: str, folded: str) -> bool:
    # SQLite itself folds only the letters of ASCII.
    return folded in text.casefold()


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("spanplat_begins", True):
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("spanplat_writes", True) else "BEGIN DEFERRED")
