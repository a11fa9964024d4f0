"""Storing a model's replies in a campaign: every call, and the annotation that is made of a reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from spanplat.llm.dialogue import Dialogue
from spanplat.llm.provider import CallFailed, ModelReply
from spanplat.llm.replies import ParsedReply, UnreadableReply, rule_of
from spanplat.models import Annotation, ClaimState, Completion, Span, Unplaced
from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.span import rows_of_spans
from spanplat.services.model_work.calls import Call, Outcome, call_row
from spanplat.services.model_work.claims import SeatItem, finish, release

TAKEN_OVER = "another worker had taken the item over"


@dataclass(frozen=True)
class ItemResult:
    """Result of an item in a run: its calls, and the parsed reply."""

    key: SeatItem
    calls: Sequence[Call] = ()
    reading: ParsedReply | None = None
    failure: str | None = None
    """Kind of failure, if the item was given up."""
    error: str | None = None


@dataclass
class RunCounts:
    """Counts of the results that a run has stored."""

    asked: int = 0
    answered: int = 0
    calls: int = 0
    spans: int = 0
    unplaced: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    """Number of items given up, by reason."""
    failures: dict[str, int] = field(default_factory=dict)
    """Number of items given up, by kind of failure: ``refusal``, ``cut off``, ``status 400``, …"""
    rules: dict[str, int] = field(default_factory=dict)
    """Number of spans, by the rule that placed them."""
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    """Number of replies whose price is not known."""
    maybe_billed: int = 0
    """Number of calls without a reply that the provider may have billed."""

    @property
    def done(self) -> int:
        """Number of items that were answered or given up."""
        return self.answered + sum(self.failed.values())

    def count_call(self, row: Mapping[str, Any]) -> None:
        """Count a call, given as its row in the database."""
        has_reply, cost = row["response"] is not None, row["cost"]
        self.calls += 1
        self.input_tokens += row["input_tokens"]
        self.output_tokens += row["output_tokens"]
        self.reasoning_tokens += row["reasoning_tokens"]
        self.cost += cost or 0.0
        # A call without a reply has no known cost either, but it is counted separately: nobody knows whether it was
        # billed.
        self.unpriced += has_reply and cost is None
        self.maybe_billed += not has_reply and cost is None

    def count_failed(self, kind: str, reason: str, items: int = 1) -> None:
        """Count items that were given up."""
        if items:
            self.failures[kind] = self.failures.get(kind, 0) + items
            self.failed[reason] = self.failed.get(reason, 0) + items


def read_outcome(dialogue: Dialogue, outcome: Outcome[SeatItem]) -> ItemResult:
    """Read the reply of an outcome, before anything is written."""
    key, calls = outcome.pending.key, outcome.calls
    reply = outcome.reply
    if reply is None:
        failed = calls[-1].result if calls else None
        if outcome.failed and isinstance(failed, CallFailed):
            kind = f"status {failed.status}" if failed.status else failed.code or failed.kind
            return ItemResult(key, calls, failure=kind, error=str(failed))
        return ItemResult(key, calls)
    try:
        return ItemResult(key, calls, dialogue.read(outcome.pending.request.item, reply))
    except UnreadableReply as problem:
        return ItemResult(key, calls, failure=problem.kind, error=str(problem))


@dataclass(frozen=True)
class Recorder:
    """Store the outcomes of one run.

    Parameters
    ----------
    campaign_id
        The campaign.
    settings
        Settings of its model, for prices.
    categories
        Ids of its categories by key.
    worker
        Name of the worker that holds the claims.
    counts
        Counts to add to.
    """

    campaign_id: int
    settings: ModelSettings
    categories: Mapping[str, int]
    worker: str
    counts: RunCounts

    def store(self, session: Session, results: Sequence[ItemResult]) -> None:
        """Store calls, and annotations where the claim is still this worker's. Free items whose request was not finished."""
        # Neither read nor given up: the run stopped first, and the next one asks about these items.
        release(session, self.worker, [one.key for one in results if one.reading is None and one.error is None])
        answered = [(one, one.reading) for one in results if one.reading is not None]
        own = finish(session, self.worker, [one.key for one, _ in answered], ClaimState.ANSWERED)
        # Every call is stored, also of an item that another worker took over: it was paid for, and the budget counts it.
        calls = [self._call(call, one, own) for one in results for call in one.calls]
        if calls:
            session.execute(insert(Completion), calls)
        self._annotate(session, [(one, reading) for one, reading in answered if one.key in own])
        for one in results:
            self.counts.asked += bool(one.calls)
            if one.error is not None:
                # One by one, because each item has its own reason.
                finish(session, self.worker, [one.key], ClaimState.FAILED, failure=one.failure, error=one.error)
                self.counts.count_failed(one.failure or "", one.error)

    def _call(self, call: Call, result: ItemResult, own: set[SeatItem]) -> dict[str, Any]:
        """Return a call as a row, and count it."""
        row = call_row(self.settings, call)
        self.counts.count_call(row)
        if isinstance(call.result, ModelReply):
            # The reply was readable, but another worker has the item now, so no annotation is made of it.
            late = result.reading is not None and result.key not in own
            row["error"] = TAKEN_OVER if late else result.error
        seat, item = result.key
        return row | {"campaign_id": self.campaign_id, "assignment_id": seat, "item_id": item}

    def _annotate(self, session: Session, results: Sequence[tuple[ItemResult, ParsedReply]]) -> None:
        if not results:
            return
        now = datetime.now(UTC)
        annotations = [_annotation(one, reading, now) for one, reading in results]
        # Without this option, the order of the returned ids need not be the order of the rows.
        made = insert(Annotation).returning(Annotation.id, sort_by_parameter_order=True)
        ids = session.scalars(made, annotations).all()
        spans, unplaced = list[dict[str, Any]](), list[dict[str, Any]]()
        for annotation_id, (_, reading) in zip(ids, results, strict=True):
            spans.extend(rows_of_spans(annotation_id, reading.spans, self.categories))
            unplaced.extend(entry.row(self.campaign_id, "span", annotation_id) for entry in reading.unplaced)
            for span in reading.spans:
                _add(self.counts.rules, rule_of(span))
        if spans:
            session.execute(insert(Span), spans)
        if unplaced:
            session.execute(insert(Unplaced), unplaced)
        self.counts.answered += len(results)
        self.counts.spans += len(spans)
        self.counts.unplaced += len(unplaced)


def _annotation(result: ItemResult, reading: ParsedReply, now: datetime) -> dict[str, Any]:
    return {
        "assignment_id": result.key.assignment_id,
        "item_id": result.key.item_id,
        "status": "complete",
        "revision": 1,
        "answers": dict(reading.answers),
        "extra": reading.extra or None,
        "completed_at": now,
        # Only the call that brought the reply. Failed attempts and the pauses between them say nothing about the
        # model's speed.
        "seconds": result.calls[-1].latency if result.calls else None,
    }


def _add(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
