"""Starting and stopping the run of a model campaign; the worker does it, the page shows how far it is."""

import contextlib
import logging

from flask import Blueprint, current_app, redirect, url_for
from werkzeug.wrappers import Response

from spanplat.errors import Conflict, NotFound, Unavailable
from spanplat.models import Campaign
from spanplat.services.campaigns import find_campaign
from spanplat.services.jobs import cancel, enqueue
from spanplat.services.progress import find_run, run_key
from spanplat.services.queue import WorkQueue
from spanplat.web.policy import policy
from spanplat.web.session import reading, transaction

blueprint = Blueprint("runs", __name__, url_prefix="/admin/campaigns/<slug>/run")

logger = logging.getLogger(__name__)


@blueprint.post("")
@policy("researcher")
def start(slug: str) -> Response:
    """Have the worker ask the model about everything that has no answer yet; asking twice starts it once."""
    _require_model(find_campaign(reading(), slug))
    with transaction() as session:
        job = enqueue(session, "run-campaign", run_key(slug), {"campaign": slug})
    _wake_worker(job.id)
    return redirect(url_for("campaigns.show", slug=slug), 303)


@blueprint.post("/stop")
@policy("researcher")
def stop(slug: str) -> Response:
    """Stop the run; what was answered stays, and a later run goes on from there."""
    with transaction() as session:
        job = find_run(session, find_campaign(session, slug))
        if job is None:
            raise NotFound(f"campaign {slug!r} has no run to stop")
        cancel(session, job.id)
    return redirect(url_for("campaigns.show", slug=slug), 303)


def _require_model(campaign: Campaign) -> None:
    if campaign.kind != "llm":
        raise Conflict(f"campaign {campaign.slug!r} is filled by people, not by a model; people come through its link")


def _wake_worker(job_id: int) -> None:
    """Send the job's id; when the queue does not answer, the worker finds the row within a minute."""
    try:
        with contextlib.closing(WorkQueue(current_app.extensions["spanplat_settings"])) as queue:
            queue.send(job_id)
    except Unavailable as error:
        logger.warning("job %d waits for the worker's next look: %s", job_id, error)
