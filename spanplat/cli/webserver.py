"""The web server's process: gunicorn with threads, or waitress on Windows."""

import socket
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import click
from flask import Flask

from spanplat.cli.supervisor import keep_what_is_loaded, log_to_stderr, stop_with_parent
from spanplat.settings import Settings, load_settings
from spanplat.web.app import MAX_BODY, create_app
from spanplat.web.uploads import MOST_BYTES

THREADS = 16
"""Requests one process serves at once; most wait for the database or the client."""
KEEP_ALIVE_SECONDS = 35
"""Longer than the pause between two saves of an annotator who thinks, so that the next one finds its connection open."""
GRACEFUL_SECONDS = 10
SWITCH_SECONDS = 0.001
"""How long a thread may compute while others want to. A save gives way each time it asks the database, and waits so long for each that
computes; five times as long is Python's own choice."""
BACKLOG = 2048
"""Connections that may wait to be accepted by one process."""
WAITRESS_CONNECTIONS = 1000


@click.command(hidden=True)
@click.option("--host", required=True)
@click.option("--port", type=int, required=True)
@click.option("--processes", type=int, required=True)
def web(host: str, port: int, processes: int) -> None:
    """Run the web server; `spanplat serve` starts this."""
    log_to_stderr()
    stop_with_parent()
    run_web_server(
        load_settings(),
        host,
        port,
        processes,
        lambda address: click.echo(f"spanplat is at {address} (Ctrl-C stops it)"),
    )


def run_web_server(settings: Settings, host: str, port: int, processes: int, on_ready: Callable[[str], None]) -> None:
    """Serve until the process is told to stop.

    Parameters
    ----------
    settings
        Configuration of the application.
    host, port
        Where to listen; port 0 takes a free one.
    processes
        Server processes (one on Windows).
    on_ready
        Called with the address once connections are accepted.
    """
    if sys.platform == "win32":
        _run_waitress(settings, host, port, on_ready)
    else:
        _run_gunicorn(settings, host, port, processes, on_ready)


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}"


def _run_waitress(settings: Settings, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    from waitress import create_server  # noqa: PLC0415 - only where gunicorn does not run

    app = create_app(settings)
    _prepare(app)
    # It takes a whole request in before the application sees it, so it has to know itself when to stop.
    server = create_server(
        app,
        host=host,
        port=port,
        threads=THREADS,
        connection_limit=WAITRESS_CONNECTIONS,
        max_request_body_size=MOST_BYTES + MAX_BODY,
    )
    on_ready(_address(host, server.effective_port))
    server.run()


def _run_gunicorn(settings: Settings, host: str, port: int, processes: int, on_ready: Callable[[str], None]) -> None:
    from gunicorn.app.base import BaseApplication  # noqa: PLC0415 - does not import on Windows

    class Server(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            options = {
                "bind": [f"fd://{listener.detach()}" for listener in _listen(host, port, processes)],
                "pre_fork": _give_a_listener,
                "workers": processes,
                "worker_class": "gthread",
                "threads": THREADS,
                "keepalive": KEEP_ALIVE_SECONDS,
                "graceful_timeout": GRACEFUL_SECONDS,
                "timeout": 60,
                "loglevel": "warning",
                "control_socket_disable": True,
                "when_ready": lambda arbiter: on_ready(_address(host, arbiter.LISTENERS[0].sock.getsockname()[1])),
            }
            for name, value in options.items():
                if name in self.cfg.settings:
                    self.cfg.set(name, value)

        def load(self) -> Any:
            app = create_app(settings)
            _prepare(app)
            return app

    Server().run()


def _prepare(app: Flask) -> None:
    """Make a process ready for a crowd: nobody is to wait while templates are compiled, nor long for a thread that computes."""
    for name in app.jinja_env.list_templates(filter_func=lambda name: name.startswith(("annotator/", "_"))):
        app.jinja_env.get_template(name)
    keep_what_is_loaded()
    sys.setswitchinterval(SWITCH_SECONDS)


def _listen(host: str, port: int, processes: int) -> list[socket.socket]:
    """Listen with a socket for each process, among which Linux spreads the connections; elsewhere with one for all.

    Processes that accept from one socket do not share the work: the one that waited last is woken first, and as people's connections
    are kept alive, it may serve nearly everybody while the others have nothing to do.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both_families = host == "::" and socket.has_dualstack_ipv6()
    listeners: list[socket.socket] = []
    for _ in range(processes if sys.platform == "linux" else 1):
        listener = socket.create_server(
            (host, port),
            family=family,
            backlog=BACKLOG,
            reuse_port=sys.platform == "linux",
            dualstack_ipv6=both_families,
        )
        port = listener.getsockname()[1]
        listeners.append(listener)
    return listeners


def _give_a_listener(arbiter: Any, worker: Any) -> None:
    """Let a process that is about to start accept from the socket that fewest others accept from, such as that of one that ended."""
    taken = Counter(id(listener) for other in arbiter.WORKERS.values() for listener in other.sockets)
    worker.sockets = [min(arbiter.LISTENERS, key=lambda listener: taken[id(listener)])]
