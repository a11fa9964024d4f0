"""Supervisor of the web server and the background worker: starts both, restarts the worker, and stops both."""

import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType

from spanplat.cli.output import note

STOP_SECONDS = 20.0
"""Time that the processes get to finish their work."""
POLL_SECONDS = 0.2
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Pauses, in seconds, before a worker that died is started again; the pause doubles each time."""
STEADY_SECONDS = 60.0
"""After a worker has lived this long, its next restart has the first pause again."""


class Supervisor:
    """Run a web server and a worker until a signal arrives.

    Parameters
    ----------
    web
        Arguments of the ``spanplat`` command for the web server.
    worker
        Arguments of the command for the worker; None for no worker.
    """

    def __init__(self, web: Sequence[str], worker: Sequence[str] | None) -> None:
        self._web_arguments = web
        self._worker = _Restarted(worker) if worker is not None else None
        self._stopping = threading.Event()

    def run(self) -> int:
        """Supervise; return the exit status: 0 after SIGTERM or SIGINT, 1 if the web server ended by itself."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        web = _start(self._web_arguments)
        try:
            while not self._stopping.wait(POLL_SECONDS):
                # The web server is not restarted: systemd or the user decides, as nobody can reach the platform now.
                if (status := web.poll()) is not None:
                    note(f"The web server ended (exit status {status}).")
                    return 1
                if self._worker is not None:
                    self._worker.keep_running()
            return 0
        finally:
            _end([web, *(self._worker.processes if self._worker is not None else ())])

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping.set()


class _Restarted:
    """A process that is restarted when it ends, after a pause that doubles each time."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._pause = FIRST_PAUSE
        self._start_at = time.monotonic()
        self._started_at = 0.0
        self.processes: list[subprocess.Popen[bytes]] = []

    def keep_running(self) -> None:
        """Start the process if it does not run and its pause is over."""
        now = time.monotonic()
        if self.processes:
            status = self.processes[0].poll()
            if status is None:
                return
            self.processes.clear()
            if now - self._started_at > STEADY_SECONDS:
                self._pause = FIRST_PAUSE
            note(f"The worker ended (exit status {status}); it starts again in {self._pause:.0f} s.")
            self._start_at, self._pause = now + self._pause, min(2 * self._pause, LONGEST_PAUSE)
        if now >= self._start_at:
            self._started_at = now
            self.processes.append(_start(self._arguments))


def log_to_stderr() -> None:
    """Write the log of a server process to stderr."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("huey", "httpx", "alembic"):  # they log every task, request and migration
        logging.getLogger(chatty).setLevel(logging.WARNING)


def stop_with_parent() -> None:
    """Stop this process when the supervisor is gone.

    The standard input of this process is a pipe from the supervisor. The system closes the pipe even if the supervisor is killed.
    """

    def watch() -> None:
        # `os.read` and not `sys.stdin`: a thread that waits in a buffered reader holds its lock, which blocks the exit.
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent-watcher", daemon=True).start()


def keep_what_is_loaded() -> None:
    """Exclude everything loaded so far from garbage collection.

    A server or worker process needs its modules as long as it lives. To scan them takes about a tenth of a second. During this time a
    request had to wait, or all writers if the scan happened inside a write transaction.
    """
    gc.collect()
    gc.freeze()


def _start(arguments: Sequence[str]) -> "subprocess.Popen[bytes]":
    # In their own session, so that Ctrl-C reaches only the supervisor, which stops the processes in order. Nothing is ever written to
    # the pipe on their standard input: its end tells them that the supervisor is gone (`stop_with_parent`).
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "spanplat", *arguments], stdin=subprocess.PIPE, start_new_session=True
    )


def _end(processes: "Sequence[subprocess.Popen[bytes]]") -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + STOP_SECONDS  # one for all, so that stopping never takes longer
    for process in processes:
        try:
            process.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
