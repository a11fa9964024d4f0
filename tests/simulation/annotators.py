"""Simulated annotators: they follow a start link, read items, mark spans, save and submit, and remember what was acknowledged."""

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from tests.simulation.http_client import ContradictionError, Requester, Response
from tests.simulation.study import CATEGORIES, CODE, SLUG

MOST_SPANS = 4


class Work(NamedTuple):
    """The state of one item: what was sent, or what is stored."""

    revision: int
    status: str
    spans: tuple[tuple[int, int, str, str], ...]
    """Start, end, category and quote of each, in the order sent."""


NOTHING = Work(0, "new", ())
"""What the page shows of an item that nobody has saved."""


@dataclass
class Ledger:
    """What happened to one simulated annotator, as the client knows it. Items go by their texts, no two of which are alike."""

    person: str
    token: str | None = None
    acknowledged: dict[str, Work] = field(default_factory=dict)
    """By text, the last save the server acknowledged."""
    attempted: dict[str, Work] = field(default_factory=dict)
    """By text, a save that was sent and not answered."""
    submission_attempted: bool = False
    submitted: bool = False
    """Whether the completion code was shown."""

    def revision(self, text: str) -> int:
        """Return the revision last acknowledged, 0 before the first."""
        return self.acknowledged[text].revision if text in self.acknowledged else 0

    def possible(self, text: str) -> list[Work]:
        """Return what may be stored: what was acknowledged, or the whole of a save that was not answered."""
        works = [self.acknowledged[text]] if text in self.acknowledged else []
        if (attempt := self.attempted.get(text)) is not None:
            works.append(attempt._replace(revision=attempt.revision + 1))
        return works


@dataclass
class Measurements:
    """Durations in seconds by kind of request, and answers that should not have come."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)


class UnexpectedAnswerError(Exception):
    """The server answered something else than an annotator who does everything right may expect."""


class TurnedAwayError(UnexpectedAnswerError):
    """Every place is taken."""


class SeatLostError(UnexpectedAnswerError):
    """Somebody else has the place; the work was kept."""


class Annotator:
    """One annotator with one browser.

    Parameters
    ----------
    person
        Id on the crowdsourcing platform.
    browser
        Sends the requests.
    measurements
        Where durations are noted.
    seed
        Makes the marks reproducible.
    places_may_run_out
        Whether being turned away, or having lost the place, is among what may happen; else it is an error.
    """

    def __init__(
        self,
        person: str,
        browser: Requester,
        measurements: Measurements,
        seed: int,
        *,
        places_may_run_out: bool = False,
    ) -> None:
        self.ledger = Ledger(person)
        self.texts: dict[int, str] = {}
        """By position, the texts read."""
        self.positions: list[int] = []
        self._browser = browser
        self._measurements = measurements
        self._random = Random(seed)
        self._places_may_run_out = places_may_run_out

    async def enter(self) -> None:
        """Follow the start link to the page; another visit must lead to the same page.

        Raises
        ------
        TurnedAwayError
            If every place is taken.
        """
        person = self.ledger.person
        query = f"PROLIFIC_PID={person}&STUDY_ID=bench&SESSION_ID={person}"
        answer = await self._request("enter", "GET", f"/c/{SLUG}/start?{query}", expected=(303, 409))
        if answer.status == 409:
            raise self._lacking(TurnedAwayError(f"{person} was turned away: {answer.body[-300:]!r}"))
        token = answer.headers["location"].rpartition("/")[2]
        if self.ledger.token not in (None, token):
            raise self._noted(f"{person} was led to {token} after having worked at {self.ledger.token}")
        self.ledger.token = token
        self.texts = {}
        await self._request("page", "GET", f"/a/{token}")
        self.positions = [
            item["position"] for item in (await self._request("items", "GET", self._path("items"))).json()
        ]

    async def read(self, position: int) -> None:
        """Fetch one item; it must come with the work acknowledged on it."""
        item = (await self._request("item", "GET", self._path(f"items/{position}"))).json()
        text = self.texts[position] = item["text"]
        spans = tuple((span["start"], span["end"], span["category"], span["text"]) for span in item["spans"])
        shown = Work(item["revision"], item["status"], spans)
        possible = self.ledger.possible(text) + ([] if text in self.ledger.acknowledged else [NOTHING])
        if shown not in possible:
            raise self._noted(f"{self.ledger.person}, item {position}: the page shows {shown}, expected {possible}")

    def saves(self, position: int) -> int:
        """Return how many saves of an item read were acknowledged."""
        return self.ledger.revision(self.texts[position])

    async def save(self, position: int, status: str = "draft") -> None:
        """Mark spans anew and save the item.

        Raises
        ------
        SeatLostError
            If somebody else has the place.
        """
        text = self.texts[position]
        self.ledger.attempted[text] = Work(self.ledger.revision(text), status, self._mark(text))
        await self.repeat_save(position)

    async def repeat_save(self, position: int) -> None:
        """Send the save that was attempted, if any; the server must answer with the revision after it."""
        text, ledger = self.texts[position], self.ledger
        if text not in ledger.attempted:
            return
        work = ledger.attempted[text]
        answer = await self._request("save", "PUT", self._path(f"items/{position}"), _body(work), expected=(200, 410))
        acknowledged = work._replace(revision=work.revision + 1)
        if answer.json() != {"revision": acknowledged.revision} and not answer.json().get("kept"):
            raise self._noted(f"{ledger.person}, item {position}: {answer.body!r} after {work}")
        ledger.acknowledged[text] = acknowledged
        del ledger.attempted[text]
        if answer.status == 410:
            raise self._lacking(SeatLostError(f"{ledger.person} lost the place"))

    async def submit(self) -> None:
        """Submit the batch; the answer must show the code."""
        self.ledger.submission_attempted = True
        answer = await self._request("submit", "POST", self._path("submit"))
        if CODE.encode() not in answer.body:
            raise self._noted(f"{self.ledger.person} submitted, but got no code")
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

    def _noted(self, problem: str) -> UnexpectedAnswerError:
        self._measurements.errors.append(problem)
        return UnexpectedAnswerError(problem)

    def _lacking(self, error: UnexpectedAnswerError) -> UnexpectedAnswerError:
        return error if self._places_may_run_out else self._noted(str(error))

    async def _request(
        self, kind: str, method: str, path: str, body: bytes = b"", *, expected: tuple[int, ...] = (200,)
    ) -> Response:
        began = time.perf_counter()
        try:
            answer = await self._browser.request(method, path, body)
        except ContradictionError as error:
            raise self._noted(str(error)) from error
        self._measurements.seconds[kind].append(time.perf_counter() - began)
        if answer.status not in expected:
            raise self._noted(f"{method} {path}: {answer.status} {answer.body[:300]!r}")
        if kind != "submit" and CODE.encode() in answer.body:
            raise self._noted(f"{method} {path}: shows the completion code before the work is submitted")
        return answer


def _body(work: Work) -> bytes:
    spans: list[dict[str, Any]] = [
        {"start": start, "end": end, "category": category, "text": text, "reason": "differs from the source"}
        for start, end, category, text in work.spans
    ]
    content = {"revision": work.revision, "status": work.status, "spans": spans, "answers": {}, "seconds": 12.5}
    return json.dumps(content, ensure_ascii=False).encode()
