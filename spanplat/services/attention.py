"""What somebody should look at, over all campaigns: the list on top of the overview."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Campaign, CampaignStatus, Job, JobState, ModelBatch
from spanplat.services.definitions import definition_of
from spanplat.services.generations.defining import generation_definition, list_generations
from spanplat.services.generations.reporting import spent
from spanplat.services.generations.running import generation_stops_at_ceiling
from spanplat.services.jobs import find_by_key, list_silent, silent_since
from spanplat.services.progress import CampaignProgress
from spanplat.services.runs import stops_at_ceiling
from spanplat.services.studies.defining import list_studies, study_definition
from spanplat.services.studies.running import study_stops_at_ceiling

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
class SpentMoney:
    """A study or a generation whose model is not asked any more, for the next call might cost too much."""

    kind: WorkKind
    slug: str
    title: str
    ceiling: float
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


Attention = SilentWork | SpentMoney | CampaignAttention
"""One thing that somebody should look at."""


def list_attention(session: Session, rows: Sequence[CampaignProgress], now: datetime) -> list[Attention]:
    """Return what somebody should look at: work without a worker, then studies and generations, then campaign by campaign.

    Parameters
    ----------
    session
        A session that may read.
    rows
        The campaigns, and how far they are.
    now
        The present moment.
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


def _studies_at_ceiling(session: Session, rows: Sequence[CampaignProgress]) -> Iterator[SpentMoney]:
    """Find the studies whose models are not asked any more; only what was run is looked at."""
    by_slug = {row.campaign.slug: row for row in rows}
    for study in list_studies(session):
        definition = study_definition(study)
        if definition.max_cost is None or not _is_at_rest(session, "run-study", study.slug):
            continue
        own = [by_slug[slug] for name in definition.settings({}) if (slug := definition.campaign(name)) in by_slug]
        was_run = any(row.cost is not None for row in own)
        if not was_run or any(row.is_running or row.has_failed for row in own):
            continue
        with suppress(InvalidInput, Conflict):  # a variant cannot be run as it is, which its page says
            if study_stops_at_ceiling(session, study):
                yield SpentMoney("study", study.slug, study.title, definition.max_cost)


def _generations_at_ceiling(session: Session, now: datetime) -> Iterator[SpentMoney]:
    """Find the generations whose model is not asked any more; only what was run is looked at."""
    for generation in list_generations(session):
        ceiling = generation_definition(generation).model.max_cost
        is_running = generation.lease_expires_at is not None and generation.lease_expires_at > now
        if ceiling is None or is_running or not _is_at_rest(session, "run-generation", generation.slug):
            continue
        if any(spent(session, generation)) and generation_stops_at_ceiling(session, generation):
            yield SpentMoney("generation", generation.slug, generation.slug, ceiling)


def _is_at_rest(session: Session, kind: str, slug: str) -> bool:
    """Tell whether no run is under way or about to begin, and the last one did not end with an error."""
    job = find_by_key(session, f"{kind}:{slug}")
    return job is None or job.state not in (JobState.QUEUED, JobState.RUNNING, JobState.FAILED)


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
