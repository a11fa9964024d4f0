"""Judgements of the annotators of an ensemble, item by item."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.metrics.spans import FloatArray
from spanplat.models import (
    SPAN_COLUMNS,
    Annotation,
    Assignment,
    BatchItem,
    Campaign,
    Category,
    Dataset,
    Example,
    Item,
    ItemOutput,
    ItemRole,
    Output,
    Span,
)
from spanplat.models.revisions import counted
from spanplat.schemas.span import MarkedSpan
from spanplat.services.campaigns import find_campaign
from spanplat.services.datasets import chunked
from spanplat.text.counting import count_of

AT_ONCE = 500
"""Largest number of ids in one query. Databases limit the number of parameters."""


class ItemKey(NamedTuple):
    """Key of an item across campaigns: its texts in any order, and the aspect."""

    outputs: tuple[int, ...]
    """Ids, ascending."""
    aspect: str | None


@dataclass(frozen=True)
class Judgement:
    """Judgement of one annotator on one item."""

    annotator: int
    """Number within the ensemble."""
    outputs: tuple[int, ...]
    """Ids, in the order in which this annotator saw them."""
    answers: Mapping[str, Any]
    errors: Sequence[MarkedSpan]
    """Spans at the places of their quotes. ``output`` is an index into the outputs of the item's key."""


@dataclass(frozen=True)
class MemberCampaign:
    """A campaign with the annotators that are members of an ensemble: all of them, or some."""

    campaign: Campaign
    numbers: tuple[int, ...] = ()
    """Numbers of the annotators, counted from 1 like their names. Empty for all."""


@dataclass
class Members:
    """The annotators of an ensemble and all their judgements."""

    names: list[str] = field(default_factory=list)
    """Names of the annotators: the campaign, with a number if it has several."""
    judgements: dict[ItemKey, list[Judgement]] = field(default_factory=dict)
    datasets: dict[ItemKey, str] = field(default_factory=dict)

    def spans_per_item(self) -> dict[str, float]:
        """Return the mean number of spans on a judged item, by annotator."""
        numbers: dict[int, list[int]] = {number: [] for number in range(len(self.names))}
        for judgements in self.judgements.values():
            for judgement in judgements:
                numbers[judgement.annotator].append(len(judgement.errors))
        return {self.names[number]: float(np.mean(counts)) for number, counts in numbers.items() if counts}

    def scores(self, question: str) -> FloatArray:
        """Return the answers to a question on a scale, shape (annotators, items). Missing answers are NaN."""
        table = np.full((len(self.names), len(self.judgements)), np.nan)
        for column, judgements in enumerate(self.judgements.values()):
            for judgement in judgements:
                answer = judgement.answers.get(question)
                if isinstance(answer, (int, float)) and not isinstance(answer, bool):  # a bool is an int in Python
                    table[judgement.annotator, column] = answer
        return table


def choose_members(session: Session, names: Iterable[str]) -> list[MemberCampaign]:
    """Return the campaigns that the names of members refer to.

    Parameters
    ----------
    session
        A reading session.
    names
        A name is a campaign (all its annotators) or ``campaign#2`` (its second annotator, such as a repeat with its own seed).

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If no number follows the ``#``.
    """
    # A campaign named as a whole includes every annotator that is named beside it.
    wanted: dict[str, list[int]] = {}
    whole: set[str] = set()
    for name in names:
        slug, sign, number = name.partition("#")
        numbers = wanted.setdefault(slug, [])
        if not sign:
            whole.add(slug)
        elif not number.isascii() or not number.isdecimal() or int(number) < 1:
            raise InvalidInput(f"{name!r} names no annotator; write {slug}#1 for the first of {slug!r}")
        elif int(number) not in numbers:
            numbers.append(int(number))
    return [
        MemberCampaign(find_campaign(session, slug), () if slug in whole else tuple(sorted(numbers)))
        for slug, numbers in wanted.items()
    ]


def load_members(
    session: Session, chosen: Sequence[MemberCampaign], *, outputs: Collection[int] | None = None
) -> Members:
    """Load the judgements of the annotators of some campaigns on regular items, as far as they count in figures.

    Parameters
    ----------
    session
        A reading session.
    chosen
        The campaigns, and which of their annotators.
    outputs
        If given, only items with these outputs.

    Raises
    ------
    InvalidInput
        If a campaign has no annotator of a given number.
    """
    members = Members()
    for entry in chosen:
        _load(session, entry, members, outputs)
    return members


def _load(session: Session, chosen: MemberCampaign, members: Members, outputs: Collection[int] | None) -> None:
    campaign = chosen.campaign
    numbers, names = _annotators(session, chosen, len(members.names))
    members.names.extend(names)
    asked_about = [] if outputs is None else [_has_outputs(outputs)]
    rows = session.execute(
        select(Annotation.id, Annotation.item_id, Annotation.answers, Assignment.annotator_id, Assignment.repeat)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .join(BatchItem, (BatchItem.batch_id == Assignment.batch_id) & (BatchItem.item_id == Annotation.item_id))
        .where(Assignment.campaign_id == campaign.id, BatchItem.role == ItemRole.REGULAR, *counted(), *asked_about)
        .order_by(Assignment.slot, Assignment.repeat, Annotation.id)
    ).all()
    shown, aspects, datasets = _items(session, {row[1] for row in rows})
    errors = _errors(session, {row[0] for row in rows})
    for annotation_id, item_id, answers, annotator_id, repeat in rows:
        if (annotator_id, repeat) not in numbers:
            continue  # not chosen
        number = numbers[annotator_id, repeat]
        key = ItemKey(tuple(sorted(shown[item_id])), aspects[item_id])
        # Campaigns may show the same texts in different orders, so positions are translated to those of the key.
        marked = [replace(span, output=key.outputs.index(output)) for output, span in errors.get(annotation_id, ())]
        members.judgements.setdefault(key, []).append(Judgement(number, tuple(shown[item_id]), answers, marked))
        members.datasets[key] = datasets[item_id]


def _annotators(
    session: Session, chosen: MemberCampaign, first: int
) -> tuple[dict[tuple[int | None, int], int], list[str]]:
    """Give each chosen annotator of a campaign a number and a name. Each repeat of a model is a separate annotator."""
    campaign = chosen.campaign
    rows = session.execute(
        select(Assignment.annotator_id, Assignment.repeat, func.min(Assignment.slot), func.min(Assignment.id))
        .join(Annotation, Annotation.assignment_id == Assignment.id)
        .join(BatchItem, (BatchItem.batch_id == Assignment.batch_id) & (BatchItem.item_id == Annotation.item_id))
        .where(Assignment.campaign_id == campaign.id, BatchItem.role == ItemRole.REGULAR, *counted())
        .group_by(Assignment.annotator_id, Assignment.repeat)
    ).all()
    # Numbered in the order of seats, and over all annotators before the choice: ``campaign#2`` is the same one in every ensemble.
    ordered = sorted(rows, key=lambda row: (row[2], row[1], row[3]))
    named = {
        (annotator_id, repeat): f"{campaign.slug}#{place}" if len(ordered) > 1 else campaign.slug
        for place, (annotator_id, repeat, _, _) in enumerate(ordered, start=1)
        if not chosen.numbers or place in chosen.numbers
    }
    if chosen.numbers and chosen.numbers[-1] > len(ordered):
        raise InvalidInput(
            f"there is no {campaign.slug}#{chosen.numbers[-1]}: {campaign.slug!r} has the finished annotations of "
            f"{count_of(len(ordered), 'annotator')}"
        )
    return {key: first + place for place, key in enumerate(named)}, list(named.values())


def _has_outputs(outputs: Collection[int]) -> ColumnElement[bool]:
    return Annotation.item_id.in_(select(ItemOutput.item_id).where(ItemOutput.output_id.in_(outputs)))


def _items(
    session: Session, items: Collection[int]
) -> tuple[dict[int, list[int]], dict[int, str | None], dict[int, str]]:
    shown: dict[int, list[int]] = {}
    aspects: dict[int, str | None] = {}
    datasets: dict[int, str] = {}
    for chunk in chunked(sorted(items), AT_ONCE):
        for item_id, output_id, aspect, dataset in session.execute(
            select(Item.id, ItemOutput.output_id, Item.aspect, Dataset.slug)
            .join(ItemOutput, ItemOutput.item_id == Item.id)
            .join(Output, Output.id == ItemOutput.output_id)
            .join(Example, Example.id == Output.example_id)
            .join(Dataset, Dataset.id == Example.dataset_id)
            .where(Item.id.in_(chunk))
            .order_by(Item.id, ItemOutput.position)
        ):
            shown.setdefault(item_id, []).append(output_id)
            aspects[item_id], datasets[item_id] = aspect, dataset
    return shown, aspects, datasets


def _errors(session: Session, annotations: Collection[int]) -> dict[int, list[tuple[int, MarkedSpan]]]:
    """Return the spans of annotations at the places of their quotes, each with the id of its output."""
    errors: dict[int, list[tuple[int, MarkedSpan]]] = {}
    for chunk in chunked(sorted(annotations), AT_ONCE):
        for row in session.execute(
            select(Span.annotation_id, ItemOutput.output_id, Category.key, *SPAN_COLUMNS)
            .join(Category, Category.id == Span.category_id)
            .join(Annotation, Annotation.id == Span.annotation_id)
            .join(
                ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == Span.output_position)
            )
            .where(Span.annotation_id.in_(chunk))
            .order_by(Span.annotation_id, Span.position)
        ):
            span = MarkedSpan.from_row(row, row.key)
            start, end = span.place
            # Imported offsets may be wrong. The place where the quote was found is the one to compare.
            placed = replace(span, start=start, end=end, resolved=None)
            errors.setdefault(row.annotation_id, []).append((row.output_id, placed))
    return errors
