"""Record the answers of every page, command and export, and compare two recordings, to find unintended changes.

python -m bench.recorded_answers record FOLDER [--spanplat-from CHECKOUT] [--only {commands,pages}]
python -m bench.recorded_answers compare FOLDER FOLDER

Each answer becomes one text file. Values that differ each time are replaced: times, tokens, pseudonyms and the hashes in the names of
static files. CHECKOUT is another version of the source tree; the study is then created and visited with its code.
"""

import argparse
import contextlib
import difflib
import hashlib
import http.client
import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bench.recorded_study import (
    ADMIN,
    STAND_IN_PORT,
    Response,
    answer_as_model,
    answer_campaigns,
    change_study,
    definitions,
    load_demo,
    look_at_study,
    make_study,
    rows,
    settle_times,
)

ROOT = Path(__file__).parent.parent
HEADERS = ("content-type", "content-disposition", "location", "cache-control", "content-security-policy", "hx-retarget")
PATIENCE = 120
"""Seconds that a server has to start."""
NAMED_IN_TABLES = (
    ("participation", "token"),
    ("draft", "token"),
    ("upload", "token"),
    ("annotator", "pseudonym"),
)
"""Columns with random values."""
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
VARYING = (
    (r'name="csrf_token" value="[^"]*"', 'name="csrf_token" value="…"'),
    (r'(csrf[-_]token"? (?:content|value)=")[^"]*', r"\1…"),
    (r'("X-CSRFToken"\s*:\s*")[^"]*', r"\1…"),
    (r"/static/[0-9a-f]{16}/", "/static/"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00| UTC)?", "<time>"),
    (rf"\b\d{{1,2}} {_MONTH} \d{{4}}(,? \d\d:\d\d(:\d\d)?)?", "<time>"),
    (rf"\b{_MONTH} \d{{1,2}}, \d{{4}}(, \d{{1,2}}:\d\d(:\d\d)?\s*[AP]M)?", "<time>"),
    (r"\b\d{4}-\d\d-\d\d\b", "<date>"),
    (r"\b(\d+|an?) (second|minute|hour|day)s? ago\b|\bjust now\b", "<ago>"),
    (r"(127\.0\.0\.1|localhost):\d{4,5}", "<address>"),
    (r"/[\w./-]*/spanplat-recorded-[\w./-]*", "<path>"),
    (r"(signature\W+)[0-9a-f]{12,64}", r"\1<signature>"),
    (r'("password": ")[^"]*', r"\1<password>"),
    (r"(/invitations/)[\w-]{20,}", r"\1<token>"),
    (r'("(?:seconds\w*|latency\w*)": )\d+\.\d{5,}', r"\1<seconds>"),
    (r"([?&]seen=)[0-9a-f]+", r"\1<seen>"),
)


class Recording:
    """A folder with one file for each answer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, str] = {}
        self._taken: dict[str, int] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def learn_names(self, database: Path) -> None:
        """Read the random values in the database, so that each can be replaced by the name of its place."""
        for table, column in NAMED_IN_TABLES:
            for number, (value,) in enumerate(rows(database, f"SELECT {column} FROM {table} ORDER BY id"), 1):  # noqa: S608
                self._names[value] = f"<{table} {number}>"

    def add(self, name: str, text: str) -> None:
        """Write an answer; a repeated name gets a number."""
        name = re.sub(r"[^\w.=&@<> -]+", "_", self.normalised(name))
        if len(name) > 180:
            name = f"{name[:160]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
        self._taken[name] = self._taken.get(name, 0) + 1
        number = f" ({self._taken[name]})" if self._taken[name] > 1 else ""
        (self._folder / f"{name}{number}.txt").write_text(self.normalised(text), "utf-8")

    def normalised(self, text: str) -> str:
        """Return a text without the values that differ each time."""
        for value in self._names.keys() & set(re.findall(r"[\w-]{6,}", text)):
            text = text.replace(value, self._names[value])
        for pattern, replacement in VARYING:
            text = re.sub(pattern, replacement, text)
        return text


class Commands:
    """Runner of commands in this process, with recording."""

    def __init__(self, recording: Recording, database: Path) -> None:
        self._recording, self._database = recording, database

    def __call__(self, *arguments: str | Path) -> str:
        """Run a command, record its status and output, and return its standard output."""
        from click.testing import CliRunner  # noqa: PLC0415 (with the spanplat that is recorded)

        from spanplat.cli import main  # noqa: PLC0415

        words = [str(argument) for argument in arguments]
        result = CliRunner().invoke(main, words, prog_name="spanplat")
        if self._database.exists():
            self._recording.learn_names(self._database)
        name = " ".join(Path(word).name if word.startswith("/") else word for word in words)
        crash = "" if isinstance(result.exception, SystemExit | None) else f"crashed: {result.exception!r}\n"
        content = f"{crash}exit {result.exit_code}\n--- stdout\n{result.stdout}--- stderr\n{result.stderr}"
        if "--output" in words and (output := Path(words[words.index("--output") + 1])).exists():
            files = sorted(output.rglob("*")) if output.is_dir() else [output]
            content += "".join(f"--- {file.name}\n{_as_text(file.read_bytes())}" for file in files if file.is_file())
        self._recording.add(f"spanplat {name}", content)
        return result.stdout


class Browser:
    """One connection to the server, with one cookie, that records the responses."""

    def __init__(self, recording: Recording, database: Path, port: int) -> None:
        self._recording, self._database = recording, database
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._cookie = ""
        self.token = ""

    def __call__(
        self,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        *,
        title: str = "",
        is_json: bool = False,
        htmx: bool = False,
    ) -> Response:
        """Send a request; record the response if it has a title."""
        headers = {"Accept": "text/html,*/*", "Cookie": self._cookie} | ({"HX-Request": "true"} if htmx else {})
        body = b""
        if content is not None:
            kind = "application/json" if is_json else "application/x-www-form-urlencoded"
            body = (json.dumps(content) if is_json else urlencode(content)).encode()
            headers["Content-Type"] = kind
        self._connection.request(method, path, body, headers)
        received = self._connection.getresponse()
        response = Response(
            received.status, {name.lower(): value for name, value in received.getheaders()}, received.read()
        )
        if cookie := response.headers.get("set-cookie"):
            self._cookie = cookie.partition(";")[0]
        if "text/html" in response.headers.get("content-type", "") and (
            found := re.search(r'name="csrf_token" value="([^"]+)"', response.text)
        ):
            self.token = found[1]
        if title:
            self._recording.learn_names(self._database)
            self._recording.add(title, _written(response))
        return response

    def rest(self) -> None:
        """Close the connection, before the server closes it for being idle; the next request opens another."""
        self._connection.close()

    def sign_in(self, email: str, password: str) -> None:
        """Fill in the sign-in form."""
        self("GET", "/", title="page _ of a stranger")
        form = {"csrf_token": self.token, "email": email, "password": password}
        answer = self("POST", "/sign-in", form, title="sign-in")
        assert answer.status == 303, answer.text

    def send(self, path: str, title: str, **form: str) -> Response:
        """Send a form with the token of the last page."""
        return self("POST", path, {"csrf_token": self.token, **form}, title=title)


def _written(response: Response) -> str:
    """Return an answer as text with one tag per line, so that differences are short."""
    headers = "".join(f"{name}: {response.headers[name]}\n" for name in HEADERS if name in response.headers)
    text = _as_text(response.body)
    if "text/html" in response.headers.get("content-type", ""):
        text = re.sub(r"\s+", " ", text).replace("> ", ">\n").replace("><", ">\n<")
    return f"{response.status}\n{headers}\n{text}\n"


def _as_text(body: bytes) -> str:
    if body.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return "".join(f"--- {name}\n{_as_text(archive.read(name))}" for name in sorted(archive.namelist()))
    try:
        return body.decode()
    except UnicodeDecodeError:
        return f"{len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()}"


@contextlib.contextmanager
def serving(home: Path) -> Iterator[int]:
    """Serve the study without a worker during the block; give the port."""
    from spanplat import paths  # noqa: PLC0415 (of the spanplat that is recorded)

    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "spanplat", "serve", "--port", str(port), "--workers", "1", "--no-worker"]
    environment = os.environ | {"PYTHONPATH": str(paths.TEMPLATES.parent), "PYTHONSAFEPATH": "1"}
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            _wait_for(port, server)
            yield port
        finally:
            server.terminate()
            server.wait(PATIENCE)


def _wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise SystemExit("the server did not start")


def visit_pages(browser: Browser, recording: Recording, home: Path) -> None:
    """Request every researcher's address: first those with results that must be computed, then those that are recorded."""
    from spanplat.settings import Settings  # noqa: PLC0415
    from spanplat.web.app import create_app  # noqa: PLC0415
    from tests.simulation.page_addresses import addresses_of, unknown_routes  # noqa: PLC0415 (with the spanplat that is recorded)

    database = home / "spanplat.sqlite3"
    app = create_app(Settings(home=home, _env_file=None))
    places = _places(browser, database)
    for route in unknown_routes(app, places):
        recording.add(f"not visited {route}", "nothing is known to stand in this address\n")
    pages = list(addresses_of(app, places))
    for page in pages:
        if page.endpoint == "computed.show":
            browser.send(page.address, f"compute {page.address}", here="yes")
    for page in pages:
        whole = browser("GET", page.address, title=f"page {page.address}")
        if "text/html" in whole.headers.get("content-type", ""):
            browser("GET", page.address, title=f"part {page.address}", htmx=True)


def _places(browser: Browser, database: Path) -> Any:
    """Return the values for parts of addresses, after creating a draft, an upload and an invitation."""
    from tests.simulation.page_addresses import Places  # noqa: PLC0415

    browser("GET", "/admin/people", title="page people")
    invited = browser.send("/admin/people/invitations", "invite", email="new@example.org", role="viewer")
    invitations = re.findall(r"/invitations/([\w-]{20,})", invited.text)
    browser("GET", "/admin/drafts", title="drafts")
    browser.send("/admin/drafts", "draft of a campaign", start="campaign:data-to-text-qualification")
    made = definitions(database)

    def column(query: str) -> list[Any]:
        return [value for (value,) in rows(database, query)]

    class Compared(Places):
        """Return addresses that compare only campaigns about the same texts."""

        @property
        def all_campaigns(self) -> str:
            return "&".join(f"campaign={slug}" for slug in ("demo-sample-a", "demo-sample-b", "demo-overlap"))

    first = ["demo-sample-a", "demo-overlap"]
    others = [slug for slug in sorted(made) if slug not in first]
    return Compared(
        campaigns=[first[0], *others, first[1]],
        datasets=column("SELECT slug FROM dataset ORDER BY id"),
        outputs=column(
            "SELECT o.id FROM output o JOIN example e ON e.id = o.example_id WHERE e.split <> 'checks' ORDER BY o.id LIMIT 2"
        ),
        searches=("train", "nothing like this"),
        categories=["contradicts"],
        annotators=column("SELECT pseudonym FROM annotator ORDER BY id LIMIT 1"),
        systems=["marram"],
        splits=["test"],
        drafts=column("SELECT token FROM draft"),
        uploads=column("SELECT token FROM upload"),
        invitations=invitations,
        qualifications=[slug for slug, one in made.items() if one["kind"] == "qualification"],
        practised=[slug for slug, one in made.items() if one["practice"]],
        pools=column("SELECT slug FROM pool ORDER BY id"),
        studies=column("SELECT slug FROM study"),
        generations=column("SELECT slug FROM generation"),
    )


@contextlib.contextmanager
def _model() -> Iterator[None]:
    """Serve a stand-in for a model during the block."""
    from tests.standin.server import StandIn  # noqa: PLC0415 (that of the version that is recorded)

    stand_in = StandIn(answer_as_model)
    stand_in.port = STAND_IN_PORT
    with stand_in:
        yield


def record(folder: Path, only: str = "", *, is_short: bool = False) -> None:
    """Create the study with the spanplat that Python finds first, and record its answers."""
    from spanplat import paths  # noqa: PLC0415 (with the spanplat that is recorded)

    with tempfile.TemporaryDirectory(prefix="spanplat-recorded-") as name:
        home = Path(name) / "home"
        files = Path(name) / "files"
        files.mkdir()
        os.environ |= {"SPANPLAT_HOME": str(home), "OPENAI_API_KEY": "none"}
        os.chdir(files)
        database = home / "spanplat.sqlite3"
        recording = Recording(folder)
        run = Commands(recording, database)
        with contextlib.nullcontext() if is_short else _model():
            load_demo(run)
            if not is_short:
                make_study(run, paths.CAMPAIGNS.parent, files)
            password = json.loads(run("user", "password", ADMIN, "--json"))["password"]
            with serving(home) as port:
                browser = Browser(recording, database, port)
                answer_campaigns(browser, database)
                settle_times(database)
                browser.sign_in(ADMIN, password)
                if is_short:
                    look_at_demo(run, browser)
                else:
                    browser.rest()
                    if only != "pages":
                        look_at_study(run, database, files)
                    change_study(run, database, files)
                    if only != "commands":
                        visit_pages(browser, recording, home)


def look_at_demo(run: Commands, browser: Browser) -> None:
    """Record a few answers of the demo, to test that two recordings are the same."""
    run("campaign", "people", "demo-people", "--json")
    run("export", "demo-people", "--format", "jsonl", "--output", "-")
    for page in ("/", "/admin/campaigns/demo-people", "/admin/campaigns/demo-people/people", "/admin/audit"):
        browser("GET", page, title=f"page {page}")


def compare(old: Path, new: Path) -> int:
    """Print the differences between two recordings; return the number of different answers."""
    names = sorted({path.name for folder in (old, new) for path in folder.iterdir()})
    differing = 0
    for name in names:
        before, after = (_lines_of(folder / name) for folder in (old, new))
        if before != after:
            differing += 1
            print(*difflib.unified_diff(before, after, f"{old}/{name}", f"{new}/{name}", lineterm="", n=1), sep="\n")
    print(f"{differing} of {len(names)} answers differ")
    return differing


def _lines_of(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines() if file.exists() else ["there is no such answer"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="make the study and write its answers")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--spanplat-from", type=Path, metavar="CHECKOUT", help="the version to record")
    recording.add_argument("--short", action="store_true", help="record only a few answers of the demo")
    recording.add_argument("--only", default="", choices=["commands", "pages"], help="leave the other of these out")
    comparing = commands.add_parser("compare", help="show how two recordings differ")
    comparing.add_argument("folders", type=Path, nargs=2)
    options = parser.parse_args()
    if options.command == "compare":
        return 1 if compare(*options.folders) else 0
    if options.spanplat_from is not None:
        command = [sys.executable, "-m", "bench.recorded_answers", "record", options.folder.absolute()]
        command += ["--only", options.only] * bool(options.only) + ["--short"] * options.short
        path = os.pathsep.join([str(options.spanplat_from.absolute()), str(ROOT)])
        environment = os.environ | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
        return subprocess.run(command, env=environment, check=False).returncode
    record(options.folder.absolute(), options.only, is_short=options.short)
    return 0


if __name__ == "__main__":
    sys.exit(main())
