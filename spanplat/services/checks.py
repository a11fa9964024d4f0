"""Scoring attention checks, gold items and time floors of a batch, and what failing them leads to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spanplat.metrics.characters import char_f1
from spanplat.metrics.spans import Comparison
from spanplat.schemas.checks import (
    AnyCheck,
    ExpectedSpan,
    GoldCheck,
    InstructedCheck,
    KnownAnswerCheck,
    MustAbstainCheck,
    MustMarkCheck,
    TimeFloorCheck,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.text import Located, locate_quote


@dataclass(frozen=True)
class MarkedSpan:
    """A span an annotator made, as far as checks look at it."""

    start: int
    end: int
    category: str
    """Key of the category."""


@dataclass(frozen=True)
class AnsweredItem:
    """One item of a batch as submitted."""

    check: str | None
    """Name of the check the item carries."""
    text: str
    spans: Sequence[MarkedSpan]
    answers: dict[str, Any]
    seconds: float | None


@dataclass(frozen=True)
class CheckOutcome:
    """How one check went."""

    name: str
    kind: str
    item: int | None
    """Position among the items given; None for a check of the whole batch."""
    passed: bool
    on_fail: str
    detail: dict[str, Any]


def score_checks(definition: CampaignDefinition, items: Sequence[AnsweredItem]) -> list[CheckOutcome]:
    """Score every check of a submitted batch.

    Parameters
    ----------
    definition
        The campaign's definition.
    items
        The items of the batch, in the order shown.
    """
    outcomes = []
    for check in definition.checks:
        for position, item in enumerate(items):
            if isinstance(check, (InstructedCheck, TimeFloorCheck)) or item.check == check.name:
                passed, detail = _score(definition, check, item)
                outcomes.append(CheckOutcome(check.name, check.type, position, passed, check.on_fail, detail))
    return outcomes


def outcome_of(outcomes: Sequence[CheckOutcome]) -> str:
    """Return which completion code the checks leave: one that screens out decides, everything else completes."""
    screened = any(not outcome.passed and outcome.on_fail == "screen_out" for outcome in outcomes)
    return "screened_out" if screened else "completed"


def is_excluded(outcomes: Sequence[CheckOutcome]) -> bool:
    """Tell whether a failed check leaves the work out of every figure."""
    return any(not outcome.passed and outcome.on_fail == "exclude" for outcome in outcomes)


def _score(definition: CampaignDefinition, check: AnyCheck, item: AnsweredItem) -> tuple[bool, dict[str, Any]]:
    match check:
        case MustMarkCheck():
            return _marked(definition, check, item)
        case MustAbstainCheck():
            return not item.spans, {"spans": len(item.spans)}
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
    region = _region(item.text, check.expected)
    category = definition.find_category(check.expected.category) if check.expected.category else None
    hits = [
        span
        for span in item.spans
        if region is None or (span.start < region[1] + check.tolerance and region[0] - check.tolerance < span.end)
    ]
    right = [span for span in hits if category is None or span.category == category.key]
    return bool(right), {"region_marked": bool(hits), "category_right": bool(right)}


def gold_score(definition: CampaignDefinition, check: GoldCheck, item: AnsweredItem) -> float:
    """Return the F1 of an item's spans against the gold that fits them best."""
    keys = [category.key for category in definition.categories]
    marked = [(span.start, span.end, keys.index(span.category)) for span in item.spans]
    scores = []
    for gold in check.golds:
        expected = []
        for span in gold:
            region = _region(item.text, span) or (0, len(item.text))
            category = definition.find_category(span.category) if span.category else None
            expected.append((*region, keys.index(category.key) if category else 0))
        pair = Comparison.of([expected], [marked], categories=keys)
        scores.append(char_f1(pair, soft=not check.hard) or 0.0)
    return max(scores)


def _region(text: str, expected: ExpectedSpan) -> tuple[int, int] | None:
    if expected.start is not None and expected.end is not None:
        return expected.start, expected.end
    if expected.quote is not None:
        located = locate_quote(text, expected.quote)
        return (located.start, located.end) if isinstance(located, Located) else None
    return None
