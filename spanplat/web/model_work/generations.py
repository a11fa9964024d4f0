"""Pages of generations, in which a model writes the outputs of a new system."""

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from flask_babel import lazy_gettext as _
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Generation, Job, JobState
from spanplat.schemas.definition_file import parse_yaml, validate_as
from spanplat.schemas.generation import GenerationDefinition
from spanplat.services.background.jobs import cancel, enqueue, find_by_key
from spanplat.services.background.jobs import pause as pause_job
from spanplat.services.model_work.generations.defining import (
    check_generation,
    create_generation,
    find_generation,
    generation_definition,
    list_generations,
)
from spanplat.services.model_work.generations.reporting import generation_figures
from spanplat.services.model_work.generations.running import run_generation
from spanplat.web.background.dispatch import wake_worker
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import database, reading, transaction
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, number_column, time_column

blueprint = Blueprint("generations", __name__, url_prefix="/admin/generations")

JOB_KIND = "run-generation"
STARTER = """\
slug: my-model
system: my-model
dataset: my-dataset
model:
  provider: openai
  model: gpt-4o-mini
  prompt: |
    Write a text from these data.

    {{ source_text }}
  parameters: {temperature: 0, seed: 42}
  max_cost: 1
"""


GENERATIONS: SortedTable[Generation] = SortedTable(
    {
        "generation": Column(_("Generation"), lambda one: one.slug),
        "system": Column(_("System"), lambda one: one.definition["system"]),
        "dataset": Column(_("Dataset"), lambda one: one.definition["dataset"]),
        "model": Column(_("Model"), lambda one: one.definition["model"]["model"]),
        "created": time_column(_("Created"), lambda one: one.created_at),
    }
)


FAILURES: SortedTable[tuple[str, int]] = SortedTable(
    {
        "last-error": Column(_("Last error"), lambda row: row[0]),
        "items": number_column(_("Items"), lambda row: row[1]),
    }
)


@blueprint.get("")
@policy("viewer")
def index() -> str:
    """List the generations, and show the form for a new one."""
    return _index(STARTER)


@blueprint.post("")
@policy("researcher")
def create() -> AnyResponse:
    """Create a generation without starting it."""
    text = request.form.get("definition", "")
    try:
        definition = validate_as(parse_yaml(text), GenerationDefinition)
        check_generation(reading(), definition)
    except (InvalidInput, NotFound, Conflict) as error:
        return make_response(_index(text, problem=str(error)), 422)
    with transaction() as session:
        create_generation(session, definition)
    return redirect(url_for("generations.show", slug=definition.slug), 303)


@blueprint.get("/<slug>")
@policy("viewer")
def show(slug: str) -> Response:
    """Show the progress, the cost so far, and the estimated cost of the rest."""
    session = reading()
    generation = find_generation(session, slug)
    run = find_by_key(session, _run_key(slug))
    state = run.state if run else ""
    if is_htmx() and request.headers.get("Run-State", "") != state:  # the buttons above the live part change too
        return Response(headers={"HX-Refresh": "true"})
    figures = generation_figures(session, generation)
    failures = list(figures.failures.items())
    is_busy = state in (JobState.QUEUED, JobState.RUNNING)
    return unless_unchanged(
        render_template(
            "generation/_progress.html" if is_htmx() else "generation/show.html",
            generation=generation,
            definition=generation_definition(generation),
            figures=figures,
            failures=FAILURES.view(
                "failures", TablePage("generations.show", {"slug": slug}), failures, part="generation-progress"
            ),
            run=run,
            estimate=None
            if is_htmx() or is_busy or not figures.left
            else run_generation(database(), slug, dry_run=True).estimate,
        )
    )


@blueprint.post("/<slug>/run")
@policy("researcher")
def start(slug: str) -> AnyResponse:
    """Queue the missing outputs for the worker. A second request starts no second run."""
    find_generation(reading(), slug)
    with transaction() as session:
        job = enqueue(session, JOB_KIND, _run_key(slug), {"generation": slug})
    wake_worker(job.id)  # after the commit: the worker looks for the row at once
    return redirect(url_for("generations.show", slug=slug), 303)


@blueprint.post("/<slug>/run/pause")
@policy("researcher")
def pause(slug: str) -> AnyResponse:
    """Pause the run. Running calls end and are stored; a later start continues from there."""
    with transaction() as session:
        pause_job(session, _run_of(session, slug).id)
    return redirect(url_for("generations.show", slug=slug), 303)


@blueprint.post("/<slug>/run/stop")
@policy("researcher")
def stop(slug: str) -> AnyResponse:
    """Cancel the run. Finished outputs stay."""
    with transaction() as session:
        cancel(session, _run_of(session, slug).id)
    return redirect(url_for("generations.show", slug=slug), 303)


def _index(text: str, problem: str = "") -> str:
    generations = GENERATIONS.view("generations", TablePage("generations.index"), list_generations(reading()))
    return render_template("generation/index.html", generations=generations, text=text, problem=problem)


def _run_key(slug: str) -> str:
    return f"{JOB_KIND}:{slug}"


def _run_of(session: Session, slug: str) -> Job:
    job = find_by_key(session, _run_key(slug))
    if job is None or job.state not in (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED):
        raise NotFound(f"generation {slug!r} has no run to stop")
    return job
