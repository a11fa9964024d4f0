"""Writing imported annotations: finding outputs and offsets, and storing annotations, spans, seats and unplaced records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import insert
from sqlalchemy.orm import Session

from spanplat.formats.factgenie import FactgenieSpan
from spanplat.formats.placement import ResolvedPlace, resolve_span
from spanplat.formats.problem import Problem
from spanplat.models import (
    Annotation,
    Assignment,
    AssignmentStatus,
    Batch,
    BatchItem,
    CheckResult,
    Item,
    ItemOutput,
    ItemRole,
    Span,
    Unplaced,
)
from spanplat.schemas.checks import CHECK_KINDS
from spanplat.schemas.record import SpanRecord
from spanplat.schemas.span import MarkedSpan, rows_of_spans
from spanplat.schemas.unplaced import UnplacedRecord
from spanplat.services.campaigns.annotators import find_or_add_annotator
from spanplat.services.campaigns.import_records import ImportReport, IncomingAnnotation, ReceivedSpan
from spanplat.services.datasets import OutputKey
from spanplat.text import NotLocated

MISSING_OUTPUT = "the dataset has no such output"
ROLES = {kind.kind(): ItemRole(kind.role) for kind in CHECK_KINDS}
"""Role of an item in a batch, by the kind of its check."""

SEAT_STATES = {
    "late": AssignmentStatus.EXPIRED,
    "expired": AssignmentStatus.EXPIRED,
    "returned": AssignmentStatus.RETURNED,
    "rejected": AssignmentStatus.REJECTED,
}
"""States of seats whose work enters no figure, by the reason in the record."""


@dataclass(frozen=True)
class Placed:
    """Incoming annotation with its output and the offsets of its spans; computed before the transaction that stores it."""

    incoming: IncomingAnnotation
    output_id: int
    spans: list[MarkedSpan]
    unplaced: list[UnplacedRecord]


@dataclass
class _Seat:
    assignment_id: int
    items: set[int]


@dataclass
class CampaignWriter:
    """Writer for the annotations of one import; it keeps track of items, batches and seats between transactions."""

    campaign_id: int
    slug: str
    categories: Mapping[str, int]
    outputs: Mapping[OutputKey, tuple[int, str]]
    report: ImportReport
    missing: Counter[OutputKey] = field(default_factory=Counter)
    systems: set[str] = field(default_factory=set)
    """Systems of the outputs that were found."""
    _items: dict[int, int] = field(default_factory=dict)
    _batches: dict[str, tuple[int, dict[int, int]]] = field(default_factory=dict)
    _seats: dict[tuple[str, int], _Seat] = field(default_factory=dict)
    _batch_items: list[dict[str, Any]] = field(default_factory=list)
    """Rows to be inserted with the current chunk."""

    def place(self, incoming: IncomingAnnotation | Problem) -> Placed | UnplacedRecord:
        """Find the output and the offsets of a received annotation, without using the database."""
        if isinstance(incoming, Problem):
            self.report.unreadable_records += 1
            return UnplacedRecord(
                {"file": incoming.file.name, "line": incoming.line, "raw": incoming.raw}, incoming.reason
            )
        key = OutputKey(incoming.dataset, incoming.split, incoming.example, incoming.system)
        found = self.outputs.get(key)
        if found is None:
            self.missing[key] += 1
            self.report.unplaced_annotations[MISSING_OUTPUT] += 1
            return UnplacedRecord(incoming.raw, f"{MISSING_OUTPUT}: {'/'.join(key)}")
        if problem := _time_problem(incoming):
            self.report.unplaced_annotations[problem] += 1
            return UnplacedRecord(incoming.raw, problem)
        self.systems.add(key.system)
        output_id, text = found
        spans: list[MarkedSpan] = []
        unplaced = []
        for category, received in incoming.spans:
            placed = self._place_span(received, category, text)
            if isinstance(placed, str):
                self.report.unplaced_spans[placed] += 1
                raw = received.raw if isinstance(received, FactgenieSpan) else received.model_dump(mode="json")
                unplaced.append(UnplacedRecord(raw, placed))
            else:
                spans.append(placed)
        return Placed(incoming, output_id, spans, unplaced)

    def write(self, session: Session, records: Sequence[Placed | UnplacedRecord]) -> None:
        """Store a chunk of placed records."""
        placed = [record for record in records if isinstance(record, Placed)]
        kept = [record for record in records if isinstance(record, UnplacedRecord)]
        self._add_items(session, placed)
        seats = [self._seat_for(session, record) for record in placed]
        if self._batch_items:
            session.execute(insert(BatchItem), self._batch_items)
            self._batch_items.clear()
        if placed:
            # Databases may return the ids of many rows in any order; the spans need them in the order of the records.
            ids = session.scalars(
                insert(Annotation).returning(Annotation.id, sort_by_parameter_order=True),
                [self._annotation(record, seat) for record, seat in zip(placed, seats, strict=True)],
            ).all()
            spans = [
                row
                for record, identifier in zip(placed, ids, strict=True)
                for row in rows_of_spans(identifier, record.spans, self.categories)
            ]
            if spans:
                session.execute(insert(Span), spans)
            checks = [
                result
                for record, seat in zip(placed, seats, strict=True)
                for result in _check_result(record, seat.assignment_id, self._items[record.output_id])
            ]
            if checks:
                session.execute(insert(CheckResult), checks)
            for record, identifier in zip(placed, ids, strict=True):
                self._keep(session, record.unplaced, "span", identifier)
            self.report.annotations += len(placed)
            self.report.spans += len(spans)
        self._keep(session, kept, "annotation", None)
        self.report.outputs = len(self._items)

    def _keep(
        self,
        session: Session,
        kept: Sequence[UnplacedRecord],
        kind: Literal["annotation", "span"],
        annotation_id: int | None,
    ) -> None:
        if kept:
            session.execute(insert(Unplaced), [entry.row(self.campaign_id, kind, annotation_id) for entry in kept])

    def _place_span(self, received: ReceivedSpan, category: str | None, text: str) -> MarkedSpan | str:
        """Return a span with the received offsets and, if they differ, the resolved ones; or the reason why it cannot be placed."""
        if category is None:
            return "its category is not one of the campaign's"
        if isinstance(received, SpanRecord):
            span = received.marked(category)
            # The writer has the texts of outputs only, so these offsets stay as received.
            if span.side == "source":
                return span
            resolved = resolve_span(text, span.text, span.start)
            # An omission mark quotes nothing, so there is no place to look for.
            is_omission = not span.text and span.start == span.end
        else:
            resolved = resolve_span(text, received.text, received.start)
            # The received offsets stay, even if the text is elsewhere: published figures were computed with them.
            if received.start is not None and received.start >= 0:
                start, end = received.start, received.start + len(received.text)
            elif isinstance(resolved, ResolvedPlace):
                start, end = resolved.start, resolved.end
            else:
                return "it has no offset, and its text is not in the output"
            span = MarkedSpan(start, end, category, received.text, reason=received.reason)
            is_omission = False
        return span if is_omission else self._with_place(span, resolved)

    def _with_place(self, span: MarkedSpan, resolved: ResolvedPlace | NotLocated) -> MarkedSpan:
        """Add the resolved offsets of the quote and its differences from the text to a span, and count them in the report."""
        origin = span.origin or {}
        if isinstance(resolved, NotLocated):
            self.report.spans_not_in_text += 1
            return replace(span, origin=origin | {"not_in_text": resolved.reason})
        place = (resolved.start, resolved.end)
        moved = place if place != (span.start, span.end) else None
        if not resolved.differences:
            return replace(span, resolved=moved) if moved else span
        self.report.differences.update(resolved.differences)
        differing = {"differs_in": list(resolved.differences), "rule": resolved.rule}
        return replace(span, origin=origin | differing, resolved=moved)

    def _annotation(self, record: Placed, seat: _Seat) -> dict[str, Any]:
        incoming = record.incoming
        return {
            "assignment_id": seat.assignment_id,
            "item_id": self._items[record.output_id],
            "status": incoming.status,
            "revision": 1,
            "amendment": incoming.amendment,
            "dismissed": list(incoming.dismissed) or None,
            "answers": incoming.answers,
            "extra": incoming.extra,
            "started_at": _moment(incoming.started_at),
            "completed_at": _moment(incoming.completed_at),
            "seconds": incoming.seconds,
            "late": incoming.left_out == "late",
        }

    def _add_items(self, session: Session, records: Sequence[Placed]) -> None:
        fresh = list(dict.fromkeys(record.output_id for record in records if record.output_id not in self._items))
        if not fresh:
            return
        ids = session.scalars(
            insert(Item).returning(Item.id, sort_by_parameter_order=True),
            [{"campaign_id": self.campaign_id, "kind": "output"} for _ in fresh],
        ).all()
        session.execute(
            insert(ItemOutput),
            [{"item_id": item, "position": 0, "output_id": output} for item, output in zip(ids, fresh, strict=True)],
        )
        self._items.update(zip(fresh, ids, strict=True))

    def _seat_for(self, session: Session, record: Placed) -> _Seat:
        """Return the annotator's seat; a second annotation of the same output goes to a repeated seat."""
        # `owner` and not the annotator alone: the state of a seat decides whether its work counts, so work that is left out needs a
        # seat of its own.
        annotator, item_id = record.incoming.owner, self._items[record.output_id]
        repeat = 0
        while (seat := self._seats.get((annotator, repeat))) is not None and item_id in seat.items:
            repeat += 1
        if seat is None:
            seat = self._new_seat(session, record.incoming, repeat)
        if repeat:
            self.report.repeats += 1
        seat.items.add(item_id)
        _, positions = self._batches[annotator]
        if item_id not in positions:
            positions[item_id] = len(positions) + 1
            self._batch_items.append(
                {
                    "batch_id": self._batches[annotator][0],
                    "position": positions[item_id],
                    "item_id": item_id,
                    "role": _role_of(record.incoming),
                }
            )
        return seat

    def _new_seat(self, session: Session, incoming: IncomingAnnotation, repeat: int) -> _Seat:
        # Each import is a source of its own, so that annotators with the same name in two imports stay different annotators.
        annotator = find_or_add_annotator(session, incoming.annotator_kind, f"import:{self.slug}", incoming.annotator)
        if incoming.owner not in self._batches:
            batch = Batch(campaign_id=self.campaign_id, number=len(self._batches) + 1)
            session.add(batch)
            session.flush()
            self._batches[incoming.owner] = batch.id, {}
            # An annotator with work that is left out has two owners, and is counted once.
            self.report.annotators = len({owner.partition("\n")[0] for owner in self._batches})
        assignment = Assignment(
            campaign_id=self.campaign_id,
            batch_id=self._batches[incoming.owner][0],
            slot=incoming.order,
            repeat=repeat,
            group=incoming.group,
            annotator_id=annotator.id,
            status=SEAT_STATES.get(incoming.left_out or "", AssignmentStatus.ACCEPTED),
            excluded=incoming.left_out == "excluded",
        )
        session.add(assignment)
        session.flush()
        seat = self._seats[incoming.owner, repeat] = _Seat(assignment.id, set())
        return seat


def _role_of(incoming: IncomingAnnotation) -> str:
    """Return the role of an item; items of checks stay checks, so that they enter no figure."""
    return ROLES.get(incoming.check.kind, ItemRole.REGULAR) if incoming.check else ItemRole.REGULAR


def _check_result(record: Placed, assignment_id: int, item_id: int) -> list[dict[str, Any]]:
    check = record.incoming.check
    if check is None:
        return []
    named = {"assignment_id": assignment_id, "item_id": item_id, "name": check.kind}
    return [named | {"kind": check.kind, "passed": check.passed}]


def _moment(seconds: float | None) -> datetime | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _time_problem(incoming: IncomingAnnotation) -> str | None:
    """Return why the received times cannot be stored, or None if they can; the usual mistake is milliseconds instead of seconds."""
    try:
        _moment(incoming.started_at)
        _moment(incoming.completed_at)
    except (OverflowError, OSError, ValueError):
        return "its times are not seconds since 1970"
    return None
