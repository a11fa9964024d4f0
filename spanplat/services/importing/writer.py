"""Writing incoming annotations: who annotated what, where each span stands, and what has no place."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from spanplat.formats.placement import ResolvedSpan, resolve_span
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
from spanplat.services.annotators import find_or_add_annotator
from spanplat.services.importing.incoming import ImportReport, IncomingAnnotation, IncomingSpan
from spanplat.services.importing.storing import OutputKey

MISSING_OUTPUT = "the dataset has no such output"
ROLES = {
    "gold": ItemRole.GOLD,
    "must_mark": ItemRole.ATTENTION,
    "must_abstain": ItemRole.ATTENTION,
    "known_answer": ItemRole.ATTENTION,
}
"""Roles of the items that carry a check; the other kinds of check ask about regular items."""

SEAT_STATES = {
    "late": AssignmentStatus.EXPIRED,
    "expired": AssignmentStatus.EXPIRED,
    "returned": AssignmentStatus.RETURNED,
    "rejected": AssignmentStatus.REJECTED,
}
"""States of the seats whose work is in no figure."""


@dataclass(frozen=True)
class Placed:
    """An incoming annotation with its output and its spans resolved; made before the transaction that stores it."""

    incoming: IncomingAnnotation
    output_id: int
    spans: list[dict[str, Any]]
    unplaced: list[tuple[dict[str, Any], str]]


@dataclass(frozen=True)
class Kept:
    """Something that has no place, and why."""

    record: dict[str, Any]
    reason: str


@dataclass
class _Seat:
    assignment_id: int
    items: set[int]


@dataclass
class CampaignWriter:
    """Stores the annotations of one import; remembers items, batches and seats between its transactions."""

    campaign_id: int
    slug: str
    categories: Mapping[str, int]
    outputs: Mapping[OutputKey, tuple[int, str]]
    report: ImportReport
    missing: Counter[OutputKey] = field(default_factory=Counter)
    systems: set[str] = field(default_factory=set)
    """Those of the outputs found."""
    _items: dict[int, int] = field(default_factory=dict)
    _batches: dict[str, tuple[int, dict[int, int]]] = field(default_factory=dict)
    _seats: dict[tuple[str, int], _Seat] = field(default_factory=dict)
    _batch_items: list[dict[str, Any]] = field(default_factory=list)
    """To be inserted with the chunk that is being written."""

    def place(self, incoming: IncomingAnnotation | Problem) -> Placed | Kept:
        """Find output and offsets of what was received; reads nothing and writes nothing."""
        if isinstance(incoming, Problem):
            self.report.unreadable_records += 1
            return Kept({"file": incoming.file.name, "line": incoming.line, "raw": incoming.raw}, incoming.reason)
        key = OutputKey(incoming.dataset, incoming.split, incoming.example, incoming.system)
        found = self.outputs.get(key)
        if found is None:
            self.missing[key] += 1
            self.report.unplaced_annotations[MISSING_OUTPUT] += 1
            return Kept(incoming.raw, f"{MISSING_OUTPUT}: {'/'.join(key)}")
        if problem := _time_problem(incoming):
            self.report.unplaced_annotations[problem] += 1
            return Kept(incoming.raw, problem)
        self.systems.add(key.system)
        output_id, text = found
        spans: list[dict[str, Any]] = []
        unplaced = []
        for span in incoming.spans:
            placed = self._place_span(span, text)
            if isinstance(placed, str):
                self.report.unplaced_spans[placed] += 1
                unplaced.append((span.raw, placed))
            else:
                spans.append(placed)
        return Placed(incoming, output_id, spans, unplaced)

    def write(self, session: Session, records: Sequence[Placed | Kept]) -> None:
        """Store a chunk of placed records."""
        placed = [record for record in records if isinstance(record, Placed)]
        kept = [record for record in records if isinstance(record, Kept)]
        self._add_items(session, placed)
        seats = [self._seat_for(session, record) for record in placed]
        if self._batch_items:
            session.execute(insert(BatchItem), self._batch_items)
            self._batch_items.clear()
        if placed:
            ids = session.scalars(
                insert(Annotation).returning(Annotation.id, sort_by_parameter_order=True),
                [self._annotation(record, seat) for record, seat in zip(placed, seats, strict=True)],
            ).all()
            spans = [
                span | {"annotation_id": identifier, "position": position}
                for record, identifier in zip(placed, ids, strict=True)
                for position, span in enumerate(record.spans)
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
                self._keep(session, [Kept(raw, reason) for raw, reason in record.unplaced], "span", identifier)
            self.report.annotations += len(placed)
            self.report.spans += len(spans)
        self._keep(session, kept, "annotation", None)
        self.report.outputs = len(self._items)

    def _keep(self, session: Session, kept: Sequence[Kept], kind: str, annotation_id: int | None) -> None:
        if kept:
            session.execute(
                insert(Unplaced),
                [
                    {
                        "campaign_id": self.campaign_id,
                        "annotation_id": annotation_id,
                        "kind": kind,
                        "record": entry.record,
                        "reason": entry.reason,
                    }
                    for entry in kept
                ],
            )

    def _place_span(self, span: IncomingSpan, text: str) -> dict[str, Any] | str:
        if span.category is None:
            return "its category is not one of the campaign's"
        resolved = resolve_span(text, span.text, span.start) if span.side == "output" else None
        if span.start is None or span.start < 0:
            if not isinstance(resolved, ResolvedSpan):
                return "it has no offset, and its text is not in the output"
            start, end = resolved.start, resolved.end
        else:
            start, end = span.start, span.start + len(span.text) if span.end is None else span.end
        row = {
            "category_id": self.categories[span.category],
            "start_offset": start,
            "end_offset": end,
            "text": span.text,
            "side": span.side,
            "output_position": span.output,
            "subcategory": span.subcategory,
            "severity": span.severity,
            "reason": span.reason,
            "attributes": span.attributes,
            "origin": span.origin,
            "resolved_start": None,
            "resolved_end": None,
        }
        if isinstance(resolved, ResolvedSpan):
            if resolved.differences:
                self.report.differences.update(resolved.differences)
                row["origin"] = (span.origin or {}) | {"differs_in": list(resolved.differences), "rule": resolved.rule}
            if (resolved.start, resolved.end) != (start, end):
                row |= {"resolved_start": resolved.start, "resolved_end": resolved.end}
        elif resolved is not None and (span.text or span.end != span.start):
            self.report.spans_not_in_text += 1
            row["origin"] = (span.origin or {}) | {"not_in_text": resolved.reason}
        return row

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
        """Find the annotator's seat; a second annotation of one output goes to a repeat of it."""
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
        annotator = find_or_add_annotator(session, incoming.annotator_kind, f"import:{self.slug}", incoming.annotator)
        if incoming.owner not in self._batches:
            batch = Batch(campaign_id=self.campaign_id, number=len(self._batches) + 1)
            session.add(batch)
            session.flush()
            self._batches[incoming.owner] = batch.id, {}
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
    """Return the role of an item: checks come back as checks, so that they stay out of every figure."""
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
    """Return why the times received cannot be stored (milliseconds in place of seconds, mostly), or None."""
    try:
        _moment(incoming.started_at)
        _moment(incoming.completed_at)
    except (OverflowError, OSError, ValueError):
        return "its times are not seconds since 1970"
    return None
