"""The studio's pages over one database as a browser asks for them: milliseconds, bytes and SQL statements of each."""

import contextlib
import gzip
import http.client
import json
import socket
import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import brotli
import uvicorn
from flask import Flask
from sqlalchemy import Select, event, select
from sqlalchemy.orm import Session

from spanplat.cli.http_server import UVICORN
from spanplat.cli.supervisor import keep_what_is_loaded
from spanplat.db import Database
from spanplat.models import (
    Annotator,
    Campaign,
    Category,
    Dataset,
    Example,
    Generation,
    Item,
    ItemOutput,
    Output,
    Pool,
    Role,
    Study,
    System,
    User,
)
from spanplat.schemas.definition_file import parse_yaml
from spanplat.services.accounts.invitations import invite
from spanplat.services.accounts.users import add_user
from spanplat.services.background.computations import answer_now
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.drafts import campaign_text, create_draft, starter_text
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.datasets.uploads import add_upload
from spanplat.settings import Settings
from spanplat.web.accounts.sign_in import StaffMember
from spanplat.web.app import MAX_BODY, create_app
from spanplat.web.gateway import Gateway
from tests.simulation.page_addresses import (
    LACKING_WHERE_IMPORTED,
    PageAddress,
    Places,
    addresses_of,
)

MOST_MS = 300.0
MOST_KB = 150.0


@dataclass(frozen=True)
class Visit:
    """What asking for an address showed."""

    endpoint: str
    address: str
    fragment: bool
    """Asked for by htmx."""
    status: int
    media_type: str
    is_file: bool
    """A download, which no limit applies to."""
    milliseconds: Sequence[float]
    processor_milliseconds: float
    """The least that this process worked for an answer; PostgreSQL's own work is apart."""
    transferred: int
    """Bytes of the body as sent."""
    size: int
    """Bytes of the body uncompressed."""
    statements: int

    @property
    def misses(self) -> list[str]:
        """What it misses: time, size or the page itself."""
        limits = {
            f"status {self.status}": self.status >= 400,
            "time": statistics.median(self.milliseconds) > MOST_MS and not self.is_file,
            "size": self.size > MOST_KB * 1000 and not self.is_file,
        }
        return [name for name, missed in limits.items() if missed]

    def __str__(self) -> str:
        marks = f"{' htmx' if self.fragment else ''}{' file' if self.is_file else ''}"
        misses = f"   MISSES {', '.join(self.misses)}" if self.misses else ""
        took = f"{statistics.median(self.milliseconds):6.0f} {max(self.milliseconds):6.0f} ms"
        size = f"{self.transferred / 1000:7.1f} {self.size / 1000:8.1f} KB"
        return f"{took} ({self.processor_milliseconds:5.0f}) {size} {self.statements:4d} SQL  {self.address}{marks}{misses}"


class Answer(NamedTuple):
    """What one request was answered, and what it took."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes
    milliseconds: float
    processor_milliseconds: float


class Studio:
    """The application over one database, served over HTTP in this process, and the browser of an administrator who is signed in."""

    def __init__(self, database: Database, home: Path) -> None:
        settings = Settings(home=home, _env_file=None)
        self.app: Flask = create_app(settings, database)
        self._gateway = Gateway(self.app, longest_body=MAX_BODY)
        self.statements = 0
        with database.transaction() as session:
            add_user(session, "admin@example.org", Role.ADMIN)
        with database.reading() as session, self.app.test_request_context():
            user = session.scalars(select(User).where(User.email == "admin@example.org")).one()
            cookie = {"_user_id": StaffMember.of(user).get_id()}
        keep_what_is_loaded()
        client = self.app.test_client()
        with client.session_transaction() as kept:
            kept.update(cookie)
        stored = client.get_cookie(self.app.config["SESSION_COOKIE_NAME"])
        assert stored is not None
        self._headers = {
            "Cookie": f"{stored.key}={stored.value}",
            "Accept-Encoding": "gzip, br",
            "Accept": "text/html,*/*",
        }
        event.listen(database.engine, "before_cursor_execute", self._count)

    def _count(self, *_: Any) -> None:
        self.statements += 1

    @contextlib.contextmanager
    def serving(self) -> Iterator[http.client.HTTPConnection]:
        """Serve while the block lasts; give a connection that is kept alive."""
        server = uvicorn.Server(uvicorn.Config(self._gateway, **UVICORN))
        listener = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        connection = http.client.HTTPConnection(*listener.getsockname())
        try:
            yield connection
        finally:
            connection.close()
            server.should_exit = True
            thread.join()

    def visit(self, connection: http.client.HTTPConnection, page: PageAddress, *, fragment: bool, times: int) -> Visit:
        """Ask for an address so many times, for a download once."""
        headers = self._headers | ({"HX-Request": "true"} if fragment else {})
        answers = [self._ask(connection, page.address, headers)]
        headers_of_answer = answers[0].headers
        is_file = headers_of_answer.get_content_disposition() == "attachment"
        if not is_file:
            answers += [self._ask(connection, page.address, headers) for _ in range(times - 1)]
        body = answers[-1].body
        return Visit(
            endpoint=page.endpoint,
            address=page.address,
            fragment=fragment,
            status=answers[-1].status,
            media_type=headers_of_answer.get_content_type(),
            is_file=is_file,
            milliseconds=[answer.milliseconds for answer in answers],
            processor_milliseconds=min(answer.processor_milliseconds for answer in answers),
            transferred=len(body),
            size=len(_uncompressed(body, headers_of_answer.get("Content-Encoding", ""))),
            statements=self.statements,
        )

    def _ask(self, connection: http.client.HTTPConnection, address: str, headers: Mapping[str, str]) -> Answer:
        self.statements = 0
        begin, begin_processor = time.perf_counter(), time.process_time()
        connection.request("GET", address, headers=dict(headers))
        response = connection.getresponse()
        body = response.read()
        took, worked = time.perf_counter() - begin, time.process_time() - begin_processor
        return Answer(response.status, response.headers, body, took * 1000, worked * 1000)

    def compute(self, database: Database, places: Places) -> None:
        """Have all figures of the pages computed, as the worker does; reading pages never computes any."""
        for part in self.app.extensions["spanplat_parts"].values():
            for page in addresses_of(self.app, places):
                if page.endpoint == "computed.show" and page.address.startswith(f"/admin/computed/{part.name}?"):
                    with self.app.test_request_context(page.address):
                        question = part.question(part.query.from_request())
                    begin = time.perf_counter()
                    answer_now(database, question)
                    print(f"computed {part.name} in {time.perf_counter() - begin:.1f} s")


def _uncompressed(body: bytes, encoding: str) -> bytes:
    match encoding:
        case "br":
            return bytes(brotli.decompress(body))
        case "gzip":
            return gzip.decompress(body)
    return body


def look_up_places(database: Database, home: Path, campaigns: Sequence[str], searches: Sequence[str]) -> Places:
    """Return what addresses may name in a database, after adding a draft, an upload and an invitation."""
    with database.transaction() as session:
        made_here = find_campaign(session, campaigns[0]).kind != "external"
        text = (
            campaign_text(session, campaigns[0]) if made_here else _starter_about(_annotated(session, campaigns[0])[1])
        )
        draft = create_draft(session, text, None)
        _invitation, token = invite(session, "new@example.org", Role.VIEWER)
        upload = add_upload(session, "upload.jsonl", _write_upload(home).relative_to(home), 1, None)
    with database.reading() as session:
        chosen = select(Campaign.id).where(Campaign.slug.in_(campaigns))
        outputs, dataset = _annotated(session, campaigns[0])
        return Places(
            campaigns=campaigns,
            datasets=sorted(session.scalars(select(Dataset.slug)), key=lambda slug: slug != dataset),
            outputs=outputs[:: max(1, len(outputs) // 2)][:2],
            searches=searches,
            categories=list(session.scalars(select(Category.key).where(Category.campaign_id.in_(chosen)).distinct()))[
                :1
            ],
            annotators=list(session.scalars(select(Annotator.pseudonym).order_by(Annotator.id)))[:1],
            systems=list(session.scalars(select(System.slug)))[:1],
            splits=list(session.scalars(select(Example.split).distinct())),
            drafts=[draft.token],
            uploads=[upload.token],
            invitations=[token],
            qualifications=_slugs(session, select(Campaign.slug).where(Campaign.kind == "qualification")),
            practised=[slug for slug in campaigns if definition_of(find_campaign(session, slug)).practice],
            pools=_slugs(session, select(Pool.slug)),
            studies=_slugs(session, select(Study.slug)),
            generations=_slugs(session, select(Generation.slug)),
            lacking={} if made_here else LACKING_WHERE_IMPORTED,
        )


def _starter_about(dataset: str) -> str:
    """Return a shipped study as one about all of a dataset, without what is only on its own: checked texts, and who passed."""
    definition = parse_yaml(starter_text("data-to-text-errors")).value
    del definition["checks"], definition["batches"]["gold"], definition["qualification_required"]
    return json.dumps(definition | {"data": {"dataset": dataset}})  # which is YAML too


def _annotated(session: Session, slug: str) -> tuple[list[int], str]:
    """Return the outputs of a campaign that belong to the dataset of the first, and that dataset's name."""
    rows = session.execute(
        select(ItemOutput.output_id, Dataset.slug)
        .join(Item, Item.id == ItemOutput.item_id)
        .join(Output, Output.id == ItemOutput.output_id)
        .join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .where(Item.campaign_id == find_campaign(session, slug).id, Example.split != "checks")
        .order_by(ItemOutput.output_id)
    ).all()
    dataset = rows[0].slug
    return [row.output_id for row in rows if row.slug == dataset], dataset


def _slugs(session: Session, slugs: Select[str]) -> list[str]:
    return list(session.scalars(slugs))


def _write_upload(home: Path) -> Path:
    """Write a file that waits to be imported."""
    folder = home / "uploads" / "bench"
    folder.mkdir(parents=True)
    line = (
        '{"split": "test", "example": "%d", "system": "fir", "output": "Two and two make four.", "source": "2 + 2"}\n'
    )
    file = folder / "upload.jsonl"
    file.write_text("".join(line % number for number in range(10_000)))
    return file
