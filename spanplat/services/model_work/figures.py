"""Progress, cost and failures of a model campaign, and the placement of its quotes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session

from spanplat.llm.replies.unreadable import REFUSED
from spanplat.models import (
    COUNTED,
    Annotation,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Campaign,
    ClaimState,
    Completion,
    Dataset,
    Example,
    ItemOutput,
    Job,
    JobState,
    ModelBatch,
    ModelClaim,
    Output,
    Span,
    System,
    Unplaced,
)
from spanplat.services.model_work.calls import CallSums, count_calls, sum_calls

RATE_OVER = timedelta(seconds=60)
"""Time over which answers are counted for the present rate."""
MOST_OF_REPLY = 300
"""Most characters of the reply that are shown for a failed item."""


@dataclass(frozen=True)
class Failure:
    """A reason why items were given up, with their number."""

    kind: str
    error: str
    items: int


@dataclass(frozen=True)
class FailedItem:
    """An item that was given up."""

    dataset: str
    split: str
    example: str
    system: str
    repeat: int
    error: str
    reply: str
    """Beginning of the model's last reply. Empty if there was none."""


@dataclass(frozen=True, kw_only=True)
class RunFigures(CallSums):
    """Figures of all runs of a model campaign together."""

    answered: int
    failed: int
    left: int
    """Number of items without an answer that have not failed."""
    submitted: int
    """Number of these items that a batch at the provider holds."""
    batches: int
    """Number of batches that the provider has not ended."""
    silence: str | None
    """Error of the last attempt to ask the provider about such a batch. None if it answered."""
    is_stopping: bool
    """Whether a job is asking the provider to stop the batches."""
    not_cancelled: str | None
    """Error of the last attempt to stop the batches. None if it succeeded or there was none."""
    per_minute: float
    """Number of answers in the last minute."""
    refusals: int
    """Number of replies in which the model declined to answer."""
    failures: list[Failure]

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest takes at the present rate. None if there were no answers in the last minute."""
        return self.left / self.per_minute * 60 if self.per_minute else None

    @property
    def cost_per_1000(self) -> float | None:
        """US dollars for 1,000 outputs."""
        return None if self.cost is None or not self.answered else self.cost * 1000 / self.answered

    @property
    def seconds_per_1000(self) -> float | None:
        """Seconds for 1,000 outputs, one after the other."""
        return None if self.seconds_per_output is None else self.seconds_per_output * 1000


def run_figures(session: Session, campaign: Campaign, now: datetime) -> RunFigures:
    """Return the progress and cost of a model campaign."""
    answered, recent = _answers(session, campaign.id, now)
    states = dict(
        session.execute(
            select(ModelClaim.state, func.count())
            .where(ModelClaim.campaign_id == campaign.id)
            .group_by(ModelClaim.state)
        ).all()
    )
    failed = states.get(ClaimState.FAILED, 0)
    own = Completion.campaign_id == campaign.id
    batches = _open_batches(session, campaign.id)
    declined = or_(Completion.finish_reason == "refusal", Completion.error.startswith(REFUSED))
    return RunFigures(
        answered=answered,
        failed=failed,
        left=max(0, _promised(session, campaign.id) - answered - failed),
        submitted=states.get(ClaimState.SUBMITTED, 0),
        batches=batches,
        # Only open batches can be silent or be stopped. Older errors would mislead.
        silence=_why_silent(session, campaign.id) if batches else None,
        is_stopping=bool(batches) and _cancelling(session, campaign.slug)[0] in (JobState.QUEUED, JobState.RUNNING),
        not_cancelled=_why_not_cancelled(session, campaign.slug) if batches else None,
        per_minute=recent * 60 / RATE_OVER.total_seconds(),
        **asdict(sum_calls(session, Completion, own)),
        refusals=count_calls(session, Completion, own, declined),
        failures=_failures(session, campaign.id),
    )


def list_failed(session: Session, campaign: Campaign, *, limit: int = 50) -> list[FailedItem]:
    """Return the items that were given up, each with its last error."""
    same = (Completion.assignment_id == ModelClaim.assignment_id, Completion.item_id == ModelClaim.item_id)
    # A scalar subquery, not a join: an item has a row for every call, and only its last reply is shown.
    last = select(Completion.response).where(*same).order_by(Completion.id.desc()).limit(1).scalar_subquery()
    rows = session.execute(
        select(Dataset.slug, Example.split, Example.key, System.slug, Assignment.repeat, ModelClaim.error, last)
        .select_from(ModelClaim)
        .join(Assignment, Assignment.id == ModelClaim.assignment_id)
        .join(ItemOutput, (ItemOutput.item_id == ModelClaim.item_id) & (ItemOutput.position == 0))
        .join(Output, Output.id == ItemOutput.output_id)
        .join(System, System.id == Output.system_id)
        .join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .where(ModelClaim.campaign_id == campaign.id, ModelClaim.state == ClaimState.FAILED)
        .order_by(ModelClaim.assignment_id, ModelClaim.item_id)
        .limit(limit)
    )
    return [
        FailedItem(dataset, split, example, system, repeat, error or "", _beginning(response))
        for dataset, split, example, system, repeat, error, response in rows
    ]


def cancelling_key(slug: str) -> str:
    """Return the prefix of the keys of the jobs that cancel a campaign's batches."""
    return f"cancel-batches:{slug}:"


def _beginning(response: Mapping[str, Any] | None) -> str:
    content = str((response or {}).get("content") or "").strip()
    return content if len(content) <= MOST_OF_REPLY else f"{content[:MOST_OF_REPLY]} …"


def _cancelling(session: Session, slug: str) -> tuple[str, str | None]:
    """Return state and error of the last job that cancels batches. The state is empty if there was none."""
    # autoescape: slugs may contain "_", which is a wildcard of LIKE.
    last = (
        select(Job.state, Job.error)
        .where(Job.key.startswith(cancelling_key(slug), autoescape=True))
        .order_by(Job.id.desc())
    )
    found = session.execute(last.limit(1)).one_or_none()
    return ("", None) if found is None else (found.state, found.error)


def _why_not_cancelled(session: Session, slug: str) -> str | None:
    state, error = _cancelling(session, slug)
    return error if state == JobState.FAILED else None


def _why_silent(session: Session, campaign_id: int) -> str | None:
    under_way = (ModelBatch.campaign_id == campaign_id, ModelBatch.ended_at.is_(None))
    # Without an external id, the error is of the submission, not of a later question.
    heard = (ModelBatch.external_id.is_not(None), ModelBatch.error.is_not(None))
    return session.scalar(select(ModelBatch.error).where(*under_way, *heard).order_by(ModelBatch.id.desc()).limit(1))


def _answers(session: Session, campaign_id: int, now: datetime) -> tuple[int, int]:
    """Count the answers, and those of the last minute."""
    answered, recent = session.execute(
        select(func.count(), func.count(case((Annotation.completed_at > now - RATE_OVER, 1))))
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign_id, Annotation.status == "complete", Assignment.status.in_(COUNTED))
    ).one()
    return answered, recent


def _promised(session: Session, campaign_id: int) -> int:
    current = (AssignmentStatus.OPEN, *COUNTED)
    return (
        session.scalar(
            select(func.count())
            .select_from(BatchItem)
            .join(Assignment, Assignment.batch_id == BatchItem.batch_id)
            .where(Assignment.campaign_id == campaign_id, Assignment.status.in_(current))
        )
        or 0
    )


def _open_batches(session: Session, campaign_id: int) -> int:
    waiting = select(func.count()).where(ModelBatch.campaign_id == campaign_id, ModelBatch.ended_at.is_(None))
    return session.scalar(waiting) or 0


def _failures(session: Session, campaign_id: int) -> list[Failure]:
    items = func.count()
    rows = session.execute(
        select(ModelClaim.failure, ModelClaim.error, items)
        .where(ModelClaim.campaign_id == campaign_id, ModelClaim.state == ClaimState.FAILED)
        .group_by(ModelClaim.failure, ModelClaim.error)
        .order_by(items.desc(), ModelClaim.error)
        .limit(20)
    )
    return [Failure(kind or "", error or "", count) for kind, error, count in rows]


@dataclass(frozen=True)
class Placements:
    """Counts of the quotes of a model campaign."""

    rules: dict[str, int]
    """Number of quotes placed, by rule, most frequent first."""
    reasons: dict[str, int]
    """Number of quotes without a place, by reason, most frequent first."""

    @property
    def placed(self) -> int:
        """Number of quotes with a place."""
        return sum(self.rules.values())

    @property
    def unplaced(self) -> int:
        """Number of quotes without a place."""
        return sum(self.reasons.values())

    @property
    def quotes(self) -> int:
        """Number of all quotes."""
        return self.placed + self.unplaced

    @property
    def unplaced_percent(self) -> float | None:
        """Percentage of quotes without a place. None if there are no quotes."""
        return 100 * self.unplaced / self.quotes if self.quotes else None


def count_placements(session: Session, campaign: Campaign) -> Placements:
    """Count the quotes of a model campaign by the rule that placed them, or by the reason why they have no place."""
    number = func.count()
    rule = Span.origin["rule"].as_string()
    rules = session.execute(
        select(rule, number)
        .join(Annotation, Annotation.id == Span.annotation_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign.id, Assignment.status.in_(COUNTED))
        .group_by(rule)
        .order_by(number.desc(), rule)
    )
    reasons = session.execute(
        select(Unplaced.reason, number)
        .where(Unplaced.campaign_id == campaign.id, Unplaced.kind == "span")
        .group_by(Unplaced.reason)
        .order_by(number.desc(), Unplaced.reason)
    )
    return Placements({name or "unknown": count for name, count in rules}, {reason: count for reason, count in reasons})
