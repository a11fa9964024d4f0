"""Creating and opening campaigns in short transactions, so that annotators never wait long for the write lock.

A campaign that is being created has a status that hides it; one last short transaction changes this status. If the process dies
before, the rows that it left are removed when the name is used again, or by the worker.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict
from spanplat.models import Campaign, CampaignStatus
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.importing import remove_interrupted
from spanplat.services.campaigns.lifecycle import (
    Writing,
    add_campaign,
    find_campaign,
    first_status,
    note_creation,
    require_may_become,
    set_status,
    store_plan,
)
from spanplat.services.campaigns.planning import CampaignPlan
from spanplat.services.campaigns.suggestions import take_suggestions

ABANDONED_AFTER = timedelta(minutes=10)
"""Maximum time to create a campaign; many times longer than 100,000 outputs take."""


def store_campaign(
    database: Database,
    plan: CampaignPlan,
    finish: Callable[[Session, Campaign], None] = lambda _session, _campaign: None,
) -> Campaign:
    """Store a planned campaign with its items, batches and open seats; it stays hidden until it is complete.

    Parameters
    ----------
    database
        The target database.
    plan
        Plan of the campaign.
    finish
        Called in the transaction that makes the campaign visible; if it raises, the campaign is removed.

    Raises
    ------
    Conflict
        If the name is taken, or another process creates a campaign of this name at the same time.
    """
    (campaign,) = store_campaigns(database, [plan], lambda session, campaigns: finish(session, campaigns[0]))
    return campaign


def store_campaigns(
    database: Database,
    plans: Iterable[CampaignPlan],
    finish: Callable[[Session, list[Campaign]], None],
) -> list[Campaign]:
    """Store planned campaigns that become visible together, or not at all.

    Parameters
    ----------
    database
        The target database.
    plans
        Plans of the campaigns.
    finish
        Called in the transaction that makes the campaigns visible; if it raises, they are removed.

    Raises
    ------
    Conflict
        If a name is taken, or another process creates a campaign of the same name at the same time.
    """
    with contextlib.ExitStack() as hidden:
        stored = []
        for plan in plans:
            slug = plan.definition.slug
            campaign_id, writing = hidden.enter_context(hidden_campaign(database, plan.definition, slug))
            store_plan(writing, campaign_id, plan)
            stored.append((campaign_id, slug, first_status(plan.definition)))
        with database.transaction() as session:
            campaigns = []
            for campaign_id, slug, status in stored:
                _lock_half_made(session, campaign_id, slug)
                campaign = session.get_one(Campaign, campaign_id)
                campaign.status = status
                note_creation(session, campaign)
                campaigns.append(campaign)
            finish(session, campaigns)
    return campaigns


@contextlib.contextmanager
def hidden_campaign(database: Database, definition: CampaignDefinition, slug: str) -> Iterator[tuple[int, Writing]]:
    """Create a hidden campaign; yield its id and a function that opens writing transactions; remove it if the block raises.

    Raises
    ------
    Conflict
        If the name is taken, or another process creates a hidden campaign of this name at the same time.
    """
    # The rest of an attempt that was killed. If another process is still at it, its next transaction gets a conflict.
    _remove_half_made(database, Campaign.slug == slug)
    with database.transaction() as session:
        if session.scalar(select(Campaign.id).where(Campaign.slug == slug)) is not None:
            raise Conflict(f"there is a campaign {slug!r} already; choose another slug")
        campaign = add_campaign(session, definition, CampaignStatus.IMPORTING, slug=slug)

    @contextlib.contextmanager
    def writing() -> Iterator[Session]:
        with database.transaction() as session:
            _lock_half_made(session, campaign.id, slug)
            yield session

    with contextlib.ExitStack() as on_failure:
        # By id and not by name: when this fails, another process may be creating a campaign of the same name.
        on_failure.callback(_remove_half_made, database, Campaign.id == campaign.id)
        yield campaign.id, writing
        on_failure.pop_all()


def open_campaign(database: Database, slug: str) -> Campaign:
    """Open a campaign; if it shows suggestions, copy them before the first opening.

    Raises
    ------
    NotFound
        If there is no such campaign.
    Conflict
        If it cannot be opened, or there is nothing to suggest; see `spanplat.services.campaigns.lifecycle.set_status`.
    """
    with database.reading() as session:
        campaign = find_campaign(session, slug)
    # Tested before suggestions are copied, and again by `set_status`: the campaign may change between the transactions.
    if campaign.status == CampaignStatus.DRAFT:
        require_may_become(campaign, CampaignStatus.OPEN)
        if definition_of(campaign).spans.suggestions_from is not None:
            take_suggestions(database, campaign)
    with database.transaction() as session:
        return set_status(session, slug, CampaignStatus.OPEN)


def remove_abandoned(database: Database) -> list[str]:
    """Remove the campaigns whose creation was interrupted; return their names."""
    return _remove_half_made(database, Campaign.created_at < datetime.now(UTC) - ABANDONED_AFTER)


def _remove_half_made(database: Database, which: ColumnElement[bool]) -> list[str]:
    hidden = select(Campaign).where(Campaign.status == CampaignStatus.IMPORTING, which)
    with database.reading() as session:
        slugs = [campaign.slug for campaign in session.scalars(hidden) if campaign.is_half_made]
    for slug in slugs:
        remove_interrupted(database, slug)
    return slugs


def _lock_half_made(session: Session, campaign_id: int, slug: str) -> None:
    """Lock a hidden campaign, so that nobody can remove it during this transaction.

    Raises
    ------
    Conflict
        If it was removed before.
    """
    # A shared lock is enough to stop a removal, and it does not block the foreign-key checks of other inserts.
    there = select(Campaign.id).where(Campaign.id == campaign_id, Campaign.status == CampaignStatus.IMPORTING)
    if session.scalar(there.with_for_update(read=True)) is None:
        raise Conflict(
            f"somebody else creates {slug!r} too, or it took too long; check whether it exists, or try again"
        )
