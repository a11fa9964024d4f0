"""A real server process, started like an operator does and killed like a machine does."""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

import psutil

KILLED_WITHIN_SECONDS = 60


class Server:
    """``spanplat serve`` on a free port, with a home folder of its own.

    Parameters
    ----------
    database_url
        The database it serves.
    processes
        Server processes; None leaves it to spanplat.
    """

    def __init__(self, database_url: str, *, processes: int | None = None) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="spanplat-bench-home-")
        self.home = Path(self._home.name) / "data"
        """The data folder."""
        self._environment = os.environ | {
            "SPANPLAT_HOME": str(self.home),
            "SPANPLAT_DATABASE_URL": database_url,
            "SPANPLAT_REDIS_URL": "",
            "SPANPLAT_ARRIVALS_PER_MINUTE": "1000000",  # everybody comes from this machine
            "PYTHONUNBUFFERED": "1",
        }
        self._options = ["--no-worker", *([] if processes is None else ["--workers", str(processes)])]
        self._process: subprocess.Popen[str] | None = None
        self._log = Path(self._home.name) / "log"
        self.port = 0

    def start(self) -> None:
        """Start serving; return when connections are accepted. Started again, it takes the same port."""
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "spanplat", "serve", "--port", str(self.port), *self._options],
                cwd=self._home.name,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return
        raise RuntimeError(f"the server did not start:\n{self._log.read_text()}")

    def kill(self) -> None:
        """Send SIGKILL to every process of the server, those that would start others first."""
        if self._process is None:
            return
        supervisor = psutil.Process(self._process.pid)
        family = [supervisor, *supervisor.children(recursive=True)]
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):  # some end by themselves when others do
                process.kill()
        self._forget()
        deadline = time.monotonic() + KILLED_WITHIN_SECONDS
        while any(map(_lives, family)):
            if time.monotonic() > deadline:
                raise RuntimeError("a killed server process did not go away")
            time.sleep(0.005)

    def stop(self) -> None:
        """Stop serving in order."""
        if self._process is not None:
            self._process.terminate()
            self._forget()

    def _forget(self) -> None:
        """Wait for the process that was told to end, and close our end of its output."""
        if self._process is not None:
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    def processor_seconds(self) -> float:
        """Return the processor time that the server's processes have used since they started."""
        assert self._process is not None
        supervisor = psutil.Process(self._process.pid)
        times = [process.cpu_times() for process in [supervisor, *supervisor.children(recursive=True)]]
        return sum(float(time.user + time.system) for time in times)

    @property
    def log(self) -> str:
        """What the server wrote to stderr."""
        return self._log.read_text()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._home.cleanup()


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
