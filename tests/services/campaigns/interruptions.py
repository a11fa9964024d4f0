"""Databases for tests of interruptions: something happens, or the process is killed, between two write transactions."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Session

from spanplat.db import Database


class KilledError(BaseException):
    """Simulated kill: the process changes nothing more in the database."""


class Interrupted(Database):
    """Database that calls a function before one of its write transactions."""

    def __init__(self, url: str, after: int, happens: Callable[[], None]) -> None:
        super().__init__(url)
        self.transactions = 0
        self._after = after
        self._happens = happens

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Session]:
        """Give a session that may write; call the function before the chosen transaction."""
        if self.transactions == self._after:
            self._happens()
        self.transactions += 1
        with super().transaction() as session:
            yield session


class Killed(Interrupted):
    """Database whose process is killed after a number of write transactions."""

    def __init__(self, url: str, after: int) -> None:
        super().__init__(url, after, self._kill)
        self._is_dead = False

    def _kill(self) -> None:
        self._is_dead = True
        raise KilledError

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """Give a session to read with, unless the process is dead."""
        if self._is_dead:
            raise KilledError
        with super().reading() as session:
            yield session

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Session]:
        """Give a session that may write, unless the process is dead."""
        if self._is_dead:
            raise KilledError
        with super().transaction() as session:
            yield session


@contextlib.contextmanager
def rows_written(database: Database, only: str = "INSERT UPDATE DELETE") -> Iterator[list[int]]:
    """Count the rows that each transaction inserts, changes or deletes."""
    written = [0]

    def count(_connection: Any, cursor: Any, statement: str, _parameters: Any, context: Any, many: bool) -> None:
        if statement.split(maxsplit=1)[0] in only.split():
            written[-1] += len(context.compiled_parameters) if many else max(cursor.rowcount, 1)

    def end(_connection: Any) -> None:
        written.append(0)

    event.listen(database.engine, "after_cursor_execute", count)
    event.listen(database.engine, "commit", end)
    try:
        yield written
    finally:
        event.remove(database.engine, "after_cursor_execute", count)
        event.remove(database.engine, "commit", end)
