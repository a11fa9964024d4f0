"""Running a model campaign: asking for every item that has no stored answer, and storing each answer as an annotation."""

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.llm.overlap import OverlapAnnotator
from spanplat.llm.placement import PlacedQuote, UnplacedQuote, place_quotes
from spanplat.llm.provider import CategoryBrief, Provider, Reply, Task
from spanplat.models import (
    Annotation,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Campaign,
    CampaignStatus,
    Completion,
    Example,
    ItemOutput,
    Output,
    Span,
    Unplaced,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.reply import ModelReply
from spanplat.services.campaigns import find_campaign
from spanplat.services.definitions import category_ids, definition_of
from spanplat.services.importing.progress import OnProgress, ignore_progress
from spanplat.services.importing.storing import chunked
from spanplat.services.participation import find_or_add_annotator

CHUNK = 25
"""Answers stored per transaction."""


@dataclass
class RunReport:
    """What a run did."""

    campaign: str
    asked: int = 0
    left: int = 0
    """Items still without an answer."""
    spans: int = 0
    unplaced: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    """Items without an annotation, by reason."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    dry_run: bool = False


@dataclass(frozen=True)
class _Question:
    """An item of a seat that has no annotation yet."""

    assignment_id: int
    item_id: int
    text: str
    source: Any


def run_campaign(
    database: Database,
    slug: str,
    *,
    limit: int | None = None,
    concurrency: int | None = None,
    dry_run: bool = False,
    max_cost: float | None = None,
    provider: Provider | None = None,
    on_progress: OnProgress = ignore_progress,
) -> RunReport:
    """Ask the campaign's model about every item that has no answer yet; an interrupted run is resumed by running again.

    Parameters
    ----------
    database
        Where the campaign is.
    slug
        The campaign.
    limit
        At most this many items.
    concurrency
        Questions at a time, in place of the definition's.
    dry_run
        Only count what would be asked.
    max_cost
        US dollars at which to stop, in place of the definition's.
    provider
        Who is asked, in place of the definition's.
    on_progress
        Told how many items are done, and of how many.

    Raises
    ------
    NotFound, InvalidInput
        If there is no such campaign, or it is not one that a model fills.
    Conflict
        If the campaign is paused or closed.
    """
    with database.reading() as session:
        campaign = find_campaign(session, slug)
        definition = definition_of(campaign)
        if campaign.kind != "llm" or definition.model is None:
            raise InvalidInput(f"campaign {slug!r} is filled by people, not by a model; people come through its links")
        if campaign.status != CampaignStatus.OPEN:
            raise Conflict(f"campaign {slug!r} is {campaign.status}; open it first: spanplat campaign open {slug}")
        provider = provider or make_provider(definition)
        questions = _open_questions(session, campaign)
        categories = category_ids(session, campaign.id, campaign.definition_sha256)
    report = RunReport(slug, left=len(questions), dry_run=dry_run)
    if dry_run:
        return report
    _take_seats(database, campaign, definition.model, provider)
    recorder = _Recorder(campaign, definition, categories, report)
    ceiling = max_cost if max_cost is not None else definition.model.max_cost
    asked = questions[:limit]
    with ThreadPoolExecutor(concurrency or definition.model.concurrency) as executor:
        for chunk in chunked(asked, CHUNK):
            if ceiling is not None and report.cost >= ceiling:
                break
            replies = list(executor.map(lambda question: provider.annotate(_task(definition, question)), chunk))
            with database.transaction() as session:
                for question, reply in zip(chunk, replies, strict=True):
                    recorder.store(session, question, reply)
            on_progress(report.asked, len(asked))
    _submit_full_seats(database, campaign)
    return report


def make_provider(definition: CampaignDefinition) -> Provider:
    """Return the provider of a model campaign.

    Raises
    ------
    InvalidInput
        If this version cannot ask it.
    """
    if definition.model is None or definition.model.provider != "overlap":
        name = definition.model.provider if definition.model else "none"
        raise InvalidInput(
            f"this version of spanplat asks the provider 'overlap' only, not {name!r}; see model.provider in the definition"
        )
    wanted = definition.model.category
    category = definition.find_category(wanted) if wanted else None
    if wanted and category is None:
        raise InvalidInput(f"model.category is {wanted!r}, which is not one of the campaign's categories")
    return OverlapAnnotator(category.key if category else None)


def _open_questions(session: Session, campaign: Campaign) -> list[_Question]:
    rows = session.execute(
        select(Assignment.id, BatchItem.item_id, Output.text, Example.source)
        .join(BatchItem, BatchItem.batch_id == Assignment.batch_id)
        .join(ItemOutput, (ItemOutput.item_id == BatchItem.item_id) & (ItemOutput.position == 0))
        .join(Output, Output.id == ItemOutput.output_id)
        .join(Example, Example.id == Output.example_id)
        .outerjoin(Annotation, (Annotation.assignment_id == Assignment.id) & (Annotation.item_id == BatchItem.item_id))
        .where(
            Assignment.campaign_id == campaign.id,
            Assignment.status.in_((AssignmentStatus.OPEN, AssignmentStatus.HELD)),
            Annotation.id.is_(None),
        )
        .order_by(Assignment.repeat, Assignment.batch_id, BatchItem.position)
    )
    return [_Question(*row) for row in rows]


def _take_seats(database: Database, campaign: Campaign, settings: ModelSettings, provider: Provider) -> None:
    """Seat one model annotator per repeat; its seats have no lease, because a run is resumed rather than replaced."""
    now = datetime.now(UTC)
    with database.transaction() as session:
        for repeat in range(settings.repeats):
            name = f"{provider.name}/{campaign.slug}/{campaign.definition_sha256[:12]}/{repeat}"
            annotator = find_or_add_annotator(session, "llm", "model", name)
            session.execute(
                update(Assignment)
                .where(
                    Assignment.campaign_id == campaign.id,
                    Assignment.repeat == repeat,
                    Assignment.status == AssignmentStatus.OPEN,
                )
                .values(status=AssignmentStatus.HELD, annotator_id=annotator.id, claimed_at=now)
            )


def _task(definition: CampaignDefinition, question: _Question) -> Task:
    categories = [CategoryBrief(entry.key, entry.name, entry.description) for entry in definition.categories]
    return Task(question.text, question.source, categories, definition.guidelines)


@dataclass(frozen=True)
class _Recorder:
    """Stores the answers of one run."""

    campaign: Campaign
    definition: CampaignDefinition
    categories: Mapping[str, int]
    report: RunReport

    def store(self, session: Session, question: _Question, reply: Reply) -> None:
        """Store a reply, and the annotation it makes if it can be read."""
        error, parsed = None, None
        try:
            parsed = ModelReply.model_validate_json(reply.content)
        except ValidationError as problem:
            error = f"the reply could not be read: {problem.errors()[0]['msg']}"
            self.report.failed[error] = self.report.failed.get(error, 0) + 1
        session.execute(insert(Completion).values(self._completion(question, reply, error)))
        self.report.asked += 1
        self.report.input_tokens += reply.input_tokens
        self.report.output_tokens += reply.output_tokens
        self.report.cost += reply.cost
        if parsed is not None:
            self.report.left -= 1
            self._annotate(session, question, reply, parsed)

    def _completion(self, question: _Question, reply: Reply, error: str | None) -> dict[str, Any]:
        return {
            "campaign_id": self.campaign.id,
            "assignment_id": question.assignment_id,
            "item_id": question.item_id,
            "request_sha256": hashlib.sha256(json.dumps(reply.request, sort_keys=True).encode()).hexdigest(),
            "request": reply.request,
            "response": {"content": reply.content},
            "model_version": reply.model_version,
            "finish_reason": reply.finish_reason,
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
            "reasoning_tokens": reply.reasoning_tokens,
            "cost": reply.cost,
            "latency": reply.latency,
            "error": error,
        }

    def _annotate(self, session: Session, question: _Question, reply: Reply, parsed: ModelReply) -> None:
        annotation = Annotation(
            assignment_id=question.assignment_id,
            item_id=question.item_id,
            status="complete",
            revision=1,
            answers=reply.answers,
            completed_at=datetime.now(UTC),
            seconds=reply.latency,
        )
        session.add(annotation)
        session.flush()
        quotes = place_quotes(
            question.text,
            parsed.annotations,
            find_category=self._key_of,
            placement=self.definition.model.placement if self.definition.model else "in_order",
            allow_overlap=self.definition.spans.overlap == "allow",
        )
        placed = [quote for quote in quotes if isinstance(quote, PlacedQuote)]
        unplaced = [quote for quote in quotes if isinstance(quote, UnplacedQuote)]
        if placed:
            session.execute(insert(Span), [self._span(question, q, n, annotation.id) for n, q in enumerate(placed)])
        if unplaced:
            rows = [
                {
                    "campaign_id": self.campaign.id,
                    "annotation_id": annotation.id,
                    "kind": "span",
                    "record": quote.quote.model_dump(mode="json"),
                    "reason": quote.reason,
                }
                for quote in unplaced
            ]
            session.execute(insert(Unplaced), rows)
        self.report.spans += len(placed)
        self.report.unplaced += len(unplaced)

    def _span(self, question: _Question, quote: PlacedQuote, position: int, annotation_id: int) -> dict[str, Any]:
        return {
            "annotation_id": annotation_id,
            "position": position,
            "category_id": self.categories[quote.category],
            "start_offset": quote.start,
            "end_offset": quote.end,
            "text": question.text[quote.start : quote.end],
            "severity": quote.quote.severity,
            "reason": quote.quote.reason,
            "origin": {"rule": quote.rule},
        }

    def _key_of(self, name: str) -> str | None:
        category = self.definition.find_category(name)
        return category.key if category else None


def _submit_full_seats(database: Database, campaign: Campaign) -> None:
    """Submit the seats all of whose items are annotated."""
    unanswered = (
        select(BatchItem.item_id)
        .outerjoin(Annotation, (Annotation.item_id == BatchItem.item_id) & (Annotation.assignment_id == Assignment.id))
        .where(BatchItem.batch_id == Assignment.batch_id, Annotation.id.is_(None))
    )
    with database.transaction() as session:
        session.execute(
            update(Assignment)
            .where(
                Assignment.campaign_id == campaign.id,
                Assignment.status == AssignmentStatus.HELD,
                ~unanswered.correlate(Assignment).exists(),
            )
            .values(status=AssignmentStatus.SUBMITTED, submitted_at=datetime.now(UTC), outcome="completed")
        )
