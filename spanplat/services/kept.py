"""What a process remembers of a database, so that it is not read or computed again."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session

K = TypeVar("K")
V = TypeVar("V")


class Kept(Generic[K, V]):
    """Values by key, each database's own: the same campaigns may lie in two, with other ids.

    Parameters
    ----------
    most
        Values kept of each database; what was wanted longest ago goes first.

    Threads may ask at the same time; what they find missing at once, each of them makes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_engine: WeakKeyDictionary[Engine, dict[K, V]] = WeakKeyDictionary()

    def find(self, reader: Session | Connection, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key in the reader's database; ``make`` is called when it is not known."""
        engine = reader.engine if isinstance(reader, Connection) else reader.get_bind().engine
        kept = self._of_engine.setdefault(engine, {})
        value = kept.pop(key, None)
        if value is None:
            value = make()
        kept[key] = value  # last in the dictionary: the one that was wanted most recently
        for oldest in list(kept)[: -self._most] if len(kept) > self._most else ():
            kept.pop(oldest, None)
        return value
