"""Running a prompt study: one variant after the other, under one ceiling of cost; running again goes on where it stopped."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import InvalidInput, Unavailable
from spanplat.llm.clock import Clock
from spanplat.models import Campaign, CampaignStatus, Study
from spanplat.schemas.study import StudyDefinition
from spanplat.services.definitions import definition_of
from spanplat.services.ensembles.filling import fill_ensemble
from spanplat.services.importing.progress import OnProgress, ignore_progress
from spanplat.services.model_runs.questions import first_free, spent_and_reserved
from spanplat.services.model_runs.report import RunReport
from spanplat.services.runs import run_campaign, stops_at_ceiling
from spanplat.services.studies.defining import find_study, is_combined, study_definition, variants_of


@dataclass
class StudyRun:
    """What a run of a study did, or what it would need."""

    study: str
    runs: dict[str, RunReport] = field(default_factory=dict)
    """By variant."""
    problems: dict[str, str] = field(default_factory=dict)
    """Why variants could not be asked to the end, by variant."""
    max_cost: float | None = None
    ensemble: str | None = None
    """The campaign that was made of the answers of all variants."""

    @property
    def cost(self) -> float | None:
        """US dollars that this run cost, or would: None where a price is not known."""
        costs = [run.estimate.cost if run.estimate else run.cost for run in self.runs.values()]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def left(self) -> int:
        """Items still without an answer."""
        return sum(run.left for run in self.runs.values())


@dataclass
class _Steps:
    """Progress over all variants as one number."""

    totals: dict[str, int]
    on_progress: OnProgress
    done: dict[str, int] = field(default_factory=dict)

    def of(self, variant: str) -> OnProgress:
        """Return what the run of one variant tells its progress to."""

        def tell(done: int, total: int | None) -> None:
            self.done[variant] = done
            self.totals[variant] = max(self.totals[variant], total or 0)
            self.on_progress(sum(self.done.values()), sum(self.totals.values()))

        return tell


def run_study(
    database: Database,
    slug: str,
    *,
    dry_run: bool = False,
    concurrency: int | None = None,
    max_cost: float | None = None,
    on_progress: OnProgress = ignore_progress,
    on_report: Callable[[StudyRun], None] = lambda _: None,
    wait: bool = True,
    clock: Clock | None = None,
) -> StudyRun:
    """Ask about every item that a variant of the study has no answer to.

    A variant that cannot go on does not keep the others from being asked.

    Parameters
    ----------
    database
        Where the study is.
    slug
        The study.
    dry_run
        Only estimate what it would take.
    concurrency
        Questions at a time, in place of the definitions'.
    max_cost
        US dollars that all calls of the study may cost, in place of the definition's.
    on_progress
        Told how many items are done, and of how many; when it raises, the run ends with what it raised.
    on_report
        Told what the run has done so far.
    wait
        Whether to wait for batches that a provider works on.
    clock
        Lets pauses pass.

    Raises
    ------
    NotFound
        If there is no such study.
    InvalidInput
        If a ceiling is set and the price of a model is not known.
    """
    with database.reading() as session:
        study = find_study(session, slug)
        definition, variants = study_definition(study), variants_of(session, study)
    ceiling = max_cost if max_cost is not None else definition.max_cost
    report = StudyRun(slug, max_cost=ceiling)
    asked = {name: campaign for name, campaign in variants.items() if campaign.status == CampaignStatus.OPEN}
    for name in variants.keys() - asked.keys():
        report.problems[name] = (
            f"its campaign is {variants[name].status}; to go on: spanplat campaign open {variants[name].slug}"
        )
    estimates = {
        name: run_campaign(database, campaign.slug, dry_run=True, max_cost=ceiling) for name, campaign in asked.items()
    }
    if dry_run:
        report.runs = estimates
        return report
    steps = _Steps({name: run.left for name, run in estimates.items()}, on_progress)
    batches = [name for name, campaign in asked.items() if _hands_in(campaign)]
    # Batches are handed in first, so that they are worked on while others are asked, and looked after in the end.
    for name in [*batches, *(name for name in asked if name not in batches), *(batches if wait else ())]:
        is_again = name in report.runs
        try:
            report.runs[name] = run_campaign(
                database,
                asked[name].slug,
                concurrency=concurrency,
                max_cost=_own_ceiling_now(database, list(variants.values()), asked[name], ceiling),
                on_progress=steps.of(name),
                wait=is_again,
                clock=clock,
            )
        except (InvalidInput, Unavailable) as error:
            report.problems[name] = str(error)
        on_report(report)
    report.ensemble = _combined(database, definition, report)
    return report


def _combined(database: Database, definition: StudyDefinition, report: StudyRun) -> str | None:
    """Put the answers of all variants together, once there are all; return the campaign's name, also where it was made before."""
    if not definition.ensemble:
        return None
    name = definition.ensemble_campaign
    with database.reading() as session:
        if is_combined(session, name):
            return name
    if report.problems or report.left:
        return None
    members = [definition.campaign(variant) for variant in definition.settings({})]
    fill_ensemble(database, name, members, title=f"{definition.title}: ensemble"[:200])
    return name


def _hands_in(campaign: Campaign) -> bool:
    settings = definition_of(campaign).model
    return settings is not None and settings.mode == "batch"


def study_stops_at_ceiling(session: Session, study: Study) -> bool:
    """Tell whether any next call might cost more than is left under the study's ceiling, so that a run would ask nothing.

    A variant that has a lower ceiling of its own may have reached that one; the study has reached its own if one variant did not.

    Raises
    ------
    InvalidInput, Conflict
        If a variant could not be run.
    """
    ceiling = study_definition(study).max_cost
    if ceiling is None:
        return False
    variants = list(variants_of(session, study).values())
    waiting = [one for one in variants if one.status == CampaignStatus.OPEN and first_free(session, one.id)]
    own = {one.id: _own_ceiling(session, variants, one, ceiling) for one in waiting}
    left = {one.id: _left_for(session, variants, one, ceiling) for one in waiting}
    return all(stops_at_ceiling(session, one, own[one.id]) for one in waiting) and any(
        stops_at_ceiling(session, one, left[one.id]) for one in waiting
    )


def _own_ceiling_now(
    database: Database, variants: list[Campaign], campaign: Campaign, ceiling: float | None
) -> float | None:
    with database.reading() as session:
        return _own_ceiling(session, variants, campaign, ceiling)


def _own_ceiling(session: Session, variants: list[Campaign], campaign: Campaign, ceiling: float | None) -> float | None:
    """Return what the calls of one campaign may cost in all, when those of all variants together may cost ``ceiling``."""
    settings = definition_of(campaign).model
    own = settings.max_cost if settings else None
    if ceiling is None:
        return own
    left = _left_for(session, variants, campaign, ceiling)
    return left if own is None else min(own, left)


def _left_for(session: Session, variants: list[Campaign], campaign: Campaign, ceiling: float) -> float:
    """Return what the other variants leave of the ceiling for the calls of one campaign."""
    others = sum(sum(spent_and_reserved(session, other.id)) for other in variants if other.id != campaign.id)
    return max(0.0, ceiling - others)
