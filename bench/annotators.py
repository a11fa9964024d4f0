"""Simulated annotators: they follow a start link, read items, mark spans, save and submit, and remember what was acknowledged."""

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from bench.http_client import Connection, Response
from bench.study import CATEGORIES, SLUG

MOST_SPANS = 4


class Work(NamedTuple):
    """The state of one item: what was sent, or what is stored."""

    revision: int
    status: str
    spans: tuple[tuple[int, int, str, str], ...]
    """Start, end, category and quote of each, in the order sent."""


@dataclass
class Ledger:
    """What happened to one simulated annotator, as the client knows it."""

    person: str
    token: str | None = None
    acknowledged: dict[int, Work] = field(default_factory=dict)
    """By position, the last save the server acknowledged."""
    attempted: dict[int, Work] = field(default_factory=dict)
    """By position, a save that was sent and not answered."""
    submission_attempted: bool = False
    submitted: bool = False

    def revision(self, position: int) -> int:
        """Return the revision last acknowledged, 0 before the first."""
        return self.acknowledged[position].revision if position in self.acknowledged else 0

    def possible(self, position: int) -> list[Work]:
        """Return what may be stored: what was acknowledged, or the whole of a save that was not answered."""
        works = [self.acknowledged[position]] if position in self.acknowledged else []
        if (attempt := self.attempted.get(position)) is not None:
            works.append(attempt._replace(revision=attempt.revision + 1))
        return works


@dataclass
class Measurements:
    """Durations in seconds by kind of request, and answers that should not have come."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)


class UnexpectedAnswerError(Exception):
    """The server answered something else than an annotator who does everything right may expect."""


class Annotator:
    """One annotator with one browser.

    Parameters
    ----------
    person
        Id on the crowdsourcing platform.
    connection
        Connection to the server.
    measurements
        Where durations are noted.
    seed
        Makes the marks reproducible.
    """

    def __init__(self, person: str, connection: Connection, measurements: Measurements, seed: int) -> None:
        self.ledger = Ledger(person)
        self.positions: list[int] = []
        self._texts: dict[int, str] = {}
        self._connection = connection
        self._measurements = measurements
        self._random = Random(seed)

    async def enter(self) -> None:
        """Follow the start link to the page; a second visit must lead to the same page."""
        person = self.ledger.person
        query = f"PROLIFIC_PID={person}&STUDY_ID=bench&SESSION_ID={person}"
        answer = await self._request("enter", "GET", f"/c/{SLUG}/start?{query}", expected=303)
        token = answer.headers["location"].rpartition("/")[2]
        if self.ledger.token not in (None, token):
            raise UnexpectedAnswerError(f"{person} was led to {token} after having worked at {self.ledger.token}")
        self.ledger.token = token
        await self._request("page", "GET", f"/a/{token}")
        self.positions = [
            item["position"] for item in (await self._request("items", "GET", self._path("items"))).json()
        ]

    async def read(self, position: int) -> Work:
        """Fetch one item with the work stored on it."""
        item = (await self._request("item", "GET", self._path(f"items/{position}"))).json()
        self._texts[position] = item["text"]
        spans = tuple((span["start"], span["end"], span["category"], span["text"]) for span in item["spans"])
        return Work(item["revision"], item["status"], spans)

    async def save(self, position: int, status: str = "draft") -> None:
        """Mark spans anew and save the item."""
        work = Work(self.ledger.revision(position), status, self._mark(self._texts[position]))
        self.ledger.attempted[position] = work
        await self.repeat_save(position)

    async def repeat_save(self, position: int) -> None:
        """Send the save of `Ledger.attempted`; the server must answer with the revision after it."""
        work = self.ledger.attempted[position]
        answer = await self._request("save", "PUT", self._path(f"items/{position}"), _body(work))
        acknowledged = work._replace(revision=work.revision + 1)
        if answer.json() != {"revision": acknowledged.revision}:
            raise UnexpectedAnswerError(f"{self.ledger.person}, item {position}: {answer.body!r} after {work}")
        self.ledger.acknowledged[position] = acknowledged
        del self.ledger.attempted[position]

    async def submit(self) -> None:
        """Submit the batch."""
        self.ledger.submission_attempted = True
        await self._request("submit", "POST", self._path("submit"))
        self.ledger.submitted = True

    def _mark(self, text: str) -> tuple[tuple[int, int, str, str], ...]:
        spans = []
        for _ in range(self._random.randint(0, MOST_SPANS)):
            start = self._random.randrange(len(text) - 1)
            end = self._random.randint(start + 1, min(start + 40, len(text)))
            spans.append((start, end, self._random.choice(CATEGORIES), text[start:end]))
        return tuple(spans)

    def _path(self, rest: str) -> str:
        return f"/a/{self.ledger.token}/{rest}"

    async def _request(self, kind: str, method: str, path: str, body: bytes = b"", *, expected: int = 200) -> Response:
        began = time.perf_counter()
        answer = await self._connection.request(method, path, body)
        self._measurements.seconds[kind].append(time.perf_counter() - began)
        if answer.status != expected:
            problem = f"{method} {path}: {answer.status} {answer.body[:300]!r}"
            self._measurements.errors.append(problem)
            raise UnexpectedAnswerError(problem)
        return answer


def _body(work: Work) -> bytes:
    spans: list[dict[str, Any]] = [
        {"start": start, "end": end, "category": category, "text": text, "reason": "differs from the source"}
        for start, end, category, text in work.spans
    ]
    content = {"revision": work.revision, "status": work.status, "spans": spans, "answers": {}, "seconds": 12.5}
    return json.dumps(content, ensure_ascii=False).encode()
