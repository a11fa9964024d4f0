"""Items of a campaign without an answer, and their claims. Through claims, several runs share a campaign and ask nothing twice."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, or_, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from spanplat.llm.item import AskedItem
from spanplat.models import (
    Annotation,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Campaign,
    ClaimState,
    ModelClaim,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.model_work.prompts import load_asked_items
from spanplat.services.model_work.runner import OpenWork
from spanplat.services.model_work.workers import LEASE, is_alive

_AT_ONCE = 400
"""Largest number of keys in one statement, two parameters each. Databases limit the number of parameters."""


class SeatItem(NamedTuple):
    """An item of a seat."""

    assignment_id: int
    item_id: int


@dataclass(frozen=True)
class PendingItem:
    """An item of a seat, in the form in which the model is asked about it."""

    key: SeatItem
    repeat: int
    item: AskedItem


def find_open_items(session: Session, campaign_id: int, since: datetime) -> OpenWork[SeatItem]:
    """Return the items without an annotation. Items given up before ``since`` may be asked about again."""
    rows = session.execute(_unanswered(campaign_id))
    free, busy, failed, now = [], 0, 0, datetime.now(UTC)
    for assignment_id, item_id, state, lease, changed_at in rows:
        if _is_free(state, lease, changed_at, now, since):
            free.append(SeatItem(assignment_id, item_id))
        elif state == ClaimState.FAILED:
            failed += 1
        elif state != ClaimState.ANSWERED:
            busy += 1
    return OpenWork(free, busy, failed)


def first_free(session: Session, campaign_id: int) -> list[SeatItem]:
    """Return the first item that may be claimed now, in the order of `find_open_items`, or an empty list."""
    now = datetime.now(UTC)
    # The conditions of `_is_free` for a run that begins now: it asks again about everything that was given up.
    row = session.execute(
        _unanswered(campaign_id)
        .where(
            or_(
                ModelClaim.state.is_(None),
                ModelClaim.state == ClaimState.FAILED,
                and_(
                    ModelClaim.state == ClaimState.ASKING,
                    or_(ModelClaim.lease_expires_at.is_(None), ModelClaim.lease_expires_at < now),
                ),
            )
        )
        .limit(1)
    ).first()
    return [SeatItem(row[0], row[1])] if row else []


def _unanswered(campaign_id: int) -> Select[int, int, str, datetime | None, datetime]:
    # In the order of repeats: a run that stops early has then answered many items once, instead of few items several times.
    return (
        select(Assignment.id, BatchItem.item_id, ModelClaim.state, ModelClaim.lease_expires_at, ModelClaim.changed_at)
        .join(BatchItem, BatchItem.batch_id == Assignment.batch_id)
        .outerjoin(Annotation, (Annotation.assignment_id == Assignment.id) & (Annotation.item_id == BatchItem.item_id))
        .outerjoin(ModelClaim, (ModelClaim.assignment_id == Assignment.id) & (ModelClaim.item_id == BatchItem.item_id))
        .where(
            Assignment.campaign_id == campaign_id,
            Assignment.status.in_((AssignmentStatus.OPEN, AssignmentStatus.HELD)),
            Annotation.id.is_(None),
        )
        .order_by(Assignment.repeat, Assignment.batch_id, BatchItem.position)
    )


def _is_free(state: str | None, lease: datetime | None, changed_at: datetime, now: datetime, since: datetime) -> bool:
    """Return whether an item without an annotation may be claimed. Its state is None if nobody has claimed it before."""
    if state == ClaimState.ASKING:
        return lease is None or lease < now
    return state is None or (state == ClaimState.FAILED and changed_at < since)


def load_pending(session: Session, definition: CampaignDefinition, keys: Sequence[SeatItem]) -> list[PendingItem]:
    """Return items in the form in which the model is asked about them, in the order of the keys."""
    asked = load_asked_items(session, definition, (key.item_id for key in keys))
    seats = {key.assignment_id for key in keys}
    repeats = dict(session.execute(select(Assignment.id, Assignment.repeat).where(Assignment.id.in_(seats))).all())
    return [PendingItem(key, repeats[key.assignment_id], asked[key.item_id]) for key in keys]


def claim(
    session: Session, campaign_id: int, worker: str, wanted: Sequence[tuple[SeatItem, float]], *, since: datetime
) -> set[SeatItem]:
    """Claim items for a worker. Return those that it got: nobody else has claimed or answered them.

    Parameters
    ----------
    session
        A session that may write.
    campaign_id
        The campaign.
    worker
        Name of the worker.
    wanted
        The items, each with the US dollars that its call may cost.
    since
        Items given up before this moment may be claimed again.
    """
    if not wanted:
        return set()
    now = datetime.now(UTC)
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    fresh = insert(ModelClaim).values(
        [
            {
                "assignment_id": key.assignment_id,
                "item_id": key.item_id,
                "campaign_id": campaign_id,
                "state": ClaimState.ASKING,
                "worker": worker,
                "lease_expires_at": now + LEASE,
                "reserved": reserved,
                "changed_at": now,
            }
            for key, reserved in wanted
        ]
    )
    # One statement, not a query and then a write, so that two workers cannot both find the same item free.
    new = fresh.excluded
    taken = ("state", "worker", "lease_expires_at", "reserved", "changed_at")
    claimed = fresh.on_conflict_do_update(
        index_elements=["assignment_id", "item_id"],
        # The claim may still name an ended batch that gave the item back.
        set_={name: new[name] for name in taken} | {"batch_id": None},
        # Another run may have claimed the item since it was found free, so this is checked again by the write itself.
        where=or_(
            and_(ModelClaim.state == ClaimState.ASKING, ModelClaim.lease_expires_at < now),
            and_(ModelClaim.state == ClaimState.FAILED, ModelClaim.changed_at < since),
        ),
    ).returning(ModelClaim.assignment_id, ModelClaim.item_id)
    return {SeatItem(*row) for row in session.execute(claimed)}


def lock_campaign(session: Session, campaign_id: int) -> str:
    """Make other claimers of the campaign wait until the transaction ends, and return the campaign's status.

    Others can still add rows that refer to the campaign. If they had to wait here, they could hold rows that this transaction needs
    later, and both would wait for each other.
    """
    # FOR NO KEY UPDATE on PostgreSQL: foreign key checks do not wait for it. SQLite needs no row locks, because it has one writer.
    locked = select(Campaign.status).where(Campaign.id == campaign_id).with_for_update(key_share=True)
    status: str = session.scalars(locked).one()
    return status


def reserve(session: Session, worker: str, key: SeatItem, cost: float) -> None:
    """Reserve more US dollars for an item that a worker has claimed."""
    mine = update(ModelClaim).where(
        ModelClaim.worker == worker, ModelClaim.state == ClaimState.ASKING, _is_one_of([key])
    )
    session.execute(mine.values(reserved=ModelClaim.reserved + cost))


def renew(session: Session, worker: str) -> None:
    """Prolong the leases of a worker's claims."""
    mine = update(ModelClaim).where(ModelClaim.worker == worker, ModelClaim.state == ClaimState.ASKING)
    session.execute(mine.values(lease_expires_at=datetime.now(UTC) + LEASE))


def release(session: Session, worker: str, keys: Iterable[SeatItem] | None = None) -> None:
    """Give back claims whose items were not asked about: all claims of a worker, or some."""
    # A time in the past, not NULL: claim() compares with "<", which is never true of NULL.
    lapsed = datetime.now(UTC) - timedelta(days=1)
    mine = update(ModelClaim).where(ModelClaim.worker == worker, ModelClaim.state == ClaimState.ASKING)
    given_back = mine.values(worker=None, lease_expires_at=lapsed, reserved=0.0)
    if keys is None:
        session.execute(given_back)
        return
    listed = list(keys)
    for start in range(0, len(listed), _AT_ONCE):
        session.execute(given_back.where(_is_one_of(listed[start : start + _AT_ONCE])))


def release_dead(session: Session, campaign_id: int) -> None:
    """Give back the claims of workers on this machine whose processes are gone. Nobody has to wait for the lease then."""
    asking = (
        select(ModelClaim.worker)
        .where(
            ModelClaim.campaign_id == campaign_id,
            ModelClaim.state == ClaimState.ASKING,
            ModelClaim.worker.is_not(None),
        )
        .distinct()
    )
    for worker in session.scalars(asking).all():
        if worker and not is_alive(worker):
            release(session, worker)


def held_by(session: Session, batch_id: int, keys: Sequence[SeatItem]) -> set[SeatItem]:
    """Return which of these items a batch still holds."""
    held = select(ModelClaim.assignment_id, ModelClaim.item_id).where(
        ModelClaim.batch_id == batch_id, ModelClaim.state == ClaimState.SUBMITTED, _is_one_of(keys)
    )
    return {SeatItem(*row) for row in session.execute(held)} if keys else set()


def take_from(session: Session, batch_id: int, keys: Sequence[SeatItem], worker: str) -> set[SeatItem]:
    """Move items from a batch that still holds them to a worker, which then stores their results. Return those that it got."""
    if not keys:
        return set()
    held = update(ModelClaim).where(
        ModelClaim.batch_id == batch_id, ModelClaim.state == ClaimState.SUBMITTED, _is_one_of(keys)
    )
    mine = held.values(state=ClaimState.ASKING, worker=worker, lease_expires_at=datetime.now(UTC) + LEASE)
    return {SeatItem(*row) for row in session.execute(mine.returning(ModelClaim.assignment_id, ModelClaim.item_id))}


def finish(
    session: Session,
    worker: str,
    keys: Sequence[SeatItem],
    state: ClaimState,
    *,
    failure: str | None = None,
    error: str | None = None,
) -> set[SeatItem]:
    """Set the final state of a worker's claims. Return those that were still its own.

    After a lease has expired, another worker may have the claim. Its state must not change here.
    """
    own: set[SeatItem] = set()
    for start in range(0, len(keys), _AT_ONCE):
        mine = update(ModelClaim).where(
            ModelClaim.worker == worker,
            ModelClaim.state == ClaimState.ASKING,
            _is_one_of(keys[start : start + _AT_ONCE]),
        )
        done = mine.values(
            state=state,
            worker=None,
            lease_expires_at=None,
            reserved=0.0,
            failure=failure,
            error=error,
            changed_at=datetime.now(UTC),
        )
        own |= {SeatItem(*row) for row in session.execute(done.returning(ModelClaim.assignment_id, ModelClaim.item_id))}
    return own


def _is_one_of(keys: Sequence[SeatItem]) -> ColumnElement[bool]:
    return tuple_(ModelClaim.assignment_id, ModelClaim.item_id).in_(keys)
