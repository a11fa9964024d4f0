"""Pages of prompt studies: creation, price, run and result table."""

from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, g, make_response, redirect, render_template, request, url_for
from flask_babel import lazy_gettext as _lazy
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.llm.prompts.library import PRESETS, preset_summary
from spanplat.models import Job, JobState, Study
from spanplat.schemas.definition_file import DefinitionSource, validate_as
from spanplat.schemas.protocols import PROTOCOLS, protocol_summary
from spanplat.schemas.slug import slugify
from spanplat.schemas.study import StudyDefinition
from spanplat.services.agreement.cautions import find_cautions
from spanplat.services.agreement.leaderboard import LEADERBOARD
from spanplat.services.agreement.leaderboard_report import Leaderboard
from spanplat.services.background.computations import ResultQuestion
from spanplat.services.background.jobs import cancel, enqueue, find_by_key
from spanplat.services.background.jobs import pause as pause_job
from spanplat.services.background.results import StoredResult
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns
from spanplat.services.model_work.studies.defining import (
    create_study,
    find_study,
    is_combined,
    list_studies,
    plan_study,
    study_definition,
)
from spanplat.services.model_work.studies.reporting import (
    HEADLINES,
    Variant,
    compared,
    load_variants,
    study_options,
    study_rows,
)
from spanplat.services.model_work.studies.running import run_study
from spanplat.web.address import AddressQuery
from spanplat.web.agreement.measures import RankingMeasure, ranking_titles
from spanplat.web.background.computed import ComputedPart, answer, part_context
from spanplat.web.background.dispatch import wake_worker
from spanplat.web.downloads import table_file
from spanplat.web.model_work.studies_view import compared_table, study_tables
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import actor, database, reading, transaction
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, number_column, time_column

blueprint = Blueprint("studies", __name__, url_prefix="/admin")

JOB_KIND = "run-study"
STUDIES: SortedTable[Study] = SortedTable(
    {
        "study": Column(_lazy("Study"), lambda study: study.title),
        "compared-with": Column(_lazy("Compared with"), lambda study: study.definition.get("gold")),
        "created": time_column(_lazy("Created"), lambda study: study.created_at),
    },
    lambda study: [study.title, study.slug, study.definition.get("gold") or ""],
)
VARIANTS: SortedTable[Variant] = SortedTable(
    {
        "variant": Column(_lazy("Variant"), lambda variant: variant.name),
        "preset": Column(_lazy("Preset"), lambda variant: variant.preset),
        "model": Column(_lazy("Model"), lambda variant: variant.model),
        "answered": Column(_lazy("Answered"), lambda variant: variant.done, greatest_first=True),
        "failed": number_column(_lazy("Failed"), lambda variant: variant.run.failed),
        "cost": number_column(_lazy("Cost"), lambda variant: variant.run.cost),
    }
)


class StudyQuery(AddressQuery):
    """Query of a study's table."""

    study: str = ""
    measure: RankingMeasure = "char.hard"


def _variants(study: Study) -> list[Variant]:
    """Load the figures of the variants once per request: the page, its computation and its table all use them."""
    loaded: dict[int, list[Variant]] = g.setdefault("study_variants", {})
    if study.id not in loaded:
        loaded[study.id] = load_variants(reading(), study, datetime.now(UTC))
    return loaded[study.id]


def _question(query: StudyQuery) -> ResultQuestion[Leaderboard]:
    study = find_study(reading(), query.study)
    campaigns = compared(study, _variants(study))
    if not campaigns:
        raise NotFound(f"study {query.study!r} has no gold campaign, or no answers yet: there is nothing to compare")
    return ResultQuestion(LEADERBOARD, campaigns, study_options())


def _table(query: StudyQuery, result: StoredResult[Leaderboard]) -> dict[str, Any]:
    session = reading()
    study = find_study(session, query.study)
    variants = _variants(study)
    campaigns = [find_campaign(session, slug) for slug in compared(study, variants)]
    shown = list(dict.fromkeys((query.measure, *HEADLINES)))
    place = TablePage("studies.show", {"slug": query.study, "measure": query.measure})
    rows = study_rows(variants, result.report, query.measure)
    return {
        "rows": compared_table(query.measure, shown).view("variants-compared", place, rows, beside=("variants",)),
        "board": result.report,
        "measures": ranking_titles(),
        "shown": shown,
        "cautions": find_cautions(session, campaigns, revisions=result.revisions),
    }


PART = ComputedPart(
    name="study",
    title=_lazy("Comparing every variant with the gold campaign, by every measure …"),
    query=StudyQuery,
    template="study/_table.html",
    question=_question,
    context=_table,
    address=lambda query: url_for("studies.show", slug=query.study, measure=query.measure),
)


@blueprint.get("/studies")
@policy("viewer")
def index() -> str:
    """List the studies, and show the form for a new one."""
    return _index({})


@blueprint.post("/studies")
@policy("researcher")
def create() -> AnyResponse:
    """Create a study with a campaign for each variant, without starting it."""
    try:
        definition = _definition_sent()
        create_study(database().acting_as(actor()), definition, plan_study(reading(), definition))
    except (InvalidInput, NotFound, Conflict) as error:
        return make_response(_index(request.form, problem=str(error)), 422)
    return redirect(url_for("studies.show", slug=definition.slug), 303)


@blueprint.get("/studies/<slug>")
@policy("viewer")
def show(slug: str) -> Response:
    """Show the progress of the study, and the computed part of its table."""
    session = reading()
    study = find_study(session, slug)
    variants = _variants(study)
    run = find_by_key(session, _run_key(slug))
    state = run.state if run else ""
    if is_htmx() and request.headers.get("Run-State", "") != state:  # the buttons and the table below change too
        return Response(headers={"HX-Refresh": "true"})
    query = StudyQuery.from_request().model_copy(update={"study": slug})
    definition = study_definition(study)
    context = {"study": study, "definition": definition, "variants": variants, "run": run, "query": query}
    place = TablePage("studies.show", {"slug": slug, **query.model_dump(exclude_defaults=True, exclude={"study"})})
    context["table"] = VARIANTS.view("variants", place, variants, part="study-progress", beside=("variants-compared",))
    context["is_combined"] = is_combined(session, definition.ensemble_campaign)
    if is_htmx():
        return unless_unchanged(render_template("study/_progress.html", **context))
    if compared(study, variants):
        context |= part_context(PART, query)
    return unless_unchanged(render_template("study/show.html", **context))


@blueprint.get("/studies/<slug>/price")
@policy("viewer")
def price(slug: str) -> str:
    """Estimate the cost of all items without an answer."""
    report = run_study(database(), slug, dry_run=True)
    study = find_study(reading(), slug)
    template = "study/_price.html" if is_htmx() else "study/price.html"
    return render_template(template, study=study, report=report)


@blueprint.post("/studies/<slug>/run")
@policy("researcher")
def start(slug: str) -> AnyResponse:
    """Queue all items without an answer for the worker. A second request starts no second run."""
    find_study(reading(), slug)
    with transaction() as session:
        job = enqueue(session, JOB_KIND, _run_key(slug), {"study": slug})
    wake_worker(job.id)  # after the commit: the worker looks for the row at once
    return redirect(url_for("studies.show", slug=slug), 303)


@blueprint.post("/studies/<slug>/run/pause")
@policy("researcher")
def pause(slug: str) -> AnyResponse:
    """Pause the run. Running calls end and are stored; a later start continues from there."""
    with transaction() as session:
        pause_job(session, _run_of(session, slug).id)
    return redirect(url_for("studies.show", slug=slug), 303)


@blueprint.post("/studies/<slug>/run/stop")
@policy("researcher")
def stop(slug: str) -> AnyResponse:
    """Cancel the run. Answers stay."""
    with transaction() as session:
        cancel(session, _run_of(session, slug).id)
    return redirect(url_for("studies.show", slug=slug), 303)


@blueprint.get("/study-table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return a table of the study as a file."""
    query, board = answer(PART)
    variants = _variants(find_study(reading(), query.study))
    return table_file(study_tables(query.study, variants, board, query.measure), name)


def _index(form: Any, problem: str = "") -> str:
    campaigns = list_campaigns(reading())
    protocols = {name: protocol_summary(name) for name in PROTOCOLS}
    return render_template(
        "study/index.html",
        studies=STUDIES.view("studies", TablePage("studies.index"), list_studies(reading())),
        gold=[campaign for campaign in campaigns if campaign.kind != "llm"],
        models=[campaign for campaign in campaigns if campaign.kind == "llm"],
        presets={name: preset_summary(name) for name in PRESETS if name != "consolidate"},
        protocols=protocols,
        form=form,
        chosen=form.getlist("presets") if problem else [],
        problem=problem,
    )


def _definition_sent() -> StudyDefinition:
    form = request.form
    title, ceiling = form.get("title", "").strip(), form.get("max_cost", "").strip()
    content: dict[str, Any] = {
        "slug": form.get("slug", "").strip() or slugify(title),
        "title": title,
        "gold": form.get("gold") or None,
        "like": form.get("like", ""),
        "presets": form.getlist("presets"),
        "models": [name.strip() for name in form.get("models", "").splitlines() if name.strip()],
    }
    if ceiling:
        content["max_cost"] = ceiling
    if form.get("protocol"):
        content["protocol"] = form["protocol"]
    if "ensemble" in form:
        content["ensemble"] = True
    return validate_as(DefinitionSource("study", content, {}), StudyDefinition)


def _run_key(slug: str) -> str:
    return f"{JOB_KIND}:{slug}"


def _run_of(session: Session, slug: str) -> Job:
    job = find_by_key(session, _run_key(slug))
    if job is None or job.state not in (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED):
        raise NotFound(f"study {slug!r} has no run to stop")
    return job
