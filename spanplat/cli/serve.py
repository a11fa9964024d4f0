"""The command ``serve``: run the web server and the background worker."""

import ipaddress
import os
import socket
import sys

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import note
from spanplat.cli.supervisor import Supervisor
from spanplat.settings import load_settings

DEFAULT_PORT = 8000


def default_processes() -> int:
    """Return the default number of server processes for this machine."""
    return min(os.cpu_count() or 1, 4)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0 takes a free one."
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=default_processes,
    show_default="one per core, at most 4",
    help="Server processes.",
)
@click.option("--no-worker", is_flag=True, help="Serve pages only; run `spanplat worker` elsewhere.")
def serve(host: str, port: int, workers: int, no_worker: bool) -> None:
    """Run the web server and the background worker.

    Stops cleanly on Ctrl-C or SIGTERM: requests that have begun are finished, jobs go back to the queue.
    """
    with open_database():
        pass  # a problem with the database gives one message here, instead of one from each process
    start_serving(host, port, workers, with_worker=not no_worker)


def start_serving(host: str, port: int, processes: int, *, with_worker: bool = True) -> None:
    """Serve until a signal stops the process, then exit."""
    require_free(host, port)
    warn_of_plain_text(host, load_settings().base_url)
    web = ["web", "--host", host, "--port", str(port), "--processes", str(processes)]
    sys.exit(Supervisor(web, ["worker", "--supervised"] if with_worker else None).run())


def warn_of_plain_text(host: str, base_url: str) -> None:
    """Warn if the server listens beyond this machine and no proxy encrypts the traffic."""
    try:
        is_own = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_own = host == "localhost"
    if not is_own and not base_url.startswith("https://"):
        note(
            f"Everybody on the network of {host} can read passwords and answers, because they are not encrypted. "
            "Put a proxy with a certificate in front and set SPANPLAT_BASE_URL to its https:// address (docs/deploy.md)."
        )


def require_free(host: str, port: int) -> None:
    """Raise unless the port can be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if sys.platform != "win32":  # there the option would allow two servers on one port
            # Without it, old connections of a server that has just stopped would count as use.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise click.ClickException(
                f"cannot listen on {host}:{port} ({error.strerror}); choose another port with --port, or stop what uses it"
            ) from error
