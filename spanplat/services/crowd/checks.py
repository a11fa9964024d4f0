"""Scoring of attention checks, gold items and time floors, and the consequences of failing them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spanplat.errors import UserMessage, user_message
from spanplat.schemas.checks import CHECK_KINDS, CheckedWork, Golds
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.span import MarkedSpan
from spanplat.services.crowd.golds import SpanScorer, coded_golds

SHORT_STUDY_MINUTES = 5
"""Duration from which Prolific asks for two failed attention checks, not one, before work may be rejected."""
GROUNDS_TO_REJECT = frozenset(kind.kind() for kind in CHECK_KINDS if kind.allows_rejection)
"""Kinds of checks whose failure platforms accept as a reason to reject work."""
DEFAULT_WARNING = user_message(
    "That was not what we expected here. Please read the instructions again before you go on."
)


@dataclass(frozen=True)
class AnsweredItem:
    """Completed item as input for the checks."""

    check: str | None
    """Name of the check that the item carries."""
    text: str
    spans: Sequence[MarkedSpan]
    answers: dict[str, Any]
    seconds: float | None
    """Time spent on the item, from `seconds_believed`; None if unknown."""


@dataclass(frozen=True)
class Completed:
    """Time at which an item was completed, and the seconds that the page reported."""

    at: datetime
    seconds: float | None


def seconds_believed(since: datetime | None, item: Completed, others: Iterable[Completed]) -> float | None:
    """Return the plausible time spent on an item.

    The page counts the seconds, and an annotator can make the page report any number. All items together cannot have taken longer than
    the seat has been held. So the time of an item is at most the time since the claim, less the time of the items completed before.

    Parameters
    ----------
    since
        Time at which the seat was claimed; None if unknown, as in an import.
    item
        The item.
    others
        Completed items of the same seat; those completed later do not count.

    Returns
    -------
    float or None
        Seconds, never below zero. If the page reported nothing, all the remaining time counts for the item.
    """
    if since is None:
        return item.seconds
    # Strictly before, because the others may include the item itself.
    earlier = sum(other.seconds or 0 for other in others if other.at < item.at)
    left = max(0.0, (item.at - since).total_seconds() - earlier)
    return left if item.seconds is None else min(item.seconds, left)


@dataclass(frozen=True)
class CheckOutcome:
    """Result of one check of an item."""

    name: str
    kind: str
    passed: bool
    on_fail: str
    detail: dict[str, Any]
    message: str = ""
    """Message to the annotator about a failure, for checks that tell them."""


def score_item(definition: CampaignDefinition, item: AnsweredItem) -> list[CheckOutcome]:
    """Score the checks of one completed item: its own check and those that apply to every item."""
    work = _checked_work(definition, item)
    outcomes = []
    for check in definition.checks:
        if check.carrier is None or item.check == check.name:
            passed, detail = check.score(work)
            outcomes.append(CheckOutcome(check.name, check.type, passed, check.on_fail, detail, check.message))
    return outcomes


def warnings_of(outcomes: Sequence[CheckOutcome]) -> tuple[UserMessage, ...]:
    """Return the messages of failed checks that warn the annotator."""
    messages = [outcome.message for outcome in outcomes if not outcome.passed and outcome.on_fail == "warn"]
    return tuple(UserMessage(message) if message else DEFAULT_WARNING for message in messages)


def stops(outcomes: Sequence[CheckOutcome]) -> bool:
    """Return whether a failed check ends the visit with the screen-out code."""
    return any(not outcome.passed and outcome.on_fail == "screen_out" for outcome in outcomes)


def is_excluded(outcomes: Sequence[CheckOutcome]) -> bool:
    """Return whether a failed check leaves the work out of every figure."""
    return any(not outcome.passed and outcome.on_fail == "exclude" for outcome in outcomes)


def outcome_of(definition: CampaignDefinition, outcomes: Sequence[CheckOutcome]) -> str:
    """Return the name of the completion code that a submitted batch earns.

    ``failed_attention`` needs a code of that name in the definition, and as many failed instructed questions as platforms require for
    a rejection: two, or one if a batch takes less than five minutes.
    """
    failed = sum(not outcome.passed and outcome.kind in GROUNDS_TO_REJECT for outcome in outcomes)
    has_code = definition.platform.codes.failed_attention is not None
    return "failed_attention" if has_code and failed >= failures_to_reject(definition) else "completed"


def failures_to_reject(definition: CampaignDefinition) -> int:
    """Return how many failed attention checks a rejection needs: two, or one in a study of less than five minutes."""
    # A study without a stated duration needs two: in doubt the rule that is safer for annotators.
    minutes = definition.platform.minutes
    return 1 if minutes is not None and minutes < SHORT_STUDY_MINUTES else 2


def _checked_work(definition: CampaignDefinition, item: AnsweredItem) -> CheckedWork:
    """Return an item as input for the checks, with functions for categories and scores.

    The functions are passed in because the schemas may not import the measures.
    """

    def category_key(name: str) -> str | None:
        category = definition.find_category(name)
        return category.key if category else None

    def score_against(golds: Golds, measure: str, hard: bool) -> float:
        keys = [category.key for category in definition.categories]
        marked = [(span.start, span.end, keys.index(span.category)) for span in item.spans]
        scorer = SpanScorer(measure, hard)
        # In favour of the annotator: the best of several acceptable answers counts.
        best = scorer.best_gold(coded_golds(definition, golds, item.text), marked, keys)
        return scorer.score([best], [marked], keys)

    return CheckedWork(item.text, item.spans, item.answers, item.seconds, category_key, score_against)
