"""The worker's process: it listens on the queue, and looks for forgotten jobs at start and every minute."""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Mapping

from sqlalchemy.exc import OperationalError

from spanplat.db import Database
from spanplat.errors import Unavailable
from spanplat.services import jobs
from spanplat.services.queue import WorkQueue
from spanplat.settings import Settings
from spanplat.worker.performing import Handler, Performer

RESEND_SECONDS = 60.0
LONGEST_POLL_SECONDS = 0.5
"""Longest pause between two looks at a SQLite queue; the other queues wake their workers."""
STOP_SECONDS = 8.0
"""How long a stopping worker waits for its jobs to reach a point where they can be interrupted."""
THREADS = 2
"""Jobs performed at once, so that a long run of a model does not hold up a figure somebody waits for."""

logger = logging.getLogger(__name__)


def run_worker(
    settings: Settings, database: Database, handlers: Mapping[str, Handler], *, resend_seconds: float = RESEND_SECONDS
) -> None:
    """Work until the process is told to stop (SIGTERM or SIGINT).

    Jobs that are not done by then go back to the queue.

    Raises
    ------
    InvalidInput
        If the queue's address is not one.
    Unavailable
        If the queue does not answer at the start.
    """
    worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    performer = Performer(database, handlers, worker)
    queue = WorkQueue(settings, performer.perform)
    consumer = queue.huey.create_consumer(
        workers=THREADS,
        periodic=False,
        initial_delay=0.05,
        max_delay=LONGEST_POLL_SECONDS,
        graceful_signal="TERM",
        shutdown_timeout=STOP_SECONDS,
    )
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
    while True:
        try:
            send_unfinished(database, queue)
        except (Unavailable, OperationalError) as error:
            logger.warning("cannot look for waiting jobs: %s", error)
        if stopping.wait(seconds):
            return


def send_unfinished(database: Database, queue: WorkQueue) -> None:
    """Send the jobs that no worker has, unless messages wait already: those would be the same ones."""
    if len(queue):
        return
    with database.reading() as session:
        waiting = jobs.unfinished(session)
    for job_id in waiting:
        queue.send(job_id)


def _stop_with(stop_flag: threading.Event, performer: Performer) -> None:
    stop_flag.wait()
    performer.stop()
