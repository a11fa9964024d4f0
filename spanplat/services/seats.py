"""Choosing the seat somebody gets: a free one they may take, in the smallest group, or one beyond those promised."""

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

# Each is made once: making an alias anew takes longer than all else that is done to ask for a seat.
_OTHER = aliased(Assignment)
"""A seat beside the one in question."""
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
    """Return until when a seat touched now is held."""
    return now + timedelta(minutes=definition.annotators.lease_minutes)


def batches_taken(session: Session, campaign_id: int, annotator_id: int | None) -> int:
    """Count the batches an annotator has or had, those given back or lapsed left out."""
    return session.scalar(_BATCHES_TAKEN, {"campaign": campaign_id, "annotator": annotator_id}) or 0


def take_free_seat(
    session: Session, participation: Participation, definition: CampaignDefinition, now: datetime
) -> Assignment | None:
    """Take the free seat that comes first among those this annotator may have; None when there is none."""
    exam = definition.qualification_given is not None
    ranking = _smallest_group_first(session, participation, definition)
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
    if exam:
        values["tries"] = batches_taken(session, participation.campaign_id, participation.annotator_id)
    return session.scalar(
        build(exam, participation.group is not None, tuple(definition.annotators.exclude_campaigns), *ranking),
        values,
        execution_options={"synchronize_session": False, "populate_existing": True},
    )


def _taking(
    exam: bool, in_group: bool, excluded: tuple[str, ...], *ranking: ColumnElement[int]
) -> ReturningUpdate[Assignment]:
    """Build the statement that takes the first free seat.

    Parameters
    ----------
    exam
        Whether the campaign qualifies: batches may be met again, and seats count the tries.
    in_group
        Whether the annotator has a group already.
    excluded
        Campaigns whose outputs the annotator may not have had.
    ranking
        What comes first before all else.
    """
    person = _Person(bindparam("annotator"), bindparam("campaign"), excluded)
    free = (
        _seats_for(person, bindparam("own_group") if in_group else None, exam)
        .where(Assignment.status == AssignmentStatus.OPEN)
        # The group with the fewest people first; in it every batch once before any batch twice. Ids of batches ascend as their
        # numbers do, and an index has them in this order, so that not every free seat is looked at.
        .order_by(*ranking, *([_holds_batch(person)] if exam else []), Assignment.slot, Assignment.batch_id)
        .limit(1)
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
"""To build the statement takes longer than all else that is done to ask for a seat."""


def has_place(
    session: Session, participation: Participation, group: str | None, definition: CampaignDefinition, now: datetime
) -> bool:
    """Tell whether there is a seat now that an annotator of a group, or of none yet, may have; it is not taken."""
    exam = definition.qualification_given is not None
    free = _seats_for(_person(participation, definition), group, exam).where(
        or_(
            Assignment.status == AssignmentStatus.OPEN,
            and_(
                Assignment.status == AssignmentStatus.HELD,
                Assignment.lease_expires_at < now,
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
    """Whose seat it would be: values, or parameters that stand for them."""

    annotator: ColumnElement[int] | int | None
    campaign: ColumnElement[int] | int
    excluded: Sequence[str]
    """Campaigns whose outputs they may not have had."""


def _person(participation: Participation, definition: CampaignDefinition) -> _Person:
    excluded = definition.annotators.exclude_campaigns
    return _Person(participation.annotator_id, participation.campaign_id, excluded)


def _seats_for(person: _Person, group: ColumnElement[str] | str | None, exam: bool) -> Select[int]:
    """Select the seats, whatever their status, of those batches that an annotator may do; an exam's may be done again."""
    return select(Assignment.id).where(
        Assignment.campaign_id == person.campaign,
        *_of_group(group),
        *([] if exam else [~_holds_batch(person)]),
        ~_knows_an_output(person),
    )


def add_extra_seat(
    session: Session, participation: Participation, definition: CampaignDefinition, now: datetime
) -> Assignment | None:
    """Make a seat beyond those promised, on the batch with the fewest annotators, as long as the campaign wants more there."""
    wanting = _batches_wanting_more(_person(participation, definition), definition.annotators.redundancy)
    for batch_id in session.scalars(wanting).all():
        if not wants_extra_seat(session, batch_id, definition):
            continue
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
    """Select the batches that an annotator may do and that want a seat beyond those promised, that with the fewest seats first.

    Seats whose lease is over at a time count for nothing, where one is given: whoever claims a seat returns them first.
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
            Assignment.slot == 0,
            Assignment.status.not_in(REPLACED),
            extra < redundancy,
            ~_holds_batch(person),
            ~_knows_an_output(person),
        )
        .order_by(seats, Batch.number)
    )


def wants_extra_seat(session: Session, batch_id: int, definition: CampaignDefinition) -> bool:
    """Tell whether one more seat beyond those promised is wanted on a batch; no other comes to it until the transaction ends."""
    session.execute(select(Batch.id).where(Batch.id == batch_id).with_for_update(key_share=True))
    extra = select(func.count()).where(
        Assignment.batch_id == batch_id, Assignment.extra, Assignment.status.not_in(REPLACED)
    )
    return session.scalars(extra).one() < definition.annotators.redundancy


def _people_by_group(
    session: Session, participation: Participation, definition: CampaignDefinition
) -> list[tuple[int, str]]:
    """Return the groups with how many seats their people have, the smallest first."""
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
    """Tell whether the annotator has a seat on the batch of the seat in question."""
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
    """Tell whether the annotator had one of the batch's outputs before, here or in a campaign that the definition excludes."""
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
    """Whoever has no group yet may take any seat, and gets the group of the seat taken."""
    return [] if group is None else [or_(Assignment.group.is_(None), Assignment.group == group)]


# The aliases above make their columns when they are asked for first, which two threads at once would spoil: they are asked for here.
_taking_without_ranking(False, False, ())
_batches_wanting_more(_Person(None, 0, ()), 0, lapsed_at=datetime.min.replace(tzinfo=UTC))
