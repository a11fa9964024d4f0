"""Comparing what annotators were told and what was promised with what the database holds."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import (
    REPLACED,
    Annotation,
    Annotator,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Category,
    ItemOutput,
    ItemRole,
    Output,
    Participation,
    Span,
)
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from tests.simulation.annotators import Ledger, Work
from tests.simulation.study import SLUG


def find_losses(url: str, ledgers: Iterable[Ledger], *, filled: bool = False) -> list[str]:
    """Return every broken promise, in words; nothing when all is well.

    What was acknowledged is stored: a save that was sent and never answered may be stored or not, but only whole. Every output has
    exactly the places promised, no place has two holders, nobody holds two places or ever met an output twice, and nobody who was
    let in is without one. Whoever was shown the code, and nobody else, has submitted.

    Parameters
    ----------
    url
        The database.
    ledgers
        What each annotator knows.
    filled
        Whether so many people came that every place must have been worked on to the end.
    """
    database = Database(url)
    try:
        with database.reading() as session:
            stored, seats = _stored_work(session), _seats(session)
            return [
                *_losses(stored, seats, list(ledgers)),
                *_doubled_seats(session),
                *_met_again(session),
                *_wrongly_assigned(session),
                *(_unfinished(session) if filled else ()),
            ]
    finally:
        database.dispose()


def _losses(
    stored: dict[str, dict[str, Work]], seats: dict[str, list[tuple[str, str]]], ledgers: list[Ledger]
) -> Iterator[str]:
    for ledger in ledgers:
        work = stored.pop(ledger.person, {})
        for text in sorted({*work, *ledger.acknowledged, *ledger.attempted}):
            possible: list[Work | None] = [*ledger.possible(text)]
            if text not in ledger.acknowledged:
                possible.append(None)
            if work.get(text) not in possible:
                yield f"{ledger.person}, {text[:10]}…: stored {work.get(text)}, expected {possible}"
        yield from _wrong_seats(ledger, seats.pop(ledger.person, []))
    yield from (f"work of {person}, whom nobody knows" for person in stored)
    yield from (f"seats of {person}, whom nobody knows" for person in seats)


def _wrong_seats(ledger: Ledger, held: list[tuple[str, str]]) -> Iterator[str]:
    if ledger.token is not None and {token for token, _ in held} != {ledger.token}:
        yield f"{ledger.person}: works at {ledger.token}, holds {held}"
    current = [status for _, status in held if status not in REPLACED]
    if len(current) > 1:
        yield f"{ledger.person}: holds {held}"
    submitted = current == [AssignmentStatus.SUBMITTED]
    if submitted < ledger.submitted or submitted > ledger.submission_attempted:
        yield f"{ledger.person}: was shown the code {ledger.submitted:d} times, but holds {held}"


def _stored_work(session: Session) -> dict[str, dict[str, Work]]:
    spans: dict[int, list[tuple[int, int, str, str]]] = defaultdict(list)
    for annotation_id, start, end, category, text in session.execute(
        select(Span.annotation_id, Span.start_offset, Span.end_offset, Category.key, Span.text)
        .join(Category, Category.id == Span.category_id)
        .order_by(Span.annotation_id, Span.position)
    ):
        spans[annotation_id].append((start, end, category, text))
    work: dict[str, dict[str, Work]] = defaultdict(dict)
    for person, text, identifier, revision, status in session.execute(
        select(Annotator.external_id, Output.text, Annotation.id, Annotation.revision, Annotation.status)
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .join(Annotation, Annotation.assignment_id == Assignment.id)
        .join(ItemOutput, ItemOutput.item_id == Annotation.item_id)
        .join(Output, Output.id == ItemOutput.output_id)
    ):
        work[person][text] = Work(revision, status, tuple(spans[identifier]))
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


def _doubled_seats(session: Session) -> Iterator[str]:
    current = session.execute(
        select(Assignment.batch_id, Assignment.slot, Assignment.repeat).where(Assignment.status.not_in(REPLACED))
    )
    for seat, count in Counter(map(tuple, current)).items():
        if count > 1:
            yield f"seat {tuple(seat)} has {count} holders"


def _met_again(session: Session) -> Iterator[str]:
    met = session.execute(
        select(Assignment.annotator_id, ItemOutput.output_id)
        .join(BatchItem, BatchItem.batch_id == Assignment.batch_id)
        .join(ItemOutput, ItemOutput.item_id == BatchItem.item_id)
        .where(Assignment.annotator_id.is_not(None))
    )
    for (annotator, output), times in Counter(map(tuple, met)).items():
        if times > 1:
            yield f"annotator {annotator} met output {output} {times} times"


def _wrongly_assigned(session: Session) -> Iterator[str]:
    promised = definition_of(find_campaign(session, SLUG)).annotators.per_output
    places = session.scalars(
        select(ItemOutput.output_id)
        .join(BatchItem, BatchItem.item_id == ItemOutput.item_id)
        .join(Assignment, Assignment.batch_id == BatchItem.batch_id)
        .where(BatchItem.role == ItemRole.REGULAR, Assignment.status.not_in(REPLACED))
    )
    by_output = Counter(places)
    for output in session.scalars(select(Output.id)):
        if by_output[output] != promised:
            yield f"output {output} has {by_output[output]} places where {promised:g} were promised"


def _unfinished(session: Session) -> Iterator[str]:
    promised = definition_of(find_campaign(session, SLUG)).annotators.per_output
    annotated = session.scalars(
        select(ItemOutput.output_id)
        .join(Annotation, Annotation.item_id == ItemOutput.item_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(
            Assignment.status == AssignmentStatus.SUBMITTED, Annotation.status == "complete", Annotation.late.is_(False)
        )
    )
    by_output = Counter(annotated)
    for output in session.scalars(select(Output.id)):
        if by_output[output] != promised:
            yield f"output {output} has {by_output[output]} submitted annotations where {promised:g} were promised"
