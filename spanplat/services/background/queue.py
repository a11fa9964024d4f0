"""Queue that wakes workers. A message is only the id of a job. The job's row has the details."""

import contextlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from huey import Huey, PostgresHuey, RedisHuey, SqliteHuey
from huey.registry import Message
from huey.serializer import Serializer

from spanplat.errors import InvalidInput, Unavailable
from spanplat.settings import Settings

QUEUE_NAME = "spanplat"


class JsonSerializer(Serializer):  # type: ignore[misc]
    """Serializer of messages as JSON. Huey's default is pickle, with which anybody who can write to the queue could run code here."""

    def _serialize(self, data: Any) -> bytes:
        return json.dumps(data._asdict() if isinstance(data, Message) else data).encode()

    def _deserialize(self, data: bytes) -> Any:
        value = json.loads(bytes(data))
        return Message(**value) if isinstance(value, dict) else value


class WorkQueue:
    """Queue of job ids for the workers.

    Parameters
    ----------
    settings
        The settings choose the server: Redis if an address is set, else PostgreSQL if it is the database, else a SQLite file.
    run_job
        Function that performs a job, given its id. Processes that only send jobs leave it out.
    name
        Name of the queue. Several queues may share one server.

    Raises
    ------
    InvalidInput
        If the address of the queue is invalid, or the client of Redis is not installed.
    Unavailable
        If the queue's server does not answer.
    """

    def __init__(
        self, settings: Settings, run_job: Callable[[int], None] | None = None, *, name: str = QUEUE_NAME
    ) -> None:
        try:
            self.huey = _connect(settings, name)
        except _driver_errors() as error:
            raise Unavailable(f"the queue for background work does not answer: {error}") from error

        def perform(job_id: int) -> None:
            if run_job is None:
                raise InvalidInput("this process only sends jobs; a worker performs them")
            run_job(job_id)

        self._perform = self.huey.task(name="run_job")(perform)

    def send(self, job_id: int) -> None:
        """Send the id of a job to the workers. The row of the job must be committed before.

        Raises
        ------
        Unavailable
            If the queue's server does not answer. The job is not lost: workers look for waiting jobs every minute.
        """
        try:
            self._perform(job_id)
        except _driver_errors() as error:
            raise Unavailable(f"the queue for background work does not answer: {error}") from error

    def __len__(self) -> int:
        """Return the number of waiting messages."""
        return int(self.huey.storage.queue_size())

    def close(self) -> None:
        """Close the connection."""
        self.huey.storage.close()


def _driver_errors() -> tuple[type[Exception], ...]:
    """Return the exception classes of the installed drivers of PostgreSQL and Redis."""
    errors: list[type[Exception]] = []
    with contextlib.suppress(ModuleNotFoundError):
        from psycopg import Error  # noqa: PLC0415 (comes with spanplat[postgresql])

        errors.append(Error)
    with contextlib.suppress(ModuleNotFoundError):
        from redis.exceptions import RedisError  # noqa: PLC0415 (comes with spanplat[redis])

        errors.append(RedisError)
    return tuple(errors)


def _connect(settings: Settings, name: str) -> Huey:
    # No results in the queue: the job's row has the outcome.
    options = {"name": name, "results": False, "serializer": JsonSerializer()}
    if settings.redis:
        if urlsplit(settings.redis).scheme not in ("redis", "rediss", "unix"):
            raise InvalidInput(f"SPANPLAT_REDIS_URL is {settings.redis_url!r}; write redis://host:6379/0")
        queue = RedisHuey(url=settings.redis, **options)
        # The client connects at the first command. A ping reports a wrong address now.
        queue.storage.conn.ping()
        return queue
    if settings.database.startswith("postgresql+psycopg://"):
        # SQLAlchemy's URL names the driver. psycopg itself does not know this form.
        dsn = settings.database.replace("postgresql+psycopg://", "postgresql://", 1)
        return PostgresHuey(dsn=dsn, table_prefix="queue", **options)
    return SqliteHuey(filename=str(settings.make_home() / "queue.sqlite3"), timeout=30, **options)
