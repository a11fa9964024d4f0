"""Pools: named lists of people who passed a qualification or were added by hand, and whom campaigns may require."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.spreadsheets import write_csv
from spanplat.models import Annotator, Campaign, Pool, PoolMember, Qualification
from spanplat.models.statements import insert_absent
from spanplat.platforms import PLATFORMS
from spanplat.schemas.platform import QualificationRequired
from spanplat.schemas.slug import SLUG_PATTERN
from spanplat.services.accounts import log_event
from spanplat.services.campaigns import definition_of, find_or_add_annotator, list_campaigns

SOURCES = tuple(platform.name for platform in sorted(PLATFORMS, key=lambda platform: not platform.is_marketplace))
"""Platforms whose people can be added by hand, marketplaces first."""
LONGEST_ID = 200
"""Maximum number of characters of an id, as in start links: nobody can enter with a longer one."""


@dataclass(frozen=True)
class Member:
    """Member of a pool."""

    pseudonym: str
    source: str
    campaign: str | None
    """Qualification that the person passed; None if they were added by hand."""
    score: float | None
    """Score in that qualification."""
    added_at: datetime
    expires_at: datetime | None

    def is_valid(self, now: datetime) -> bool:
        """Return whether the membership has not expired."""
        return self.expires_at is None or self.expires_at > now


class PoolSummary(NamedTuple):
    """One line of the list of pools."""

    slug: str
    members: int
    required_by: list[str]
    """Campaigns that let in only members of this pool."""
    filled_by: list[str]
    """Qualifications that add those who pass to this pool."""


@dataclass(frozen=True)
class QualificationStanding:
    """Result of an annotator in a qualification."""

    status: str
    """passed, failed, or pending until the best are chosen."""
    attempts: int
    score: float | None


def standing_of(session: Session, campaign_id: int, annotator_id: int) -> QualificationStanding | None:
    """Return an annotator's result in a qualification; None before the first try."""
    row = session.execute(
        select(Qualification.status, Qualification.attempts, Qualification.score).where(
            Qualification.campaign_id == campaign_id, Qualification.annotator_id == annotator_id
        )
    ).one_or_none()
    return None if row is None else QualificationStanding(*row)


def find_pool(session: Session, slug: str) -> Pool:
    """Return the pool of this name.

    Raises
    ------
    NotFound
        If there is none; the message lists the existing pools.
    """
    pool = session.scalar(select(Pool).where(Pool.slug == slug))
    if pool is None:
        known = ", ".join(session.scalars(select(Pool.slug).order_by(Pool.slug))) or "none yet"
        raise NotFound(f"there is no pool {slug!r} (pools: {known})")
    return pool


def list_pools(session: Session) -> list[tuple[str, int]]:
    """Return the pools with the number of their members."""
    rows = session.execute(
        select(Pool.slug, func.count(PoolMember.annotator_id))
        .outerjoin(PoolMember, PoolMember.pool_id == Pool.id)
        .group_by(Pool.slug)
        .order_by(Pool.slug)
    )
    return [(slug, count) for slug, count in rows]


def list_members(session: Session, slug: str) -> list[Member]:
    """Return the members of a pool, in the order they joined.

    Raises
    ------
    NotFound
        If there is no such pool.
    """
    pool = find_pool(session, slug)
    rows = session.execute(
        select(
            Annotator.pseudonym,
            Annotator.source,
            Campaign.slug,
            Qualification.score,
            PoolMember.added_at,
            PoolMember.expires_at,
        )
        .join(PoolMember, PoolMember.annotator_id == Annotator.id)
        .outerjoin(Campaign, Campaign.id == PoolMember.campaign_id)
        .outerjoin(
            Qualification,
            (Qualification.campaign_id == PoolMember.campaign_id) & (Qualification.annotator_id == Annotator.id),
        )
        .where(PoolMember.pool_id == pool.id)
        .order_by(PoolMember.added_at, Annotator.id)
    )
    return [Member(*row) for row in rows]


def describe_pools(session: Session) -> list[PoolSummary]:
    """Return the pools with the campaigns that use them; a pool that a definition names is listed even if it is empty."""
    lines = {slug: PoolSummary(slug, members, [], []) for slug, members in list_pools(session)}
    for campaign in list_campaigns(session):
        definition = definition_of(campaign)
        required, given = definition.qualification_required, definition.qualification_given
        if required is not None and required.pool is not None:
            lines.setdefault(required.pool, PoolSummary(required.pool, 0, [], [])).required_by.append(campaign.slug)
        if given is not None and given.pool is not None:
            lines.setdefault(given.pool, PoolSummary(given.pool, 0, [], [])).filled_by.append(campaign.slug)
    return sorted(lines.values())


def add_people(session: Session, slug: str, source: str, ids: Iterable[str], now: datetime) -> int:
    """Add people to a pool by their platform ids and return how many are new in it; they need not have come before.

    Existing members keep their qualification and their end.

    Raises
    ------
    InvalidInput
        If the pool's name is not a slug, the platform is unknown, no id is given, or an id is not valid.
    """
    if not re.fullmatch(SLUG_PATTERN, slug):
        raise InvalidInput(f"a pool cannot be called {slug!r}: use lower-case letters, digits and hyphens")
    if source not in SOURCES:
        raise InvalidInput(f"there is no platform {source!r}; choose one of {', '.join(SOURCES)}")
    # A pasted list may contain empty lines and repeats.
    wanted = list(dict.fromkeys(name for given in ids if (name := given.strip())))
    if not wanted:
        raise InvalidInput("name at least one person to add, one id a line")
    # The same limits as for the parameters of a start link: with any other id, the person could never enter.
    if wrong := next((name for name in wanted if len(name) > LONGEST_ID or not name.isprintable()), None):
        raise InvalidInput(f"{wrong[:LONGEST_ID]!r} is no id: give one id a line, each at most {LONGEST_ID} characters")
    annotators = [find_or_add_annotator(session, "human", source, name) for name in wanted]
    pool = _find_or_add_pool(session, slug, now)
    present = set(session.scalars(select(PoolMember.annotator_id).where(PoolMember.pool_id == pool.id)))
    fresh = [annotator for annotator in annotators if annotator.id not in present]
    for annotator in fresh:
        session.add(PoolMember(pool_id=pool.id, annotator_id=annotator.id, added_at=now))
    session.flush()
    if fresh:
        log_event(session, "pool.members_added", slug, annotators=[annotator.pseudonym for annotator in fresh])
    return len(fresh)


def pool_file(session: Session, slug: str) -> str:
    """Write the members of a pool as CSV with their platform ids; the file is personal data.

    Raises
    ------
    NotFound
        If there is no such pool.
    """
    pool = find_pool(session, slug)
    ids = session.execute(
        select(Annotator.pseudonym, Annotator.external_id)
        .join(PoolMember, PoolMember.annotator_id == Annotator.id)
        .where(PoolMember.pool_id == pool.id)
    )
    id_of = {pseudonym: external_id for pseudonym, external_id in ids}
    rows = [("platform_id", "source", "annotator", "qualification", "score", "added_at", "expires_at")]
    for member in list_members(session, slug):
        ends = member.expires_at.isoformat() if member.expires_at else ""
        score = "" if member.score is None else f"{member.score:.4f}"
        named = (member.source, member.pseudonym, member.campaign or "", score)
        rows.append((id_of[member.pseudonym], *named, member.added_at.isoformat(), ends))
    return write_csv(rows)


def add_to_pool(
    session: Session,
    slug: str,
    annotator_id: int,
    now: datetime,
    *,
    campaign: Campaign | None = None,
    expires_at: datetime | None = None,
) -> None:
    """Add an annotator to a pool, which is created if needed; an existing member gets the new end."""
    pool = _find_or_add_pool(session, slug, now)
    member = session.get(PoolMember, (pool.id, annotator_id))
    if member is None:
        member = PoolMember(pool_id=pool.id, annotator_id=annotator_id, added_at=now)
        session.add(member)
    member.campaign_id = campaign.id if campaign else None
    member.expires_at = expires_at
    session.flush()


def remove_from_pool(session: Session, slug: str, pseudonyms: Sequence[str]) -> int:
    """Remove people from a pool and return how many were in it.

    Raises
    ------
    NotFound
        If there is no such pool.
    """
    pool = find_pool(session, slug)
    members = session.execute(
        select(Annotator.id, Annotator.pseudonym)
        .join(PoolMember, PoolMember.annotator_id == Annotator.id)
        .where(PoolMember.pool_id == pool.id, Annotator.pseudonym.in_(pseudonyms))
    ).all()
    if not members:
        return 0
    gone = [annotator_id for annotator_id, _pseudonym in members]
    session.execute(delete(PoolMember).where(PoolMember.pool_id == pool.id, PoolMember.annotator_id.in_(gone)))
    log_event(session, "pool.members_removed", slug, annotators=[pseudonym for _id, pseudonym in members])
    return len(gone)


def is_qualified(session: Session, required: QualificationRequired, annotator: Annotator, now: datetime) -> bool:
    """Return whether an annotator has the qualification that a campaign requires, and it has not expired."""
    if required.pool is not None:
        found = (
            select(PoolMember.annotator_id)
            .join(Pool, Pool.id == PoolMember.pool_id)
            .where(
                Pool.slug == required.pool,
                PoolMember.annotator_id == annotator.id,
                _lasts(PoolMember.expires_at, now),
            )
        )
    else:
        found = (
            select(Qualification.id)
            .join(Campaign, Campaign.id == Qualification.campaign_id)
            .where(
                Campaign.slug == required.campaign,
                Qualification.annotator_id == annotator.id,
                Qualification.status == "passed",
                _lasts(Qualification.expires_at, now),
            )
        )
    return session.scalar(found) is not None


def _find_or_add_pool(session: Session, slug: str, now: datetime) -> Pool:
    # Two people may pass at the same time, and both would add a pool that does not exist yet.
    insert_absent(session, Pool, [{"slug": slug, "created_at": now}])
    return session.scalars(select(Pool).where(Pool.slug == slug)).one()


def _lasts(end: InstrumentedAttribute[datetime | None], now: datetime) -> ColumnElement[bool]:
    return or_(end.is_(None), end > now)
