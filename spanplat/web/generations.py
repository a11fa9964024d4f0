"""Generations: having a model write the outputs of a new system, and watching it."""

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Job, JobState
from spanplat.schemas.definition_file import parse_yaml, validate_as
from spanplat.schemas.generation import GenerationDefinition
from spanplat.services.generations.defining import (
    check_generation,
    create_generation,
    find_generation,
    generation_definition,
    list_generations,
)
from spanplat.services.generations.reporting import generation_figures
from spanplat.services.generations.running import run_generation
from spanplat.services.jobs import cancel, enqueue, find_by_key
from spanplat.services.jobs import pause as pause_job
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import database, reading, transaction
from spanplat.web.waking import wake_worker

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


@blueprint.get("")
@policy("viewer")
def index() -> str:
    """List the generations, with the form for a new one."""
    return _index(STARTER)


@blueprint.post("")
@policy("researcher")
def create() -> AnyResponse:
    """Create a generation; nothing is asked yet."""
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
    """Show what is written, what it has cost, and what the rest will cost."""
    session = reading()
    generation = find_generation(session, slug)
    run = find_by_key(session, _run_key(slug))
    state = run.state if run else ""
    if is_htmx() and request.args.get("run", "") != state:  # the buttons above the live part change too
        return Response(headers={"HX-Refresh": "true"})
    figures = generation_figures(session, generation)
    is_busy = state in (JobState.QUEUED, JobState.RUNNING)
    return unless_unchanged(
        render_template(
            "generation/_progress.html" if is_htmx() else "generation/show.html",
            generation=generation,
            definition=generation_definition(generation),
            figures=figures,
            run=run,
            estimate=None
            if is_htmx() or is_busy or not figures.left
            else run_generation(database(), slug, dry_run=True).estimate,
        )
    )


@blueprint.post("/<slug>/run")
@policy("researcher")
def start(slug: str) -> AnyResponse:
    """Have the worker ask for every output that is not there yet; asking twice starts it once."""
    find_generation(reading(), slug)
    with transaction() as session:
        job = enqueue(session, JOB_KIND, _run_key(slug), {"generation": slug})
    wake_worker(job.id)
    return redirect(url_for("generations.show", slug=slug), 303)


@blueprint.post("/<slug>/run/pause")
@policy("researcher")
def pause(slug: str) -> AnyResponse:
    """Pause the run; calls under way end and are stored, and starting it again goes on from there."""
    with transaction() as session:
        pause_job(session, _run_of(session, slug).id)
    return redirect(url_for("generations.show", slug=slug), 303)


@blueprint.post("/<slug>/run/stop")
@policy("researcher")
def stop(slug: str) -> AnyResponse:
    """Cancel the run; what was written stays."""
    with transaction() as session:
        cancel(session, _run_of(session, slug).id)
    return redirect(url_for("generations.show", slug=slug), 303)


def _index(text: str, problem: str = "") -> str:
    return render_template("generation/index.html", generations=list_generations(reading()), text=text, problem=problem)


def _run_key(slug: str) -> str:
    return f"{JOB_KIND}:{slug}"


def _run_of(session: Session, slug: str) -> Job:
    job = find_by_key(session, _run_key(slug))
    if job is None or job.state not in (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED):
        raise NotFound(f"generation {slug!r} has no run to stop")
    return job
