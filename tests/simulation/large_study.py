"""A study as large as they get: outputs of ten systems, marked by two crowds of people and by two models.

The campaigns are made by the services that make any campaign. The work in them is inserted as rows, for taking 4,000 seats one by
one would take longer than everything that is measured afterwards.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import (
    Annotation,
    Annotator,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Campaign,
    CampaignStatus,
    Category,
    CheckResult,
    Completion,
    Event,
    ItemOutput,
    ItemRole,
    Output,
    Participation,
    Span,
    Unplaced,
)
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.lifecycle import find_campaign, set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.datasets.storing import store_records
from tests.campaigns import create_campaign

DATASET = "reports"
SYSTEMS = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper")
PEOPLE = ("crowd", "experts")
MODELS = ("model-a", "model-b")
CAMPAIGNS = (*PEOPLE, *MODELS)
CATEGORIES = ("Contradicted", "Not checkable", "Misleading", "Incoherent", "Repetitive", "Other")
SENTENCES = (
    "The phone has a display of 6.5 inches and weighs 190 grams.",
    "Its battery holds 5000 mAh, which lasts two days in ordinary use 📱.",
    "On Monday the temperature rises to 21 °C, with light rain in the evening.",
    "The home side won by two goals after a slow first half.",
    "The naïve défense of the visitors was seldom tested.",
    "Na severu bude celý den pršet a odpoledne se ochladí.",
    "درجة الحرارة في المساء 21 مئوية مع رياح خفيفة.",
    "明日は北部で雨が降り、気温は二十度まで上がります。",
)
SENTENCES_PER_TEXT = 8
SPANS = (0, 0, 1, 2, 2, 3, 4, 9)
"""How many spans an annotation has, each as likely; 2.6 on average."""
MOST_PEOPLE = 1_000
"""In the crowd."""
DONE, HELD = 0.94, 0.97
"""Of the seats of people, the shares up to which they are submitted and held; the rest is open."""
PAGE_OF_PROMPT = "Mark every place where the text says what the data do not. " * 12
BEGIN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
CHUNK = 5_000


@dataclass(frozen=True)
class StudySize:
    """What was made."""

    outputs: int
    annotations: int
    spans: int
    annotators: int


def make_large_study(database: Database, examples: int) -> StudySize:
    """Store the study over this many examples, each with an output of every system.

    Parameters
    ----------
    database
        Migrated and empty.
    examples
        Number of sources; there are ten times as many outputs, forty times as many annotations and a hundred times as many spans.
    """
    random = Random(11)
    store_records(database, _records(random, examples))
    annotations = spans = 0
    annotators: set[int] = set()
    for slug in CAMPAIGNS:
        with database.transaction() as session:
            create_campaign(session, plan_campaign(session, _definition(slug)))
            set_status(session, slug, CampaignStatus.OPEN)
        with database.transaction() as session:
            filler = _Filler(session, find_campaign(session, slug), random)
            filler.fill()
        annotations += filler.annotations
        spans += filler.spans
        annotators |= filler.annotators
    with database.transaction() as session:
        session.execute(insert(Event), [_event(number) for number in range(min(2_000, examples * 2))])
    if not database.is_sqlite:  # the server does the same by itself within a minute
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("ANALYZE")
    return StudySize(examples * len(SYSTEMS), annotations, spans, len(annotators))


def _records(random: Random, examples: int) -> Iterator[tuple[str, ExampleRecord | OutputRecord]]:
    for number in range(examples):
        yield (
            DATASET,
            ExampleRecord(split="test" if number % 4 else "dev", key=str(number), source=_source(random, number)),
        )
    for number in range(examples):
        for system in SYSTEMS:
            text = f"Report {number}. " + " ".join(random.choices(SENTENCES, k=SENTENCES_PER_TEXT))
            yield (
                DATASET,
                OutputRecord(split="test" if number % 4 else "dev", key=str(number), system=system, text=text),
            )
    for key in ("faultless", "practised"):
        yield DATASET, ExampleRecord(split="checks", key=key, source=_source(random, examples))
        yield DATASET, OutputRecord(split="checks", key=key, system=SYSTEMS[0], text="Two and two make four.")


def _source(random: Random, number: int) -> dict[str, Any]:
    hours = range(0, 24, 3)
    return {
        "title": f"Report {number}",
        "readings": [{"time": f"2026-01-05 {hour:02}:00", "celsius": random.randrange(-5, 30)} for hour in hours],
        "notes": random.choice(SENTENCES),
    }


def _definition(slug: str) -> CampaignDefinition:
    content: dict[str, Any] = {
        "slug": slug,
        "title": slug.replace("-", " ").capitalize(),
        "kind": "human" if slug in PEOPLE else "llm",
        "categories": [{"name": name} for name in CATEGORIES],
        "spans": {"reason": "optional"},
        "guidelines": "Mark every error in the text.",
        "data": {"dataset": DATASET, "splits": ["dev", "test"]},
        "batches": {"regular": 10 if slug != "experts" else 20},
    }
    if slug in MODELS:
        content["model"] = {"provider": "overlap", "category": "not-checkable"}
    if slug == "crowd":
        content["batches"]["attention"] = 1
        item = {"split": "checks", "example": "faultless", "system": SYSTEMS[0]}
        content["checks"] = [{"name": "faultless", "type": "must_abstain", "item": item}]
        practised = {"split": "checks", "example": "practised", "system": SYSTEMS[0]}
        content["practice"] = [{"item": practised, "golds": [[]]}]
        content["annotators"] = {"max_batches": 4}
        content["platform"] = {
            "service": "prolific",
            "codes": {"completed": "DONE"},
            "minutes": 12,
            "reward": "2.00 GBP",
        }
    return CampaignDefinition.model_validate(content)


def _event(number: int) -> dict[str, Any]:
    return {
        "at": BEGIN + timedelta(minutes=number),
        "actor": "cli",
        "verb": "campaign.paused" if number % 2 else "campaign.open",
        "subject": CAMPAIGNS[number % len(CAMPAIGNS)],
    }


class _Filler:
    """Fills the seats of one campaign with annotators, and their annotations with spans."""

    def __init__(self, session: Session, campaign: Campaign, random: Random) -> None:
        self._session, self._campaign, self._random = session, campaign, random
        self._is_model = campaign.kind == "llm"
        self._categories = list(session.scalars(select(Category.id).where(Category.campaign_id == campaign.id)))
        self.annotations = self.spans = 0
        self.annotators: set[int] = set()

    def fill(self) -> None:
        """Insert everything that working on the campaign would have left."""
        seats = list(
            self._session.scalars(
                select(Assignment.id).where(Assignment.campaign_id == self._campaign.id).order_by(Assignment.id)
            )
        )
        taken = seats if self._is_model else seats[: max(1, round(len(seats) * HELD))]
        finished = len(seats) if self._is_model else round(len(seats) * DONE)
        holders = self._hire(taken)
        self._seat(taken, holders, finished)
        self._annotate(taken[:finished])
        unplaced = {"campaign_id": self._campaign.id, "kind": "span", "reason": "its text is not in the output"}
        kept = [
            unplaced | {"record": {"text": f"nothing like this {number}", "category": "Other"}}
            for number in range(len(seats) // 3 if self._is_model else 0)
        ]
        self._insert(Unplaced, kept)

    def _hire(self, seats: Sequence[int]) -> list[tuple[int, int | None]]:
        """Return annotator and participation of each seat."""
        slug = self._campaign.slug
        if self._is_model:
            rows = [_annotator("llm", "model", f"overlap/{slug}")]
        else:
            people = 10 if slug == "experts" else min(len(seats), MOST_PEOPLE)
            rows = [_annotator("human", "prolific", f"{slug}-{number}") for number in range(people)]
        ids = list(self._session.scalars(insert(Annotator).returning(Annotator.id, sort_by_parameter_order=True), rows))
        self.annotators |= set(ids)
        if self._is_model:
            return [(ids[0], None)] * len(seats)
        visits = [
            {
                "campaign_id": self._campaign.id,
                "annotator_id": annotator_id,
                "token": f"{slug}-{annotator_id:06}-token",
                "session_key": f"session-{annotator_id}",
                "parameters": {
                    "PROLIFIC_PID": f"{slug}-{annotator_id}",
                    "STUDY_ID": "s",
                    "SESSION_ID": f"{annotator_id}",
                },
            }
            for annotator_id in ids
        ]
        visit_ids = self._session.scalars(
            insert(Participation).returning(Participation.id, sort_by_parameter_order=True), visits
        )
        return list(itertools.islice(itertools.cycle(zip(ids, visit_ids.all(), strict=True)), len(seats)))

    def _seat(self, seats: Sequence[int], holders: Sequence[tuple[int, int | None]], finished: int) -> None:
        now = datetime.now(UTC)
        rows = [
            {
                "id": seat,
                "annotator_id": annotator,
                "participation_id": participation,
                "status": AssignmentStatus.SUBMITTED if place < finished else AssignmentStatus.HELD,
                "claimed_at": BEGIN + timedelta(minutes=place),
                "submitted_at": BEGIN + timedelta(minutes=place + 10) if place < finished else None,
                "lease_expires_at": None if self._is_model else now + timedelta(days=1),
                "outcome": "completed" if place < finished else None,
            }
            for place, (seat, (annotator, participation)) in enumerate(zip(seats, holders, strict=True))
        ]
        self._session.execute(update(Assignment), rows)

    def _annotate(self, seats: Sequence[int]) -> None:
        asked = self._session.execute(
            select(Assignment.id, BatchItem.item_id, BatchItem.role, Output.text)
            .join(BatchItem, BatchItem.batch_id == Assignment.batch_id)
            .join(ItemOutput, ItemOutput.item_id == BatchItem.item_id)
            .join(Output, Output.id == ItemOutput.output_id)
            .where(Assignment.campaign_id == self._campaign.id)
            .order_by(Assignment.id, BatchItem.position)
        ).all()
        chosen = set(seats)
        work = [row for row in asked if row[0] in chosen]
        annotations = [self._annotation(place, seat, item) for place, (seat, item, _, _) in enumerate(work)]
        ids = self._insert(Annotation, annotations)
        spans = [
            span | {"annotation_id": annotation}
            for annotation, (_seat, _item, role, text) in zip(ids, work, strict=True)
            if role == ItemRole.REGULAR
            for span in self._marks(text)
        ]
        self._insert(Span, spans)
        checks = [
            {
                "assignment_id": seat,
                "item_id": item,
                "name": "faultless",
                "kind": "must_abstain",
                "passed": self._random.random() < 0.9,
            }
            for seat, item, role, _text in work
            if role == ItemRole.ATTENTION
        ]
        self._insert(CheckResult, checks)
        if self._is_model:
            self._insert(Completion, [self._completion(seat, item, text) for seat, item, _role, text in work])
        self.annotations += len(annotations)
        self.spans += len(spans)

    def _annotation(self, place: int, seat: int, item: int) -> dict[str, Any]:
        seconds = self._random.lognormvariate(3.5, 0.6)
        return {
            "assignment_id": seat,
            "item_id": item,
            "status": "complete",
            "revision": 1,
            "answers": {},
            "started_at": BEGIN + timedelta(seconds=60 * place),
            "completed_at": BEGIN + timedelta(seconds=60 * place + seconds),
            "seconds": seconds,
        }

    def _marks(self, text: str) -> list[dict[str, Any]]:
        rows = []
        for position in range(self._random.choice(SPANS)):
            start = self._random.randrange(len(text) - 40)
            end = start + self._random.randrange(3, 40)
            rows.append(
                {
                    "position": position,
                    "category_id": self._random.choice(self._categories),
                    "start_offset": start,
                    "end_offset": end,
                    "text": text[start:end],
                    "reason": "The data say otherwise." if self._is_model else None,
                }
            )
        return rows

    def _completion(self, seat: int, item: int, text: str) -> dict[str, Any]:
        return {
            "campaign_id": self._campaign.id,
            "assignment_id": seat,
            "item_id": item,
            "request_sha256": "0" * 64,
            "request": {"messages": [{"role": "user", "content": f"{PAGE_OF_PROMPT}\n{text}"}]},
            "response": {"content": '{"annotations": []}'},
            "model_version": "made-up-1",
            "finish_reason": "stop",
            "input_tokens": 900,
            "output_tokens": 120,
            "cost": 0.0004,
            "latency": self._random.lognormvariate(0.3, 0.5),
        }

    def _insert(self, model: Any, rows: Sequence[dict[str, Any]]) -> list[int]:
        """Insert rows in order and return their ids."""
        ids: list[int] = []
        for first in range(0, len(rows), CHUNK):
            returning = insert(model).returning(model.id, sort_by_parameter_order=True)
            ids += self._session.scalars(returning, rows[first : first + CHUNK])
        return ids


def _annotator(kind: str, source: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "source": source, "external_id": name, "pseudonym": f"{kind[0]}-{name.replace('/', '-')}"}
