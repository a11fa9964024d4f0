"""The queue that wakes workers. It carries ids of jobs and nothing else; what is to be done stands in the job's row."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from huey import Huey, PostgresHuey, RedisHuey, SqliteHuey
from huey.registry import Message
from huey.serializer import Serializer
from psycopg import Error as PostgresError
from redis.exceptions import RedisError

from spanplat.errors import InvalidInput, Unavailable
from spanplat.settings import Settings

QUEUE_NAME = "spanplat"


class JsonSerializer(Serializer):  # type: ignore[misc]
    """Messages as JSON: a queue that others can write to must not be able to run code here, as pickled messages could."""

    def _serialize(self, data: Any) -> bytes:
        return json.dumps(data._asdict() if isinstance(data, Message) else data).encode()

    def _deserialize(self, data: bytes) -> Any:
        value = json.loads(bytes(data))
        return Message(**value) if isinstance(value, dict) else value


class WorkQueue:
    """The queue between those who ask for work and the workers.

    Parameters
    ----------
    settings
        Redis is used when an address is set, else PostgreSQL beside a PostgreSQL database, else a SQLite file in the home.
    run_job
        What a worker does with the id of a job; senders leave it out.
    name
        Several queues may share one server under different names.

    Raises
    ------
    InvalidInput
        If the address of the queue is not one.
    Unavailable
        If the queue's server does not answer.
    """

    def __init__(
        self, settings: Settings, run_job: Callable[[int], None] | None = None, *, name: str = QUEUE_NAME
    ) -> None:
        try:
            self.huey = _connect(settings, name)
        except (PostgresError, RedisError) as error:
            raise Unavailable(f"the queue for background work does not answer: {error}") from error

        def perform(job_id: int) -> None:
            if run_job is None:
                raise InvalidInput("this process only sends jobs; a worker performs them")
            run_job(job_id)

        self._perform = self.huey.task(name="run_job")(perform)

    def send(self, job_id: int) -> None:
        """Wake a worker for a job whose row is committed.

        Raises
        ------
        Unavailable
            If the queue's server does not answer. Nothing is lost: workers look for waiting jobs every minute.
        """
        try:
            self._perform(job_id)
        except (PostgresError, RedisError) as error:
            raise Unavailable(f"the queue for background work does not answer: {error}") from error

    def __len__(self) -> int:
        """Return how many messages wait."""
        return int(self.huey.storage.queue_size())

    def close(self) -> None:
        """Close the connection."""
        self.huey.storage.close()


def _connect(settings: Settings, name: str) -> Huey:
    options = {"name": name, "results": False, "serializer": JsonSerializer()}
    if settings.redis_url:
        if urlsplit(settings.redis_url).scheme not in ("redis", "rediss", "unix"):
            raise InvalidInput(f"SPANPLAT_REDIS_URL is {settings.redis_url!r}; write redis://host:6379/0")
        queue = RedisHuey(url=settings.redis_url, **options)
        queue.storage.conn.ping()
        return queue
    if settings.database.startswith("postgresql+psycopg://"):
        dsn = settings.database.replace("postgresql+psycopg://", "postgresql://", 1)
        return PostgresHuey(dsn=dsn, table_prefix="queue", **options)
    return SqliteHuey(filename=str(settings.make_home() / "queue.sqlite3"), timeout=30, **options)
