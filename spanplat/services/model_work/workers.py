"""Names of runs. A name holds machine and process, so that runs on the same machine can see whether another one is gone."""

import os
import secrets
import socket
import sys
from datetime import timedelta

LEASE = timedelta(seconds=60)
"""Time for which a claim holds if its worker does not renew it."""


def worker_name() -> str:
    """Return a new name for a run, with its machine and its process."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def is_alive(worker: str) -> bool:
    """Return whether a worker may be alive. A worker on another machine always may."""
    host, pid, _ = worker.rsplit(":", 2)
    return host != socket.gethostname() or _runs(int(pid))


def _runs(pid: int) -> bool:
    # On Windows, os.kill(pid, 0) ends the process.
    if sys.platform == "win32":
        return True
    try:
        # Signal 0 only asks whether the process exists. If another process got its number since, the worker counts as
        # alive until its lease ends.
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # The process exists and belongs to another user.
    except PermissionError:
        return True
    return True
