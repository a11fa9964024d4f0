"""Performing of one job: claim its row, run its handler with a heartbeat in the background, and record the outcome."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import OperationalError

from spanplat.db import Database
from spanplat.errors import SpanplatError
from spanplat.services.background import jobs
from spanplat.services.background.progress import OnProgress

HEARTBEAT_SECONDS = 15.0
"""Pause between two heartbeats. It is a quarter of `jobs.STALE_AFTER`, so that a few may fail."""

logger = logging.getLogger(__name__)


class WorkerStopping(Exception):
    """Raised in a handler at its next report of progress, if the worker stops."""


class WorkWaits(Exception):
    """Raised by a handler whose work waits for an external event. The job is tried again in a minute."""


@dataclass(frozen=True)
class Task:
    """Argument of a handler."""

    database: Database
    payload: Mapping[str, Any]
    report: OnProgress
    """Callback that stores the progress. It raises an exception if the handler must stop."""


Handler = Callable[[Task], None]


class Performer:
    """Performer of jobs for one worker.

    Parameters
    ----------
    database
        The database with the jobs.
    handlers
        Handlers by kind of job.
    worker
        Unique name of this worker.
    heartbeat_seconds
        Pause between two heartbeats.
    """

    def __init__(
        self,
        database: Database,
        handlers: Mapping[str, Handler],
        worker: str,
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._database = database
        self._handlers = handlers
        self._worker = worker
        self._heartbeat_seconds = heartbeat_seconds
        self._stopping = threading.Event()

    def perform(self, job_id: int) -> None:
        """Perform a job unless another worker has it. Every error is recorded in its row. Unexpected errors are also raised."""
        # While the worker stops, its consumer may still deliver a message. The row stays queued for the next worker.
        if self._stopping.is_set():
            return
        with self._database.transaction() as session:
            job = jobs.claim(session, job_id, self._worker)
        if job is None:
            return
        logger.info("job %d started: %s", job.id, job.key)
        lost = threading.Event()

        def report(done: int, total: int | None) -> None:
            self._report(job_id, lost, done, total)

        task = Task(self._database, job.payload, report)
        try:
            with self._beating(job_id, lost):
                self._handler(job.kind)(task)
            with self._database.transaction() as session:
                jobs.finish(session, job_id, self._worker)
            logger.info("job %d done: %s", job.id, job.key)
        except WorkWaits:
            with contextlib.suppress(jobs.JobLost), self._database.transaction() as session:
                jobs.postpone(session, job_id, self._worker)
            logger.info("job %d waits: %s", job.id, job.key)
        # The row is still claimed. `run_worker` releases all rows of this worker.
        except WorkerStopping:
            logger.info("job %d goes back to the queue, the worker stops: %s", job.id, job.key)
        # Before SpanplatError, of which it is a subclass: a lost job has not failed.
        except jobs.JobLost:
            logger.info("job %d was cancelled or taken over: %s", job.id, job.key)
        except SpanplatError as error:
            logger.warning("job %d failed: %s: %s", job.id, job.key, error)
            self._fail(job_id, str(error))
        except Exception as error:
            self._fail(
                job_id, f"an unexpected error ({type(error).__name__}: {error}); the worker's log has the details"
            )
            raise

    def stop(self) -> None:
        """Stop the handlers at their next report of progress."""
        self._stopping.set()

    def _handler(self, kind: str) -> Handler:
        handler = self._handlers.get(kind)
        if handler is None:
            raise SpanplatError(
                f"this worker does not know jobs of kind {kind!r}; its version may be older than that of the server"
            )
        return handler

    def _report(self, job_id: int, lost: threading.Event, done: int, total: int | None) -> None:
        if self._stopping.is_set():
            raise WorkerStopping
        if lost.is_set():
            raise jobs.JobLost(f"job {job_id} was cancelled or taken by another worker")
        with self._database.transaction() as session:
            jobs.report_progress(session, job_id, self._worker, done, total)

    def _fail(self, job_id: int, message: str) -> None:
        # If the job is lost, its row belongs to another worker or is cancelled. The failure is no longer of interest.
        with contextlib.suppress(jobs.JobLost), self._database.transaction() as session:
            jobs.fail(session, job_id, self._worker, message)

    @contextlib.contextmanager
    def _beating(self, job_id: int, lost: threading.Event) -> Iterator[None]:
        # A thread of its own: a handler may compute for minutes without a report of progress.
        done = threading.Event()

        def beat() -> None:
            while not done.wait(self._heartbeat_seconds):
                try:
                    with self._database.transaction() as session:
                        jobs.heartbeat(session, job_id, self._worker)
                except jobs.JobLost:
                    lost.set()
                    return
                # The database may be back before the next beat.
                except (SpanplatError, OperationalError) as error:
                    logger.warning("no heartbeat for job %d: %s", job_id, error)

        thread = threading.Thread(target=beat, name=f"heartbeat-{job_id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
