"""The web server's processes: uvicorn in each, and gunicorn over several, which does not run on Windows."""

import socket
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import click
import uvicorn
from flask import Flask

from spanplat.cli.http_server import GRACEFUL_SECONDS, UVICORN
from spanplat.cli.supervisor import keep_what_is_loaded, log_to_stderr, stop_with_parent
from spanplat.db import Database
from spanplat.settings import Settings, load_settings
from spanplat.web.app import MAX_BODY, create_app
from spanplat.web.gateway import Gateway

SWITCH_SECONDS = 0.001
"""How long a thread may compute while others want to: annotators' requests are to wait as little as possible for a page that takes
long. Five times as long is Python's own choice."""
BACKLOG = 2048
"""Connections that may wait to be accepted by one process."""


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
        run_alone(settings, host, port, on_ready)
    else:
        _run_gunicorn(settings, host, port, processes, on_ready)


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}"


def run_alone(settings: Settings, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve with this process alone until it is told to stop."""
    gateway = _ready_gateway(settings)
    (listener,) = _listen(host, port, 1)
    on_ready(_address(host, listener.getsockname()[1]))
    uvicorn.Server(uvicorn.Config(gateway, **UVICORN)).run(sockets=[listener])


def _run_gunicorn(settings: Settings, host: str, port: int, processes: int, on_ready: Callable[[str], None]) -> None:
    from gunicorn.app.base import BaseApplication  # noqa: PLC0415 - does not import on Windows

    from spanplat.cli.server_process import ServerProcess  # noqa: PLC0415 - neither

    class Server(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            options = {
                "bind": [f"fd://{listener.detach()}" for listener in _listen(host, port, processes)],
                "pre_fork": _give_a_listener,
                "workers": processes,
                "worker_class": ServerProcess,
                "graceful_timeout": GRACEFUL_SECONDS,
                "timeout": 60,
                "loglevel": "warning",
                "control_socket_disable": True,
                "when_ready": lambda arbiter: on_ready(_address(host, arbiter.LISTENERS[0].sock.getsockname()[1])),
            }
            for name, value in options.items():
                if name in self.cfg.settings:
                    self.cfg.set(name, value)

        def load(self) -> Gateway:
            return _ready_gateway(settings)

    Server().run()


def _ready_gateway(settings: Settings) -> Gateway:
    """Return the application, ready for a crowd: nobody is to wait while templates are compiled, nor long for who computes."""
    database = Database(settings.database)
    app = create_app(settings, database)
    for name in app.jinja_env.list_templates(filter_func=lambda name: name.startswith(("annotator/", "_"))):
        app.jinja_env.get_template(name)
    keep_what_is_loaded()
    sys.setswitchinterval(SWITCH_SECONDS)
    return gateway_to(app, database, settings)


def gateway_to(app: Flask, database: Database, settings: Settings) -> Gateway:
    """Return what answers HTTP requests with the application."""
    asks_others = not database.is_sqlite or bool(settings.redis_url)
    return Gateway(app, asks_others=asks_others, longest_body=MAX_BODY)


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
