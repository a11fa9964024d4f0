"""Comparing what annotators were told with what the database holds."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from bench.annotators import Ledger, Work
from spanplat.db import Database
from spanplat.models import (
    REPLACED,
    Annotation,
    Annotator,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Category,
    Participation,
    Span,
)


def find_losses(url: str, ledgers: Iterable[Ledger]) -> list[str]:
    """Return every way in which the database contradicts what was acknowledged, in words; nothing when all is well.

    A save that was sent and never answered may be stored or not, but only whole. No seat may have two holders, nobody two seats, and
    nobody who was let in may be without one.
    """
    database = Database(url)
    try:
        with database.reading() as session:
            stored, seats = _stored_work(session), _seats(session)
            return [*_doubled_seats(session), *_losses(stored, seats, list(ledgers))]
    finally:
        database.dispose()


def _losses(
    stored: dict[str, dict[int, Work]], seats: dict[str, list[tuple[str, str]]], ledgers: list[Ledger]
) -> list[str]:
    problems = []
    for ledger in ledgers:
        work = stored.pop(ledger.person, {})
        for position in sorted({*work, *ledger.acknowledged, *ledger.attempted}):
            possible: list[Work | None] = [*ledger.possible(position)]
            if position not in ledger.acknowledged:
                possible.append(None)
            if work.get(position) not in possible:
                problems.append(f"{ledger.person}, item {position}: stored {work.get(position)}, expected {possible}")
        held = seats.pop(ledger.person, [])
        if ledger.token is not None and [token for token, _ in held] != [ledger.token]:
            problems.append(f"{ledger.person}: works at {ledger.token}, holds {held}")
        if ledger.token is None and len(held) > 1:
            problems.append(f"{ledger.person}: holds {held}")
        submitted = bool(held) and held[0][1] == AssignmentStatus.SUBMITTED
        if submitted < ledger.submitted or submitted > ledger.submission_attempted:
            problems.append(f"{ledger.person}: submitted {ledger.submitted}, but holds {held}")
    problems += [f"work of {person}, whom nobody knows" for person in stored]
    problems += [f"seats of {person}, whom nobody knows" for person in seats]
    return problems


def _stored_work(session: Session) -> dict[str, dict[int, Work]]:
    spans: dict[int, list[tuple[int, int, str, str]]] = defaultdict(list)
    for annotation_id, start, end, category, text in session.execute(
        select(Span.annotation_id, Span.start_offset, Span.end_offset, Category.key, Span.text)
        .join(Category, Category.id == Span.category_id)
        .order_by(Span.annotation_id, Span.position)
    ):
        spans[annotation_id].append((start, end, category, text))
    work: dict[str, dict[int, Work]] = defaultdict(dict)
    for person, position, identifier, revision, status in session.execute(
        select(Annotator.external_id, BatchItem.position, Annotation.id, Annotation.revision, Annotation.status)
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .join(Annotation, Annotation.assignment_id == Assignment.id)
        .join(BatchItem, (BatchItem.batch_id == Assignment.batch_id) & (BatchItem.item_id == Annotation.item_id))
    ):
        work[person][position] = Work(revision, status, tuple(spans[identifier]))
    return work


def _seats(session: Session) -> dict[str, list[tuple[str, str]]]:
    """Return token and status of the seats that each person holds or held."""
    seats: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for person, token, status in session.execute(
        select(Annotator.external_id, Participation.token, Assignment.status)
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .join(Participation, Participation.id == Assignment.participation_id)
    ):
        seats[person].append((token, status))
    return seats


def _doubled_seats(session: Session) -> list[str]:
    current = session.execute(
        select(Assignment.batch_id, Assignment.slot, Assignment.repeat).where(Assignment.status.not_in(REPLACED))
    )
    return [
        f"seat {tuple(seat)} has {count} holders" for seat, count in Counter(map(tuple, current)).items() if count > 1
    ]
