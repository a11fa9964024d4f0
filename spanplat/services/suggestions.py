"""Suggestions: another campaign's spans on the same texts, which annotators accept, change or dismiss.

They are taken over once, when the campaign opens for the first time or an output is added to it, so that everybody decides on the
same ones, whatever happens in the other campaign later. Of several annotators of a text, the first one's spans are taken (the rule
``first``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, delete, distinct, exists, func, insert, or_, select
from sqlalchemy.orm import Session, aliased

from spanplat.errors import Conflict
from spanplat.models import (
    Annotation,
    Annotator,
    Assignment,
    Batch,
    BatchItem,
    Campaign,
    CampaignStatus,
    Category,
    Item,
    ItemOutput,
    ItemRole,
    Output,
    SourceText,
    Span,
    Suggestion,
)
from spanplat.schemas.attributes import problem_with_attribute
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import SubmittedSpan
from spanplat.services.definitions import definition_of
from spanplat.services.revisions import counted

_COLUMNS = (
    "item_id",
    "number",
    "category_id",
    "annotator",
    "start_offset",
    "end_offset",
    "text",
    "side",
    "output_position",
    "source_field",
    "subcategory",
    "severity",
    "reason",
    "attributes",
)
_STATED = ("category", "start", "end", "side", "output", "field")
_PERHAPS_STATED = ("subcategory", "severity", "reason", "attributes")


@dataclass(frozen=True)
class SuggestedSpan:
    """A suggestion on an item, in the terms of the campaign that shows it."""

    number: int
    """Counts the suggestions of an item from 1."""
    campaign: str
    """Where it comes from."""
    annotator: str
    """Pseudonym of who or what marked it."""
    start: int
    end: int
    text: str
    category: str
    """Key of the category."""
    side: str
    output: int
    field: str | None = None
    subcategory: str | None = None
    severity: str | None = None
    reason: str | None = None
    attributes: dict[str, Any] | None = None

    def as_record(self) -> dict[str, Any]:
        """Return what is stored and exported about it; what it does not state is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def origin_of(self, span: SubmittedSpan) -> dict[str, Any]:
        """Return where a span that started as this suggestion comes from, and whether it still is what was suggested.

        Filling in what the suggestion left open is no change.
        """
        same = all(getattr(self, name) == getattr(span, name) for name in _STATED)
        kept = all(getattr(self, name) in (None, getattr(span, name)) for name in _PERHAPS_STATED)
        return {"suggestion": self.as_record(), "decision": "accepted" if same and kept else "changed"}


def take_suggestions(session: Session, campaign: Campaign) -> int:
    """Take over the other campaign's spans as they are now; return how many there are.

    Raises
    ------
    Conflict
        If the other campaign has nothing to suggest on this campaign's texts.
    """
    definition = definition_of(campaign)
    spans = _suggestible(campaign, definition)
    own = select(Item.id).where(Item.campaign_id == campaign.id)
    session.execute(delete(Suggestion).where(Suggestion.item_id.in_(own)))
    session.execute(insert(Suggestion).from_select(list(_COLUMNS), spans))
    taken = session.scalars(
        select(func.count(Suggestion.id))
        .join(Item, Item.id == Suggestion.item_id)
        .where(Item.campaign_id == campaign.id)
    ).one()
    if not taken:
        raise Conflict(
            f"campaign {campaign.slug!r} cannot open yet: {definition.spans.suggestions_from!r} has no finished spans to "
            "suggest on its texts; finish that campaign first, or remove suggestions_from"
        )
    return taken


def add_suggestions(session: Session, campaign: Campaign, *, first_batch: int) -> int:
    """Take over the other campaign's spans, as they are now, on items added since; what others were shown stays as it is.

    Parameters
    ----------
    session
        A writing session.
    campaign
        An open campaign that shows suggestions.
    first_batch
        Number of the first batch that was added.

    Returns
    -------
    int
        On how many of the items the other campaign has no finished annotation, so that they have no suggestions.

    Raises
    ------
    Conflict
        If that is so on all of them.
    """
    definition = definition_of(campaign)
    added = exists().where(
        BatchItem.item_id == Item.id,
        BatchItem.role == ItemRole.REGULAR,
        Batch.id == BatchItem.batch_id,
        Batch.number >= first_batch,
    )
    items, covered = _coverage(session, campaign, definition, added)
    if not covered:
        raise Conflict(
            f"{definition.spans.suggestions_from!r} has no finished annotation on any of the {items} items to be added to "
            f"{campaign.slug!r}, which shows its suggestions; finish that campaign on them first"
        )
    session.execute(insert(Suggestion).from_select(list(_COLUMNS), _suggestible(campaign, definition).where(added)))
    return items - covered


def suggestions_of(session: Session, definition: CampaignDefinition, item_id: int) -> list[SuggestedSpan]:
    """Return the suggestions on an item, in the order of the text.

    Those of a campaign that has not opened yet are what it would take over now.
    """
    if definition.spans.suggestions_from is None:
        return []
    taken = select(*(getattr(Suggestion, name) for name in _COLUMNS)).where(Suggestion.item_id == item_id)
    rows = session.execute(taken.order_by(Suggestion.number)).all()
    if not rows:
        campaign = session.scalars(
            select(Campaign).join(Item, Item.campaign_id == Campaign.id).where(Item.id == item_id)
        ).one()
        if campaign.status == CampaignStatus.DRAFT:
            spans = _suggestible(campaign, definition).where(Item.id == item_id)
            rows = session.execute(spans.order_by("number")).all()
    ids = [row.category_id for row in rows]
    keys: dict[int, str] = dict(session.execute(select(Category.id, Category.key).where(Category.id.in_(ids))).all())
    levels = {name: level.key for level in definition.severities for name in (level.name, level.key)}
    return [_suggested(row, keys[row.category_id], definition, levels) for row in rows]


def explain_suggestions(session: Session, campaign: Campaign) -> list[str]:
    """Say, in sentences, what of the other campaign cannot be suggested, and why."""
    definition = definition_of(campaign)
    source = definition.spans.suggestions_from
    if source is None:
        return []
    return list(_shortcomings(session, campaign, definition, source))


def _shortcomings(session: Session, campaign: Campaign, definition: CampaignDefinition, source: str) -> Iterator[str]:
    work = _first_work(definition).subquery()
    items, covered = _coverage(session, campaign, definition, _IS_REGULAR)
    if covered < items:
        yield f"items without suggestions, because {source!r} has no finished annotation on them: {items - covered} of {items}"
    spans = (
        select(Category.name, Category.key, func.count(distinct(Span.id)))
        .select_from(work)
        .join(ItemOutput, ItemOutput.output_id == work.c.output_id)
        .join(Item, and_(Item.id == ItemOutput.item_id, Item.campaign_id == campaign.id))
        .join(Span, and_(Span.annotation_id == work.c.annotation_id, Span.output_position == work.c.output_position))
        .join(Category, Category.id == Span.category_id)
        .where(work.c.rank == 1, _IS_REGULAR)
        .group_by(Category.name, Category.key)
        .order_by(Category.name)
    )
    own = {category.key for category in definition.categories}
    counts = [(name, key, count) for name, key, count in session.execute(spans)]
    for name, key, count in counts:
        if key not in own:
            known = ", ".join(sorted(own))
            yield (
                f"spans of {source!r} that are not suggested, because this campaign does not have their category “{name}”: "
                f"{count} (add a category with the key {key!r}; there are {known})"
            )
    placed = select(func.count()).select_from(_suggestible(campaign, definition).subquery())
    lost = sum(count for _, key, count in counts if key in own) - session.scalars(placed).one()
    if lost > 0 and definition.item.kind == "output":
        yield (
            f"spans of {source!r} that are not suggested, because their quote is not at its place in the text, they are empty in "
            f"a campaign without omission marks, or they stand on a side where their category is not marked: {lost}"
        )


def _coverage(
    session: Session, campaign: Campaign, definition: CampaignDefinition, which: ColumnElement[bool]
) -> tuple[int, int]:
    """Return how many items there are of those asked for, and on how many the other campaign has a finished annotation."""
    work = _first_work(definition).subquery()
    items = session.scalars(select(func.count(Item.id)).where(Item.campaign_id == campaign.id, which)).one()
    covered = (
        select(func.count(distinct(Item.id)))
        .select_from(work)
        .join(ItemOutput, ItemOutput.output_id == work.c.output_id)
        .join(Item, and_(Item.id == ItemOutput.item_id, Item.campaign_id == campaign.id))
        .where(work.c.rank == 1, which)
    )
    return items, session.scalars(covered).one()


def _first_work(definition: CampaignDefinition) -> Select[Any]:
    """Select the other campaign's finished annotations by output, ranked by annotator."""
    order = (Assignment.slot, Assignment.repeat, Annotation.id)
    return (
        select(
            Annotation.id.label("annotation_id"),
            Annotator.pseudonym,
            ItemOutput.output_id,
            ItemOutput.position.label("output_position"),
            func.row_number().over(partition_by=ItemOutput.output_id, order_by=order).label("rank"),
        )
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .join(Annotator, Annotator.id == Assignment.annotator_id)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .join(ItemOutput, ItemOutput.item_id == Annotation.item_id)
        .where(Campaign.slug == definition.spans.suggestions_from, *counted())
    )


def _suggestible(campaign: Campaign, definition: CampaignDefinition) -> Select[Any]:
    """Select what can be suggested, in the columns of the table of suggestions."""
    work = _first_work(definition).subquery()
    theirs, ours = aliased(Category), aliased(Category)
    start = func.coalesce(Span.resolved_start, Span.start_offset)
    end = func.coalesce(Span.resolved_end, Span.end_offset)
    whole = case((Span.side == "source", SourceText.text), else_=Output.text)
    quote = func.substr(whole, start + 1, end - start)
    order = (ItemOutput.position, Span.side, start, end.desc(), Span.id)
    return (
        select(
            Item.id.label("item_id"),
            func.row_number().over(partition_by=Item.id, order_by=order).label("number"),
            ours.id.label("category_id"),
            work.c.pseudonym.label("annotator"),
            start.label("start_offset"),
            end.label("end_offset"),
            quote.label("text"),
            Span.side,
            ItemOutput.position.label("output_position"),
            Span.source_field,
            Span.subcategory,
            Span.severity,
            Span.reason,
            Span.attributes,
        )
        .select_from(work)
        .join(ItemOutput, ItemOutput.output_id == work.c.output_id)
        .join(Item, and_(Item.id == ItemOutput.item_id, Item.campaign_id == campaign.id))
        .join(Span, and_(Span.annotation_id == work.c.annotation_id, Span.output_position == work.c.output_position))
        .join(theirs, theirs.id == Span.category_id)
        .join(ours, and_(ours.campaign_id == campaign.id, ours.key == theirs.key))
        .join(Output, Output.id == ItemOutput.output_id)
        .outerjoin(SourceText, and_(SourceText.example_id == Output.example_id, SourceText.field == Span.source_field))
        .where(
            work.c.rank == 1,
            or_(Span.resolved_start.is_not(None), quote == Span.text),
            start < end if not definition.spans.omissions else start <= end,
            end <= func.length(whole),
            _on_its_side(ours.key, definition),
            _IS_REGULAR,
        )
    )


# A check asks what somebody sees by themselves; a suggestion on it would answer, or mislead.
_IS_REGULAR = exists().where(BatchItem.item_id == Item.id, BatchItem.role == ItemRole.REGULAR)


def _on_its_side(key: ColumnElement[str] | Any, definition: CampaignDefinition) -> ColumnElement[bool]:
    def allowed(side: str) -> Sequence[str]:
        return [category.key for category in definition.categories if category.side in (side, "both")]

    field = definition.data.source_text if definition.data and definition.marks_source else None
    return or_(
        and_(Span.side == "output", key.in_(allowed("output"))),
        and_(Span.side == "source", key.in_(allowed("source")), Span.source_field == field),
    )


def _suggested(row: Any, category: str, definition: CampaignDefinition, levels: dict[str, str]) -> SuggestedSpan:
    described = definition.find_category(category)
    finer = {sub.key for sub in described.subcategories} if described else set()
    return SuggestedSpan(
        number=row.number,
        campaign=definition.spans.suggestions_from or "",
        annotator=row.annotator,
        start=row.start_offset,
        end=row.end_offset,
        text=row.text,
        category=category,
        side=row.side,
        output=row.output_position,
        field=row.source_field,
        subcategory=row.subcategory if row.subcategory in finer else None,
        severity=levels.get(row.severity or ""),
        reason=row.reason if definition.spans.reason != "off" else None,
        attributes=_asked_for(definition, row.attributes or {}),
    )


def _asked_for(definition: CampaignDefinition, attributes: dict[str, Any]) -> dict[str, Any] | None:
    """Return the attributes that this campaign would accept."""
    known = {attribute.key: attribute for attribute in definition.spans.attributes}
    fitting = {
        key: value
        for key, value in attributes.items()
        if key in known and value is not None and problem_with_attribute(known[key], value) is None
    }
    return fitting or None
