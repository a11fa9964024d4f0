"""Export of a campaign as a stream of native records."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload, selectinload

from spanplat.models import REPLACED, Annotation, Assignment, CheckResult, Item, ItemOutput, Output, Span
from spanplat.models.dataset import Example
from spanplat.schemas.checks import CHECK_KINDS
from spanplat.schemas.record import AnnotationRecord, CheckRecord, SpanRecord
from spanplat.schemas.span import MarkedSpan
from spanplat.services.campaigns.lifecycle import find_campaign

CHUNK = 500
_CARRIED = [kind.kind() for kind in CHECK_KINDS if kind.role != "regular"]
"""Kinds of checks that belong to one item. An import takes the item's role from such a check."""


def export_records(session: Session, slug: str) -> Iterator[AnnotationRecord]:
    """Yield every annotation of a campaign in a stable order, with drafts; annotators appear by pseudonym.

    Imported spans have the received offsets. If they differ from the text, ``origin`` says how and has the resolved offsets.

    Raises
    ------
    NotFound
        If there is no such campaign.
    """
    campaign = find_campaign(session, slug)
    subject = (campaign.slug, campaign.kind)
    ids = session.scalars(
        select(Annotation.id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign.id)
        .order_by(Assignment.batch_id, Assignment.slot, Assignment.id, Annotation.id)
    ).all()
    # Ids are small and are read at once; the annotations follow in chunks, so that a large campaign does not fill the memory.
    for first in range(0, len(ids), CHUNK):
        yield from _chunk(session, subject, ids[first : first + CHUNK])


def _chunk(session: Session, subject: tuple[str, str], ids: Sequence[int]) -> Iterator[AnnotationRecord]:
    query = (
        select(Annotation)
        .where(Annotation.id.in_(ids))
        .options(
            joinedload(Annotation.assignment).joinedload(Assignment.annotator),
            joinedload(Annotation.assignment).joinedload(Assignment.batch),
            selectinload(Annotation.spans).joinedload(Span.category),
            joinedload(Annotation.item)
            .selectinload(Item.outputs)
            .joinedload(ItemOutput.output)
            .options(joinedload(Output.system), joinedload(Output.example).joinedload(Example.dataset)),
        )
    )
    annotations = {annotation.id: annotation for annotation in session.scalars(query).unique()}
    # A record has one check. Later results overwrite earlier ones, so the one that is exported comes last.
    results = (
        select(CheckResult)
        .where(CheckResult.assignment_id.in_({annotation.assignment_id for annotation in annotations.values()}))
        .order_by(CheckResult.kind.in_(_CARRIED), CheckResult.passed.desc(), CheckResult.id.desc())
    )
    checks = {
        (result.assignment_id, result.item_id): CheckRecord(kind=result.kind, passed=result.passed)
        for result in session.scalars(results)
    }
    yield from (
        _record(
            subject,
            annotations[identifier],
            checks.get((annotations[identifier].assignment_id, annotations[identifier].item_id)),
        )
        for identifier in ids
    )
    # Otherwise the session would keep the objects of all chunks in memory.
    session.expunge_all()


def _record(subject: tuple[str, str], annotation: Annotation, check: CheckRecord | None) -> AnnotationRecord:
    assignment, item = annotation.assignment, annotation.item
    outputs = [entry.output for entry in item.outputs]
    first = outputs[0]
    return AnnotationRecord.model_validate(
        {
            "campaign": subject[0],
            "kind": subject[1],
            "dataset": first.example.dataset.slug,
            "split": first.example.split,
            "example": first.example.key,
            "system": first.system.slug,
            "text": first.text,
            "text_sha256": first.text_sha256,
            "annotator": assignment.annotator.pseudonym if assignment.annotator else "",
            "annotator_kind": assignment.annotator.kind if assignment.annotator else "human",
            "group": assignment.group,
            "batch": assignment.batch.number,
            "status": annotation.status,
            "amendment": annotation.amendment,
            "started_at": _iso(annotation.started_at),
            "completed_at": _iso(annotation.completed_at),
            "seconds": annotation.seconds,
            "item": {"kind": item.kind, "outputs": [output.system.slug for output in outputs], "aspect": item.aspect},
            "spans": [
                SpanRecord.of(MarkedSpan.from_row(span, span.category.key), span.category.name)
                for span in annotation.spans
            ],
            "dismissed": annotation.dismissed or [],
            "answers": annotation.answers,
            "check": check,
            "left_out": _left_out(annotation),
        }
    )


def _left_out(annotation: Annotation) -> str | None:
    """Return why an annotation enters no figure: saved too late, on a replaced seat, or excluded by a check; None if it counts."""
    if annotation.late:
        return "late"
    if annotation.assignment.status in REPLACED:
        return annotation.assignment.status
    return "excluded" if annotation.assignment.excluded else None


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
