"""Running a prompt study: one variant after the other, under one ceiling of cost. A second run continues the first."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import InvalidInput, Unavailable
from spanplat.llm.clock import Clock
from spanplat.models import Campaign, CampaignStatus, Study
from spanplat.schemas.study import StudyDefinition
from spanplat.services.background import OnProgress, ignore_progress
from spanplat.services.campaigns import definition_of
from spanplat.services.model_work.budget import campaign_spending
from spanplat.services.model_work.claims import first_free
from spanplat.services.model_work.ensembles.filling import fill_ensemble
from spanplat.services.model_work.running import RunReport, run_campaign, stops_at_ceiling
from spanplat.services.model_work.studies.defining import find_study, is_combined, study_definition, variants_of


@dataclass
class StudyRun:
    """Report of a run of a study, or its estimate."""

    study: str
    runs: dict[str, RunReport] = field(default_factory=dict)
    """Reports by variant."""
    problems: dict[str, str] = field(default_factory=dict)
    """Reasons why variants could not be finished, by variant."""
    max_cost: float | None = None
    ensemble: str | None = None
    """Campaign that combines the answers of all variants."""

    @property
    def cost(self) -> float | None:
        """US dollars that this run cost or would cost. None if a price is not known."""
        costs = [run.estimate.cost if run.estimate else run.cost for run in self.runs.values()]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def left(self) -> int:
        """Number of items still without an answer."""
        return sum(run.left for run in self.runs.values())


@dataclass
class _Steps:
    """Progress over all variants as one number."""

    totals: dict[str, int]
    on_progress: OnProgress
    done: dict[str, int] = field(default_factory=dict)

    def of(self, variant: str) -> OnProgress:
        """Return the progress callback for the run of one variant."""

        def tell(done: int, total: int | None) -> None:
            self.done[variant] = done
            # The total of a run leaves out the items of other runs. The total of all variants must not shrink for that.
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

    If one variant cannot go on, the others are still run.

    Parameters
    ----------
    database
        Database with the study.
    slug
        The study.
    dry_run
        Only estimate tokens and cost; send nothing.
    concurrency
        Calls at a time, instead of the numbers in the definitions.
    max_cost
        Ceiling in US dollars for all calls of the study, instead of the one in the definition.
    on_progress
        Called with the number of items done and the total. When it raises, the run ends and raises the same.
    on_report
        Called with the report of the run so far.
    wait
        Whether to wait for batches that a provider works on.
    clock
        Clock that the pauses wait on.

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
    # Batches are submitted first, so that the provider works on them while the others run. Their results are fetched at the end.
    for name in [*batches, *(name for name in asked if name not in batches), *(batches if wait else ())]:
        # A variant in batch mode comes twice: first to submit without waiting, then to wait for the results.
        is_again = name in report.runs
        try:
            report.runs[name] = run_campaign(
                database,
                asked[name].slug,
                concurrency=concurrency,
                # Computed before each run, because the runs before it have spent part of the common ceiling.
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
    """Combine the answers of all variants once all are there. Return the campaign's name, also if it existed before, or None."""
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
    """Return whether every next call might cost more than the study's ceiling leaves, so that a run would ask nothing.

    If every variant has only reached a lower ceiling of its own, the study has not reached its ceiling.

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
    # Every variant must stand still, and for at least one the study's own ceiling must be the reason.
    return all(stops_at_ceiling(session, one, own[one.id]) for one in waiting) and any(
        stops_at_ceiling(session, one, left[one.id]) for one in waiting
    )


def _own_ceiling_now(
    database: Database, variants: list[Campaign], campaign: Campaign, ceiling: float | None
) -> float | None:
    with database.reading() as session:
        return _own_ceiling(session, variants, campaign, ceiling)


def _own_ceiling(session: Session, variants: list[Campaign], campaign: Campaign, ceiling: float | None) -> float | None:
    """Return the ceiling of one campaign, if all variants together may cost ``ceiling``."""
    settings = definition_of(campaign).model
    own = settings.max_cost if settings else None
    if ceiling is None:
        return own
    left = _left_for(session, variants, campaign, ceiling)
    return left if own is None else min(own, left)


def _left_for(session: Session, variants: list[Campaign], campaign: Campaign, ceiling: float) -> float:
    """Return the part of the ceiling that the other variants leave for one campaign."""
    # Reservations count too, because batches of other variants may still be under way.
    others = sum(campaign_spending(session, other.id).committed for other in variants if other.id != campaign.id)
    return max(0.0, ceiling - others)
