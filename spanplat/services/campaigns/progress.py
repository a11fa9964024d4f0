"""Progress of campaigns: the figures of the overview and of a campaign's page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Select, and_, case, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from spanplat.models import (
    COUNTED,
    REPLACED,
    Annotation,
    Assignment,
    AssignmentStatus,
    Batch,
    BatchItem,
    Campaign,
    CampaignStatus,
    CheckResult,
    ClaimState,
    Completion,
    Dataset,
    Example,
    Item,
    ItemOutput,
    Job,
    JobState,
    ModelClaim,
    Output,
    System,
    Unplaced,
)

ENOUGH_CHECKS = 10
"""Smallest number of check results for which a low pass rate is reported."""


@dataclass(frozen=True)
class CampaignProgress:
    """Progress of one campaign."""

    campaign: Campaign
    done: int
    """Completed annotations that count."""
    promised: int
    """Number of annotations when every seat is filled."""
    people_now: int
    """Annotators who hold a seat whose lease has not run out."""
    lapsed: int
    """Annotators who hold a seat whose lease has run out."""
    open_seats: int
    unplaced: int
    """Records and spans of imports and models that could not be placed in the data."""
    cost: float | None
    """US dollars paid for model calls; None if no model was called, or the price of a reply is not known."""
    last_event: datetime | None
    """Time at which the newest annotation was completed."""
    checked: int = 0
    """Results of attention checks and gold items."""
    passed: int = 0
    """Number of these results that passed."""
    given_up: int = 0
    """Items for which the model gave no usable reply."""
    run: Job | None = None
    """The newest run that was requested for a model campaign."""

    @property
    def is_running(self) -> bool:
        """Whether the worker runs the campaign, or will run it soon."""
        return self.run is not None and self.run.state in (JobState.QUEUED, JobState.RUNNING)

    @property
    def is_paused(self) -> bool:
        """Whether the run was paused."""
        return self.run is not None and self.run.state == JobState.PAUSED

    @property
    def run_state(self) -> str:
        """State of the run; empty if there was none."""
        return self.run.state if self.run else ""

    @property
    def has_failed(self) -> bool:
        """Whether the last run ended with an error."""
        return self.run is not None and self.run.state == JobState.FAILED

    @property
    def is_finished(self) -> bool:
        """Whether all promised annotations are done."""
        return 0 < self.promised <= self.done

    @property
    def pass_rate(self) -> float | None:
        """Share of check results that passed; None if there are none."""
        return self.passed / self.checked if self.checked else None

    @property
    def attention(self) -> list[str]:
        """Names of the problems that need attention.

        These are ``failed`` (the run failed), ``given_up`` (items were given up; another run may help), ``checks`` (most results of
        checks are failures), ``unopened`` (nobody can enter yet), ``unplaced``, ``finished`` (but still open), ``lapsed``.
        """
        reasons = {
            "failed": self.has_failed,
            # A run that is under way asks about these items again.
            "given_up": self.given_up > 0 and self.campaign.status == CampaignStatus.OPEN and not self.is_running,
            "checks": self.checked >= ENOUGH_CHECKS and 2 * self.passed < self.checked,
            "unopened": self.campaign.status == CampaignStatus.DRAFT,
            "unplaced": self.unplaced > 0,
            # A model campaign lets nobody in, so it need not be closed.
            "finished": self.is_finished
            and self.campaign.status == CampaignStatus.OPEN
            and self.campaign.kind != "llm",
            # While other seats are open, a lapsed one blocks nobody.
            "lapsed": self.lapsed > 0 and self.open_seats == 0,
        }
        return [reason for reason, present in reasons.items() if present]


@dataclass(frozen=True)
class BatchProgress:
    """Progress of one batch."""

    number: int
    items: int
    done: int
    seats: Mapping[str, int]
    """Seats by state: ``open``, ``held``, ``submitted``, ``accepted``."""
    replaced: int
    """Seats that were given back, expired or rejected, and that another row replaces."""
    last_event: datetime | None

    @property
    def promised(self) -> int:
        """Number of annotations when every seat is filled."""
        return self.items * sum(self.seats.values())


@dataclass(frozen=True)
class Coverage:
    """Datasets, splits and systems of the outputs of some campaigns."""

    datasets: list[str] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)


def list_progress(session: Session, campaigns: Sequence[Campaign], now: datetime) -> list[CampaignProgress]:
    """Return the progress of each campaign, in the order given."""
    # One query for each figure over all campaigns, so that the overview does not ask once for each campaign.
    ids = [campaign.id for campaign in campaigns]
    mine = Assignment.campaign_id.in_(ids)
    items = select(BatchItem.batch_id, func.count().label("size")).group_by(BatchItem.batch_id).subquery()
    current = and_(Assignment.status.not_in(REPLACED), Assignment.extra.is_(False))
    held = Assignment.status == AssignmentStatus.HELD
    promised = _by_campaign(
        session,
        select(Assignment.campaign_id, func.sum(items.c.size))
        .join(items, items.c.batch_id == Assignment.batch_id)
        .where(current, mine),
    )
    done: dict[int, tuple[int, datetime | None]] = {
        campaign_id: (count, last)
        for campaign_id, count, last in session.execute(
            _completed(Assignment.campaign_id).where(mine).group_by(Assignment.campaign_id)
        )
    }
    people = select(Assignment.campaign_id, func.count(Assignment.annotator_id.distinct())).where(held, mine)
    people_now = _by_campaign(session, people.where(Assignment.lease_expires_at > now))
    lapsed = _by_campaign(session, people.where(Assignment.lease_expires_at <= now))
    open_seats = _by_campaign(
        session, select(Assignment.campaign_id, func.count()).where(Assignment.status == AssignmentStatus.OPEN, mine)
    )
    kept = (
        select(Unplaced.campaign_id, func.count()).where(Unplaced.campaign_id.in_(ids)).group_by(Unplaced.campaign_id)
    )
    unplaced = dict(session.execute(kept).all())
    cost, checks = _known_costs(session, ids), _checks(session, ids)
    keys = {run_key(campaign.slug): campaign.id for campaign in campaigns if campaign.kind == "llm"}
    runs = {keys[job.key]: job for job in session.scalars(select(Job).where(Job.key.in_(keys)))}
    given_up = _given_up(session, list(keys.values())) if keys else {}
    return [
        CampaignProgress(
            campaign=campaign,
            done=done.get(campaign.id, (0, None))[0],
            promised=promised.get(campaign.id, 0),
            people_now=people_now.get(campaign.id, 0),
            lapsed=lapsed.get(campaign.id, 0),
            open_seats=open_seats.get(campaign.id, 0),
            unplaced=unplaced.get(campaign.id, 0),
            cost=cost.get(campaign.id),
            last_event=done.get(campaign.id, (0, None))[1],
            checked=checks.get(campaign.id, (0, 0))[0],
            passed=checks.get(campaign.id, (0, 0))[1],
            given_up=given_up.get(campaign.id, 0),
            run=runs.get(campaign.id),
        )
        for campaign in campaigns
    ]


def _known_costs(session: Session, campaigns: Sequence[int]) -> dict[int, float]:
    """Return the cost of the calls by campaign, for campaigns in which the price of every call is known."""
    # Only calls with a response need a price. One unknown price makes the whole sum unknown.
    unpriced = case((Completion.cost.is_(None) & Completion.response.is_not(None), 1))
    sums = (
        select(Completion.campaign_id, func.sum(Completion.cost), func.count(unpriced))
        .where(Completion.campaign_id.in_(campaigns))
        .group_by(Completion.campaign_id)
    )
    return {
        campaign_id: total for campaign_id, total, unknown in session.execute(sums) if total is not None and not unknown
    }


def _checks(session: Session, campaigns: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return the number of scored and of passed checks by campaign."""
    counts = (
        select(Assignment.campaign_id, func.count(), func.sum(case((CheckResult.passed, 1), else_=0)))
        .join(CheckResult, CheckResult.assignment_id == Assignment.id)
        .where(Assignment.campaign_id.in_(campaigns))
        .group_by(Assignment.campaign_id)
    )
    return {campaign_id: (count, int(passed)) for campaign_id, count, passed in session.execute(counts)}


def _given_up(session: Session, campaigns: Sequence[int]) -> dict[int, int]:
    """Count the items of model campaigns for which the model gave no usable reply."""
    counts = (
        select(ModelClaim.campaign_id, func.count())
        .where(ModelClaim.campaign_id.in_(campaigns), ModelClaim.state == ClaimState.FAILED)
        .group_by(ModelClaim.campaign_id)
    )
    return dict(session.execute(counts).all())


def list_batches(
    session: Session, campaign: Campaign, *, offset: int = 0, limit: int | None = None
) -> list[BatchProgress]:
    """Return the progress of a campaign's batches, in the order of their numbers."""
    wanted = select(Batch.id, Batch.number).where(Batch.campaign_id == campaign.id).order_by(Batch.number)
    wanted = wanted.offset(offset).limit(limit)
    numbers = dict(session.execute(wanted).all())
    # A subquery, because a list of all ids could have too many parameters.
    mine = wanted.with_only_columns(Batch.id).scalar_subquery()
    items = dict(
        session.execute(
            select(BatchItem.batch_id, func.count()).where(BatchItem.batch_id.in_(mine)).group_by(BatchItem.batch_id)
        ).all()
    )
    seats: dict[int, dict[str, int]] = {}
    for batch_id, status, count in session.execute(
        select(Assignment.batch_id, Assignment.status, func.count())
        .where(Assignment.batch_id.in_(mine), Assignment.extra.is_(False))
        .group_by(Assignment.batch_id, Assignment.status)
    ):
        seats.setdefault(batch_id, {})[status] = count
    done: dict[int, tuple[int, datetime | None]] = {
        batch_id: (count, last)
        for batch_id, count, last in session.execute(
            _completed(Assignment.batch_id).where(Assignment.batch_id.in_(mine)).group_by(Assignment.batch_id)
        )
    }
    return [
        BatchProgress(
            number=number,
            items=items.get(batch_id, 0),
            done=done.get(batch_id, (0, None))[0],
            seats={status: count for status, count in seats.get(batch_id, {}).items() if status not in REPLACED},
            replaced=sum(count for status, count in seats.get(batch_id, {}).items() if status in REPLACED),
            last_event=done.get(batch_id, (0, None))[1],
        )
        for batch_id, number in numbers.items()
    ]


def run_key(slug: str) -> str:
    """Return the key of a model campaign's run in the queue of jobs."""
    return f"run-campaign:{slug}"


def find_run(session: Session, campaign: Campaign) -> Job | None:
    """Return the run of a model campaign that was requested last."""
    return session.scalar(select(Job).where(Job.key == run_key(campaign.slug)))


def count_batches(session: Session, campaign: Campaign) -> int:
    """Count the batches of a campaign."""
    return session.scalar(select(func.count()).select_from(Batch).where(Batch.campaign_id == campaign.id)) or 0


def list_unplaced(session: Session, campaign: Campaign, *, offset: int = 0, limit: int | None = 50) -> list[Unplaced]:
    """Return the records and spans of an import or a model that could not be placed, oldest first."""
    found = (
        select(Unplaced).where(Unplaced.campaign_id == campaign.id).order_by(Unplaced.id).offset(offset).limit(limit)
    )
    return list(session.scalars(found))


def count_unplaced(session: Session, campaign: Campaign) -> list[tuple[str, str, int]]:
    """Count the unplaced records and spans by kind and reason, most frequent first."""
    number = func.count()
    rows = session.execute(
        select(Unplaced.kind, Unplaced.reason, number)
        .where(Unplaced.campaign_id == campaign.id)
        .group_by(Unplaced.kind, Unplaced.reason)
        .order_by(number.desc(), Unplaced.kind, Unplaced.reason)
    )
    return [(kind, reason, count) for kind, reason, count in rows]


def annotator_orders(session: Session, campaign: Campaign) -> list[int]:
    """Return the numbers by which the annotators of an output are ordered: the slot, or the group of an import."""
    orders = select(Assignment.slot).where(Assignment.campaign_id == campaign.id).distinct().order_by(Assignment.slot)
    return list(session.scalars(orders))


def coverage(session: Session, campaigns: Sequence[Campaign]) -> Coverage:
    """Return the datasets, splits and systems whose outputs the campaigns annotate."""
    of_campaigns = (
        select(ItemOutput.output_id)
        .join(Item, Item.id == ItemOutput.item_id)
        .where(Item.campaign_id.in_([campaign.id for campaign in campaigns]))
    )
    # Names are looked up for the few combinations there are, not for every output.
    covered = (
        select(Example.dataset_id, Example.split, Output.system_id)
        .join(Output, Output.example_id == Example.id)
        .where(Output.id.in_(of_campaigns))
        .distinct()
        .subquery()
    )
    rows = session.execute(
        select(Dataset.slug, covered.c.split, System.slug)
        .join(covered, covered.c.dataset_id == Dataset.id)
        .join(System, System.id == covered.c.system_id)
    ).all()
    return Coverage(*(sorted({row[column] for row in rows}) for column in range(3)))


def _completed(group: InstrumentedAttribute[int]) -> Select[int, int, datetime | None]:
    """Select a grouping column, the number of annotations that count, and the time of the newest one."""
    return (
        select(group, func.count(), func.max(Annotation.completed_at))
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(
            Annotation.status == "complete",
            Annotation.late.is_(False),
            Assignment.status.in_(COUNTED),
            # Extra seats were not promised, and would push progress above 100 %.
            Assignment.extra.is_(False),
        )
    )


def _by_campaign(session: Session, counts: Select[int, int]) -> dict[int, int]:
    return {campaign_id: int(count) for campaign_id, count in session.execute(counts.group_by(Assignment.campaign_id))}
