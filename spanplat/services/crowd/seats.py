"""Choice of the seat for an annotator: a free seat in the smallest group, or an extra seat when all are taken."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, exists, func, or_, select, update
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.dml import ReturningUpdate

from spanplat.models import (
    COUNTED,
    REPLACED,
    Assignment,
    AssignmentStatus,
    Batch,
    BatchItem,
    Campaign,
    ItemOutput,
    ItemRole,
    Participation,
)
from spanplat.schemas.definition import CampaignDefinition

# These aliases are made once. To make an alias takes longer than all other steps of a claim in Python.
_OTHER = aliased(Assignment)
"""Seat that is compared with the candidate seat."""
_MY_ITEM, _THEIR_ITEM = aliased(BatchItem), aliased(BatchItem)
_MY_OUTPUT, _THEIR_OUTPUT = aliased(ItemOutput), aliased(ItemOutput)

_BATCHES_TAKEN = (
    select(func.count())
    .select_from(Assignment)
    .where(
        Assignment.campaign_id == bindparam("campaign"),
        Assignment.annotator_id == bindparam("annotator"),
        Assignment.status.not_in((AssignmentStatus.EXPIRED, AssignmentStatus.RETURNED)),
    )
)


def lease_end(definition: CampaignDefinition, now: datetime) -> datetime:
    """Return the end of a lease that begins or is renewed now."""
    return now + timedelta(minutes=definition.annotators.lease_minutes)


def batches_taken(session: Session, campaign_id: int, annotator_id: int | None) -> int:
    """Count the batches that an annotator has or had, without those that were returned or that lapsed."""
    return session.scalar(_BATCHES_TAKEN, {"campaign": campaign_id, "annotator": annotator_id}) or 0


def take_free_seat(
    session: Session, participation: Participation, definition: CampaignDefinition, now: datetime
) -> Assignment | None:
    """Take the first free seat that this annotator may have; return None if there is none."""
    exam = definition.qualification_given is not None
    ranking = _smallest_group_first(session, participation, definition)
    # A ranking depends on the current sizes of the groups, so its statement is not cached.
    build = _taking if ranking else _taking_without_ranking
    values: dict[str, Any] = {
        "campaign": participation.campaign_id,
        "annotator": participation.annotator_id,
        "participation": participation.id,
        "now": now,
        "lease_end": lease_end(definition, now),
    }
    if participation.group is not None:
        values["own_group"] = participation.group
    # A unique index allows one current seat for each batch and annotator, but only among seats with repeat 0. The number of the try as
    # repeat lets an annotator take the same batch of an exam again.
    if exam:
        values["tries"] = batches_taken(session, participation.campaign_id, participation.annotator_id)
    return session.scalar(
        build(exam, participation.group is not None, tuple(definition.annotators.exclude_campaigns), *ranking),
        values,
        # The UPDATE is not synchronised with the session, so the returned row must overwrite what the session knows of the seat.
        execution_options={"synchronize_session": False, "populate_existing": True},
    )


def _taking(
    exam: bool, in_group: bool, excluded: tuple[str, ...], *ranking: ColumnElement[int]
) -> ReturningUpdate[Assignment]:
    """Build the statement that takes the first free seat.

    Parameters
    ----------
    exam
        Whether the campaign is a qualification: an annotator may get a batch again, and seats count the tries.
    in_group
        Whether the annotator already has a group.
    excluded
        Campaigns whose outputs the annotator must not have seen.
    ranking
        Expressions to sort the seats by first.
    """
    person = _Person(bindparam("annotator"), bindparam("campaign"), excluded)
    free = (
        _seats_for(person, bindparam("own_group") if in_group else None, exam)
        .where(Assignment.status == AssignmentStatus.OPEN)
        # The group with the fewest people comes first; in it every batch gets one annotator before any batch gets two. Batch ids
        # ascend like batch numbers. The index ix_assignment_in_order has this order, so the database need not sort all free seats.
        .order_by(*ranking, *([_holds_batch(person)] if exam else []), Assignment.slot, Assignment.batch_id)
        .limit(1)
        # Two people who claim at the same time get two seats: the second skips the seat that the first has locked.
        .with_for_update(skip_locked=True, of=Assignment)
    )
    return (
        update(Assignment)
        .where(Assignment.id == free.scalar_subquery(), Assignment.status == AssignmentStatus.OPEN)
        .values(
            status=AssignmentStatus.HELD,
            repeat=bindparam("tries") if exam else Assignment.repeat,
            annotator_id=person.annotator,
            participation_id=bindparam("participation"),
            claimed_at=bindparam("now"),
            lease_expires_at=bindparam("lease_end"),
        )
        .returning(Assignment)
    )


_taking_without_ranking = lru_cache(_taking)
"""Cached, because to build the statement takes longer than all other steps of a claim in Python."""


def has_place(
    session: Session, participation: Participation, group: str | None, definition: CampaignDefinition, now: datetime
) -> bool:
    """Return whether there is a seat now for an annotator of a group, or of no group yet, without taking it."""
    exam = definition.qualification_given is not None
    # A seat whose lease has run out counts as free: a claim expires such leases before it looks for a seat.
    free = _seats_for(_person(participation, definition), group, exam).where(
        or_(
            Assignment.status == AssignmentStatus.OPEN,
            and_(
                Assignment.status == AssignmentStatus.HELD,
                Assignment.lease_expires_at < now,
                # A lapsed extra seat leaves no place behind, because it is not replaced.
                Assignment.extra.is_(False),
            ),
        )
    )
    if session.scalar(free.limit(1)) is not None:
        return True
    if definition.annotators.when_full != "redundancy":
        return False
    wanting = _batches_wanting_more(_person(participation, definition), definition.annotators.redundancy, lapsed_at=now)
    return session.scalar(wanting.limit(1)) is not None


class _Person(NamedTuple):
    """Person who wants a seat, as values or as bind parameters."""

    annotator: ColumnElement[int] | int | None
    campaign: ColumnElement[int] | int
    excluded: Sequence[str]
    """Campaigns whose outputs the person must not have seen."""


def _person(participation: Participation, definition: CampaignDefinition) -> _Person:
    excluded = definition.annotators.exclude_campaigns
    return _Person(participation.annotator_id, participation.campaign_id, excluded)


def _seats_for(person: _Person, group: ColumnElement[str] | str | None, exam: bool) -> Select[int]:
    """Select the seats, whatever their status, of the batches that an annotator may do; in an exam, batches may be repeated."""
    return select(Assignment.id).where(
        Assignment.campaign_id == person.campaign,
        *_of_group(group),
        *([] if exam else [~_holds_batch(person)]),
        ~_knows_an_output(person),
    )


def add_extra_seat(
    session: Session, participation: Participation, definition: CampaignDefinition, now: datetime
) -> Assignment | None:
    """Add an extra seat on the batch with the fewest annotators; return None if no batch may have another extra seat."""
    wanting = _batches_wanting_more(_person(participation, definition), definition.annotators.redundancy)
    for batch_id in session.scalars(wanting).all():
        # Counted again under a lock on the batch: another request may have added the last extra seat since the query.
        if not wants_extra_seat(session, batch_id, definition):
            continue
        # The lock on the batch also keeps another extra seat from getting the same slot number.
        last = session.scalars(select(func.max(Assignment.slot)).where(Assignment.batch_id == batch_id)).one()
        added = Assignment(
            campaign_id=participation.campaign_id,
            batch_id=batch_id,
            slot=1 + last,
            group=participation.group or _smallest_group(session, participation, definition),
            extra=True,
            status=AssignmentStatus.HELD,
            annotator_id=participation.annotator_id,
            participation_id=participation.id,
            claimed_at=now,
            lease_expires_at=lease_end(definition, now),
        )
        session.add(added)
        session.flush()
        return added
    return None


def _batches_wanting_more(person: _Person, redundancy: int, *, lapsed_at: datetime | None = None) -> Select[int]:
    """Select the batches that an annotator may do and that may have another extra seat, fewest seats first.

    If ``lapsed_at`` is given, seats whose lease is over at that time do not count: a claim expires them first.
    """
    of_batch: list[ColumnElement[bool]] = [_OTHER.batch_id == Batch.id, _OTHER.status.not_in(REPLACED)]
    if lapsed_at is not None:
        of_batch.append(or_(_OTHER.status != AssignmentStatus.HELD, _OTHER.lease_expires_at >= lapsed_at))
    seats = select(func.count()).where(*of_batch).correlate(Batch).scalar_subquery()
    extra = select(func.count()).where(*of_batch, _OTHER.extra).correlate(Batch).scalar_subquery()
    return (
        select(Batch.id)
        .join(Assignment, Assignment.batch_id == Batch.id)
        .where(
            Batch.campaign_id == person.campaign,
            # One seat stands for its batch in the conditions below. Each batch has a current row of seat 0.
            Assignment.slot == 0,
            Assignment.status.not_in(REPLACED),
            extra < redundancy,
            ~_holds_batch(person),
            ~_knows_an_output(person),
        )
        .order_by(seats, Batch.number)
    )


def wants_extra_seat(session: Session, batch_id: int, definition: CampaignDefinition) -> bool:
    """Return whether a batch may have another extra seat, and lock the batch until the transaction ends.

    The lock stops two people from adding the last extra seat at the same time.
    """
    session.execute(select(Batch.id).where(Batch.id == batch_id).with_for_update(key_share=True))
    extra = select(func.count()).where(
        Assignment.batch_id == batch_id, Assignment.extra, Assignment.status.not_in(REPLACED)
    )
    return session.scalars(extra).one() < definition.annotators.redundancy


def _people_by_group(
    session: Session, participation: Participation, definition: CampaignDefinition
) -> list[tuple[int, str]]:
    """Return the number of taken seats and the key of each group, the smallest group first."""
    # Without seats that were given back or lapsed, so that the groups become even again.
    counts = dict(
        session.execute(
            select(Assignment.group, func.count())
            .where(Assignment.campaign_id == participation.campaign_id, Assignment.status.in_(COUNTED))
            .group_by(Assignment.group)
        ).all()
    )
    return sorted((counts.get(group.key, 0), group.key) for group in definition.groups)


def _smallest_group(session: Session, participation: Participation, definition: CampaignDefinition) -> str | None:
    return next((group for _count, group in _people_by_group(session, participation, definition)), None)


def _smallest_group_first(
    session: Session, participation: Participation, definition: CampaignDefinition
) -> list[ColumnElement[int]]:
    if participation.group is not None or not definition.groups:
        return []
    ranked = _people_by_group(session, participation, definition)
    return [case({group: rank for rank, (_count, group) in enumerate(ranked)}, value=Assignment.group, else_=0)]


def _holds_batch(person: _Person) -> ColumnElement[bool]:
    """Build the condition that the annotator has a seat on the batch of the candidate seat."""
    return exists(
        select(_OTHER.id)
        .where(
            _OTHER.batch_id == Assignment.batch_id,
            _OTHER.annotator_id == person.annotator,
            _OTHER.status.not_in(REPLACED),
        )
        .correlate(Assignment)
    )


def _knows_an_output(person: _Person) -> ColumnElement[bool]:
    """Build the condition that the annotator has seen an output of the batch before, here or in an excluded campaign.

    Seats that were given back or that lapsed count too: the person has seen their texts. Items of checks do not count, because every
    batch may repeat them.
    """
    excluded = select(Campaign.id).where(Campaign.slug.in_(person.excluded))
    return exists(
        select(_OTHER.id)
        .join(_THEIR_ITEM, _THEIR_ITEM.batch_id == _OTHER.batch_id)
        .join(_THEIR_OUTPUT, _THEIR_OUTPUT.item_id == _THEIR_ITEM.item_id)
        .join(_MY_OUTPUT, _MY_OUTPUT.output_id == _THEIR_OUTPUT.output_id)
        .join(_MY_ITEM, and_(_MY_ITEM.item_id == _MY_OUTPUT.item_id, _MY_ITEM.batch_id == Assignment.batch_id))
        .where(
            _OTHER.annotator_id == person.annotator,
            or_(_OTHER.campaign_id == person.campaign, _OTHER.campaign_id.in_(excluded)),
            _MY_ITEM.role == ItemRole.REGULAR,
        )
        .correlate(Assignment)
    )


def _of_group(group: ColumnElement[str] | str | None) -> list[ColumnElement[bool]]:
    """Build the conditions on a seat's group; a person without a group may take any seat and joins its group."""
    return [] if group is None else [or_(Assignment.group.is_(None), Assignment.group == group)]


# The aliases above create their columns at first use, and that is not safe in two threads at once. So they are used once at import.
_taking_without_ranking(False, False, ())
_batches_wanting_more(_Person(None, 0, ()), 0, lapsed_at=datetime.min.replace(tzinfo=UTC))
