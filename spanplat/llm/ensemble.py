"""The errors of several annotators of one text in one list, by overlap and without a model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

MOST = 8
"""Errors an ensemble keeps for one text, the most severe first."""
LEAST_OVERLAP = 0.5
"""Share of the shorter passage that two must have in common to be one issue."""


@dataclass(frozen=True)
class MarkedError:
    """One annotator's error at its place (half-open code points)."""

    annotator: int
    start: int
    end: int
    category: str
    """Key; only errors of one category can be one issue."""
    subcategory: str | None = None
    severity: str | None = None
    reason: str | None = None
    side: str = "output"
    source_field: str | None = None
    output: int = 0
    """Names the text, where there are several."""


@dataclass(frozen=True)
class MergedError:
    """One issue that one or several annotators found."""

    start: int
    end: int
    category: str
    subcategory: str | None
    severity: str | None
    """The highest."""
    reason: str | None
    """All that differ, one below the other."""
    annotators: tuple[int, ...]
    """Who found it, ascending."""
    side: str = "output"
    source_field: str | None = None
    output: int = 0
    """Names the text, where there are several."""


@dataclass
class _Issue:
    errors: list[MarkedError] = field(default_factory=list)


def merge_errors(
    errors: Iterable[MarkedError],
    *,
    severities: Sequence[str] = (),
    least_overlap: float = LEAST_OVERLAP,
    least_votes: int = 1,
    most: int = MOST,
) -> list[MergedError]:
    """Merge the errors of several annotators into one list.

    One issue is one error. Errors are one issue when their category is the same and each two of their passages have the wanted share
    in common; the same issue elsewhere, or another at the same place, stays separate.

    Parameters
    ----------
    errors
        Of all annotators of one text.
    severities
        The scale's keys, mildest first; numbers that are not on it count by their size.
    least_overlap
        Share of the shorter passage that two passages must have in common, above 0.
    least_votes
        How many annotators must have found an issue.
    most
        How many are kept: the most severe, of those as severe the ones that more annotators found, then in text order.

    Returns
    -------
    list of MergedError
        The most severe first. The passage of each is what at least half of its errors cover.
    """
    rank = {key: place for place, key in enumerate(severities, start=1)}
    issues: list[_Issue] = []
    for error in sorted(errors, key=lambda one: (one.start, one.end, one.annotator, one.category)):
        fitting = [
            issue for issue in issues if all(is_same_issue(error, other, least_overlap) for other in issue.errors)
        ]
        if fitting:
            max(fitting, key=lambda issue: _shared(error, issue.errors[0])).errors.append(error)
        else:
            issues.append(_Issue([error]))
    merged = [_merged(issue.errors, rank) for issue in issues]
    kept = [error for error in merged if len(error.annotators) >= least_votes]
    kept.sort(key=lambda error: (-_weight(error.severity, rank), -len(error.annotators), error.start, error.end))
    return kept[:most]


def is_same_issue(one: MarkedError, other: MarkedError, least_overlap: float = LEAST_OVERLAP) -> bool:
    """Tell whether two errors are one issue: the same category, at places that significantly overlap."""
    if (one.category, one.side, one.source_field, one.output) != (
        other.category,
        other.side,
        other.source_field,
        other.output,
    ):
        return False
    shorter = min(one.end - one.start, other.end - other.start)
    if shorter == 0:  # a place where something is missing
        return (one.start, one.end) == (other.start, other.end)
    return _shared(one, other) >= least_overlap * shorter and _shared(one, other) > 0


def _shared(one: MarkedError, other: MarkedError) -> int:
    return min(one.end, other.end) - max(one.start, other.start)


def _merged(errors: Sequence[MarkedError], rank: dict[str, int]) -> MergedError:
    half = (len(errors) + 1) // 2
    # The passages all overlap each other, so that those characters are one stretch.
    start = sorted(error.start for error in errors)[half - 1]
    end = sorted((error.end for error in errors), reverse=True)[half - 1]
    severest = max(errors, key=lambda error: _weight(error.severity, rank))
    reasons = dict.fromkeys(error.reason.strip() for error in errors if error.reason and error.reason.strip())
    subcategories = [error.subcategory for error in errors if error.subcategory]
    return MergedError(
        start,
        end,
        errors[0].category,
        max(subcategories, key=subcategories.count) if subcategories else None,
        severest.severity,
        "\n".join(reasons) or None,
        tuple(sorted({error.annotator for error in errors})),
        errors[0].side,
        errors[0].source_field,
        errors[0].output,
    )


def _weight(severity: str | None, rank: dict[str, int]) -> float:
    """Return how severe a severity is: by its place on the scale, or its size if it is a number; 0 without one."""
    if severity is None:
        return 0.0
    if severity in rank:
        return float(rank[severity])
    return float(severity) if severity.isdecimal() else 0.0
