"""Browsing outputs with the spans of any campaigns and annotators: search by filter, and one output with all its layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, case, exists, func, literal, select, tuple_
from sqlalchemy.orm import Session, joinedload, selectinload

from spanplat.errors import NotFound
from spanplat.models import (
    COUNTED,
    Annotation,
    Annotator,
    Assignment,
    Campaign,
    CampaignStatus,
    Category,
    CheckResult,
    Dataset,
    Example,
    ItemOutput,
    Output,
    Span,
    System,
)
from spanplat.schemas.span import MarkedSpan
from spanplat.services.datasets.search import ExcerptPart, SearchPlace, contains, excerpt, excerpt_with_hit

EXCERPT = 200
"""Number of code points of a text that a list shows."""
MOST_LAYERS = 12
"""Maximum number of annotations of one output that are shown together; a filter selects others."""


@dataclass(frozen=True)
class BrowseFilter:
    """Filter for outputs; empty values leave nothing out."""

    campaigns: tuple[str, ...] = ()
    """Slugs of campaigns; annotations of other campaigns are ignored."""
    datasets: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    category: str = ""
    """Key of a category of which at least one annotation has a span."""
    annotator: str = ""
    """Pseudonym of an annotator; annotations of others are ignored."""
    check: Literal["", "passed", "failed"] = ""
    """Result of an attention check that at least one annotation has."""
    marked: Literal["", "all", "some", "none"] = ""
    """Whether all annotations have spans, only some of them, or none."""
    search: str = ""
    """Text to search for in `place`, ignoring case."""
    place: SearchPlace = "text"

    @property
    def searches_sources(self) -> bool:
        """Whether sources are searched."""
        return bool(self.search) and self.place != "text"

    @property
    def asks_for_annotations(self) -> bool:
        """Whether only outputs with annotations are wanted."""
        return bool(self.campaigns or self.category or self.annotator or self.check or self.marked)


@dataclass(frozen=True)
class FoundOutput:
    """One row of the list."""

    id: int
    dataset: str
    split: str
    key: str
    system: str
    excerpt: Sequence[ExcerptPart]
    """Excerpt of the text around the first hit; without a hit, its beginning."""
    source_excerpt: Sequence[ExcerptPart]
    """Excerpt of the source around the first hit; empty if the source is not searched or has no hit."""
    annotations: int
    spans: int


@dataclass(frozen=True)
class Layer:
    """One annotation of an output."""

    campaign: str
    title: str
    annotator: str
    """Pseudonym."""
    annotator_kind: str
    spans: Sequence[MarkedSpan]
    categories: Mapping[str, str]
    """Names of the spans' categories by key."""
    answers: dict[str, Any]
    seconds: float | None
    checks: Sequence[CheckResult]
    is_excluded: bool
    """Whether a failed check keeps it out of every figure."""


@dataclass(frozen=True)
class BrowsedOutput:
    """One output with its annotations."""

    id: int
    dataset: str
    split: str
    key: str
    system: str
    text: str
    source: Any
    layers: Sequence[Layer]
    annotations: int
    """Number of annotations that match the filter; `layers` holds the first of them."""
    number: int
    """Position among the outputs found, counted from 1; 0 if it is not among them."""
    total: int
    """Number of outputs found."""
    previous: int | None
    """Id of the output before it, or None."""
    next: int | None


def find_outputs(session: Session, wanted: BrowseFilter) -> list[int]:
    """Return the ids of all outputs that match, in import order; `describe_outputs` gives the details for one page of them."""
    return list(session.scalars(_found(session, wanted).order_by(*_ORDER)))


def describe_outputs(session: Session, wanted: BrowseFilter, ids: Sequence[int]) -> list[FoundOutput]:
    """Return details of some outputs, in the order given, with the counts of their matching annotations and spans."""
    columns = (
        select(
            Output.id,
            Dataset.slug.label("dataset"),
            Example.split,
            Example.key,
            System.slug.label("system"),
            # One more than is shown, so that `excerpt` marks that something is left out.
            (Output.text if wanted.search else func.substr(Output.text, 1, EXCERPT + 1)).label("text"),
            (Example.source_plain if wanted.searches_sources else literal("")).label("source"),
        )
        .join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .join(System, System.id == Output.system_id)
        .where(Output.id.in_(ids))
    )
    described = {row.id: row for row in session.execute(columns)}
    rows = [described[output_id] for output_id in ids]
    annotations = _annotations(wanted, among_few=True).where(ItemOutput.output_id.in_(ids))
    numbers = _counts(session, annotations.with_only_columns(ItemOutput.output_id, func.count(Annotation.id)))
    spans = _counts(
        session,
        annotations.join(Span, (Span.annotation_id == Annotation.id) & (Span.output_position == ItemOutput.position))
        .where(Span.side == "output")
        .with_only_columns(ItemOutput.output_id, func.count(Span.id)),
    )
    return [
        FoundOutput(
            id=row.id,
            dataset=row.dataset,
            split=row.split,
            key=row.key,
            system=row.system,
            excerpt=excerpt(row.text, wanted.search, EXCERPT),
            source_excerpt=excerpt_with_hit(row.source, wanted.search, EXCERPT),
            annotations=numbers.get(row.id, 0),
            spans=spans.get(row.id, 0),
        )
        for row in rows
    ]


def browse_output(session: Session, wanted: BrowseFilter, output_id: int) -> BrowsedOutput:
    """Return one output with its matching annotations, and its neighbours among the outputs found.

    Raises
    ------
    NotFound
        If there is no such output.
    """
    output = session.get(
        Output, output_id, options=[joinedload(Output.system), joinedload(Output.example).joinedload(Example.dataset)]
    )
    if output is None:
        raise NotFound(f"there is no output number {output_id}")
    ids = find_outputs(session, wanted)
    is_found = output_id in ids
    before = ids.index(output_id) if is_found else _count_before(session, wanted, output)
    after = before + is_found
    annotations = _annotations(wanted, among_few=True).where(ItemOutput.output_id == output_id)
    layers = session.execute(
        annotations.with_only_columns(Annotation, ItemOutput.position, Campaign)
        .options(
            selectinload(Annotation.spans).joinedload(Span.category),
            joinedload(Annotation.assignment).joinedload(Assignment.annotator),
        )
        .order_by(Campaign.id, Assignment.slot, Assignment.id)
        .limit(MOST_LAYERS)
    ).all()
    checks = _check_results(session, [annotation for annotation, _position, _campaign in layers])
    return BrowsedOutput(
        id=output.id,
        dataset=output.example.dataset.slug,
        split=output.example.split,
        key=output.example.key,
        system=output.system.slug,
        text=output.text,
        source=output.example.source,
        layers=[
            _layer(annotation, position, campaign, checks.get((annotation.assignment_id, annotation.item_id), ()))
            for annotation, position, campaign in layers
        ],
        annotations=session.scalar(annotations.with_only_columns(func.count(Annotation.id))) or 0,
        number=before + 1 if is_found else 0,
        total=len(ids),
        previous=ids[before - 1] if before else None,
        next=ids[after] if after < len(ids) else None,
    )


def annotators_of(session: Session, campaigns: Sequence[str], limit: int) -> list[str]:
    """Return the first pseudonyms of annotators in the campaigns, or in all campaigns if none is named."""
    found = (
        select(Annotator.pseudonym)
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .where(exists().where(Annotation.assignment_id == Assignment.id))
        .distinct()
        .order_by(Annotator.pseudonym)
        .limit(limit)
    )
    if campaigns:
        found = found.where(Campaign.slug.in_(campaigns))
    return list(session.scalars(found))


_ORDER: tuple[ColumnElement[Any], ...] = (Output.example_id, System.slug, Output.id)  # type: ignore[assignment]


def _count_before(session: Session, wanted: BrowseFilter, output: Output) -> int:
    """Count the outputs found that come before an output that is not among them."""
    here = tuple_(*_ORDER) < tuple_(output.example_id, output.system.slug, output.id)
    return session.scalar(_found(session, wanted).with_only_columns(func.count(Output.id)).where(here)) or 0


def _found(session: Session, wanted: BrowseFilter) -> Select[int]:
    found = (
        select(Output.id)
        .join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .join(System, System.id == Output.system_id)
    )
    for column, names in (
        (Dataset.slug, wanted.datasets),
        (Example.split, wanted.splits),
        (System.slug, wanted.systems),
    ):
        if names:
            found = found.where(column.in_(names))
    if wanted.search:
        found = found.where(contains(session, wanted.search, wanted.place))
    if wanted.asks_for_annotations:
        # Not a correlated subquery: the database computes this list once, starting from the condition that leaves the fewest rows.
        mine = _annotations(wanted).with_only_columns(ItemOutput.output_id)
        found = found.where(Output.id.in_(_marked(mine, wanted.marked)))
    return found


def _marked(mine: Select[int], marked: str) -> Select[int]:
    with_spans = func.sum(case((_HAS_SPANS, 1), else_=0))
    conditions: dict[str, ColumnElement[bool]] = {
        "all": with_spans == func.count(),
        # Means 0 < with_spans < count. The sum is written only once, because PostgreSQL evaluates it as often as it is written.
        "some": func.abs(2 * with_spans - func.count()) < func.count(),
        "none": with_spans == literal(0),
    }
    return mine.group_by(ItemOutput.output_id).having(conditions[marked]) if marked else mine


_HAS_SPANS = exists().where(Span.annotation_id == Annotation.id)


def _annotations(wanted: BrowseFilter, *, among_few: bool = False) -> Select[Any]:
    """Select the finished annotations that match the filter, also those that a failed check excludes from figures.

    With ``among_few``, the filter is written for queries that are limited to a few outputs.
    """
    own_campaign, own_annotator = Campaign.slug.in_(wanted.campaigns), Annotator.pseudonym == wanted.annotator
    # An expression in place of the column hides its index, so that the database starts from the few outputs and does not read all
    # annotations of a campaign or an annotator.
    if among_few:
        own_campaign = Campaign.slug.concat("").in_(wanted.campaigns)
        own_annotator = Annotator.pseudonym.concat("") == wanted.annotator
    found = (
        select(Annotation.id)
        .join(ItemOutput, ItemOutput.item_id == Annotation.item_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .where(
            Campaign.status != CampaignStatus.IMPORTING,
            Annotation.status == "complete",
            Annotation.late.is_(False),
            Assignment.status.in_(COUNTED),
        )
    )
    if wanted.campaigns:
        found = found.where(own_campaign)
    if wanted.annotator:
        found = found.join(Annotator, Annotator.id == Assignment.annotator_id).where(own_annotator)
    if wanted.category:
        found = found.where(_has_category(wanted, among_few=among_few))
    if wanted.check:
        result = exists().where(
            CheckResult.assignment_id == Annotation.assignment_id,
            CheckResult.item_id == Annotation.item_id,
            CheckResult.passed.is_(wanted.check == "passed"),
        )
        found = found.where(result)
    return found


def _has_category(wanted: BrowseFilter, *, among_few: bool) -> ColumnElement[bool]:
    """Build the condition that an annotation has a span of the category."""
    # A test for each annotation is fast if there are few of them. If all are searched, one list of all such spans is faster.
    if among_few or wanted.campaigns or wanted.annotator:
        return exists().where(
            Span.annotation_id == Annotation.id, Category.id == Span.category_id, Category.key == wanted.category
        )
    categories = select(Category.id).where(Category.key == wanted.category)
    return Annotation.id.in_(select(Span.annotation_id).where(Span.category_id.in_(categories)))


def _counts(session: Session, statement: Select[int, int]) -> dict[int, int]:
    return {output_id: count for output_id, count in session.execute(statement.group_by(ItemOutput.output_id))}


def _check_results(
    session: Session, annotations: Sequence[Annotation]
) -> dict[tuple[int, int | None], list[CheckResult]]:
    """Return the results of checks by seat and item."""
    seats = {annotation.assignment_id for annotation in annotations}
    found: dict[tuple[int, int | None], list[CheckResult]] = {}
    for result in session.scalars(select(CheckResult).where(CheckResult.assignment_id.in_(seats))):
        found.setdefault((result.assignment_id, result.item_id), []).append(result)
    return found


def _layer(annotation: Annotation, position: int, campaign: Campaign, checks: Sequence[CheckResult]) -> Layer:
    assignment = annotation.assignment
    # An item with several outputs has one source, so its source spans belong to all of them.
    spans = [span for span in annotation.spans if span.output_position == position or span.side == "source"]
    return Layer(
        campaign=campaign.slug,
        title=campaign.title,
        annotator=assignment.annotator.pseudonym if assignment.annotator else "",
        annotator_kind=assignment.annotator.kind if assignment.annotator else "",
        spans=[MarkedSpan.from_row(span, span.category.key) for span in spans],
        categories={span.category.key: span.category.name for span in spans},
        answers=annotation.answers,
        seconds=annotation.seconds,
        checks=checks,
        is_excluded=assignment.excluded,
    )
