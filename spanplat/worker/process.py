"""Process of the worker. It listens on the queue, and looks for forgotten jobs at the start and every minute."""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Mapping

from sqlalchemy.exc import OperationalError

from spanplat.db import Database
from spanplat.errors import Unavailable
from spanplat.services.background import jobs
from spanplat.services.background.queue import WorkQueue
from spanplat.services.campaigns import remove_abandoned
from spanplat.settings import Settings
from spanplat.worker.performing import Handler, Performer

RESEND_SECONDS = 60.0
"""Pause between two searches for jobs that no worker has."""
LONGEST_POLL_SECONDS = 0.5
"""Longest pause between two polls of a SQLite queue. The other queues wake their workers."""
STOP_SECONDS = 8.0
"""Time that a stopping worker gives its jobs to reach their next report of progress."""
THREADS = 2
"""Number of jobs performed at once. With two, a long model run does not delay a result that a user waits for."""

logger = logging.getLogger(__name__)


def run_worker(
    settings: Settings, database: Database, handlers: Mapping[str, Handler], *, resend_seconds: float = RESEND_SECONDS
) -> None:
    """Perform jobs until the process gets SIGTERM or SIGINT.

    Unfinished jobs then return to the queue.

    Raises
    ------
    InvalidInput
        If the queue's address is invalid.
    Unavailable
        If the queue does not answer at the start.
    """
    # Host and process id are for people. The random part makes the name unique in containers, where both may repeat.
    worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    performer = Performer(database, handlers, worker)
    queue = WorkQueue(settings, performer.perform)
    consumer = queue.huey.create_consumer(
        workers=THREADS,
        periodic=False,
        initial_delay=0.05,
        max_delay=LONGEST_POLL_SECONDS,
        # Huey's default is SIGINT. Service managers and containers send SIGTERM.
        graceful_signal="TERM",
        shutdown_timeout=STOP_SECONDS,
    )
    # On SIGTERM the consumer waits for its threads before `run` returns. Only another thread can stop the handlers by then.
    stopping = threading.Event()
    resender = threading.Thread(
        target=_resend, args=(database, queue, stopping, resend_seconds), name="resender", daemon=True
    )
    watcher = threading.Thread(
        target=_stop_with, args=(consumer.stop_flag, performer), name="stop-watcher", daemon=True
    )
    resender.start()
    watcher.start()
    logger.info("worker %s is ready", worker)
    try:
        consumer.run()
    finally:
        stopping.set()
        performer.stop()
        with database.transaction() as session:
            jobs.release(session, worker)


def _resend(database: Database, queue: WorkQueue, stopping: threading.Event, seconds: float) -> None:
    # A commit may succeed and the message after it fail, and a killed worker leaves its jobs running. This finds both.
    while True:
        try:
            send_unfinished(database, queue)
            remove_abandoned(database)
        except (Unavailable, OperationalError) as error:
            logger.warning("cannot look for waiting jobs: %s", error)
        if stopping.wait(seconds):
            return


def send_unfinished(database: Database, queue: WorkQueue) -> None:
    """Send the jobs that no worker has. If messages wait already, do nothing, because they are for the same jobs."""
    if len(queue):
        return
    with database.reading() as session:
        waiting = jobs.unfinished(session)
    for job_id in waiting:
        queue.send(job_id)


def _stop_with(stop_flag: threading.Event, performer: Performer) -> None:
    stop_flag.wait()
    performer.stop()
