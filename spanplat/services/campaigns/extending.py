"""Extending a campaign after its launch: more annotators per output, more outputs, and a forecast of people and cost.

Existing work is not touched: seats are only added, and new batches come after the existing ones.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict
from spanplat.models import (
    REPLACED,
    Assignment,
    AssignmentStatus,
    Batch,
    BatchItem,
    Campaign,
    CampaignStatus,
    Item,
    ItemOutput,
    ItemRole,
)
from spanplat.models.statements import insert_rows
from spanplat.platforms.rules import Money, read_money
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.services.accounts import log_event
from spanplat.services.campaigns.amendments import put_in_force
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.launching import hidden_campaign
from spanplat.services.campaigns.lifecycle import ROWS_AT_ONCE, find_campaign, store_plan
from spanplat.services.campaigns.planning import CampaignPlan, plan_work
from spanplat.services.campaigns.suggestions import add_suggestions, count_without_suggestions
from spanplat.services.datasets import chunked
from spanplat.text.counting import count_of


@dataclass(frozen=True)
class ExtensionRequest:
    """Request for an extension."""

    per_output: float | None = None
    """New number of annotators per output; None changes nothing."""
    adds_outputs: bool = False
    """Whether to add the outputs that the definition selects and that the campaign does not have yet."""
    splits: Sequence[str] = ()
    systems: Sequence[str] = ()
    """Systems to add to the selection of the definition, if it names any; the same holds for the splits."""
    limit: int | None = None
    """Maximum number of outputs in all, in place of the definition's limit."""


@dataclass(frozen=True)
class Extension:
    """Counts of what an extension adds."""

    outputs: int = 0
    batches: int = 0
    seats: int = 0
    without_suggestions: int = 0
    """Added items without suggestions, because the other campaign has no finished annotation on them."""


class _PlannedOutputs(NamedTuple):
    """Outputs to be added."""

    plan: CampaignPlan
    checks: dict[str, int]
    """Ids of check items that are stored already, by the name of the check."""
    first_batch: int


@dataclass(frozen=True)
class ExtensionPlan:
    """Plan of an extension, with the state of the campaign when it was planned."""

    campaign: Campaign
    requested: ExtensionRequest
    extension: Extension
    outputs: _PlannedOutputs | None = None


class _Seat(NamedTuple):
    """Current seat of a batch."""

    id: int
    group: str | None
    extra: bool


class _MissingSeats(NamedTuple):
    """Seats that a batch lacks for one group."""

    batch_id: int
    group: str | None
    becoming_promised: Sequence[int]
    """Ids of the extra seats that become regular seats."""
    fresh: int
    """Number of new seats."""


def raise_annotators(session: Session, slug: str, per_output: float) -> Extension:
    """Raise the number of annotators per output; needs a writing transaction.

    A fraction gives that share of the batches one annotator more; batches that already have one more keep it. Extra seats, which were
    added when all seats were taken, become regular seats first.

    Raises
    ------
    Conflict
        If people do not fill the campaign, or it already has as many annotators or more.
    """
    campaign = _find_filled_by_people(session, slug, locks=True)
    definition = definition_of(campaign)
    changed = _with_annotators(campaign, definition, per_output)
    put_in_force(session, campaign, changed, f"{count_of(per_output, 'annotator')} per output")
    missing = _missing_seats(session, campaign, changed, locks=True)
    for promised in chunked((seat for one in missing for seat in one.becoming_promised), ROWS_AT_ONCE // 2):
        session.execute(update(Assignment).where(Assignment.id.in_(promised)).values(extra=False))
    rows = _rows_of(session, campaign, missing)
    insert_rows(session, Assignment, rows)
    per_outputs = [definition.annotators.per_output, per_output]
    log_event(session, "campaign.extended", slug, per_output=per_outputs, seats=len(rows))
    return Extension(seats=len(rows))


def plan_extension(session: Session, slug: str, requested: ExtensionRequest) -> ExtensionPlan:
    """Plan a requested extension without writing anything.

    Raises
    ------
    Conflict
        If people do not fill the campaign, it already has as many annotators, there is nothing to add, or there are no suggestions
        for the added outputs.
    SelectionError
        If a split or system does not exist.
    """
    campaign = _find_filled_by_people(session, slug)
    definition = definition_of(campaign)
    seats = 0
    if requested.per_output is not None:
        changed = _with_annotators(campaign, definition, requested.per_output)
        seats = sum(missing.fresh for missing in _missing_seats(session, campaign, changed))
        definition = changed
    plan = ExtensionPlan(campaign, requested, Extension(seats=seats))
    return _with_outputs(session, plan, definition) if requested.adds_outputs else plan


def extend(database: Database, plan: ExtensionPlan) -> Extension:
    """Extend a campaign as planned; the extension becomes visible only when it is complete.

    The outputs are first stored in a hidden campaign, in short transactions. One last transaction moves them to the real one.

    Raises
    ------
    Conflict
        If the campaign has changed since, or somebody else extends it at the same time.
    """
    added, slug, per_output = plan.outputs, plan.campaign.slug, plan.requested.per_output
    if added is None:
        with database.transaction() as session:
            return Extension() if per_output is None else raise_annotators(session, slug, per_output)
    # Without categories, because to delete a category the database would search all spans for references to it. The name of the hidden
    # campaign has a colon and spaces, so no other campaign can have it as its slug.
    bare = added.plan.definition.model_copy(update={"categories": []})
    with hidden_campaign(database, bare, f"{slug}: more outputs") as (hidden_id, writing):
        store_plan(writing, hidden_id, added.plan, known=added.checks, first=added.first_batch)
        with writing() as session:
            campaign = _lock_as_planned(session, plan, added)
            raised = Extension() if per_output is None else raise_annotators(session, slug, per_output)
            definition = definition_of(campaign)
            if definition != added.plan.definition:
                put_in_force(session, campaign, added.plan.definition, "more outputs")
            # These are all rows of the hidden campaign. Positions and outputs of items refer to them, and move along.
            for table in (Item, Batch, Assignment):
                session.execute(update(table).where(table.campaign_id == hidden_id).values(campaign_id=campaign.id))
            session.execute(delete(Campaign).where(Campaign.id == hidden_id))
            if definition.spans.suggestions_from is not None and campaign.status != CampaignStatus.DRAFT:
                add_suggestions(session, campaign, first_batch=added.first_batch)
            made = replace(plan.extension, seats=raised.seats + sum(map(len, added.plan.seats)))
            log_event(session, "campaign.extended", slug, outputs=made.outputs, batches=made.batches)
    return made


def _with_outputs(session: Session, plan: ExtensionPlan, definition: CampaignDefinition) -> ExtensionPlan:
    """Add to a plan the outputs that the widened definition selects and that the campaign does not have yet."""
    campaign, requested = plan.campaign, plan.requested
    if definition.data is None:
        raise Conflict(f"campaign {campaign.slug!r} selects no data")
    data = definition.data.model_copy(
        update={
            "splits": _widened(definition.data.splits, requested.splits),
            "systems": _widened(definition.data.systems, requested.systems),
            "limit": requested.limit or definition.data.limit,
        }
    )
    changed = define(definition.model_dump(mode="json") | {"data": data.model_dump(mode="json")}, campaign.slug)
    known = _outputs_of(session, campaign)
    left = None if data.limit is None else data.limit - len(known)
    if left is not None and left <= 0:
        raise Conflict(
            f"campaign {campaign.slug!r} has {count_of(len(known), 'output')} already, of at most {data.limit}; raise the limit"
        )
    # The limit is for all outputs, so only the rest of it is left for new ones.
    work = plan_work(session, changed, data.model_copy(update={"limit": left}), without=known)
    regular = [[output.id for output in item.outputs] for item in work.items if item.role == ItemRole.REGULAR]
    fresh = {output for outputs in regular for output in outputs}
    if not fresh:
        raise Conflict(
            f"campaign {campaign.slug!r} has every output that its definition selects; there is nothing to add"
        )
    without = 0
    if definition.spans.suggestions_from is not None and campaign.status != CampaignStatus.DRAFT:
        without = count_without_suggestions(session, changed, regular)
    seats = plan.extension.seats + sum(map(len, work.seats))
    added = _PlannedOutputs(work, _items_of_checks(session, campaign), _last_batch(session, campaign) + 1)
    return replace(plan, outputs=added, extension=Extension(len(fresh), len(work.batches), seats, without))


def _lock_as_planned(session: Session, plan: ExtensionPlan, added: _PlannedOutputs) -> Campaign:
    """Lock the campaign against other extensions; raise if it has changed since this one was planned."""
    campaign = _find_filled_by_people(session, plan.campaign.slug, locks=True)
    planned = (plan.campaign.id, plan.campaign.amendment, plan.campaign.status, added.first_batch)
    if (campaign.id, campaign.amendment, campaign.status, _last_batch(session, campaign) + 1) != planned:
        raise Conflict(f"campaign {campaign.slug!r} was changed in the meantime, so nothing was added; look again")
    return campaign


def _find_filled_by_people(session: Session, slug: str, *, locks: bool = False) -> Campaign:
    campaign = find_campaign(session, slug)
    if campaign.kind not in ("human", "qualification"):
        raise Conflict(f"campaign {slug!r} is not filled by people who follow a link, so it cannot be extended")
    if not locks:
        return campaign
    # Two extensions at once would count the same seats and start from the same definition, so the second waits here.
    # Not a plain FOR UPDATE, which could deadlock: a request that reopens a seat holds the seat's row and needs a
    # shared lock on the campaign's row.
    locked = select(Campaign).where(Campaign.id == campaign.id).with_for_update(key_share=True)
    return session.scalars(locked.execution_options(populate_existing=True)).one()


def _with_annotators(campaign: Campaign, definition: CampaignDefinition, per_output: float) -> CampaignDefinition:
    """Return the definition with more annotators per output."""
    before = definition.annotators.per_output
    if per_output <= before:
        raise Conflict(
            f"campaign {campaign.slug!r} promises {count_of(before, 'annotator')} per output already; the number can only be raised"
        )
    annotators = definition.annotators.model_dump(mode="json") | {"per_output": per_output}
    return define(definition.model_dump(mode="json") | {"annotators": annotators}, campaign.slug)


def _missing_seats(
    session: Session, campaign: Campaign, changed: CampaignDefinition, *, locks: bool = False
) -> list[_MissingSeats]:
    """Return the seats that each batch lacks for each group under a changed definition."""
    seats = _seats_by_batch(session, campaign, locks=locks)
    groups: list[str | None] = [group.key for group in changed.groups] or [None]
    wanted = _wanted_seats(seats, changed.annotators.per_output, len(groups), changed.batches.seed)
    missing = []
    for batch_id, current in seats.items():
        for group in groups:
            promised = sum(seat.group == group and not seat.extra for seat in current)
            beyond = [seat.id for seat in current if seat.group == group and seat.extra]
            lacking = max(0, wanted[batch_id] - promised)
            missing.append(_MissingSeats(batch_id, group, beyond[:lacking], max(0, lacking - len(beyond))))
    return missing


def _seats_by_batch(session: Session, campaign: Campaign, *, locks: bool) -> dict[int, list[_Seat]]:
    """Return the current seats of each batch; with ``locks``, lock the extra seats, which may become regular ones."""
    # Regular seats are not locked: their number cannot change, and a claim skips locked seats and would find all places taken.
    seats: dict[int, list[_Seat]] = {
        batch: []
        for batch in session.scalars(select(Batch.id).where(Batch.campaign_id == campaign.id).order_by(Batch.number))
    }
    current = select(Assignment.slot, Assignment.batch_id, Assignment.id, Assignment.group, Assignment.extra).where(
        Assignment.campaign_id == campaign.id, Assignment.status.not_in(REPLACED)
    )
    beyond = current.where(Assignment.extra)
    found = [
        *session.execute(current.where(~Assignment.extra)),
        *session.execute(beyond.with_for_update() if locks else beyond),
    ]
    # The two queries together have no order. Extra seats become regular ones in the order of their slots.
    for _slot, batch_id, seat_id, group, extra in sorted(found, key=lambda row: row.slot):
        seats[batch_id].append(_Seat(seat_id, group, extra))
    return seats


def _wanted_seats(seats: dict[int, list[_Seat]], per_output: float, groups: int, seed: int) -> dict[int, int]:
    """Return the number of regular seats of each group by batch."""
    whole = int(per_output)
    share = round((per_output - whole) * len(seats))
    present = {batch: sum(not seat.extra for seat in current) // groups for batch, current in seats.items()}
    drawn = random.Random(seed).sample(list(seats), len(seats))  # noqa: S311
    # Batches that already have more seats come first and keep them. The sort is stable, so the order of the others stays random.
    more = set(sorted(drawn, key=lambda batch: -present[batch])[:share])
    return {batch: max(present[batch], whole + (batch in more)) for batch in seats}


def _rows_of(session: Session, campaign: Campaign, missing: Sequence[_MissingSeats]) -> list[dict[str, Any]]:
    """Return the rows of the new seats; their slots continue after the last slot of the batch."""
    last = (
        select(Assignment.batch_id, func.max(Assignment.slot))
        .where(Assignment.campaign_id == campaign.id)
        .group_by(Assignment.batch_id)
    )
    next_slot = defaultdict(count, {batch_id: count(slot + 1) for batch_id, slot in session.execute(last)})
    return [
        {
            "campaign_id": campaign.id,
            "batch_id": one.batch_id,
            "slot": next(next_slot[one.batch_id]),
            "group": one.group,
            "status": AssignmentStatus.OPEN,
        }
        for one in missing
        for _ in range(one.fresh)
    ]


def _last_batch(session: Session, campaign: Campaign) -> int:
    return session.scalar(select(func.max(Batch.number)).where(Batch.campaign_id == campaign.id)) or 0


def _widened(selected: Sequence[str], more: Sequence[str]) -> list[str]:
    """Add names to a selection; an empty selection stays empty, because it selects everything."""
    return list(dict.fromkeys([*selected, *more])) if selected else []


def _outputs_of(session: Session, campaign: Campaign) -> set[int]:
    """Return the outputs that the campaign's regular items ask about."""
    rows = (
        select(ItemOutput.output_id)
        .join(Item, Item.id == ItemOutput.item_id)
        .join(BatchItem, BatchItem.item_id == Item.id)
    )
    return set(session.scalars(rows.where(Item.campaign_id == campaign.id, BatchItem.role == ItemRole.REGULAR)))


def _items_of_checks(session: Session, campaign: Campaign) -> dict[str, int]:
    rows = session.execute(
        select(BatchItem.check_name, BatchItem.item_id)
        .join(Item, Item.id == BatchItem.item_id)
        .where(Item.campaign_id == campaign.id, BatchItem.check_name.is_not(None))
        .distinct()
    )
    return {name: item for name, item in rows if name is not None}


@dataclass(frozen=True)
class Forecast:
    """An extension with the people and the money that it needs."""

    extension: Extension
    max_batches: int
    """Number of batches that one person may do; if it is 1, every seat needs another person."""
    reward: Money | None
    """Reward for all added seats, without the platform's fees; None if the definition names no amount."""
    bonus: Money | None
    """Sum of the bonuses if everybody earns one; None if there is no bonus."""


def forecast_of(session: Session, slug: str, extension: Extension) -> Forecast:
    """Compute the people and the money that an extension needs.

    Raises
    ------
    NotFound
        If there is no such campaign.
    """
    definition = definition_of(find_campaign(session, slug))
    platform = definition.platform
    return Forecast(
        extension,
        definition.annotators.max_batches,
        _times(extension.seats, platform.reward),
        _times(extension.seats, platform.bonus),
    )


def _times(seats: int, amount: str) -> Money | None:
    money = read_money(amount)
    return None if money is None else Money(money.currency, round(money.amount * seats, 2))
