"""Changing a campaign after its launch, safely: more annotators per output, more outputs, and work that somebody else does again.

What is there stays as it is: seats are only added, batches only follow, and work set aside is kept and in no figure.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import (
    FINISHED,
    REPLACED,
    Annotator,
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
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.services.amendments import put_in_force
from spanplat.services.audit import log_event
from spanplat.services.campaigns import find_campaign, store_plan
from spanplat.services.definitions import definition_of
from spanplat.services.leases import replace_seat
from spanplat.services.plans import plan_work
from spanplat.services.suggestions import add_suggestions
from spanplat.text.counting import count_of


@dataclass(frozen=True)
class Extension:
    """What was added."""

    outputs: int = 0
    batches: int = 0
    seats: int = 0
    without_suggestions: int = 0
    """Items added to a campaign that shows suggestions, on which the other campaign has no finished annotation."""


def raise_annotators(session: Session, slug: str, per_output: float) -> Extension:
    """Promise more annotators per output; needs a writing transaction.

    A fraction gives that share of the batches one more, keeping those that have one more already. Seats beyond those promised, which
    came about when all were taken, count from now on as promised ones.

    Raises
    ------
    Conflict
        If the campaign is not one that people fill, or promises as many or more already.
    """
    campaign = _find_filled_by_people(session, slug)
    definition = definition_of(campaign)
    before = definition.annotators.per_output
    if per_output <= before:
        raise Conflict(
            f"campaign {slug!r} promises {count_of(before, 'annotator')} per output already; they can only become more"
        )
    annotators = definition.annotators.model_dump(mode="json") | {"per_output": per_output}
    changed = _change_definition(
        session, campaign, definition, {"annotators": annotators}, f"{count_of(per_output, 'annotator')} per output"
    )
    seats = _seats_by_batch(session, campaign)
    groups: list[str | None] = [group.key for group in definition.groups] or [None]
    wanted = _wanted_seats(seats, per_output, len(groups), changed.batches.seed)
    added = 0
    for batch_id, current in seats.items():
        for group in groups:
            promised = [seat for seat in current if seat.group == group and not seat.extra]
            beyond = [seat for seat in current if seat.group == group and seat.extra]
            missing = wanted[batch_id] - len(promised)
            for seat in beyond[: max(0, missing)]:
                seat.extra = False
            fresh = missing - len(beyond)
            if fresh > 0:
                added += fresh
                _add_seats(session, campaign, batch_id, group, fresh)
    session.flush()
    log_event(session, "campaign.extended", slug, per_output=[before, per_output], seats=added)
    return Extension(seats=added)


def add_outputs(
    session: Session,
    slug: str,
    *,
    splits: Sequence[str] = (),
    systems: Sequence[str] = (),
    limit: int | None = None,
) -> Extension:
    """Add the outputs that the definition selects and the campaign does not have yet; needs a writing transaction.

    Where the campaign shows suggestions, those on the added outputs are what the other campaign has now; the others stay.

    Parameters
    ----------
    session
        A writing session.
    slug
        The campaign.
    splits, systems
        Added to those that the definition selects, where it names any.
    limit
        At most this many outputs in all, in place of the definition's number.

    Raises
    ------
    Conflict
        If the campaign is not one that people fill, there is nothing to add, or nothing to suggest on what is added.
    SelectionError
        If a split or system does not exist.
    """
    campaign = _find_filled_by_people(session, slug)
    definition = definition_of(campaign)
    if definition.data is None:
        raise Conflict(f"campaign {slug!r} selects no data")
    data = definition.data.model_copy(
        update={
            "splits": _widened(definition.data.splits, splits),
            "systems": _widened(definition.data.systems, systems),
            "limit": limit or definition.data.limit,
        }
    )
    changed = _change_definition(session, campaign, definition, {"data": data.model_dump(mode="json")}, "more outputs")
    known = _outputs_of(session, campaign)
    left = None if data.limit is None else data.limit - len(known)
    if left is not None and left <= 0:
        raise Conflict(
            f"campaign {slug!r} has {count_of(len(known), 'output')} already, of at most {data.limit}; raise the limit"
        )
    plan = plan_work(session, changed, data.model_copy(update={"limit": left}), without=known)
    fresh = {output.id for item in plan.items if item.role == ItemRole.REGULAR for output in item.outputs}
    if not fresh:
        raise Conflict(f"campaign {slug!r} has every output that its definition selects; there is nothing to add")
    last = session.scalar(select(func.max(Batch.number)).where(Batch.campaign_id == campaign.id)) or 0
    store_plan(session, campaign, plan, known=_items_of_checks(session, campaign), first=last + 1)
    without = 0
    if definition.spans.suggestions_from is not None and campaign.status != CampaignStatus.DRAFT:
        without = add_suggestions(session, campaign, first_batch=last + 1)
    seats = sum(len(of_batch) for of_batch in plan.seats)
    log_event(session, "campaign.extended", slug, outputs=len(fresh), batches=len(plan.batches))
    return Extension(len(fresh), len(plan.batches), seats, without)


def replace_work(session: Session, slug: str, pseudonym: str, reason: str) -> int:
    """Set a person's submitted batches aside and open their seats anew; returns how many. It says nothing about their pay.

    Raises
    ------
    NotFound
        If nobody of this pseudonym submitted work in the campaign.
    InvalidInput
        If no reason is given.
    """
    if not reason.strip():
        raise InvalidInput("say why the work is set aside; the reason is kept with it")
    campaign = find_campaign(session, slug)
    submitted = session.scalars(
        select(Assignment)
        .join(Annotator, Annotator.id == Assignment.annotator_id)
        .where(
            Assignment.campaign_id == campaign.id,
            Annotator.pseudonym == pseudonym,
            Assignment.status.in_(FINISHED),
        )
    ).all()
    if not submitted:
        raise NotFound(
            f"{pseudonym!r} has no submitted work in {slug!r}; pseudonyms stand in: spanplat campaign people {slug}"
        )
    replaced = sum(replace_seat(session, assignment) for assignment in submitted)
    log_event(session, "work.replaced", slug, annotator=pseudonym, reason=reason, batches=replaced)
    return replaced


def _find_filled_by_people(session: Session, slug: str) -> Campaign:
    campaign = find_campaign(session, slug)
    if campaign.kind not in ("human", "qualification"):
        raise Conflict(f"campaign {slug!r} is not filled by people who follow a link, so it cannot be extended")
    # Two extensions at once would both count the seats there are now, and start from the same definition. The lock is one beside
    # which seats can be reopened: a stronger one would wait for those who hold a seat's row and in turn wait for the campaign's.
    locked = select(Campaign).where(Campaign.id == campaign.id).with_for_update(key_share=True)
    return session.scalars(locked.execution_options(populate_existing=True)).one()


def _change_definition(
    session: Session, campaign: Campaign, definition: CampaignDefinition, change: dict[str, object], note: str
) -> CampaignDefinition:
    """Put a definition with a change in force, as an amendment; where it says the same already, nothing is amended."""
    changed = define(definition.model_dump(mode="json") | change, campaign.slug)
    if changed != definition:
        put_in_force(session, campaign, changed, note)
    return changed


def _seats_by_batch(session: Session, campaign: Campaign) -> dict[int, list[Assignment]]:
    """Return the current seats of each batch, and lock those beyond the promised ones, which may become promised.

    The others stay as many whatever happens to them; locked, they would look taken to whoever comes meanwhile.
    """
    seats: dict[int, list[Assignment]] = {
        batch: []
        for batch in session.scalars(select(Batch.id).where(Batch.campaign_id == campaign.id).order_by(Batch.number))
    }
    current = select(Assignment).where(Assignment.campaign_id == campaign.id, Assignment.status.not_in(REPLACED))
    beyond = session.scalars(current.where(Assignment.extra).with_for_update()).all()
    promised = session.scalars(current.where(~Assignment.extra)).all()
    for seat in sorted([*promised, *beyond], key=lambda seat: seat.slot):
        seats[seat.batch_id].append(seat)
    return seats


def _wanted_seats(seats: dict[int, list[Assignment]], per_output: float, groups: int, seed: int) -> dict[int, int]:
    """Return how many promised seats each group gets on each batch."""
    whole = int(per_output)
    share = round((per_output - whole) * len(seats))
    present = {batch: sum(not seat.extra for seat in current) // groups for batch, current in seats.items()}
    drawn = random.Random(seed).sample(list(seats), len(seats))  # noqa: S311
    more = set(sorted(drawn, key=lambda batch: -present[batch])[:share])  # a stable sort: those that have more keep it
    return {batch: max(present[batch], whole + (batch in more)) for batch in seats}


def _add_seats(session: Session, campaign: Campaign, batch_id: int, group: str | None, count: int) -> None:
    last = session.scalar(select(func.max(Assignment.slot)).where(Assignment.batch_id == batch_id))
    session.execute(
        insert(Assignment),
        [
            {
                "campaign_id": campaign.id,
                "batch_id": batch_id,
                "slot": (-1 if last is None else last) + number,
                "group": group,
                "status": AssignmentStatus.OPEN,
            }
            for number in range(1, count + 1)
        ],
    )


def _widened(selected: Sequence[str], more: Sequence[str]) -> list[str]:
    """Add names to a selection; an empty one selects everything already."""
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
