"""Notification of a worker about a new job."""

import contextlib
import logging

from flask import current_app

from spanplat.errors import Unavailable
from spanplat.services.background.queue import WorkQueue

logger = logging.getLogger(__name__)


def wake_worker(job_id: int) -> None:
    """Send the id of a committed job to the queue. If the queue does not answer, the worker finds the row within a minute."""
    try:
        with contextlib.closing(WorkQueue(current_app.extensions["spanplat_settings"])) as queue:
            queue.send(job_id)
    except Unavailable as error:
        logger.warning("job %d waits for the worker's next look: %s", job_id, error)
