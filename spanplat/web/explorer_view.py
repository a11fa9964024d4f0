"""A text with the spans of two sides, cut into stretches that the page draws one by one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, get_args

from flask_babel import lazy_gettext as _

from spanplat.metrics.disagreement import ClusterType
from spanplat.services.disagreement_outputs import MarkedSpan, SpanCluster, Who

TYPE_NAMES: Mapping[ClusterType, Any] = {
    ClusterType.AGREEMENT: _("Agreement"),
    ClusterType.MISSING: _("Missing"),
    ClusterType.EXTRA: _("Extra"),
    ClusterType.CATEGORY: _("Category"),
    ClusterType.BOUNDARY: _("Boundary"),
    ClusterType.SEVERITY: _("Severity"),
    ClusterType.SPLIT_MERGE: _("Split or merged"),
}

TYPE_MEANINGS: Mapping[ClusterType, Any] = {
    ClusterType.AGREEMENT: _("both sides marked the same span alike"),
    ClusterType.MISSING: _("only the reference marked something"),
    ClusterType.EXTRA: _("only the hypothesis marked something"),
    ClusterType.CATEGORY: _("both marked the place, with different categories"),
    ClusterType.BOUNDARY: _("same category, other borders"),
    ClusterType.SEVERITY: _("same span and category, other severity"),
    ClusterType.SPLIT_MERGE: _("one side marked with several spans what the other marked with fewer"),
}

MOST_LANES = 6
"""Lanes drawn on each side of a line; spans that overlap even deeper share the last."""

LABEL_WIDTH = 0.75
"""Width of a character of a label, as a share of one of the text."""

MARGIN = 4
"""Characters of the text that fit beside its last one, in the margin."""


@dataclass(frozen=True)
class Mark:
    """What one span draws on one stretch."""

    span: MarkedSpan
    lane: int
    """0 is nearest to the text."""
    is_wanted: bool


@dataclass(frozen=True)
class Stretch:
    """A piece of the text between two borders of spans."""

    text: str
    marks: Sequence[Mark]
    above: str
    """Label of the reference's spans that start here."""
    below: str
    """Label of the hypothesis's spans that start here."""
    starting: Sequence[int]
    """Numbers of the clusters that start here."""


@dataclass(frozen=True)
class MarkedText:
    """A text cut into stretches; the stretches' texts together are the text."""

    stretches: Sequence[Stretch]
    lanes: Mapping[Who, int]
    """How many lanes each side needs, at least one."""


def mark_text(text: str, clusters: Sequence[SpanCluster], categories: Mapping[str, str]) -> MarkedText:
    """Cut a text where spans start and end.

    Parameters
    ----------
    text
        The text, which comes out unchanged.
    clusters
        The clusters of both sides; spans of the source, and what lies outside of the text, are not drawn.
    categories
        Names by key, for the labels.
    """
    wanted = {cluster.number: cluster.is_wanted for cluster in clusters}
    drawn = [span for cluster in clusters for span in cluster.spans if _is_in_text(span, len(text))]
    lanes = {who: _assign_lanes([span for span in drawn if span.who == who]) for who in get_args(Who)}
    labels = {who: _labels([span for span in drawn if span.who == who], len(text), categories) for who in get_args(Who)}
    stretches = []
    unseen = set(wanted)
    for start, end in _pieces(drawn, len(text)):
        here = [span for span in drawn if _covers(span, start, end)]
        numbers = {span.cluster for span in here} & unseen
        unseen -= numbers
        begins = {who for who in get_args(Who) if any(span.who == who and span.start == start for span in here)}
        stretches.append(
            Stretch(
                text[start:end],
                [Mark(span, lanes[span.who][span], wanted[span.cluster]) for span in here],
                labels["reference"][start] if "reference" in begins else "",
                labels["hypothesis"][start] if "hypothesis" in begins else "",
                sorted(numbers),
            )
        )
    return MarkedText(stretches, {who: 1 + max(lanes[who].values(), default=0) for who in get_args(Who)})


def _is_in_text(span: MarkedSpan, length: int) -> bool:
    return span.side == "output" and (span.start < length or span.start == span.end == length)


def _pieces(spans: Sequence[MarkedSpan], length: int) -> Iterator[tuple[int, int]]:
    """Yield the pieces between borders, and an empty one wherever something is marked as omitted."""
    omissions = {span.start for span in spans if span.start == span.end}
    borders = {0, length, *(min(border, length) for span in spans for border in (span.start, span.end))}
    for start, end in pairwise(sorted(borders)):
        if start in omissions:
            yield start, start
        yield start, end
    if length in omissions:
        yield length, length


def _covers(span: MarkedSpan, start: int, end: int) -> bool:
    if start == end or span.start == span.end:
        return start == end == span.start == span.end
    return span.start <= start and end <= span.end


def _assign_lanes(spans: Sequence[MarkedSpan]) -> dict[MarkedSpan, int]:
    """Put each span, from left to right and the longer first, into the first lane that is free (interval partitioning)."""
    free_from: list[int] = []
    lanes: dict[MarkedSpan, int] = {}
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        lane = next((lane for lane, end in enumerate(free_from) if end <= span.start), len(free_from))
        free_from[lane : lane + 1] = [span.end]
        lanes[span] = min(lane, MOST_LANES - 1)
    return lanes


def _labels(spans: Sequence[MarkedSpan], length: int, categories: Mapping[str, str]) -> dict[int, str]:
    """Label the places where spans start: number and category, or the number alone where the next label is too near."""
    starts = sorted({span.start for span in spans})
    labels = {}
    for start, following in pairwise([*starts, length + MARGIN]):
        here = [span for span in spans if span.start == start]
        full = " · ".join(f"{span.cluster} {categories[span.category]}" for span in here)
        short = "·".join(dict.fromkeys(str(span.cluster) for span in here))
        labels[start] = full if len(full) * LABEL_WIDTH < following - start else short
    return labels
