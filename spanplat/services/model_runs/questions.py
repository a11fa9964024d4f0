"""The items a model is still to be asked about, and claiming them, so that several workers share a campaign without asking twice."""

import os
import secrets
import socket
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, tuple_, update
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
    Completion,
    ModelClaim,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.prompts import load_asked_items

LEASE = timedelta(seconds=60)
"""How long a claim holds without its worker renewing it."""
_AT_ONCE = 400


class Key(NamedTuple):
    """Which item, for which seat."""

    assignment_id: int
    item_id: int


@dataclass(frozen=True)
class Question:
    """An item of a seat, as the model is asked about it."""

    key: Key
    repeat: int
    item: AskedItem


@dataclass(frozen=True)
class OpenQuestions:
    """What has no answer yet."""

    free: list[Key]
    """May be claimed now, in the order of seats and batches."""
    busy: int
    """Other workers ask about them, or a batch holds them."""
    failed: int
    """Given up since the run began."""

    @property
    def all(self) -> int:
        """Number of items without an answer."""
        return len(self.free) + self.busy + self.failed


def worker_name() -> str:
    """Name a run, unlike any other, so that others on this machine can tell when its process is gone."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def open_questions(session: Session, campaign_id: int, since: datetime) -> OpenQuestions:
    """Return what has no annotation yet; what was given up before ``since`` may be asked about again."""
    rows = session.execute(_unanswered(campaign_id))
    free, busy, failed, now = [], 0, 0, datetime.now(UTC)
    for assignment_id, item_id, state, lease, changed_at in rows:
        if _is_free(state, lease, changed_at, now, since):
            free.append(Key(assignment_id, item_id))
        elif state == ClaimState.FAILED:
            failed += 1
        elif state != ClaimState.ANSWERED:
            busy += 1
    return OpenQuestions(free, busy, failed)


def first_free(session: Session, campaign_id: int) -> list[Key]:
    """Return the first item that may be claimed now, as `open_questions` has it; nothing where there is none."""
    now = datetime.now(UTC)
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
    return [Key(row[0], row[1])] if row else []


def _unanswered(campaign_id: int) -> Select[int, int, str, datetime | None, datetime]:
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
    """Tell whether an item without an annotation may be claimed; its state is None where nobody has claimed it before."""
    if state == ClaimState.ASKING:
        return lease is None or lease < now
    return state is None or (state == ClaimState.FAILED and changed_at < since)


def load_questions(session: Session, definition: CampaignDefinition, keys: Sequence[Key]) -> list[Question]:
    """Return items as the model is asked about them, in the order of the keys."""
    asked = load_asked_items(session, definition, (key.item_id for key in keys))
    seats = {key.assignment_id for key in keys}
    repeats = dict(session.execute(select(Assignment.id, Assignment.repeat).where(Assignment.id.in_(seats))).all())
    return [Question(key, repeats[key.assignment_id], asked[key.item_id]) for key in keys]


def claim(
    session: Session, campaign_id: int, worker: str, wanted: Sequence[tuple[Key, float]], *, since: datetime
) -> set[Key]:
    """Claim items for a worker, as many of them as nobody else has or has answered.

    Parameters
    ----------
    session
        A session that may write.
    campaign_id
        The campaign.
    worker
        Who claims them.
    wanted
        The items, each with the US dollars that its call may cost.
    since
        What was given up before this moment may be claimed again.
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
    new = fresh.excluded
    taken = ("state", "worker", "lease_expires_at", "reserved", "changed_at")
    claimed = fresh.on_conflict_do_update(
        index_elements=["assignment_id", "item_id"],
        set_={name: new[name] for name in taken} | {"batch_id": None},
        where=or_(
            and_(ModelClaim.state == ClaimState.ASKING, ModelClaim.lease_expires_at < now),
            and_(ModelClaim.state == ClaimState.FAILED, ModelClaim.changed_at < since),
        ),
    ).returning(ModelClaim.assignment_id, ModelClaim.item_id)
    return {Key(*row) for row in session.execute(claimed)}


def lock_campaign(session: Session, campaign_id: int) -> str:
    """Make other claimers of the campaign wait for the end of the transaction, and return the campaign's status.

    Rows that refer to the campaign can be added meanwhile: whoever adds one would else wait here, with rows that this transaction may
    come to need.
    """
    locked = select(Campaign.status).where(Campaign.id == campaign_id).with_for_update(key_share=True)
    status: str = session.scalars(locked).one()
    return status


def spent_and_reserved(session: Session, campaign_id: int) -> tuple[float, float]:
    """Return the US dollars that the campaign's calls have cost, and those that calls under way may cost."""
    spent = session.scalar(select(func.sum(Completion.cost)).where(Completion.campaign_id == campaign_id))
    under_way = (ClaimState.ASKING, ClaimState.SUBMITTED)
    reserved = session.scalar(
        select(func.sum(ModelClaim.reserved)).where(
            ModelClaim.campaign_id == campaign_id, ModelClaim.state.in_(under_way)
        )
    )
    return spent or 0.0, reserved or 0.0


def count_unknown_costs(session: Session, campaign_id: int) -> int:
    """Count the calls that may have cost something, nobody knows how much: without a reply, or without a count of tokens."""
    calls = select(func.count()).where(Completion.campaign_id == campaign_id, Completion.cost.is_(None))
    return session.scalar(calls) or 0


def reserve(session: Session, worker: str, key: Key, cost: float) -> None:
    """Reserve so many more US dollars for an item that a worker has claimed."""
    mine = update(ModelClaim).where(
        ModelClaim.worker == worker, ModelClaim.state == ClaimState.ASKING, _is_one_of([key])
    )
    session.execute(mine.values(reserved=ModelClaim.reserved + cost))


def renew(session: Session, worker: str) -> None:
    """Prolong the leases of a worker's claims."""
    mine = update(ModelClaim).where(ModelClaim.worker == worker, ModelClaim.state == ClaimState.ASKING)
    session.execute(mine.values(lease_expires_at=datetime.now(UTC) + LEASE))


def release(session: Session, worker: str, keys: Iterable[Key] | None = None) -> None:
    """Give back claims whose items were not asked about: all of a worker's, or some."""
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
    """Give back the claims of workers that have run on this machine and whose processes are gone."""
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


def held_by(session: Session, batch_id: int, keys: Sequence[Key]) -> set[Key]:
    """Return which of these items a batch still holds."""
    held = select(ModelClaim.assignment_id, ModelClaim.item_id).where(
        ModelClaim.batch_id == batch_id, ModelClaim.state == ClaimState.SUBMITTED, _is_one_of(keys)
    )
    return {Key(*row) for row in session.execute(held)} if keys else set()


def take_from(session: Session, batch_id: int, keys: Sequence[Key], worker: str) -> set[Key]:
    """Claim items for a worker that a batch still holds, to store what became of them; return those it got."""
    if not keys:
        return set()
    held = update(ModelClaim).where(
        ModelClaim.batch_id == batch_id, ModelClaim.state == ClaimState.SUBMITTED, _is_one_of(keys)
    )
    mine = held.values(state=ClaimState.ASKING, worker=worker, lease_expires_at=datetime.now(UTC) + LEASE)
    return {Key(*row) for row in session.execute(mine.returning(ModelClaim.assignment_id, ModelClaim.item_id))}


def finish(
    session: Session,
    worker: str,
    keys: Sequence[Key],
    state: ClaimState,
    *,
    failure: str | None = None,
    error: str | None = None,
) -> set[Key]:
    """Say what became of a worker's claims; return those that were still its own."""
    own: set[Key] = set()
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
        own |= {Key(*row) for row in session.execute(done.returning(ModelClaim.assignment_id, ModelClaim.item_id))}
    return own


def _is_one_of(keys: Sequence[Key]) -> ColumnElement[bool]:
    return tuple_(ModelClaim.assignment_id, ModelClaim.item_id).in_(keys)


def is_alive(worker: str) -> bool:
    """Tell whether a worker may live: of those on other machines nobody knows."""
    host, pid, _ = worker.rsplit(":", 2)
    return host != socket.gethostname() or _runs(int(pid))


def _runs(pid: int) -> bool:
    if sys.platform == "win32":  # there, asking would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
