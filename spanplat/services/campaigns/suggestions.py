"""Suggestions: another campaign's spans on the same texts, which annotators accept, change or dismiss.

They are copied once, when the campaign opens for the first time or when outputs are added to it. So everybody decides on the same
suggestions, whatever happens in the other campaign later. If several annotators annotated a text, the spans of the first one are
copied (the rule ``first``).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, delete, distinct, exists, func, insert, null, or_, select
from sqlalchemy.orm import Session, aliased

from spanplat.db import Database
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
from spanplat.models.revisions import counted
from spanplat.models.statements import insert_rows
from spanplat.schemas.attributes import problem_with_attribute
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.span import MarkedSpan
from spanplat.schemas.submission import SubmittedSpan
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.datasets import chunked

SUGGESTIONS_AT_ONCE = 500
"""Maximum number of suggestions that one transaction stores or deletes."""

# In the order of the columns that `_suggestible` selects: INSERT … SELECT pairs them by position.
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
_NOT_SUGGESTED = tuple(null().label(name) for name in ("origin", "resolved_start", "resolved_end"))
"""Columns of a span that a suggestion does not have: it is copied at its resolved offsets, and its origin is not shown."""
_STATED = ("category", "start", "end", "side", "output", "field")
_PERHAPS_STATED = ("subcategory", "severity", "reason", "attributes")


@dataclass(frozen=True)
class ItemSuggestion:
    """A suggestion on an item, in the terms of the campaign that shows it."""

    number: int
    """Number of the suggestion on its item, counted from 1."""
    campaign: str
    """Slug of the campaign that it comes from."""
    annotator: str
    """Pseudonym of the person or model that marked it."""
    span: MarkedSpan

    def as_record(self) -> dict[str, Any]:
        """Return the suggestion as it is stored and exported, without empty fields."""
        return {"number": self.number, "campaign": self.campaign, "annotator": self.annotator, **self.span.stated()}

    def origin_of(self, span: SubmittedSpan) -> dict[str, Any]:
        """Return the origin of a span that came from this suggestion, and whether the annotator accepted or changed it.

        Filling in a field that the suggestion left empty is not a change.
        """
        same = all(getattr(self.span, name) == getattr(span, name) for name in _STATED)
        kept = all(getattr(self.span, name) in (None, getattr(span, name)) for name in _PERHAPS_STATED)
        return {"suggestion": self.as_record(), "decision": "accepted" if same and kept else "changed"}


def take_suggestions(database: Database, campaign: Campaign) -> None:
    """Copy the present spans of the other campaign as suggestions, in short transactions; the campaign must be a draft.

    A draft shows the suggestions that it would copy, never the stored ones, so nobody sees an incomplete copy. The rest of an earlier
    attempt is replaced.

    Raises
    ------
    Conflict
        If the other campaign has nothing to suggest on this campaign's texts, or somebody else has opened the campaign since.
    """
    definition = definition_of(campaign)
    with database.reading() as session:
        # All are read before the first write, so that no write transaction waits for this query.
        spans = [dict(row._mapping) for row in session.execute(_suggestible(campaign, definition))]
    if not spans:
        raise Conflict(_nothing_to_suggest(campaign, definition))
    own = select(Item.id).where(Item.campaign_id == campaign.id)
    earlier = select(Suggestion.id).where(Suggestion.item_id.in_(own)).limit(SUGGESTIONS_AT_ONCE)
    with database.reading() as session:
        left = session.scalars(select(func.count(Suggestion.id)).where(Suggestion.item_id.in_(own))).one()
    for _ in range(0, left, SUGGESTIONS_AT_ONCE):
        with database.transaction() as session:
            _require_draft(session, campaign)
            session.execute(delete(Suggestion).where(Suggestion.id.in_(earlier)))
    for chunk in chunked(spans, SUGGESTIONS_AT_ONCE):
        with database.transaction() as session:
            _require_draft(session, campaign)
            insert_rows(session, Suggestion, chunk)


def require_suggestions(session: Session, campaign: Campaign) -> None:
    """Raise if a campaign that shows suggestions has none.

    Raises
    ------
    Conflict
        If it has none.
    """
    definition = definition_of(campaign)
    if definition.spans.suggestions_from is None:
        return
    taken = select(Suggestion.id).join(Item, Item.id == Suggestion.item_id).where(Item.campaign_id == campaign.id)
    if session.scalar(taken.limit(1)) is None:
        raise Conflict(_nothing_to_suggest(campaign, definition))


def _require_draft(session: Session, campaign: Campaign) -> None:
    """Raise if the campaign is no longer a draft: once it is open, its suggestions must not change."""
    # With the row locked, an opening waits until this transaction has ended.
    locked = select(Campaign.status).where(Campaign.id == campaign.id).with_for_update()
    if session.scalar(locked) != CampaignStatus.DRAFT:
        raise Conflict(f"campaign {campaign.slug!r} was opened by somebody else in the meantime; look again")


def _nothing_to_suggest(campaign: Campaign, definition: CampaignDefinition) -> str:
    return (
        f"campaign {campaign.slug!r} cannot open yet: {definition.spans.suggestions_from!r} has no finished spans to "
        "suggest on its texts; finish that campaign first, or remove suggestions_from"
    )


def add_suggestions(session: Session, campaign: Campaign, *, first_batch: int) -> None:
    """Copy the present spans of the other campaign on added items; earlier suggestions stay as they are.

    Parameters
    ----------
    session
        A writing session.
    campaign
        An open campaign that shows suggestions.
    first_batch
        Number of the first batch that was added.
    """
    added = exists().where(
        BatchItem.item_id == Item.id,
        BatchItem.role == ItemRole.REGULAR,
        Batch.id == BatchItem.batch_id,
        Batch.number >= first_batch,
    )
    spans = _suggestible(campaign, definition_of(campaign)).where(added)
    session.execute(insert(Suggestion).from_select(list(_COLUMNS), spans))


def count_without_suggestions(
    session: Session, definition: CampaignDefinition, items: Sequence[Collection[int]]
) -> int:
    """Count the items, each given by its outputs, on which the other campaign has no finished annotation.

    Raises
    ------
    Conflict
        If it has none on any of the items.
    """
    work = _first_work(definition).subquery()
    annotated = set(session.scalars(select(work.c.output_id).where(work.c.rank == 1)))
    without = sum(annotated.isdisjoint(outputs) for outputs in items)
    if without == len(items):
        raise Conflict(
            f"{definition.spans.suggestions_from!r} has no finished annotation on any of the {len(items)} items to be added to "
            f"{definition.slug!r}, which shows its suggestions; finish that campaign on them first"
        )
    return without


def suggestions_of(session: Session, definition: CampaignDefinition, item_id: int) -> list[ItemSuggestion]:
    """Return the suggestions on an item, in the order of the text.

    For a campaign that has not opened yet, these are the suggestions that it would copy now.
    """
    if definition.spans.suggestions_from is None:
        return []
    campaign = session.scalars(
        select(Campaign).join(Item, Item.campaign_id == Campaign.id).where(Item.id == item_id)
    ).one()
    if campaign.status == CampaignStatus.DRAFT:
        spans = _suggestible(campaign, definition).add_columns(*_NOT_SUGGESTED).where(Item.id == item_id)
        rows = session.execute(spans.order_by("number")).all()
    else:
        columns = (getattr(Suggestion, name) for name in _COLUMNS)
        taken = select(*columns, *_NOT_SUGGESTED).where(Suggestion.item_id == item_id)
        rows = session.execute(taken.order_by(Suggestion.number)).all()
    ids = [row.category_id for row in rows]
    keys: dict[int, str] = dict(session.execute(select(Category.id, Category.key).where(Category.id.in_(ids))).all())
    # The other campaign may have stored the name of a severity or its key.
    levels = {name: level.key for level in definition.severities for name in (level.name, level.key)}
    return [_suggested(row, keys[row.category_id], definition, levels) for row in rows]


def explain_suggestions(session: Session, campaign: Campaign) -> list[str]:
    """Explain in sentences which parts of the other campaign cannot be suggested."""
    definition = definition_of(campaign)
    source = definition.spans.suggestions_from
    if source is None:
        return []
    return list(_shortcomings(session, campaign, definition, source))


def _shortcomings(session: Session, campaign: Campaign, definition: CampaignDefinition, source: str) -> Iterator[str]:
    work = _first_work(definition).subquery()
    items, covered = _coverage(session, campaign, definition)
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
    # In items of other kinds one span may be suggested several times, so that the two counts cannot be compared.
    if lost > 0 and definition.item.kind == "output":
        yield (
            f"spans of {source!r} that are not suggested, because their quote is not at its place in the text, they are empty in "
            f"a campaign without omission marks, or they stand on a side where their category is not marked: {lost}"
        )


def _coverage(session: Session, campaign: Campaign, definition: CampaignDefinition) -> tuple[int, int]:
    """Return how many regular items there are, and on how many of them the other campaign has a finished annotation."""
    work = _first_work(definition).subquery()
    items = session.scalars(select(func.count(Item.id)).where(Item.campaign_id == campaign.id, _IS_REGULAR)).one()
    covered = (
        select(func.count(distinct(Item.id)))
        .select_from(work)
        .join(ItemOutput, ItemOutput.output_id == work.c.output_id)
        .join(Item, and_(Item.id == ItemOutput.item_id, Item.campaign_id == campaign.id))
        .where(work.c.rank == 1, _IS_REGULAR)
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
    """Select the spans that can be suggested, with the columns of the table of suggestions."""
    # All of this is SQL, so that one INSERT … SELECT can copy the suggestions on added items.
    work = _first_work(definition).subquery()
    theirs, ours = aliased(Category), aliased(Category)
    start = func.coalesce(Span.resolved_start, Span.start_offset)
    end = func.coalesce(Span.resolved_end, Span.end_offset)
    whole = case((Span.side == "source", SourceText.text), else_=Output.text)
    quote = func.substr(whole, start + 1, end - start)  # SQL counts characters from 1
    # In the order of the text, and of spans with the same start the longest first.
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
            # The quote of an imported span may be nowhere in the text; without a place the span cannot be suggested.
            or_(Span.resolved_start.is_not(None), quote == Span.text),
            start < end if not definition.spans.omissions else start <= end,
            end <= func.length(whole),
            _on_its_side(ours.key, definition),
            _IS_REGULAR,
        )
    )


# Checks test what annotators see by themselves. A suggestion on a check would give the answer away, or mislead.
_IS_REGULAR = exists().where(BatchItem.item_id == Item.id, BatchItem.role == ItemRole.REGULAR)


def _on_its_side(key: ColumnElement[str] | Any, definition: CampaignDefinition) -> ColumnElement[bool]:
    def allowed(side: str) -> Sequence[str]:
        return [category.key for category in definition.categories if category.side in (side, "both")]

    field = definition.data.source_text if definition.data and definition.marks_source else None
    return or_(
        and_(Span.side == "output", key.in_(allowed("output"))),
        and_(Span.side == "source", key.in_(allowed("source")), Span.source_field == field),
    )


def _suggested(row: Any, category: str, definition: CampaignDefinition, levels: dict[str, str]) -> ItemSuggestion:
    described = definition.find_category(category)
    finer = {sub.key for sub in described.subcategories} if described else set()
    span = replace(
        MarkedSpan.from_row(row, category),
        subcategory=row.subcategory if row.subcategory in finer else None,
        severity=levels.get(row.severity or ""),
        reason=row.reason if definition.spans.reason != "off" else None,
        attributes=_asked_for(definition, row.attributes or {}),
    )
    return ItemSuggestion(row.number, definition.spans.suggestions_from or "", row.annotator, span)


def _asked_for(definition: CampaignDefinition, attributes: dict[str, Any]) -> dict[str, Any] | None:
    """Return the attributes that this campaign asks for and would accept; None if there are none."""
    known = {attribute.key: attribute for attribute in definition.spans.attributes}
    fitting = {
        key: value
        for key, value in attributes.items()
        if key in known and value is not None and problem_with_attribute(known[key], value) is None
    }
    return fitting or None
