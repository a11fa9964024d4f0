"""Background work: jobs, the queue that wakes workers, progress, and computed results."""

from spanplat.services.background.jobs import enqueue, find_by_key, list_silent, silent_since
from spanplat.services.background.progress import OnProgress, ignore_progress
from spanplat.services.background.reports import OMITTED_WHEN_NONE, Report
from spanplat.services.background.results import (
    WHOLE,
    Computation,
    ResultKind,
    SignedRequest,
    WholeComputation,
    compute,
    part_of,
    sign,
)

__all__ = [
    "OMITTED_WHEN_NONE",
    "WHOLE",
    "Computation",
    "OnProgress",
    "Report",
    "ResultKind",
    "SignedRequest",
    "WholeComputation",
    "compute",
    "enqueue",
    "find_by_key",
    "ignore_progress",
    "list_silent",
    "part_of",
    "sign",
    "silent_since",
]
