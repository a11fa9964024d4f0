"""Work of human annotators: entering, seats and leases, saving, submitting, checks, qualification and pay."""

from spanplat.services.crowd.check_results import store_outcomes
from spanplat.services.crowd.checks import (
    AnsweredItem,
    CheckOutcome,
    is_excluded,
    outcome_of,
    score_item,
    stops,
)
from spanplat.services.crowd.submitting import answered_items

__all__ = [
    "AnsweredItem",
    "CheckOutcome",
    "answered_items",
    "is_excluded",
    "outcome_of",
    "score_item",
    "stops",
    "store_outcomes",
]
