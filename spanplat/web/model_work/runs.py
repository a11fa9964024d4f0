"""Starting, pausing and stopping the run of a model campaign. The worker runs it; the page shows its progress."""

from flask import Blueprint, redirect, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from spanplat.errors import Conflict, NotFound
from spanplat.models import Campaign, Job
from spanplat.services.background.jobs import cancel, enqueue
from spanplat.services.background.jobs import pause as pause_job
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.progress import find_run, run_key
from spanplat.services.model_work.batching import open_batches_of
from spanplat.services.model_work.figures import cancelling_key
from spanplat.web.background.dispatch import wake_worker
from spanplat.web.policy import policy
from spanplat.web.session import reading, transaction

blueprint = Blueprint("runs", __name__, url_prefix="/admin/campaigns/<slug>/run")


@blueprint.post("")
@policy("researcher")
def start(slug: str) -> Response:
    """Queue all items without an answer for the worker. A second request starts no second run."""
    _require_model(find_campaign(reading(), slug))
    with transaction() as session:
        job = enqueue(session, "run-campaign", run_key(slug), {"campaign": slug})
    wake_worker(job.id)  # after the commit: the worker looks for the row at once
    return redirect(url_for("campaigns.show", slug=slug), 303)


@blueprint.post("/pause")
@policy("researcher")
def pause(slug: str) -> Response:
    """Pause the run. Running calls end and are stored; a later start continues from there."""
    with transaction() as session:
        pause_job(session, _run_of(session, slug).id)
    return redirect(url_for("campaigns.show", slug=slug), 303)


@blueprint.post("/stop")
@policy("researcher")
def stop(slug: str) -> Response:
    """Cancel the run and its batches at the provider. Answers stay; a later run continues from there."""
    job = None
    with transaction() as session:
        cancel(session, _run_of(session, slug).id)
        batches = [batch.id for batch in open_batches_of(session, find_campaign(session, slug).id)]
        if batches:
            key = f"{cancelling_key(slug)}{batches[-1]}"  # batches of a later run need a cancelling job of their own
            # In the worker, because the provider may answer slowly, and this transaction holds the write lock.
            job = enqueue(session, "cancel-batches", key, {"campaign": slug, "batches": batches})
    if job is not None:
        wake_worker(job.id)
    return redirect(url_for("campaigns.show", slug=slug), 303)


def _run_of(session: Session, slug: str) -> Job:
    job = find_run(session, find_campaign(session, slug))
    if job is None:
        raise NotFound(f"campaign {slug!r} has no run to stop")
    return job


def _require_model(campaign: Campaign) -> None:
    if campaign.kind != "llm":
        raise Conflict(f"campaign {campaign.slug!r} is filled by people, not by a model; people come through its link")
