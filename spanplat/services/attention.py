"""List of problems that need attention, over all campaigns; shown on top of the overview."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Campaign, CampaignStatus, Job, JobState, ModelBatch
from spanplat.services.background import find_by_key, list_silent, silent_since
from spanplat.services.campaigns import CampaignProgress, definition_of
from spanplat.services.model_work import (
    generation_definition,
    generation_spending,
    generation_stops_at_ceiling,
    list_generations,
    list_studies,
    stops_at_ceiling,
    study_definition,
    study_stops_at_ceiling,
)

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
    """Problem of one campaign."""

    reason: str
    """Name from `CampaignProgress.attention`, or ``ceiling``: its model is no longer called, because the next call might cost too
    much."""
    progress: CampaignProgress
    ceiling: float | None = None
    """US dollars."""


@dataclass(frozen=True)
class SpentMoney:
    """Study or generation whose model is no longer called, because the next call might cost too much."""

    kind: WorkKind
    slug: str
    title: str
    ceiling: float
    """US dollars."""


@dataclass(frozen=True)
class SilentWork:
    """Requested work on which no worker is running."""

    kind: WorkKind
    slug: str
    """Slug of the campaign, study or generation; empty for imports and computations, which are listed together."""
    title: str
    jobs: int
    since: datetime
    """Time of the last sign of a worker; if none has taken the work, the time of the request."""
    was_taken: bool
    """Whether a worker had taken the work."""


Attention = SilentWork | SpentMoney | CampaignAttention
"""One problem that needs attention."""


def list_attention(session: Session, rows: Sequence[CampaignProgress], now: datetime) -> list[Attention]:
    """Return all problems: first work without a worker, then studies and generations, then each campaign.

    Parameters
    ----------
    session
        A session that may read.
    rows
        The progress of the campaigns.
    now
        The present time.
    """
    found: list[Attention] = [
        *_silent_work(session, rows, now),
        *_studies_at_ceiling(session, rows),
        *_generations_at_ceiling(session, now),
    ]
    for row in rows:
        found += [CampaignAttention(reason, row) for reason in row.attention]
        if (ceiling := _ceiling_reached(session, row)) is not None:
            found.append(CampaignAttention("ceiling", row, ceiling))
    return found


def _ceiling_reached(session: Session, row: CampaignProgress) -> float | None:
    """Return the cost ceiling of a campaign that has reached it; None for all others."""
    campaign = row.campaign
    # Cheap tests come first. Without a known cost, the campaign was never run or the price of a reply is not known.
    if campaign.kind != "llm" or campaign.status != CampaignStatus.OPEN or row.cost is None:
        return None
    if row.is_running or row.is_finished or row.has_failed:
        return None
    settings = definition_of(campaign).model
    if settings is None or settings.max_cost is None:
        return None
    try:
        return settings.max_cost if stops_at_ceiling(session, campaign) else None
    # The campaign cannot be run as it is. Its page says why.
    except (InvalidInput, Conflict):
        return None


def _studies_at_ceiling(session: Session, rows: Sequence[CampaignProgress]) -> Iterator[SpentMoney]:
    """Yield the studies that have reached their cost ceiling; studies that were never run are left out."""
    by_slug = {row.campaign.slug: row for row in rows}
    for study in list_studies(session):
        definition = study_definition(study)
        if definition.max_cost is None or not _is_at_rest(session, "run-study", study.slug):
            continue
        own = [by_slug[slug] for name in definition.settings({}) if (slug := definition.campaign(name)) in by_slug]
        was_run = any(row.cost is not None for row in own)
        if not was_run or any(row.is_running or row.has_failed for row in own):
            continue
        # These errors mean that a variant cannot be run as it is. Its page says why.
        with suppress(InvalidInput, Conflict):
            if study_stops_at_ceiling(session, study):
                yield SpentMoney("study", study.slug, study.title, definition.max_cost)


def _generations_at_ceiling(session: Session, now: datetime) -> Iterator[SpentMoney]:
    """Yield the generations that have reached their cost ceiling; generations that were never run are left out."""
    for generation in list_generations(session):
        ceiling = generation_definition(generation).model.max_cost
        is_running = generation.lease_expires_at is not None and generation.lease_expires_at > now
        if ceiling is None or is_running or not _is_at_rest(session, "run-generation", generation.slug):
            continue
        spending = generation_spending(session, generation.id)
        was_run = spending.known > 0 or spending.unknown > 0
        if was_run and generation_stops_at_ceiling(session, generation):
            yield SpentMoney("generation", generation.slug, generation.slug, ceiling)


def _is_at_rest(session: Session, kind: str, slug: str) -> bool:
    """Return whether no run is queued or running, and the last one did not fail."""
    job = find_by_key(session, f"{kind}:{slug}")
    return job is None or job.state not in (JobState.QUEUED, JobState.RUNNING, JobState.FAILED)


def _silent_work(session: Session, rows: Iterable[CampaignProgress], now: datetime) -> list[SilentWork]:
    silent = _without_providers_work(session, list_silent(session, now))
    titles = {row.campaign.slug: row.campaign.title for row in rows} if silent else {}
    found: dict[tuple[WorkKind, str], list[Job]] = {}
    for job in silent:
        kind = _KINDS.get(job.kind, "computation")
        # The payload of a run has the slug under the name of its kind; imports and computations have no such entry.
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
    """Leave out jobs that a worker has put back because a provider still works on their batch; it looks again every minute."""
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
    """Return whether a job belongs to one of these campaigns."""
    study = job.payload.get("study")
    # The campaigns of a study have its slug as prefix.
    variants = [slug for slug in campaigns if slug.startswith(f"{study}-")] if study else []
    return bool(variants) or job.payload.get("campaign") in campaigns
