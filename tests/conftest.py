"""Fixtures of all tests: both databases and the research data, as far as this run has them."""

import copy
import os
import shutil
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from flask import Flask
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from playwright.sync_api import Browser, sync_playwright
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import OperationalError

from spanplat.db import Database, WriteQueue
from spanplat.db.schema import initialise
from spanplat.services.accounts import passwords
from spanplat.settings import Settings
from spanplat.web.app import create_app
from spanplat.web.counts import SharedCounts
from tests.postgresql import PostgresqlDatabase

# The shell draws what the whole browser draws, for half of the work.
CHROMIUMS = ("chromium-headless-shell", "chromium", "google-chrome")
# A stand-in for a platform on the public net frames a study on this machine, which Chromium would first ask the user about.
CHROMIUM_ARGUMENTS = ["--no-sandbox", "--disable-features=LocalNetworkAccessChecks"]
ROOT = Path(__file__).parent.parent
POSTGRESQL_URL = os.environ.get("SPANPLAT_TEST_POSTGRESQL_URL", "postgresql+psycopg://postgres@127.0.0.1:5432/postgres")
REDIS_URL = os.environ.get("SPANPLAT_TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
SERVICES_REQUIRED = bool(os.environ.get("SPANPLAT_TEST_REQUIRE_SERVICES"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that make a bad day of it for browser tests, which must pass all the same."""
    group = parser.getgroup("browser tests on a bad day")
    group.addoption(
        "--slow-server",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="pause for up to so long, by chance, before and after each request is dealt with",
    )
    group.addoption(
        "--slow-browser",
        type=float,
        default=1.0,
        metavar="FACTOR",
        help="let everything that pages do take so many times as long",
    )

    parser.addoption(
        "--quick",
        action="store_true",
        help="leave out slow tests and those that need a browser, PostgreSQL, Redis or the research data; draw fewer examples",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let properties of a quick run draw fewer examples."""
    if config.getoption("--quick"):
        hypothesis_settings.load_profile("quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what ``--quick`` leaves out."""
    if not config.getoption("--quick"):
        return
    left_out = [item for item in items if _is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def _is_left_out(item: pytest.Item) -> bool:
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    fixtures = set(getattr(item, "fixturenames", ()))
    return bool(
        item.get_closest_marker("slow")
        or fixtures & {"browser", "postgresql_server", "research_data"}
        or {value for value in parameters.values() if isinstance(value, str)} & {"postgresql", "redis"}
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Note on which database a test runs; the note travels with the report from the process that runs the test."""
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    fixtures = set(getattr(item, "fixturenames", ()))
    if parameters.get("database") == "postgresql" or (fixtures & {"postgresql_url"} and "database" not in fixtures):
        item.user_properties.append(("database", "PostgreSQL"))
    elif fixtures & {"make_sqlite", "sqlite_database", "database", "home"}:
        item.user_properties.append(("database", "SQLite"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell how many tests ran, on which databases, and what was skipped and why."""
    stats = terminalreporter.stats
    ran = [report for outcome in ("passed", "failed") for report in stats.get(outcome, [])]
    databases = Counter(value for report in ran for name, value in report.user_properties if name == "database")
    terminalreporter.section("what ran")
    terminalreporter.write_line(f"{len(ran)} tests ran, {len(stats.get('skipped', []))} were skipped")
    for name in ("SQLite", "PostgreSQL"):
        terminalreporter.write_line(f"on {name}: {databases[name]} tests")
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)
        for report in stats.get("skipped", [])
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason}")


@pytest.fixture(scope="session", autouse=True)
def password_hasher() -> Iterator[PasswordHasher]:
    """Hash passwords at the lowest cost; the value is the hasher that is used outside tests."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        hasher = passwords._HASHER
        monkeypatch.setattr(passwords, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield hasher


# How long an example takes says more about the machine than about the code.
hypothesis_settings.register_profile("spanplat", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.register_profile("quick", hypothesis_settings.get_profile("spanplat"), max_examples=20)
hypothesis_settings.register_profile("thorough", hypothesis_settings.get_profile("spanplat"), max_examples=1500)
hypothesis_settings.load_profile("spanplat")


def skip_or_fail(reason: str) -> None:
    """Skip what this machine cannot run; where services are required (in CI), fail instead."""
    if SERVICES_REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """Wait for a condition; fail when it does not come true within a minute."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        pause = threading.Event()
        while not condition():
            assert time.monotonic() < deadline, "the condition did not come true within 60 s"
            pause.wait(0.02)

    return wait


@pytest.fixture(scope="session")
def research_data() -> Path:
    """The folder with the public research data."""
    folder = Path(os.environ.get("SPANPLAT_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "d2t-eval").is_dir():
        skip_or_fail(f"the research data is not at {folder}; set SPANPLAT_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the whole run: this system's, or else Playwright's own."""
    executable = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    with sync_playwright() as playwright:
        if executable is None and not Path(playwright.chromium.executable_path).exists():
            skip_or_fail("there is no Chromium; install one, or run: playwright install chromium")
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Engine]:
    """An administrative connection to the PostgreSQL server."""
    engine = create_engine(POSTGRESQL_URL, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 30})
    try:
        engine.connect().close()
    except OperationalError as error:
        skip_or_fail(f"PostgreSQL does not answer at {engine.url!r} (set SPANPLAT_TEST_POSTGRESQL_URL): {error.orig}")
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def postgresql_template(postgresql_server: Engine) -> Iterator[str]:
    """Name of a migrated PostgreSQL database that tests copy."""
    name = f"spanplat_template_{uuid.uuid4().hex}"
    with postgresql_server.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
    database = Database(postgresql_server.url.set(database=name).render_as_string(hide_password=False))
    initialise(database)
    database.dispose()
    yield name
    with postgresql_server.connect() as connection:
        connection.exec_driver_sql(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Bytes of a migrated SQLite file that tests copy."""
    path = tmp_path_factory.mktemp("template") / "template.sqlite3"
    database = Database(f"sqlite:///{path}")
    initialise(database)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.exec_driver_sql("BEGIN")
    database.dispose()
    return path.read_bytes()


@pytest.fixture
def make_sqlite(tmp_path: Path, sqlite_template: bytes) -> Callable[[], str]:
    """Make fresh migrated SQLite databases; each call returns the URL of one."""

    def make() -> str:
        path = tmp_path / f"{uuid.uuid4().hex}.sqlite3"
        path.write_bytes(sqlite_template)
        return f"sqlite:///{path}"

    return make


@pytest.fixture(scope="session")
def postgresql_database(postgresql_server: Engine, postgresql_template: str) -> Iterator[PostgresqlDatabase]:
    """The PostgreSQL database that tests use in turn; use it through ``postgresql_url``."""
    database = PostgresqlDatabase(postgresql_server, postgresql_template)
    yield database
    database.drop()


@pytest.fixture
def postgresql_url(postgresql_database: PostgresqlDatabase) -> Iterator[str]:
    """URL of an empty migrated PostgreSQL database."""
    yield postgresql_database.url
    postgresql_database.empty()


def as_new(database: Database) -> Database:
    """Return the same database with an engine that no cache knows.

    Engines derived from one share its connections and the statements that it has compiled, and to compile them again for each test
    took a quarter of the time of all tests of services.
    """
    renewed = copy.copy(database)
    renewed.engine = database.engine.execution_options()
    return renewed


@pytest.fixture(scope="session")
def shared_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The SQLite database that tests use in turn; use it through ``database`` or ``sqlite_database``."""
    shared = Database(f"sqlite:///{tmp_path_factory.mktemp('shared') / 'shared.sqlite3'}")
    yield shared
    shared.dispose()


@pytest.fixture(scope="session")
def shared_postgresql(postgresql_database: PostgresqlDatabase) -> Iterator[Database]:
    """The PostgreSQL database that tests use in turn; use it through ``database``."""
    shared = Database(postgresql_database.url)
    yield shared
    shared.dispose()


@pytest.fixture
def sqlite_from(shared_sqlite: Database) -> Iterator[Callable[[bytes], Database]]:
    """Fill the SQLite database that tests use in turn with the bytes of a template, once in a test."""
    path = Path(str(shared_sqlite.engine.url.database))
    database = as_new(shared_sqlite)
    database.write_queue = WriteQueue(Path(f"{path}-queue"))

    def fill(template: bytes) -> Database:
        assert not path.exists(), "a test has one such database"
        path.write_bytes(template)
        return database

    yield fill
    database.dispose()
    for file in path.parent.iterdir():
        file.unlink()


@pytest.fixture
def sqlite_database(sqlite_from: Callable[[bytes], Database], sqlite_template: bytes) -> Database:
    """A fresh migrated SQLite database, for tests that do not depend on the kind."""
    return sqlite_from(sqlite_template)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A fresh migrated database; the test runs once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_database")
        return
    request.getfixturevalue("postgresql_url")
    database = as_new(request.getfixturevalue("shared_postgresql"))
    yield database
    database.dispose()


@pytest.fixture
def database_url(database: Database) -> str:
    """URL of a fresh migrated database; the test runs once on each kind."""
    return database.url


@pytest.fixture(scope="session")
def web_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose compressed static files all tests share."""
    return tmp_path_factory.mktemp("web") / "home"


@pytest.fixture(scope="session")
def empty_application(web_home: Path, sqlite_template: bytes) -> Flask:
    """The application that the tests of one process use in turn; use it through ``application``."""
    path = web_home.parent / "empty.sqlite3"
    path.write_bytes(sqlite_template)
    return create_app(Settings(home=web_home, _env_file=None), Database(f"sqlite:///{path}"))


@pytest.fixture
def application(empty_application: Flask) -> Iterator[Callable[[Database], Flask]]:
    """Return the application over a database.

    It is the same one for all tests, because building one takes half a second: all routes and templates are compiled. What a test
    changes in its configuration or its extensions is taken back.
    """
    app = empty_application
    config, extensions = dict(app.config), dict(app.extensions)

    def over(database: Database) -> Flask:
        app.extensions["spanplat_database"] = database
        return app

    app.extensions["spanplat_counts"] = SharedCounts("")
    yield over
    for before, now in ((config, app.config), (extensions, app.extensions)):
        now.clear()
        now.update(before)
