"""The outputs of a comparison with their texts: lines of a list, and one output with the spans of both sides in clusters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import NotFound
from spanplat.metrics.disagreement import TYPES, ClusterType
from spanplat.models import Annotation, Annotator, Assignment, Category, Example, ItemOutput, Output, Span
from spanplat.services.disagreement import Disagreements, Selection
from spanplat.services.sides import Work

EXCERPT = 200
"""Code points of a text that a list shows."""

OUTPUTS_AT_ONCE = 500
"""Outputs that one query asks for."""

Who = Literal["reference", "hypothesis"]


@dataclass(frozen=True)
class OutputLine:
    """One row of a comparison, for a list."""

    row: int
    output_id: int
    comparison: int
    """Which of the output's comparisons it is, from 1."""
    dataset: str
    split: str
    example: str
    system: str
    excerpt: str
    f1: float
    counts: Mapping[ClusterType, int]


@dataclass(frozen=True)
class MarkedSpan:
    """One span of either side."""

    who: Who
    cluster: int
    """Number of its cluster, from 1."""
    start: int
    end: int
    """Code points of the text, as received; they may lie outside of it where an import was wrong."""
    category: str
    """Key."""
    quote: str
    side: str
    """``output``, or ``source`` when it marks the source."""
    source_field: str | None
    severity: str | None
    reason: str | None


@dataclass(frozen=True)
class SpanCluster:
    """Spans that overlap, and what they say about the two sides."""

    number: int
    kind: ClusterType
    spans: tuple[MarkedSpan, ...]
    is_wanted: bool
    """Whether the choice asks for it."""

    def of(self, who: Who) -> list[MarkedSpan]:
        """Return the spans of one side."""
        return [span for span in self.spans if span.who == who]


@dataclass(frozen=True)
class ComparedOutput:
    """One output with what both sides marked on it."""

    line: OutputLine
    text: str
    source: Any
    annotators: Mapping[Who, str]
    """Pseudonyms."""
    clusters: tuple[SpanCluster, ...]
    comparisons: int
    """How many pairs of annotators are compared on this output."""

    @property
    def spans(self) -> list[MarkedSpan]:
        """All spans, cluster by cluster."""
        return [span for cluster in self.clusters for span in cluster.spans]


def list_lines(session: Session, found: Disagreements, rows: Sequence[int]) -> list[OutputLine]:
    """Return rows of a comparison for a list, in the order given; only these texts are read."""
    ids = list({found.reference[row].output_id for row in rows})
    texts = {
        output_id: (key, excerpt)
        for first in range(0, len(ids), OUTPUTS_AT_ONCE)
        for output_id, key, excerpt in session.execute(
            select(Output.id, Example.key, func.substr(Output.text, 1, EXCERPT))
            .join(Example, Example.id == Output.example_id)
            .where(Output.id.in_(ids[first : first + OUTPUTS_AT_ONCE]))
        )
    }
    counts = found.clusters.counts
    return [_line(found, row, *texts[found.reference[row].output_id], counts[row].tolist()) for row in rows]


def source_of_output(session: Session, output_id: int) -> Any:
    """Return the source that an output was made from, None when there is none.

    Raises
    ------
    NotFound
        If there is no such output.
    """
    found = session.execute(
        select(Example.source).join(Output, Output.example_id == Example.id).where(Output.id == output_id)
    ).one_or_none()
    if found is None:
        raise NotFound(f"there is no output {output_id}")
    return found.source


def show_output(
    session: Session, found: Disagreements, selection: Selection, output_id: int, comparison: int = 1
) -> ComparedOutput:
    """Return one output with the clusters of both sides' spans.

    Parameters
    ----------
    session
        The reading session that ``found`` was made with, or one that sees the same data.
    found
        The comparison.
    selection
        Says which clusters are wanted.
    output_id
        The output.
    comparison
        Which pair of annotators, from 1, where the rule compares several on an output.

    Raises
    ------
    NotFound
        If the comparison does not contain it.
    """
    rows = found.rows_of_output.get(output_id, [])
    if not 1 <= comparison <= len(rows):
        raise NotFound(
            f"output {output_id} is not compared under these rules and filters"
            + (f" a {comparison}th time (comparisons: {len(rows)})" if rows else "")
        )
    row = rows[comparison - 1]
    text, source = session.execute(
        select(Output.text, Example.source).join(Example, Example.id == Output.example_id).where(Output.id == output_id)
    ).one()
    return ComparedOutput(
        line=list_lines(session, found, [row])[0],
        text=text,
        source=source,
        annotators={
            "reference": _pseudonym(session, found.reference[row]),
            "hypothesis": _pseudonym(session, found.hypothesis[row]),
        },
        clusters=_clusters(session, found, selection, row),
        comparisons=len(rows),
    )


def _line(found: Disagreements, row: int, example: str, excerpt: str, counts: list[int]) -> OutputLine:
    work = found.reference[row]
    return OutputLine(
        row=row,
        output_id=work.output_id,
        comparison=found.rows_of_output[work.output_id].index(row) + 1,
        dataset=work.dataset,
        split=work.split,
        example=example,
        system=work.system,
        excerpt=excerpt,
        f1=float(found.f1[row]),
        counts=dict(zip(TYPES, counts, strict=True)),
    )


def _clusters(session: Session, found: Disagreements, selection: Selection, row: int) -> tuple[SpanCluster, ...]:
    numbers = np.flatnonzero(found.clusters.output == row).tolist()
    first = numbers[0] if numbers else 0
    spans = [*_spans(session, found, row, "reference", first), *_spans(session, found, row, "hypothesis", first)]
    return tuple(
        SpanCluster(
            number=number - first + 1,
            kind=TYPES[found.clusters.type_code[number]],
            spans=tuple(span for span in spans if span.cluster == number - first + 1),
            is_wanted=bool(selection.clusters[number]),
        )
        for number in numbers
    )


def _spans(session: Session, found: Disagreements, row: int, who: Who, first_cluster: int) -> list[MarkedSpan]:
    """Put what the arrays know of a side's spans beside what only the database knows; both are in the annotator's order."""
    is_reference = who == "reference"
    work = (found.reference if is_reference else found.hypothesis)[row]
    side = found.pair.reference if is_reference else found.pair.hypothesis
    of_span = found.clusters.reference if is_reference else found.clusters.hypothesis
    low, high = side.offsets[row : row + 2].tolist()
    keys = list(found.categories)
    present = {keys[code] for code in side.category[low:high].tolist()}
    stored = session.execute(
        select(Span, Category.key)
        .join(Category, Category.id == Span.category_id)
        .join(Annotation, Annotation.id == Span.annotation_id)
        .join(ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == Span.output_position))
        .where(
            Span.annotation_id == work.annotation_id, ItemOutput.output_id == work.output_id, Category.key.in_(present)
        )
        .order_by(Span.position)
    ).all()
    return [
        MarkedSpan(
            who=who,
            cluster=int(of_span[at]) - first_cluster + 1,
            start=int(side.start[at]),
            end=int(side.end[at]),
            category=key,
            quote=span.text,
            side=span.side,
            source_field=span.source_field,
            severity=span.severity,
            reason=span.reason,
        )
        for at, (span, key) in zip(range(low, high), stored, strict=True)
    ]


def _pseudonym(session: Session, work: Work) -> str:
    return session.scalars(
        select(Annotator.pseudonym)
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .join(Annotation, Annotation.assignment_id == Assignment.id)
        .where(Annotation.id == work.annotation_id)
    ).one()
