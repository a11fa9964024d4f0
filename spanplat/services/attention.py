"""What somebody should look at, over all campaigns: the list on top of the overview."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Campaign, CampaignStatus, Job, JobState, ModelBatch
from spanplat.services.definitions import definition_of
from spanplat.services.jobs import list_silent, silent_since
from spanplat.services.progress import CampaignProgress
from spanplat.services.runs import stops_at_ceiling

WorkKind = Literal["campaign", "study", "generation", "import", "computation"]

_KINDS: dict[str, WorkKind] = {
    "run-campaign": "campaign",
    "cancel-batches": "campaign",
    "run-study": "study",
    "run-generation": "generation",
    "import-dataset": "import",
}


@dataclass(frozen=True)
class CampaignAttention:
    """What somebody should look at in one campaign."""

    reason: str
    """As `CampaignProgress.attention` names it, or ``ceiling``: its model is not asked any more, for the next call might cost too
    much."""
    progress: CampaignProgress
    ceiling: float | None = None
    """US dollars."""


@dataclass(frozen=True)
class SilentWork:
    """Work that no worker is at."""

    kind: WorkKind
    slug: str
    """Of the campaign, study or generation; empty for imports and computations, which are told of together."""
    title: str
    jobs: int
    since: datetime
    """When a worker was heard of last; where none has taken it, when it was asked for."""
    was_taken: bool
    """Whether a worker was at it."""


def list_attention(
    session: Session, rows: Sequence[CampaignProgress], now: datetime
) -> list[SilentWork | CampaignAttention]:
    """Return what somebody should look at: work without a worker first, then campaign by campaign.

    Parameters
    ----------
    session
        A session that may read.
    rows
        The campaigns, and how far they are.
    now
        The present moment.
    """
    found: list[SilentWork | CampaignAttention] = [*_silent_work(session, rows, now)]
    for row in rows:
        found += [CampaignAttention(reason, row) for reason in row.attention]
        if (ceiling := _ceiling_reached(session, row)) is not None:
            found.append(CampaignAttention("ceiling", row, ceiling))
    return found


def _ceiling_reached(session: Session, row: CampaignProgress) -> float | None:
    """Return the ceiling of a campaign whose model is not asked any more, as its page tells; only what was run is looked at."""
    campaign = row.campaign
    if campaign.kind != "llm" or campaign.status != CampaignStatus.OPEN or row.cost is None:
        return None
    if row.is_running or row.is_finished or row.has_failed:
        return None
    settings = definition_of(campaign).model
    if settings is None or settings.max_cost is None:
        return None
    try:
        return settings.max_cost if stops_at_ceiling(session, campaign) else None
    except (InvalidInput, Conflict):  # it cannot be run as it is, which its page says
        return None


def _silent_work(session: Session, rows: Iterable[CampaignProgress], now: datetime) -> list[SilentWork]:
    silent = _without_providers_work(session, list_silent(session, now))
    titles = {row.campaign.slug: row.campaign.title for row in rows} if silent else {}
    found: dict[tuple[WorkKind, str], list[Job]] = {}
    for job in silent:
        kind = _KINDS.get(job.kind, "computation")
        slug = str(job.payload.get(kind, ""))
        found.setdefault((kind, slug), []).append(job)
    return [
        SilentWork(
            kind,
            slug,
            titles.get(slug, slug) if kind == "campaign" else slug,
            len(jobs),
            min(since for job in jobs if (since := silent_since(job, now))),
            any(job.state == JobState.RUNNING for job in jobs),
        )
        for (kind, slug), jobs in found.items()
    ]


def _without_providers_work(session: Session, silent: Sequence[Job]) -> list[Job]:
    """Leave out what a worker has put back because a provider works on it; it looks again every minute."""
    put_back = {job.id for job in silent if job.state == JobState.QUEUED and job.started_at is not None}
    if not put_back:
        return list(silent)
    at_provider = set(
        session.scalars(
            select(Campaign.slug)
            .join(ModelBatch, ModelBatch.campaign_id == Campaign.id)
            .where(ModelBatch.ended_at.is_(None))
            .distinct()
        )
    )
    return [job for job in silent if job.id not in put_back or not _is_among(job, at_provider)]


def _is_among(job: Job, campaigns: set[str]) -> bool:
    """Tell whether a job is about one of these campaigns."""
    study = job.payload.get("study")
    variants = [slug for slug in campaigns if slug.startswith(f"{study}-")] if study else []
    return bool(variants) or job.payload.get("campaign") in campaigns
