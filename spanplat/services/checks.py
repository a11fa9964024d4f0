"""Scoring attention checks, gold items and time floors, item by item, and what failing them leads to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spanplat.errors import Saying, say
from spanplat.schemas.checks import (
    AnyCheck,
    GoldCheck,
    InstructedCheck,
    KnownAnswerCheck,
    MustAbstainCheck,
    MustMarkCheck,
    TimeFloorCheck,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.golds import Yardstick, coded_golds, expected_region

SHORT_STUDY_MINUTES = 5
DEFAULT_WARNING = say("That was not what we expected here. Please read the instructions again before you go on.")


@dataclass(frozen=True)
class MarkedSpan:
    """A span an annotator made, as far as checks look at it."""

    start: int
    end: int
    category: str
    """Key of the category."""


@dataclass(frozen=True)
class AnsweredItem:
    """One completed item."""

    check: str | None
    """Name of the check the item carries."""
    text: str
    spans: Sequence[MarkedSpan]
    answers: dict[str, Any]
    seconds: float | None
    """Time spent on it, as `seconds_believed` believes it; None where nothing is known about it."""


@dataclass(frozen=True)
class Completed:
    """When an item was completed, and how long the page says it took."""

    at: datetime
    seconds: float | None


def seconds_believed(since: datetime | None, item: Completed, others: Iterable[Completed]) -> float | None:
    """Return the time spent on an item that the server can believe.

    The page counts the seconds, and a page can be made to say anything. All the items done so far cannot have taken longer than
    the seat has been held, so that an item is believed at most what the items completed before it leave of that time.

    Parameters
    ----------
    since
        When the seat was taken; None where nobody saw it, as in an import.
    item
        The item.
    others
        Completed items of the same seat; those completed later do not count.

    Returns
    -------
    float or None
        Seconds, never below zero. An item whose page says nothing is believed all that is left.
    """
    if since is None:
        return item.seconds
    earlier = sum(other.seconds or 0 for other in others if other.at < item.at)
    left = max(0.0, (item.at - since).total_seconds() - earlier)
    return left if item.seconds is None else min(item.seconds, left)


@dataclass(frozen=True)
class CheckOutcome:
    """How one check of an item went."""

    name: str
    kind: str
    passed: bool
    on_fail: str
    detail: dict[str, Any]
    message: str = ""
    """What the annotator reads about a failure, where they are told."""


def score_item(definition: CampaignDefinition, item: AnsweredItem) -> list[CheckOutcome]:
    """Score the checks that one completed item stands under: its own, and those that every item stands under."""
    outcomes = []
    for check in definition.checks:
        if isinstance(check, (InstructedCheck, TimeFloorCheck)) or item.check == check.name:
            passed, detail = _score(definition, check, item)
            outcomes.append(CheckOutcome(check.name, check.type, passed, check.on_fail, detail, check.message))
    return outcomes


def warnings_of(outcomes: Sequence[CheckOutcome]) -> tuple[Saying, ...]:
    """Return what the annotator is told about the failed checks that warn."""
    messages = [outcome.message for outcome in outcomes if not outcome.passed and outcome.on_fail == "warn"]
    return tuple(Saying(message) if message else DEFAULT_WARNING for message in messages)


def stops(outcomes: Sequence[CheckOutcome]) -> bool:
    """Tell whether a failed check ends the visit with the screen-out code."""
    return any(not outcome.passed and outcome.on_fail == "screen_out" for outcome in outcomes)


def is_excluded(outcomes: Sequence[CheckOutcome]) -> bool:
    """Tell whether a failed check leaves the work out of every figure."""
    return any(not outcome.passed and outcome.on_fail == "exclude" for outcome in outcomes)


def outcome_of(definition: CampaignDefinition, outcomes: Sequence[CheckOutcome]) -> str:
    """Return which completion code a submitted batch earns.

    ``failed_attention`` needs a code of that name and as many failed instructed questions as platforms ask for before they accept a
    rejection: two, or one where a batch takes less than five minutes. Nothing else leads to it.
    """
    failed = sum(not outcome.passed and outcome.kind == "instructed" for outcome in outcomes)
    has_code = definition.platform.codes.failed_attention is not None
    return "failed_attention" if has_code and failed >= failures_to_reject(definition) else "completed"


def failures_to_reject(definition: CampaignDefinition) -> int:
    """Return how many failed attention checks a rejection needs: two, or one in a study of less than five minutes."""
    minutes = definition.platform.minutes
    return 1 if minutes is not None and minutes < SHORT_STUDY_MINUTES else 2


def _score(definition: CampaignDefinition, check: AnyCheck, item: AnsweredItem) -> tuple[bool, dict[str, Any]]:
    match check:
        case MustMarkCheck():
            return _marked(definition, check, item)
        case MustAbstainCheck():
            return not item.spans, {"abstained": not item.spans, "spans": len(item.spans)}
        case GoldCheck():
            score = gold_score(definition, check, item)
            return score >= check.minimum, {"score": score}
        case KnownAnswerCheck():
            return item.answers.get(check.question) in check.answers, {"answer": item.answers.get(check.question)}
        case InstructedCheck():
            return item.answers.get(check.question) == check.answer, {"answer": item.answers.get(check.question)}
        case TimeFloorCheck():
            return item.seconds is None or item.seconds >= check.seconds, {"seconds": item.seconds}


def _marked(definition: CampaignDefinition, check: MustMarkCheck, item: AnsweredItem) -> tuple[bool, dict[str, Any]]:
    region = expected_region(item.text, check.expected)
    category = definition.find_category(check.expected.category) if check.expected.category else None
    hits = [
        span
        for span in item.spans
        if region is None or (span.start < region[1] + check.tolerance and region[0] - check.tolerance < span.end)
    ]
    right = [span for span in hits if category is None or span.category == category.key]
    passed = bool(right) or (check.requires == "region" and bool(hits))
    return passed, {"marked": bool(item.spans), "region_marked": bool(hits), "category_right": bool(right)}


def gold_score(definition: CampaignDefinition, check: GoldCheck, item: AnsweredItem) -> float:
    """Return the score of an item's spans against the gold that fits them best."""
    keys = [category.key for category in definition.categories]
    marked = [(span.start, span.end, keys.index(span.category)) for span in item.spans]
    yardstick = Yardstick(check.measure, check.hard)
    best = yardstick.best_gold(coded_golds(definition, check, item.text), marked, keys)
    return yardstick.score([best], [marked], keys)
