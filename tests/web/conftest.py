"""The demo in a real application, with its visitors: one without an account, and one user of each role."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import uvicorn
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from spanplat.cli.http_server import UVICORN
from spanplat.db import Database
from spanplat.models import Annotation, Role, User
from spanplat.services.accounts.users import add_user
from spanplat.services.demo import load_demo
from spanplat.web.accounts.sign_in import StaffMember
from spanplat.web.gateway import SHORT_BODY, Gateway

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

LONGEST_WAIT = 60.0
LONGEST_BODY = 2 * SHORT_BODY

Serve = Callable[..., int]

LONG_AGO = datetime(2026, 3, 4, tzinfo=UTC)
_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')


def without_token(page: str) -> str:
    """What a page says, but for the token of its forms, which is signed with the second it was sent in."""
    return _TOKEN.sub("", page)


class Visitor:
    """A browser without a screen: keeps cookies, and sends the token of the page it looked at last with a form."""

    def __init__(self, client: FlaskClient) -> None:
        self.client = client
        self.token = ""

    def get(self, path: str, **headers: str) -> TestResponse:
        """Fetch a page; header names are written with underscores."""
        response = self.client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        if response.mimetype == "text/html" and (found := _TOKEN.search(response.text)):
            self.token = found[1]
        return response

    def post(self, path: str, *, htmx: bool = False, **form: str) -> TestResponse:
        """Send a form, or have htmx send it."""
        headers = {"HX-Request": "true"} if htmx else {}
        return self.client.post(path, data={"csrf_token": self.token, **form}, headers=headers)

    def sign_in(self, email: str, password: str, **form: str) -> TestResponse:
        """Fill in the sign-in form."""
        self.get("/")
        form |= {"email": email, "password": password}
        return self.client.post("/sign-in", data={"csrf_token": self.token, **form})


@pytest.fixture(scope="session")
def demo_template(tmp_path_factory: pytest.TempPathFactory, sqlite_template: bytes) -> bytes:
    """Bytes of a SQLite file with the demo in it, and a user of each role."""
    path = tmp_path_factory.mktemp("demo") / "demo.sqlite3"
    path.write_bytes(sqlite_template)
    database = Database(f"sqlite:///{path}")
    load_demo(database)
    with database.transaction() as session:
        # Pages say how many minutes ago something was done; that must not change while a test compares two of them.
        session.execute(update(Annotation).where(Annotation.completed_at > LONG_AGO).values(completed_at=LONG_AGO))
        for role in Role:
            add_user(session, f"{role}@example.org", role)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.exec_driver_sql("BEGIN")
    database.dispose()
    return path.read_bytes()


@pytest.fixture
def demo(sqlite_from: Callable[[bytes], Database], demo_template: bytes) -> Database:
    """A fresh database with the demo in it."""
    return sqlite_from(demo_template)


@pytest.fixture
def app(demo: Database, application: Callable[[Database], Flask]) -> Flask:
    """The application over the demo."""
    return application(demo)


@pytest.fixture
def stranger(app: Flask) -> Visitor:
    """Somebody who has not signed in."""
    return Visitor(app.test_client())


@pytest.fixture
def signed_in(app: Flask, demo: Database) -> Callable[[Role], Visitor]:
    """Give a visitor the session of a user of some role; signing in by form has tests of its own."""

    def sign_in(role: Role) -> Visitor:
        with demo.reading() as session:
            user = session.scalars(select(User).where(User.role == role)).one()
        visitor = Visitor(app.test_client())
        with visitor.client.session_transaction() as cookie:
            cookie["_user_id"] = StaffMember.of(user).get_id()
        return visitor

    return sign_in


@pytest.fixture
def viewer(signed_in: Callable[[Role], Visitor]) -> Visitor:
    """Somebody who may look."""
    return signed_in(Role.VIEWER)


@pytest.fixture
def researcher(signed_in: Callable[[Role], Visitor]) -> Visitor:
    """Somebody who may run campaigns."""
    return signed_in(Role.RESEARCHER)


@pytest.fixture
def draft(researcher: Visitor) -> str:
    """Address of a draft that starts from a shipped study."""
    researcher.get("/admin/drafts")
    response = researcher.post("/admin/drafts", start="starter:hotel-highlights-spans-short")
    address: str = response.headers["Location"]
    return address.rpartition("/")[0]


@pytest.fixture
def copy(researcher: Visitor) -> str:
    """Address of a draft that starts from the demo's campaign, whose data are there."""
    researcher.get("/admin/drafts")
    address: str = researcher.post("/admin/drafts", start="campaign:demo-people").headers["Location"]
    return address.rpartition("/")[0]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve an application with this process; gives the port."""
    with contextlib.ExitStack() as in_the_end:

        def serve(
            application: "WSGIApplication",
            *,
            keep_alive_seconds: int = round(LONGEST_WAIT),
            long_body_seconds: float = LONGEST_WAIT,
        ) -> int:
            gateway = Gateway(application, longest_body=LONGEST_BODY, long_body_seconds=long_body_seconds)
            options = UVICORN | {"timeout_keep_alive": keep_alive_seconds}
            server = uvicorn.Server(uvicorn.Config(gateway, **options))
            listener = socket.create_server(("127.0.0.1", 0))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})

            def stop() -> None:
                server.should_exit = True
                thread.join()

            in_the_end.callback(stop)
            thread.start()
            port: int = listener.getsockname()[1]
            return port

        yield serve
