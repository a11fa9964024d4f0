"""Reading the stored replies of a model campaign again: what would change, and changing it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session, selectinload

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.llm.item import AskedItem
from spanplat.llm.replies import Reading, UnreadableReply, read_reply
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
from spanplat.services.audit import log_event
from spanplat.services.campaigns import find_campaign
from spanplat.services.definitions import category_ids, definition_of
from spanplat.services.importing.progress import OnProgress, ignore_progress
from spanplat.services.importing.storing import chunked
from spanplat.services.model_runs.seats import submit_full_seats
from spanplat.services.prompts import load_asked_items
from spanplat.services.readings import span_values, unplaced_rows
from spanplat.services.rescoring import CheckChange, compare_scores, score_again, store_scores
from spanplat.services.span_differences import SpanDifference, Values, difference

CHUNK = 25
"""Replies read, and annotations changed, at once."""


@dataclass(frozen=True)
class Change:
    """What reading a reply again changes."""

    assignment_id: int
    item_id: int
    reading: Reading
    spans: SpanDifference
    answers: Values
    unplaced_before: Sequence[str] = ()
    """Reasons."""
    annotation_id: int | None = None
    """None where the reply could not be read before."""
    revision: int = 0
    seconds: float | None = None

    @property
    def unplaced_after(self) -> list[str]:
        """Reasons of what has no place now."""
        return [entry.reason for entry in self.reading.unplaced]


@dataclass
class ReparseReport:
    """What reading the replies again changes, or has changed."""

    campaign: str
    applied: bool
    replies: int = 0
    unchanged: int = 0
    changed: int = 0
    newly_read: int = 0
    """Replies that could not be read before."""
    spans_added: int = 0
    spans_removed: int = 0
    spans_moved: int = 0
    spans_changed: int = 0
    """Spans that stay where they are, with another category, severity, reason or rule."""
    unplaced_before: dict[str, int] = field(default_factory=dict)
    unplaced_after: dict[str, int] = field(default_factory=dict)
    """By reason, in all replies."""
    unreadable: dict[str, int] = field(default_factory=dict)
    """Replies without an annotation, by reason."""
    no_longer_readable: int = 0
    """Replies whose annotation stays as it is, because they cannot be read now."""
    left_alone: int = 0
    """Annotations that somebody changed in the meantime."""
    checks: list[CheckChange] = field(default_factory=list)
    """Attention checks and gold items that are passed now and were failed before, or the other way round."""
    seats_left_out: int = 0
    """Seats that a failed check leaves out of every figure from now on."""
    seats_taken_in: int = 0
    """Seats that were left out, and no longer are."""
    examples: list[Values] = field(default_factory=list)
    """Some of the changes, in full."""


def reparse_campaign(
    database: Database, slug: str, *, dry_run: bool = False, on_progress: OnProgress = ignore_progress
) -> ReparseReport:
    """Read the stored replies of a model campaign again, without asking the model, and put annotations and check results right.

    Parameters
    ----------
    database
        Where the campaign is.
    slug
        The campaign.
    dry_run
        Only tell what would change.
    on_progress
        Told how many replies are read, and of how many.

    Returns
    -------
    ReparseReport
        What changes. Each transaction that changes annotations writes into the audit log what they said before.

    Raises
    ------
    NotFound, InvalidInput
        If there is no such campaign, or no model fills it.
    Conflict
        If spans would change that another campaign judges.
    """
    with database.reading() as session:
        campaign = find_campaign(session, slug)
        definition = definition_of(campaign)
        if campaign.kind != "llm" or definition.model is None:
            raise InvalidInput(f"campaign {slug!r} is not filled by a model, so it has no replies to read again")
        categories = category_ids(session, campaign.id, campaign.definition_sha256)
        replies = _list_replies(session, campaign)
    report = ReparseReport(slug, applied=not dry_run, replies=len(replies))
    changes: list[Change] = []
    done = 0
    for chunk in chunked(replies.items(), CHUNK):
        with database.reading() as session:
            changes.extend(_Comparing(session, definition, categories, report).changes(dict(chunk)))
        done += len(chunk)
        on_progress(done, len(replies))
    with database.reading() as session:
        _require_unjudged(session, changes)
        rescored = compare_scores(session, definition, score_again(session, definition, _readings(changes)))
    report.checks, report.seats_left_out, report.seats_taken_in = rescored.checks, rescored.left_out, rescored.taken_in
    _count(report, changes, categories)
    if not dry_run:
        for chunk_of_changes in chunked(changes, CHUNK):
            with database.reading() as session:
                scores = score_again(session, definition, _readings(chunk_of_changes))
            with database.transaction() as session:
                applied = [change for change in chunk_of_changes if _apply(session, campaign, change)]
                report.left_alone += len(chunk_of_changes) - len(applied)
                if applied:
                    records = [_record(entry, categories) for entry in applied]
                    places = {(entry.assignment_id, entry.item_id) for entry in applied}
                    checks = [asdict(entry) for entry in report.checks if (entry.assignment, entry.item) in places]
                    log_event(session, "campaign.reparsed", slug, changes=records, checks=checks)
                    store_scores(session, definition, {seat: scores[seat] for seat, _ in places if seat in scores})
        submit_full_seats(database, campaign)
    return report


def _readings(changes: Sequence[Change]) -> dict[tuple[int, int], Reading]:
    """Return what annotations that are there will say, by seat and item."""
    return {
        (change.assignment_id, change.item_id): change.reading for change in changes if change.annotation_id is not None
    }


def _list_replies(session: Session, campaign: Campaign) -> dict[tuple[int, int], int]:
    """Return, by seat and item, the reply that counts: the last that could be read, else the last of all."""
    rows = session.execute(
        select(Completion.assignment_id, Completion.item_id, Completion.id, Completion.error)
        .join(Assignment, Assignment.id == Completion.assignment_id)
        .where(
            Completion.campaign_id == campaign.id,
            Completion.finish_reason.is_not(None),
            Assignment.status.in_(COUNTED),
        )
        .order_by(Completion.error.is_(None), Completion.id)
    )
    return {(assignment_id, item_id): identifier for assignment_id, item_id, identifier, _error in rows}


@dataclass(frozen=True)
class _Comparing:
    """Compares replies, read again, with what is stored."""

    session: Session
    definition: CampaignDefinition
    categories: Mapping[str, int]
    report: ReparseReport

    def changes(self, replies: Mapping[tuple[int, int], int]) -> Iterator[Change]:
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
        reading: Reading,
        unplaced: Sequence[str],
        seconds: float | None,
    ) -> Change:
        after = [span_values(span, position, self.categories) for position, span in enumerate(reading.spans)]
        before = annotation.spans if annotation else []
        questions = {question.key for question in self.definition.questions}
        others = {
            name: value for name, value in (annotation.answers if annotation else {}).items() if name not in questions
        }
        return Change(
            *key,
            reading=reading,
            spans=difference(before, after),
            answers={**others, **reading.answers},
            unplaced_before=unplaced,
            annotation_id=annotation.id if annotation else None,
            revision=annotation.revision if annotation else 0,
            seconds=seconds,
        )


def _read(completion: Completion, definition: CampaignDefinition, item: AskedItem) -> Reading:
    response = completion.response or {}
    return read_reply(
        str(response.get("content") or ""),
        definition,
        item,
        finish_reason=completion.finish_reason or "stop",
        reasoning=str(response.get("reasoning") or ""),
    )


def _is_same(change: Change, annotation: Annotation) -> bool:
    spans = change.spans
    return (
        not (spans.changed or spans.removed or spans.added)
        and list(change.unplaced_before) == change.unplaced_after
        and change.answers == annotation.answers
    )


def _require_unjudged(session: Session, changes: Sequence[Change]) -> None:
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


def _count(report: ReparseReport, changes: Sequence[Change], categories: Mapping[str, int]) -> None:
    for change in changes:
        report.newly_read += change.annotation_id is None
        report.changed += change.annotation_id is not None
        report.spans_added += len(change.spans.added)
        report.spans_removed += len(change.spans.removed)
        report.spans_moved += change.spans.moved
        report.spans_changed += len(change.spans.changed) - change.spans.moved
    report.examples = [_record(change, categories) for change in changes[:50]]


def _apply(session: Session, campaign: Campaign, change: Change) -> bool:
    """Store a change; False if the annotation is not what it was when it was compared."""
    now = datetime.now(UTC)
    values: Values = {
        "answers": change.answers,
        "extra": change.reading.extra or None,
        "revision": change.revision + 1,
    }
    annotation_id = change.annotation_id
    if annotation_id is None:
        there = select(Annotation.id).where(
            Annotation.assignment_id == change.assignment_id, Annotation.item_id == change.item_id
        )
        if session.scalar(there) is not None:
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
        unchanged = (Annotation.id == annotation_id) & (Annotation.revision == change.revision)
        taken = update(Annotation).where(unchanged).values(values).returning(Annotation.id)
        if session.scalar(taken) is None:
            return False
    _store_spans(session, annotation_id, change)
    session.execute(delete(Unplaced).where(Unplaced.annotation_id == annotation_id, Unplaced.kind == "span"))
    if change.reading.unplaced:
        session.execute(insert(Unplaced), unplaced_rows(change.reading, annotation_id, campaign.id))
    return True


def _store_spans(session: Session, annotation_id: int, change: Change) -> None:
    for identifier, position in change.spans.kept:
        session.execute(update(Span).where(Span.id == identifier).values(position=position))
    for identifier, _before, after in change.spans.changed:
        session.execute(update(Span).where(Span.id == identifier).values(after))
    if change.spans.removed:
        session.execute(delete(Span).where(Span.id.in_([identifier for identifier, _ in change.spans.removed])))
    if change.spans.added:
        session.execute(insert(Span), [{"annotation_id": annotation_id, **values} for values in change.spans.added])


def _record(change: Change, categories: Mapping[str, int]) -> Values:
    """Return a change as JSON: what was said before, and what is said now."""
    names = {identifier: key for key, identifier in categories.items()}

    def shown(values: Values) -> Values:
        place = f"{values['start_offset']}–{values['end_offset']}"
        rule = (values["origin"] or {}).get("rule")
        return {"text": values["text"], "at": place, "category": names[values["category_id"]], "rule": rule}

    return {
        "annotation": change.annotation_id,
        "item": change.item_id,
        "added": [shown(values) for values in change.spans.added],
        "removed": [shown(values) for _, values in change.spans.removed],
        "changed": [{"before": shown(before), "after": shown(after)} for _, before, after in change.spans.changed],
        "unplaced_before": list(change.unplaced_before),
        "unplaced_after": change.unplaced_after,
    }


def _add(counts: dict[str, int], reasons: Sequence[str]) -> None:
    for reason, number in Counter(reasons).items():
        counts[reason] = counts.get(reason, 0) + number
