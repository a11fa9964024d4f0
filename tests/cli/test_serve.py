"""``spanplat serve``: one command starts the server and the worker, and leaves no process when it ends."""

import contextlib
import gc
import http.client
import itertools
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

from spanplat.cli.serve import warn_of_plain_text
from spanplat.cli.supervisor import keep_what_is_loaded

from .conftest import Run

WaitUntil = Callable[[Callable[[], bool]], None]
LONGEST_WAIT = 60.0
"""Seconds that what surely comes may take on a slow machine."""

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
            members: list[psutil.Process | subprocess.Popen[str]] = [*family(process), process]
            for member in members:
                with contextlib.suppress(psutil.NoSuchProcess):  # some end by themselves when others do
                    member.kill()
        process.communicate()


@pytest.fixture
def port() -> Iterator[int]:
    """A port that no connection is given meanwhile: held without listening, which on Linux leaves it to a server."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        number: int = held.getsockname()[1]
        if sys.platform != "linux":
            held.close()
        yield number


def address_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise AssertionError(f"the server ended with status {process.wait()}")


def family(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def workers(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    return [child for child in family(process) if "worker" in command_of(child)]


def command_of(process: psutil.Process) -> list[str]:
    """Return what a process runs; nothing where it has ended."""
    try:
        return process.cmdline() if process.is_running() else []
    except psutil.NoSuchProcess:  # a zombie is none either
        return []


def ended(processes: list[psutil.Process]) -> bool:
    return not any(map(command_of, processes))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_it_serves_and_ends_cleanly(
    start: Callable[..., "subprocess.Popen[str]"], wait_until: WaitUntil, number: signal.Signals
) -> None:
    process = start("serve", "--port", "0", "--workers", "2")
    response = httpx.get(f"{address_of(process)}/healthz", timeout=LONGEST_WAIT)
    assert response.status_code == 200
    assert "Server" not in response.headers, "nobody need know what to attack"
    assert response.json() == {"status": "ok"}
    wait_until(lambda: len(workers(process)) == 1)
    everyone = family(process)
    process.send_signal(number)
    assert process.wait(LONGEST_WAIT) == 0
    assert ended(everyone)


@pytest.mark.parametrize(
    ("host", "base_url", "warns"),
    [
        ("0.0.0.0", "", True),  # noqa: S104 (no server listens)
        ("::", "http://annotate.example.org", True),
        ("192.0.2.7", "https://annotate.example.org", False),
        ("127.0.0.1", "", False),
        ("::1", "", False),
        ("localhost", "", False),
    ],
)
def test_serving_others_unencrypted_is_warned_of(
    capsys: pytest.CaptureFixture[str], host: str, base_url: str, warns: bool
) -> None:
    warn_of_plain_text(host, base_url)
    assert ("set SPANPLAT_BASE_URL to its https:// address" in capsys.readouterr().err) == warns


def test_who_begins_to_serve_others_reads_the_warning(
    start: Callable[..., "subprocess.Popen[str]"], capfd: pytest.CaptureFixture[str]
) -> None:
    address_of(start("serve", "--host", "0.0.0.0", "--port", "0", "--workers", "1", "--no-worker"))  # noqa: S104
    assert "on the network of 0.0.0.0 can read passwords" in capfd.readouterr().err


def test_connections_stay_open_between_saves(start: Callable[..., "subprocess.Popen[str]"]) -> None:
    process = start("serve", "--port", "0", "--workers", "1", "--no-worker")
    url = httpx.URL(address_of(process))
    connection = http.client.HTTPConnection(url.host, url.port, timeout=LONGEST_WAIT)
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


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not spread connections over processes")
def test_people_who_stay_connected_are_shared_among_the_processes(
    start: Callable[..., "subprocess.Popen[str]"],
) -> None:
    process = start("serve", "--port", "0", "--workers", "2", "--no-worker")
    url = httpx.URL(address_of(process))
    httpx.get(f"{url}/healthz", timeout=LONGEST_WAIT)
    connections = [http.client.HTTPConnection(url.host, url.port, timeout=LONGEST_WAIT) for _ in range(64)]
    with contextlib.ExitStack() as in_the_end:
        for connection in connections:
            in_the_end.enter_context(contextlib.closing(connection)).connect()
        for connection in connections:
            connection.request("GET", "/healthz")
            with connection.getresponse() as response:
                response.read()
        serving = [
            sum(link.status == psutil.CONN_ESTABLISHED for link in member.net_connections())
            for member in family(process)
        ]
    shares = sorted(filter(None, serving))
    assert (len(shares), sum(shares)) == (2, 64)
    assert shares[0] >= 12, "less by chance once in millions of runs"


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [("/sign-in", 413, "at most 16 MB are accepted here"), ("/admin/datasets/uploads", 303, "")],
    ids=["form", "upload-by-nobody"],
)
def test_a_body_without_a_length_is_counted_while_it_comes(
    start: Callable[..., "subprocess.Popen[str]"], home: Path, path: str, status: int, told: str
) -> None:
    process = start("serve", "--port", "0", "--workers", "1", "--no-worker")
    url = httpx.URL(address_of(process))
    connection = http.client.HTTPConnection(url.host, url.port, timeout=LONGEST_WAIT)
    connection.putrequest("POST", path)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.putheader("Content-Type", "multipart/form-data; boundary=x")
    connection.endheaders()
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    sent = 0
    with contextlib.suppress(ConnectionError):  # what is refused need not be read to its end
        for block in itertools.chain([part], itertools.repeat(b"a,b\n" * 2**16, 2_000)):
            connection.send(b"%x\r\n%b\r\n" % (len(block), block))
            sent += len(block)
    response = connection.getresponse()
    assert (response.status, told in response.read().decode()) == (status, True)
    assert sent < 64 * 1024**2
    connection.close()
    assert not (home / "uploads").exists()


def test_a_worker_that_dies_is_replaced(start: Callable[..., "subprocess.Popen[str]"], wait_until: WaitUntil) -> None:
    process = start("serve", "--port", "0", "--workers", "1")
    address_of(process)
    wait_until(lambda: len(workers(process)) == 1)
    (first,) = workers(process)
    first.kill()
    wait_until(lambda: [worker.pid for worker in workers(process)] not in ([], [first.pid]))


def test_nothing_outlives_a_supervisor_that_is_killed(
    start: Callable[..., "subprocess.Popen[str]"], wait_until: WaitUntil
) -> None:
    process = start("serve", "--port", "0", "--workers", "1")
    address_of(process)
    wait_until(lambda: len(workers(process)) == 1)
    everyone = family(process)
    process.kill()
    wait_until(lambda: ended(everyone))


@pytest.mark.skipif(sys.platform == "win32", reason="one process serves there")
def test_no_process_goes_on_serving_without_the_one_that_started_it(
    start: Callable[..., "subprocess.Popen[str]"], wait_until: WaitUntil
) -> None:
    process = start("serve", "--port", "0", "--workers", "2", "--no-worker")
    address_of(process)
    (first,) = psutil.Process(process.pid).children()
    wait_until(lambda: len(first.children()) == 2)
    everyone = family(process)
    first.kill()
    wait_until(lambda: ended(everyone))
    assert process.wait(LONGEST_WAIT) == 1


def test_one_process_serves_alone_where_there_can_be_one_only() -> None:
    script = (
        "from spanplat.cli.webserver import run_alone; from spanplat.settings import load_settings; "
        "run_alone(load_settings(), '127.0.0.1', 0, lambda address: print(address, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        response = httpx.get(f"{process.stdout.readline().strip()}/healthz", timeout=LONGEST_WAIT)
        process.terminate()
        process.wait(LONGEST_WAIT)
    assert response.json() == {"status": "ok"}


def test_what_a_process_loaded_before_it_serves_is_left_out_of_garbage_collections() -> None:
    try:
        keep_what_is_loaded()
        assert gc.get_freeze_count() > len(gc.get_objects())
    finally:
        gc.unfreeze()


def test_a_server_starts_without_what_only_agreement_needs() -> None:
    """People whose server was killed wait for it to start again."""
    script = "import sys, spanplat.cli.webserver; print([name for name in ('scipy.stats', 'scipy.optimize') if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_a_port_in_use_is_told(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"cannot listen on 127.0.0.1:{port}" in run("serve", "--port", port, status=1).stderr


def test_the_demo_serves_until_it_is_stopped_and_can_be_repeated(
    start: Callable[..., "subprocess.Popen[str]"], home: Path, port: int
) -> None:
    for _ in range(2):
        process = start("demo", "--port", str(port))
        assert process.stdout is not None
        lines = iter(process.stdout)
        assert any("/c/demo-people/start" in line for line in lines)
        assert any(line.startswith("spanplat is at") for line in lines)
        page = httpx.get(f"http://127.0.0.1:{port}/c/demo-people/start", follow_redirects=True, timeout=LONGEST_WAIT)
        assert page.status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(LONGEST_WAIT) == 0
    assert (home / "spanplat.sqlite3").exists()
