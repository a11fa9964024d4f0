"""``spanplat serve``: one command for the server and the worker, and nothing left behind when it ends."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from .conftest import Run

WaitUntil = Callable[[Callable[[], bool]], None]

pytestmark = pytest.mark.usefixtures("initialised")


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start a command in a process of its own; whatever is left of it in the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "spanplat", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            for child in family(process):
                child.kill()
            process.kill()
        process.communicate()


def address_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise AssertionError(f"the server ended with status {process.wait()}")


def family(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def workers(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    living = [child for child in family(process) if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in living if "worker" in child.cmdline()]


def ended(processes: list[psutil.Process]) -> bool:
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_it_serves_and_ends_cleanly(
    start: Callable[..., "subprocess.Popen[str]"], wait_until: WaitUntil, number: signal.Signals
) -> None:
    process = start("serve", "--port", "0", "--workers", "2")
    response = httpx.get(f"{address_of(process)}/healthz")
    assert response.status_code == 200
    wait_until(lambda: len(workers(process)) == 1)
    everyone = family(process)
    process.send_signal(number)
    assert process.wait(30) == 0
    assert ended(everyone)


def test_connections_stay_open_between_saves(start: Callable[..., "subprocess.Popen[str]"]) -> None:
    process = start("serve", "--port", "0", "--workers", "1", "--no-worker")
    url = httpx.URL(address_of(process))
    connection = http.client.HTTPConnection(url.host, url.port, timeout=30)
    ports = set()
    for _ in range(3):
        connection.request("GET", "/healthz")
        with connection.getresponse() as response:
            assert response.status == 200
            assert not response.will_close
            response.read()
        ports.add(connection.sock.getsockname()[1])
    connection.close()
    assert len(ports) == 1


def test_a_worker_that_dies_is_replaced(start: Callable[..., "subprocess.Popen[str]"], wait_until: WaitUntil) -> None:
    process = start("serve", "--port", "0", "--workers", "1")
    address_of(process)
    wait_until(lambda: len(workers(process)) == 1)
    (first,) = workers(process)
    first.kill()
    wait_until(lambda: len(workers(process)) == 1 and workers(process)[0].pid != first.pid)


def test_nothing_outlives_a_supervisor_that_is_killed(
    start: Callable[..., "subprocess.Popen[str]"], wait_until: WaitUntil
) -> None:
    process = start("serve", "--port", "0", "--workers", "1")
    address_of(process)
    wait_until(lambda: len(workers(process)) == 1)
    everyone = family(process)
    process.kill()
    wait_until(lambda: ended(everyone))


def test_a_port_in_use_is_told(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"cannot listen on 127.0.0.1:{port}" in run("serve", "--port", port, status=1).stderr


def test_the_demo_serves_until_it_is_stopped_and_can_be_repeated(
    start: Callable[..., "subprocess.Popen[str]"], home: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for _ in range(2):
        process = start("demo", "--port", str(port))
        assert process.stdout is not None
        lines = iter(process.stdout)
        assert any("/c/demo-people/start" in line for line in lines)
        assert any(line.startswith("spanplat is at") for line in lines)
        page = httpx.get(f"http://127.0.0.1:{port}/c/demo-people/start", follow_redirects=True)
        assert page.status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert (home / "spanplat.sqlite3").exists()
