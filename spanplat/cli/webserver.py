"""The web server: uvicorn in each process, and gunicorn to manage several processes, except on Windows."""

import socket
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import click
import uvicorn

from spanplat.cli.http_server import GRACEFUL_SECONDS, UVICORN
from spanplat.cli.supervisor import keep_what_is_loaded, log_to_stderr, stop_with_parent
from spanplat.settings import Settings, load_settings
from spanplat.web.app import MAX_BODY, create_app
from spanplat.web.gateway import Gateway

SWITCH_SECONDS = 0.001
"""Time slice of a thread while others wait: a fifth of Python's default, so that annotators' requests wait less for slow pages."""
BACKLOG = 2048
"""Number of connections that may wait until one process accepts them."""


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
    """Serve until a signal stops the process.

    Parameters
    ----------
    settings
        Configuration of the application.
    host, port
        Address to listen on; port 0 takes a free port.
    processes
        Server processes (one on Windows).
    on_ready
        Called with the address as soon as connections are accepted.
    """
    if sys.platform == "win32":
        run_alone(settings, host, port, on_ready)
    else:
        _run_gunicorn(settings, host, port, processes, on_ready)


def _address(host: str, port: int) -> str:
    # These two stand for all interfaces, and not every browser can open them.
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}"


def run_alone(settings: Settings, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve with only this process until a signal stops it."""
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
                # Detached, or Python would close the sockets when it collects the objects.
                "bind": [f"fd://{listener.detach()}" for listener in _listen(host, port, processes)],
                "pre_fork": _give_a_listener,
                "workers": processes,
                "worker_class": ServerProcess,
                "graceful_timeout": GRACEFUL_SECONDS,
                # Seconds without a sign of a process after which it is killed. Its event loop gives the sign, whatever
                # its threads do.
                "timeout": 60,
                "loglevel": "warning",
                "control_socket_disable": True,
                "when_ready": lambda arbiter: on_ready(_address(host, arbiter.LISTENERS[0].sock.getsockname()[1])),
            }
            for name, value in options.items():
                if name in self.cfg.settings:  # older versions of gunicorn have no control socket
                    self.cfg.set(name, value)

        def load(self) -> Gateway:
            return _ready_gateway(settings)

    Server().run()


def _ready_gateway(settings: Settings) -> Gateway:
    """Return the application with compiled templates and a short time slice for threads, so that the first requests are fast too."""
    app = create_app(settings)
    # Researchers' templates are compiled when they are first used.
    for name in app.jinja_env.list_templates(filter_func=lambda name: name.startswith(("annotator/", "_"))):
        app.jinja_env.get_template(name)
    keep_what_is_loaded()
    sys.setswitchinterval(SWITCH_SECONDS)
    return Gateway(app, longest_body=MAX_BODY)


def _listen(host: str, port: int, processes: int) -> list[socket.socket]:
    """Open a listening socket for each process on Linux, which distributes connections over them; elsewhere open one for all.

    Processes that accept from the same socket do not share the work evenly. The process that waited last is woken first. Because
    connections are kept alive, it may serve nearly everybody while the others are idle.
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
        port = listener.getsockname()[1]  # port 0: the first socket chooses, and the others share its port
        listeners.append(listener)
    return listeners


def _give_a_listener(arbiter: Any, worker: Any) -> None:
    """Give a new process the socket that the fewest processes use, for example the socket of a process that ended."""
    taken = Counter(id(listener) for other in arbiter.WORKERS.values() for listener in other.sockets)
    worker.sockets = [min(arbiter.LISTENERS, key=lambda listener: taken[id(listener)])]
