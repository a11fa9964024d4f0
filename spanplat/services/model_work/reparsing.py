"""Reparsing: read the stored replies of a model campaign again, and show or store the changes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session, selectinload

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.llm.item import AskedItem
from spanplat.llm.replies import ParsedReply, UnreadableReply, quote_of, read_reply
from spanplat.models import (
    COUNTED,
    Annotation,
    Assignment,
    Campaign,
    Completion,
    Item,
    JudgedSpan,
    Span,
    Unplaced,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.span import MarkedSpan
from spanplat.services.accounts import log_event
from spanplat.services.background import OnProgress, ignore_progress
from spanplat.services.campaigns import category_ids, definition_of, find_campaign
from spanplat.services.datasets import chunked
from spanplat.services.model_work.prompts import load_asked_items
from spanplat.services.model_work.seats import CheckChange, compare_scores, score_again, store_scores, submit_full_seats


@dataclass(frozen=True)
class SpanDifference:
    """Changes of the spans of one annotation."""

    kept: Sequence[tuple[int, int]]
    """Ids of rows that stay, with their new positions."""
    changed: Sequence[tuple[int, int, MarkedSpan, MarkedSpan]]
    """Ids of rows that change, with their new positions, and the spans before and after."""
    removed: Sequence[tuple[int, MarkedSpan]]
    """Ids of rows to delete, with their spans."""
    added: Sequence[tuple[int, MarkedSpan]]
    """Positions of new rows, with their spans."""

    @property
    def moved(self) -> int:
        """Number of changed spans that get another place."""
        return sum(not _same_place(before, after) for _, _, before, after in self.changed)


def difference(before: Mapping[int, MarkedSpan], after: Sequence[MarkedSpan]) -> SpanDifference:
    """Compare stored spans, by id, with those read now.

    A span counts as changed if it is the same quote with the same category at another place, or if it is at the same place and differs
    otherwise. Other spans are removed or added.
    """
    # Rows are matched rather than replaced, so that a span keeps its id: other campaigns may judge it.
    # The rules go from strict to loose, so that a loose match does not take a span that another row matches exactly.
    new = list(range(len(after)))
    pairs: dict[int, int] = {}
    for is_same in (MarkedSpan.__eq__, _same_quote, _same_place):
        for identifier, span in before.items():
            if identifier in pairs:
                continue
            match = next((number for number in new if is_same(span, after[number])), None)
            if match is not None:
                pairs[identifier] = match
                new.remove(match)
    return SpanDifference(
        kept=[(identifier, number) for identifier, number in pairs.items() if before[identifier] == after[number]],
        changed=[
            (identifier, number, before[identifier], after[number])
            for identifier, number in pairs.items()
            if before[identifier] != after[number]
        ],
        removed=[(identifier, span) for identifier, span in before.items() if identifier not in pairs],
        added=[(number, after[number]) for number in new],
    )


def _same_quote(before: MarkedSpan, after: MarkedSpan) -> bool:
    return before.category == after.category and quote_of(before) == quote_of(after)


def _same_place(before: MarkedSpan, after: MarkedSpan) -> bool:
    return (before.side, before.field, before.start, before.end) == (after.side, after.field, after.start, after.end)


CHUNK = 25
"""Number of replies read, and of annotations changed, in one transaction."""


@dataclass(frozen=True)
class ReplyChange:
    """Change of one annotation by a new reading of its reply."""

    assignment_id: int
    item_id: int
    reading: ParsedReply
    spans: SpanDifference
    answers: dict[str, Any]
    unplaced_before: Sequence[str] = ()
    """Reasons why spans had no place."""
    annotation_id: int | None = None
    """None if the reply could not be read before."""
    revision: int = 0
    seconds: float | None = None

    @property
    def unplaced_after(self) -> list[str]:
        """Reasons why spans have no place now."""
        return [entry.reason for entry in self.reading.unplaced]


@dataclass
class ReparseReport:
    """Report of the changes by a new reading of all replies."""

    campaign: str
    applied: bool
    replies: int = 0
    unchanged: int = 0
    changed: int = 0
    newly_read: int = 0
    """Number of replies that could not be read before."""
    spans_added: int = 0
    spans_removed: int = 0
    spans_moved: int = 0
    spans_changed: int = 0
    """Number of spans at the same place with another category, severity, reason or rule."""
    unplaced_before: dict[str, int] = field(default_factory=dict)
    unplaced_after: dict[str, int] = field(default_factory=dict)
    """Number of spans without a place in all replies, by reason."""
    unreadable: dict[str, int] = field(default_factory=dict)
    """Number of replies without an annotation, by reason."""
    no_longer_readable: int = 0
    """Number of replies that cannot be read now. Their annotations stay as they are."""
    left_alone: int = 0
    """Number of annotations that somebody changed in the meantime. They stay as they are."""
    checks: list[CheckChange] = field(default_factory=list)
    """Attention checks and gold items that change from failed to passed, or from passed to failed."""
    seats_left_out: int = 0
    """Number of seats that a failed check now excludes from all figures."""
    seats_taken_in: int = 0
    """Number of seats that were excluded and no longer are."""
    examples: list[dict[str, Any]] = field(default_factory=list)
    """Some of the changes, in full."""


def reparse_campaign(
    database: Database, slug: str, *, dry_run: bool = False, on_progress: OnProgress = ignore_progress
) -> ReparseReport:
    """Read the stored replies of a model campaign again, and update annotations and check results. The model is not asked.

    Parameters
    ----------
    database
        Database with the campaign.
    slug
        The campaign.
    dry_run
        Only report the changes.
    on_progress
        Called with the number of replies read and the total.

    Returns
    -------
    ReparseReport
        The changes. Each transaction that changes annotations writes their earlier content to the audit log.

    Raises
    ------
    NotFound, InvalidInput
        If there is no such campaign, or no model fills it.
    Conflict
        If another campaign judges a span that would change.
    """
    with database.reading() as session:
        campaign = find_campaign(session, slug)
        definition = definition_of(campaign)
        if campaign.kind != "llm" or definition.model is None:
            raise InvalidInput(f"campaign {slug!r} is not filled by a model, so it has no replies to read again")
        categories = category_ids(session, campaign.id, campaign.definition_sha256)
        replies = _list_replies(session, campaign)
    report = ReparseReport(slug, applied=not dry_run, replies=len(replies))
    changes: list[ReplyChange] = []
    done = 0
    # A session for each chunk keeps memory small, and no snapshot open for minutes.
    for chunk in chunked(replies.items(), CHUNK):
        with database.reading() as session:
            changes.extend(_Comparing(session, definition, categories, report).changes(dict(chunk)))
        done += len(chunk)
        on_progress(done, len(replies))
    with database.reading() as session:
        _require_unjudged(session, changes)
        rescored = compare_scores(session, definition, score_again(session, definition, _readings(changes)))
    report.checks, report.seats_left_out, report.seats_taken_in = rescored.checks, rescored.left_out, rescored.taken_in
    _count(report, changes)
    if not dry_run:
        for chunk_of_changes in chunked(changes, CHUNK):
            # Scored again just before the write, because the first scoring may be minutes old; still outside the transaction.
            with database.reading() as session:
                scores = score_again(session, definition, _readings(chunk_of_changes))
            with database.transaction() as session:
                applied = [change for change in chunk_of_changes if _apply(session, campaign, change, categories)]
                report.left_alone += len(chunk_of_changes) - len(applied)
                if applied:
                    records = [_record(entry) for entry in applied]
                    places = {(entry.assignment_id, entry.item_id) for entry in applied}
                    checks = [asdict(entry) for entry in report.checks if (entry.assignment, entry.item) in places]
                    log_event(session, "campaign.reparsed", slug, changes=records, checks=checks)
                    store_scores(session, definition, {seat: scores[seat] for seat, _ in places if seat in scores})
        submit_full_seats(database, campaign)  # replies that could not be read before may have filled seats
    return report


def _readings(changes: Sequence[ReplyChange]) -> dict[tuple[int, int], ParsedReply]:
    """Return the new readings of existing annotations, by seat and item."""
    return {
        (change.assignment_id, change.item_id): change.reading for change in changes if change.annotation_id is not None
    }


def _list_replies(session: Session, campaign: Campaign) -> dict[tuple[int, int], int]:
    """Return, by seat and item, the reply that counts: the last readable one, else the last of all."""
    # The dictionary keeps the last row of a key. False sorts first, so readable replies come after unreadable ones.
    rows = session.execute(
        select(Completion.assignment_id, Completion.item_id, Completion.id, Completion.error)
        .join(Assignment, Assignment.id == Completion.assignment_id)
        .where(
            Completion.campaign_id == campaign.id,
            # A call without a reply has no finish reason.
            Completion.finish_reason.is_not(None),
            Assignment.status.in_(COUNTED),
        )
        .order_by(Completion.error.is_(None), Completion.id)
    )
    return {(assignment_id, item_id): identifier for assignment_id, item_id, identifier, _error in rows}


@dataclass(frozen=True)
class _Comparing:
    """Compare new readings of replies with the stored annotations."""

    session: Session
    definition: CampaignDefinition
    categories: Mapping[str, int]
    report: ReparseReport

    def changes(self, replies: Mapping[tuple[int, int], int]) -> Iterator[ReplyChange]:
        items = load_asked_items(self.session, self.definition, {item_id for _, item_id in replies})
        completions = {
            row.id: row for row in self.session.scalars(select(Completion).where(Completion.id.in_(replies.values())))
        }
        stored = self._annotations(replies)
        unplaced = self._unplaced(stored)
        for key, completion_id in replies.items():
            annotation = stored.get(key)
            reasons = unplaced.get(annotation.id, []) if annotation else []
            _add(self.report.unplaced_before, reasons)
            try:
                reading = _read(completions[completion_id], self.definition, items[key[1]])
            except UnreadableReply as problem:
                self._cannot_be_read(annotation, reasons, str(problem))
                continue
            change = self._change(key, annotation, reading, reasons, completions[completion_id].latency)
            _add(self.report.unplaced_after, change.unplaced_after)
            if annotation is not None and _is_same(change, annotation):
                self.report.unchanged += 1
            else:
                yield change

    def _cannot_be_read(self, annotation: Annotation | None, unplaced: Sequence[str], problem: str) -> None:
        _add(self.report.unplaced_after, unplaced)
        if annotation is None:
            _add(self.report.unreadable, [problem])
            self.report.unchanged += 1
        else:
            self.report.no_longer_readable += 1

    def _annotations(self, replies: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], Annotation]:
        found = self.session.scalars(
            select(Annotation)
            .where(
                Annotation.assignment_id.in_({assignment_id for assignment_id, _ in replies}),
                Annotation.item_id.in_({item_id for _, item_id in replies}),
            )
            .options(selectinload(Annotation.spans))
        )
        return {(annotation.assignment_id, annotation.item_id): annotation for annotation in found}

    def _unplaced(self, stored: Mapping[tuple[int, int], Annotation]) -> dict[int, list[str]]:
        rows = self.session.execute(
            select(Unplaced.annotation_id, Unplaced.reason)
            .where(
                Unplaced.annotation_id.in_({annotation.id for annotation in stored.values()}), Unplaced.kind == "span"
            )
            .order_by(Unplaced.id)
        )
        reasons: dict[int, list[str]] = {}
        for annotation_id, reason in rows:
            if annotation_id is not None:
                reasons.setdefault(annotation_id, []).append(reason)
        return reasons

    def _change(
        self,
        key: tuple[int, int],
        annotation: Annotation | None,
        reading: ParsedReply,
        unplaced: Sequence[str],
        seconds: float | None,
    ) -> ReplyChange:
        keys = {identifier: key for key, identifier in self.categories.items()}
        before = {
            span.id: MarkedSpan.from_row(span, keys[span.category_id])
            for span in (annotation.spans if annotation else ())
        }
        questions = {question.key for question in self.definition.questions}
        # Answers to no question, such as the share that the offline annotator computes, are not in the reply's text. Keep them.
        others = {
            name: value for name, value in (annotation.answers if annotation else {}).items() if name not in questions
        }
        return ReplyChange(
            *key,
            reading=reading,
            spans=difference(before, reading.spans),
            answers={**others, **reading.answers},
            unplaced_before=unplaced,
            annotation_id=annotation.id if annotation else None,
            revision=annotation.revision if annotation else 0,
            seconds=seconds,
        )


def _read(completion: Completion, definition: CampaignDefinition, item: AskedItem) -> ParsedReply:
    response = completion.response or {}
    return read_reply(
        str(response.get("content") or ""),
        definition,
        item,
        finish_reason=completion.finish_reason or "stop",
        reasoning=str(response.get("reasoning") or ""),
    )


def _is_same(change: ReplyChange, annotation: Annotation) -> bool:
    spans = change.spans
    return (
        not (spans.changed or spans.removed or spans.added)
        and list(change.unplaced_before) == change.unplaced_after
        and change.answers == annotation.answers
    )


def _require_unjudged(session: Session, changes: Sequence[ReplyChange]) -> None:
    # A judgement is about a span as the judge saw it. It would no longer fit a changed span.
    touched = [
        identifier
        for change in changes
        for identifier in (*(row[0] for row in change.spans.changed), *(row[0] for row in change.spans.removed))
    ]
    for chunk in chunked(touched, 500):
        judging = session.scalar(
            select(Campaign.slug)
            .join(Item, Item.campaign_id == Campaign.id)
            .join(JudgedSpan, JudgedSpan.item_id == Item.id)
            .where(JudgedSpan.span_id.in_(chunk))
            .limit(1)
        )
        if judging is not None:
            raise Conflict(
                f"campaign {judging!r} judges spans that reading the replies again would change, so nothing was changed"
            )


def _count(report: ReparseReport, changes: Sequence[ReplyChange]) -> None:
    for change in changes:
        report.newly_read += change.annotation_id is None
        report.changed += change.annotation_id is not None
        report.spans_added += len(change.spans.added)
        report.spans_removed += len(change.spans.removed)
        report.spans_moved += change.spans.moved
        report.spans_changed += len(change.spans.changed) - change.spans.moved
    report.examples = [_record(change) for change in changes[:50]]


def _apply(session: Session, campaign: Campaign, change: ReplyChange, categories: Mapping[str, int]) -> bool:
    """Store a change. Return False if the annotation has changed since the comparison."""
    now = datetime.now(UTC)
    values: dict[str, Any] = {
        "answers": change.answers,
        "extra": change.reading.extra or None,
        "revision": change.revision + 1,
    }
    annotation_id = change.annotation_id
    if annotation_id is None:
        there = select(Annotation.id).where(
            Annotation.assignment_id == change.assignment_id, Annotation.item_id == change.item_id
        )
        if session.scalar(there) is not None:  # a run has stored an annotation since the comparison
            return False
        made = Annotation(
            assignment_id=change.assignment_id,
            item_id=change.item_id,
            status="complete",
            completed_at=now,
            seconds=change.seconds,
            **values,
        )
        session.add(made)
        session.flush()
        annotation_id = made.id
    else:
        # Only if nobody has changed the annotation since the comparison.
        unchanged = (Annotation.id == annotation_id) & (Annotation.revision == change.revision)
        taken = update(Annotation).where(unchanged).values(values).returning(Annotation.id)
        if session.scalar(taken) is None:
            return False
    _store_spans(session, annotation_id, change, categories)
    session.execute(delete(Unplaced).where(Unplaced.annotation_id == annotation_id, Unplaced.kind == "span"))
    if change.reading.unplaced:
        rows = [entry.row(campaign.id, "span", annotation_id) for entry in change.reading.unplaced]
        session.execute(insert(Unplaced), rows)
    return True


def _store_spans(session: Session, annotation_id: int, change: ReplyChange, categories: Mapping[str, int]) -> None:
    def columns(span: MarkedSpan, position: int) -> dict[str, Any]:
        return {"position": position, **span.row(categories[span.category])}

    for identifier, position in change.spans.kept:
        # The order of spans may change although the span itself does not.
        session.execute(update(Span).where(Span.id == identifier).values(position=position))
    for identifier, position, _before, after in change.spans.changed:
        session.execute(update(Span).where(Span.id == identifier).values(columns(after, position)))
    if change.spans.removed:
        session.execute(delete(Span).where(Span.id.in_([identifier for identifier, _ in change.spans.removed])))
    if change.spans.added:
        rows = [{"annotation_id": annotation_id, **columns(span, position)} for position, span in change.spans.added]
        session.execute(insert(Span), rows)


def _record(change: ReplyChange) -> dict[str, Any]:
    """Return a change as JSON, with the spans before and after."""

    def shown(span: MarkedSpan) -> dict[str, Any]:
        rule = (span.origin or {}).get("rule")
        return {"text": span.text, "at": f"{span.start}–{span.end}", "category": span.category, "rule": rule}

    return {
        "annotation": change.annotation_id,
        "item": change.item_id,
        "added": [shown(span) for _, span in change.spans.added],
        "removed": [shown(span) for _, span in change.spans.removed],
        "changed": [{"before": shown(before), "after": shown(after)} for _, _, before, after in change.spans.changed],
        "unplaced_before": list(change.unplaced_before),
        "unplaced_after": change.unplaced_after,
    }


def _add(counts: dict[str, int], reasons: Sequence[str]) -> None:
    for reason, number in Counter(reasons).items():
        counts[reason] = counts.get(reason, 0) + number
