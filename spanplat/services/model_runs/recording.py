"""Storing what a model answered: every call, and the annotation that a reply makes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from spanplat.llm.dialogue import Dialogue
from spanplat.llm.prices import cost_of
from spanplat.llm.provider import CallFailed, Completion, Usage
from spanplat.llm.replies import Reading, UnreadableReply
from spanplat.llm.replies.storable import storable
from spanplat.models import Annotation, ClaimState, Span, Unplaced
from spanplat.models import Completion as StoredCompletion
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.model_runs.questions import Key, Question, finish, release
from spanplat.services.readings import span_values, unplaced_rows

NOBODY_KNOWS = frozenset({"timeout", "connection", "unintelligible"})
"""Failures after which the provider may have billed the call all the same."""


@dataclass(frozen=True)
class Call:
    """One call: what was sent, and what came of it."""

    question: Question
    body: Mapping[str, Any]
    result: Completion | CallFailed
    latency: float | None
    """Seconds; None of a batch, in which nobody knows."""


@dataclass(frozen=True)
class Outcome:
    """What became of a question in a run."""

    question: Question
    calls: Sequence[Call] = ()
    failed: bool = False
    """Whether it was given up; an outcome without a reply that was not given up was not asked to the end."""

    @property
    def completion(self) -> Completion | None:
        """The reply, if one came."""
        result = self.calls[-1].result if self.calls else None
        return result if isinstance(result, Completion) else None


@dataclass(frozen=True)
class Read:
    """An outcome, and what its reply says."""

    outcome: Outcome
    reading: Reading | None = None
    failure: str | None = None
    """Kind of failure."""
    error: str | None = None


@dataclass
class Stored:
    """Figures of what was stored."""

    asked: int = 0
    answered: int = 0
    calls: int = 0
    spans: int = 0
    unplaced: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    """Items given up, by reason."""
    failures: dict[str, int] = field(default_factory=dict)
    """Items given up, by kind of failure: ``refusal``, ``cut off``, ``status 400``, …"""
    rules: dict[str, int] = field(default_factory=dict)
    """Spans, by the rule that placed them."""
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    """Replies whose price is not known."""
    maybe_billed: int = 0
    """Calls without a reply that the provider may have billed."""

    def count_failed(self, kind: str, reason: str, items: int = 1) -> None:
        """Count items that were given up."""
        if items:
            self.failures[kind] = self.failures.get(kind, 0) + items
            self.failed[reason] = self.failed.get(reason, 0) + items


def read_outcome(dialogue: Dialogue, outcome: Outcome) -> Read:
    """Read the reply of an outcome, before anything is written."""
    completion = outcome.completion
    if completion is None:
        failed = outcome.calls[-1].result if outcome.calls else None
        if outcome.failed and isinstance(failed, CallFailed):
            kind = f"status {failed.status}" if failed.status else failed.code or failed.kind
            return Read(outcome, failure=kind, error=str(failed))
        return Read(outcome)
    try:
        return Read(outcome, dialogue.read(outcome.question.item, completion))
    except UnreadableReply as problem:
        return Read(outcome, failure=problem.kind, error=str(problem))


@dataclass(frozen=True)
class Recorder:
    """Stores the outcomes of one run.

    Parameters
    ----------
    campaign_id
        The campaign.
    settings
        Of its model, for prices.
    categories
        Ids of its categories by key.
    worker
        Whose claims are stored.
    stored
        Where it is counted.
    """

    campaign_id: int
    settings: ModelSettings
    categories: Mapping[str, int]
    worker: str
    stored: Stored

    def store(self, session: Session, reads: Sequence[Read]) -> None:
        """Store outcomes: their calls, and the annotations of those whose claim is still this worker's; free what was not asked."""
        release(session, self.worker, [_key(read) for read in reads if read.reading is None and read.error is None])
        answered = [(read, read.reading) for read in reads if read.reading is not None]
        own = finish(session, self.worker, [_key(read) for read, _ in answered], ClaimState.ANSWERED)
        calls = [(call, read) for read in reads for call in read.outcome.calls]
        if calls:
            session.execute(insert(StoredCompletion), [self._completion(call, read, own) for call, read in calls])
        self._annotate(session, [(read, reading) for read, reading in answered if _key(read) in own])
        for read in reads:
            self.stored.asked += bool(read.outcome.calls)
            if read.error is not None:
                self._fail(session, read)

    def _fail(self, session: Session, read: Read) -> None:
        finish(session, self.worker, [_key(read)], ClaimState.FAILED, failure=read.failure, error=read.error)
        self.stored.count_failed(read.failure or "", read.error or "")

    def _completion(self, call: Call, read: Read, own: set[Key]) -> dict[str, Any]:
        result, key = call.result, call.question.key
        row: dict[str, Any] = {
            "campaign_id": self.campaign_id,
            "assignment_id": key.assignment_id,
            "item_id": key.item_id,
            "request_sha256": hashlib.sha256(json.dumps(call.body, sort_keys=True).encode()).hexdigest(),
            "request": storable(dict(call.body)),
            "latency": call.latency,
        }
        self.stored.calls += 1
        if isinstance(result, CallFailed):
            unknown = result.kind in NOBODY_KNOWS
            self.stored.maybe_billed += unknown
            nothing = dict.fromkeys(("response", "model_version", "finish_reason"))
            tokens = dict.fromkeys(("input_tokens", "output_tokens", "reasoning_tokens"), 0)
            return row | nothing | tokens | {"cost": None if unknown else 0.0, "error": str(result)}
        usage = result.usage
        cost = self._cost(result)
        self.stored.input_tokens += usage.input_tokens
        self.stored.output_tokens += usage.output_tokens
        self.stored.reasoning_tokens += usage.reasoning_tokens
        self.stored.cost += cost or 0.0
        self.stored.unpriced += cost is None
        late = read.reading is not None and key not in own
        return row | {
            "response": response_record(result),
            "model_version": result.model_version,
            "finish_reason": result.finish_reason,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "cost": cost,
            "error": "another worker had taken the item over" if late else read.error,
        }

    def _cost(self, result: Completion) -> float | None:
        """Return what a reply cost; None where the price is not known, or where the server does not count tokens that have one."""
        if result.usage == Usage():
            return 0.0 if cost_of(self.settings, Usage(1, 1)) == 0 else None
        return cost_of(self.settings, result.usage, result.model_version)

    def _annotate(self, session: Session, reads: Sequence[tuple[Read, Reading]]) -> None:
        if not reads:
            return
        now = datetime.now(UTC)
        annotations = [_annotation(read.outcome, reading, now) for read, reading in reads]
        made = insert(Annotation).returning(Annotation.id, sort_by_parameter_order=True)
        ids = session.scalars(made, annotations).all()
        spans, unplaced = list[dict[str, Any]](), list[dict[str, Any]]()
        for annotation_id, (_, reading) in zip(ids, reads, strict=True):
            spans.extend(
                {"annotation_id": annotation_id, **span_values(span, position, self.categories)}
                for position, span in enumerate(reading.spans)
            )
            unplaced.extend(unplaced_rows(reading, annotation_id, self.campaign_id))
            for span in reading.spans:
                _add(self.stored.rules, span.rule)
        if spans:
            session.execute(insert(Span), spans)
        if unplaced:
            session.execute(insert(Unplaced), unplaced)
        self.stored.answered += len(reads)
        self.stored.spans += len(spans)
        self.stored.unplaced += len(unplaced)


def response_record(completion: Completion) -> dict[str, Any]:
    """Return what is kept of a reply: its text, from which it can be read again, and all that was received."""
    record: dict[str, Any] = {"content": completion.text}
    if completion.reasoning:
        record["reasoning"] = completion.reasoning
    if completion.answers:
        record["answers"] = dict(completion.answers)
    if completion.response != {"content": completion.text}:
        record["received"] = dict(completion.response)
    kept: dict[str, Any] = storable(record)
    return kept


def _annotation(outcome: Outcome, reading: Reading, now: datetime) -> dict[str, Any]:
    key = outcome.question.key
    return {
        "assignment_id": key.assignment_id,
        "item_id": key.item_id,
        "status": "complete",
        "revision": 1,
        "answers": dict(reading.answers),
        "extra": reading.extra or None,
        "completed_at": now,
        "seconds": outcome.calls[-1].latency if outcome.calls else None,
    }


def _add(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _key(read: Read) -> Key:
    return read.outcome.question.key
