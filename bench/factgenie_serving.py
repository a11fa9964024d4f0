"""Context manager that serves factgenie 1.2.1, in another interpreter, during a measurement."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

PEER = Path(__file__).with_name("factgenie_peer.py")


@contextlib.contextmanager
def serving(python: str, folder: Path, *arguments: str) -> Iterator[int]:
    """Serve a factgenie with its data in a folder, and give its port; see `factgenie_peer` for the arguments.

    Raises
    ------
    RuntimeError
        If it does not start; the message contains its log.
    """
    command = [python, str(PEER), str(folder), *arguments]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            address = next((line for line in process.stdout if line.startswith("http://")), "")
            port = urlsplit(address.strip()).port
            if port is None:
                raise RuntimeError(f"factgenie did not start:\n{(folder / 'log').read_text()}")
            yield port
        finally:
            process.kill()
