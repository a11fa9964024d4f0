"""Merge the errors that several annotators found in one text, by overlap and without a model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spanplat.schemas.span import MarkedSpan, Side

MOST = 8
"""Most errors that an ensemble keeps for one text, the most severe first."""
LEAST_OVERLAP = 0.5
"""Share of the shorter passage that two passages must have in common to be one issue."""


@dataclass(frozen=True)
class MergedError:
    """One issue that one or several annotators found."""

    start: int
    end: int
    category: str
    subcategory: str | None
    severity: str | None
    """Highest severity."""
    reason: str | None
    """All different reasons, one per line."""
    annotators: tuple[int, ...]
    """Annotators that found it, ascending."""
    side: Side
    field: str | None
    output: int
    """Position of the text, if there are several."""


@dataclass
class _Issue:
    annotators: set[int]
    errors: list[MarkedSpan]


def merge_errors(
    errors: Iterable[tuple[int, MarkedSpan]],
    *,
    severities: Sequence[str] = (),
    least_overlap: float = LEAST_OVERLAP,
    least_votes: int = 1,
    most: int = MOST,
) -> list[MergedError]:
    """Merge the errors of several annotators into one list.

    Each issue becomes one error. Errors are one issue if their category is the same and every two of their passages overlap by the
    given share. The same issue elsewhere, or another issue at the same place, stays separate.

    Parameters
    ----------
    errors
        Pairs of annotator and error, of all annotators of one item.
    severities
        Keys of the scale, mildest first. Numbers outside the scale count by their size.
    least_overlap
        Share of the shorter passage that two passages must have in common, above 0.
    least_votes
        Number of annotators that must have found an issue.
    most
        Most errors to keep: the most severe first, then those that more annotators found, then in text order.

    Returns
    -------
    list of MergedError
        The most severe first. The passage of each consists of the characters that at least half of its errors cover.
    """
    rank = {key: place for place, key in enumerate(severities, start=1)}
    issues: list[_Issue] = []
    # Sorted, so that the result does not depend on the order of the annotators' errors.
    for annotator, error in sorted(errors, key=lambda one: (one[1].start, one[1].end, one[0], one[1].category)):
        # Compared with every error of an issue, not with one: otherwise a chain of passages, each overlapping the next,
        # would be one issue although its ends have nothing in common.
        fitting = [
            issue for issue in issues if all(is_same_issue(error, other, least_overlap) for other in issue.errors)
        ]
        if fitting:
            issue = max(fitting, key=lambda issue: _shared(error, issue.errors[0]))
            issue.errors.append(error)
            issue.annotators.add(annotator)
        else:
            issues.append(_Issue({annotator}, [error]))
    merged = [_merged(issue, rank) for issue in issues]
    kept = [error for error in merged if len(error.annotators) >= least_votes]
    kept.sort(key=lambda error: (-_weight(error.severity, rank), -len(error.annotators), error.start, error.end))
    return kept[:most]


def is_same_issue(one: MarkedSpan, other: MarkedSpan, least_overlap: float = LEAST_OVERLAP) -> bool:
    """Return whether two errors are one issue: the same category, at places that overlap enough."""
    if (one.category, one.side, one.field, one.output) != (other.category, other.side, other.field, other.output):
        return False
    shorter = min(one.end - one.start, other.end - other.start)
    # A place where something is missing has no characters to share.
    if shorter == 0:
        return (one.start, one.end) == (other.start, other.end)
    return _shared(one, other) >= least_overlap * shorter and _shared(one, other) > 0


def _shared(one: MarkedSpan, other: MarkedSpan) -> int:
    return min(one.end, other.end) - max(one.start, other.start)


def _merged(issue: _Issue, rank: dict[str, int]) -> MergedError:
    errors = issue.errors
    half = (len(errors) + 1) // 2
    # All passages overlap each other, so the characters that half of them cover are one range. Left of the common part,
    # passages only begin, and right of it, they only end. So the range begins where half of them have begun.
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
        tuple(sorted(issue.annotators)),
        errors[0].side,
        errors[0].field,
        errors[0].output,
    )


def _weight(severity: str | None, rank: dict[str, int]) -> float:
    """Return the rank of a severity: its place on the scale, or its value if it is a number. Return 0 without one."""
    if severity is None:
        return 0.0
    if severity in rank:
        return float(rank[severity])
    return float(severity) if severity.isdecimal() else 0.0
