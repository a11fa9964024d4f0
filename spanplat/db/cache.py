"""Per-database LRU cache for values that a process has read or computed."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session

K = TypeVar("K")
V = TypeVar("V")


class DatabaseCache(Generic[K, V]):
    """An LRU cache with its own entries for each database: two databases may hold the same campaign under other ids.

    Parameters
    ----------
    capacity
        Entries for each database; the least recently used entry goes first.

    Threads may share a cache. Two threads that miss the same key at the same time both compute the value.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._of_engine: WeakKeyDictionary[Engine, dict[K, V]] = WeakKeyDictionary()

    def find(self, reader: Session | Connection, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key in the reader's database; call ``make`` if the key is missing."""
        engine = reader.engine if isinstance(reader, Connection) else reader.get_bind().engine
        entries = self._of_engine.setdefault(engine, {})
        value = entries.pop(key, None)
        if value is None:
            value = make()
        # Dictionaries keep their order, so the last entry is the one used most recently.
        entries[key] = value
        # A copy, and `pop` with a default, because another thread may add or remove entries meanwhile.
        for oldest in list(entries)[: -self._capacity] if len(entries) > self._capacity else ():
            entries.pop(oldest, None)
        return value
