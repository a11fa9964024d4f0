"""Outputs of a comparison with their texts: lines for a list, and one output with the spans of both sides in clusters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import NotFound
from spanplat.metrics.disagreement import TYPES, ClusterType
from spanplat.models import SPAN_COLUMNS, Annotation, Annotator, Assignment, Category, Example, ItemOutput, Output, Span
from spanplat.schemas.span import MarkedSpan
from spanplat.services.agreement.disagreement import Disagreements, Selection
from spanplat.services.agreement.sides import Work

EXCERPT = 200
"""Number of code points of a text that a list shows."""

OUTPUTS_AT_ONCE = 500
"""Largest number of ids in one query. Databases limit the number of parameters."""

Who = Literal["reference", "hypothesis"]


@dataclass(frozen=True)
class OutputLine:
    """Line of a list: one row of a comparison."""

    row: int
    output_id: int
    comparison: int
    """Number of this comparison among those of the output, from 1."""
    dataset: str
    split: str
    example: str
    system: str
    excerpt: str
    f1: float
    counts: Mapping[ClusterType, int]


@dataclass(frozen=True)
class SpanCluster:
    """Cluster of overlapping spans of both sides."""

    number: int
    """Number of the cluster in the output, from 1."""
    kind: ClusterType
    spans: Mapping[Who, Sequence[MarkedSpan]]
    """Spans of each side. Offsets may lie outside the text if an import was wrong."""
    is_wanted: bool
    """Whether the cluster matches the filter."""


@dataclass(frozen=True)
class ComparedOutput:
    """One output with the spans of both sides."""

    line: OutputLine
    text: str
    source: Any
    annotators: Mapping[Who, str]
    """Pseudonyms."""
    clusters: tuple[SpanCluster, ...]
    comparisons: int
    """Number of pairs of annotators compared on this output."""


def list_lines(session: Session, found: Disagreements, rows: Sequence[int]) -> list[OutputLine]:
    """Return rows of a comparison for a list, in the given order. Read only the texts of these rows."""
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
    """Return the source of an output, or None if it has none.

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
        The reading session that ``found`` was made with, or a session that sees the same data.
    found
        The comparison.
    selection
        The matching clusters.
    output_id
        The output.
    comparison
        Number of the pair of annotators, from 1, if the rule compares several pairs on an output.

    Raises
    ------
    NotFound
        If the comparison does not contain the output.
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
    # The clusters of one row are consecutive, so a difference of positions gives the number within the output.
    numbers = np.flatnonzero(found.clusters.output == row).tolist()
    first = numbers[0] if numbers else 0
    spans: dict[Who, list[tuple[int, MarkedSpan]]] = {who: _spans(session, found, row, who) for who in get_args(Who)}
    return tuple(
        SpanCluster(
            number=number - first + 1,
            kind=TYPES[found.clusters.type_code[number]],
            spans={who: [span for cluster, span in of_side if cluster == number] for who, of_side in spans.items()},
            is_wanted=bool(selection.clusters[number]),
        )
        for number in numbers
    )


def _spans(session: Session, found: Disagreements, row: int, who: Who) -> list[tuple[int, MarkedSpan]]:
    """Return the spans of one side with their clusters, in the annotator's order. Offsets are those that were compared."""
    is_reference = who == "reference"
    work = (found.reference if is_reference else found.hypothesis)[row]
    side = found.pair.reference if is_reference else found.pair.hypothesis
    of_span = found.clusters.reference if is_reference else found.clusters.hypothesis
    low, high = side.offsets[row : row + 2].tolist()
    keys = list(found.categories)
    # The arrays may lack categories that a filter removed. The same categories make the query give the same spans.
    present = {keys[code] for code in side.category[low:high].tolist()}
    stored = session.execute(
        select(Category.key, *SPAN_COLUMNS)
        .join_from(Span, Category, Category.id == Span.category_id)
        .join(Annotation, Annotation.id == Span.annotation_id)
        .join(ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == Span.output_position))
        .where(
            Span.annotation_id == work.annotation_id, ItemOutput.output_id == work.output_id, Category.key.in_(present)
        )
        .order_by(Span.position)
    ).all()
    # `load_side` reads spans in the same order, so both lists match by position. `strict` notices a missing span.
    return [
        (
            int(of_span[at]),
            replace(
                MarkedSpan.from_row(span, span.key), start=int(side.start[at]), end=int(side.end[at]), resolved=None
            ),
        )
        for at, span in zip(range(low, high), stored, strict=True)
    ]


def _pseudonym(session: Session, work: Work) -> str:
    return session.scalars(
        select(Annotator.pseudonym)
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .join(Annotation, Annotation.assignment_id == Assignment.id)
        .where(Annotation.id == work.annotation_id)
    ).one()
