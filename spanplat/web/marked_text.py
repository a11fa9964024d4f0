"""Segments of a text with the spans of two sides, for drawing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, get_args

from flask_babel import lazy_gettext as _

from spanplat.metrics.disagreement import ClusterType
from spanplat.schemas.span import MarkedSpan
from spanplat.services.agreement.disagreement_outputs import SpanCluster, Who

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
"""Maximum number of lanes on each side of a line. Spans with more overlaps share the last lane."""

LABEL_WIDTH = 0.75
"""Width of a character of a label, relative to a character of the text."""

MARGIN = 4
"""Number of characters that fit into the margin after the text."""


@dataclass(frozen=True)
class Mark:
    """Span, drawn on each segment that it covers."""

    who: Who
    cluster: int
    """Number of its cluster."""
    span: MarkedSpan
    is_wanted: bool
    lane: int
    """Number of its lane; 0 is the nearest to the text."""


@dataclass(frozen=True)
class TextSegment:
    """Part of the text between two borders of spans."""

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
    """Text cut into segments, which together are the whole text."""

    segments: Sequence[TextSegment]
    lanes: Mapping[Who, int]
    """Number of lanes of each side, at least one."""


def mark_text(text: str, clusters: Sequence[SpanCluster], categories: Mapping[str, str]) -> MarkedText:
    """Cut a text at the starts and ends of spans.

    Parameters
    ----------
    text
        The text; its characters stay unchanged.
    clusters
        The clusters of both sides. Spans of the source and spans outside of the text are not drawn.
    categories
        Names of categories by key, for the labels.
    """
    marks = _marks(text, clusters)
    of_side = {who: [mark for mark in marks if mark.who == who] for who in get_args(Who)}
    labels = {who: _labels(of_side[who], len(text), categories) for who in get_args(Who)}
    segments = []
    unseen = {cluster.number for cluster in clusters}
    for start, end in _pieces([mark.span for mark in marks], len(text)):
        here = [mark for mark in marks if _covers(mark.span, start, end)]
        numbers = {mark.cluster for mark in here} & unseen
        unseen -= numbers  # a cluster starts once, although its spans cover many segments
        begins = {mark.who for mark in here if mark.span.start == start}
        segments.append(
            TextSegment(
                text[start:end],
                here,
                labels["reference"][start] if "reference" in begins else "",
                labels["hypothesis"][start] if "hypothesis" in begins else "",
                sorted(numbers),
            )
        )
    return MarkedText(segments, {who: 1 + max((mark.lane for mark in of_side[who]), default=0) for who in of_side})


def _marks(text: str, clusters: Sequence[SpanCluster]) -> list[Mark]:
    """Return the spans to draw, cluster by cluster."""
    drawn = [
        Mark(who, cluster.number, span, cluster.is_wanted, lane=0)
        for cluster in clusters
        for who, spans in cluster.spans.items()
        for span in spans
        if _is_in_text(span, len(text))
    ]
    for who in get_args(Who):
        own = [place for place, mark in enumerate(drawn) if mark.who == who]
        for place, lane in zip(own, _assign_lanes([drawn[place].span for place in own]), strict=True):
            drawn[place] = replace(drawn[place], lane=lane)
    return drawn


def _is_in_text(span: MarkedSpan, length: int) -> bool:
    # An omission may be after the last character, where no other span can start.
    return span.side == "output" and (span.start < length or span.start == span.end == length)


def _pieces(spans: Sequence[MarkedSpan], length: int) -> Iterator[tuple[int, int]]:
    """Yield the parts between borders, and an empty part at each place that is marked as an omission."""
    omissions = {span.start for span in spans if span.start == span.end}
    borders = {0, length, *(min(border, length) for span in spans for border in (span.start, span.end))}
    for start, end in pairwise(sorted(borders)):
        if start in omissions:
            yield start, start
        yield start, end
    if length in omissions:
        yield length, length


def _covers(span: MarkedSpan, start: int, end: int) -> bool:
    if start == end or span.start == span.end:  # an omission covers only its own empty part
        return start == end == span.start == span.end
    return span.start <= start and end <= span.end


def _assign_lanes(spans: Sequence[MarkedSpan]) -> list[int]:
    """Put each span, from left to right and the longer first, into the first lane that is free (interval partitioning)."""
    free_from: list[int] = []
    lanes = [0] * len(spans)
    for place, span in sorted(enumerate(spans), key=lambda entry: (entry[1].start, -entry[1].end)):
        lane = next((lane for lane, end in enumerate(free_from) if end <= span.start), len(free_from))
        # The slice replaces the entry of a lane, and appends one if the lane is new.
        free_from[lane : lane + 1] = [span.end]
        lanes[place] = min(lane, MOST_LANES - 1)
    return lanes


def _labels(marks: Sequence[Mark], length: int, categories: Mapping[str, str]) -> dict[int, str]:
    """Return the labels at the starts of spans: number and category, or only the number if the next label is too near."""
    starts = sorted({mark.span.start for mark in marks})
    labels = {}
    for start, following in pairwise([*starts, length + MARGIN]):
        here = [mark for mark in marks if mark.span.start == start]
        full = " · ".join(f"{mark.cluster} {categories[mark.span.category]}" for mark in here)
        short = "·".join(dict.fromkeys(str(mark.cluster) for mark in here))
        labels[start] = full if len(full) * LABEL_WIDTH < following - start else short
    return labels
