"""What the annotators of an ensemble said, item by item."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.llm.ensemble import MarkedError
from spanplat.metrics.spans import FloatArray
from spanplat.models import (
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
from spanplat.services.campaigns import find_campaign
from spanplat.services.importing.storing import chunked
from spanplat.services.revisions import counted
from spanplat.text.counting import count_of

AT_ONCE = 500


class ItemKey(NamedTuple):
    """What makes items of several campaigns the same: their texts, in whatever order, and the aspect."""

    outputs: tuple[int, ...]
    """Ids, ascending."""
    aspect: str | None


@dataclass(frozen=True)
class Judgement:
    """What one annotator said of one item."""

    annotator: int
    """Number within the ensemble."""
    outputs: tuple[int, ...]
    """Ids, in the order this annotator was shown them."""
    answers: Mapping[str, Any]
    errors: Sequence[MarkedError]


@dataclass(frozen=True)
class Chosen:
    """A campaign whose annotators are members of an ensemble: all of them, or some."""

    campaign: Campaign
    numbers: tuple[int, ...] = ()
    """Which of them, counted from 1 as their names are; all when empty."""


@dataclass
class Members:
    """The annotators of an ensemble and all they said."""

    names: list[str] = field(default_factory=list)
    """Of the annotators: the campaign, with a number where it has several."""
    judgements: dict[ItemKey, list[Judgement]] = field(default_factory=dict)
    datasets: dict[ItemKey, str] = field(default_factory=dict)

    def spans_per_item(self) -> dict[str, float]:
        """Return, by annotator, the mean number of spans on the items it judged."""
        numbers: dict[int, list[int]] = {number: [] for number in range(len(self.names))}
        for judgements in self.judgements.values():
            for judgement in judgements:
                numbers[judgement.annotator].append(len(judgement.errors))
        return {self.names[number]: float(np.mean(counts)) for number, counts in numbers.items() if counts}

    def scores(self, question: str) -> FloatArray:
        """Return the answers to a question on a scale, shape (annotators, items); NaN where there is none."""
        table = np.full((len(self.names), len(self.judgements)), np.nan)
        for column, judgements in enumerate(self.judgements.values()):
            for judgement in judgements:
                answer = judgement.answers.get(question)
                if isinstance(answer, (int, float)) and not isinstance(answer, bool):
                    table[judgement.annotator, column] = answer
        return table


def choose_members(session: Session, names: Iterable[str]) -> list[Chosen]:
    """Find the campaigns that members are named by.

    Parameters
    ----------
    session
        A reading session.
    names
        Each a campaign (all its annotators) or ``campaign#2`` (the second of its annotators, such as a repeat with its own seed).

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If what follows the sign is no number.
    """
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
        Chosen(find_campaign(session, slug), () if slug in whole else tuple(sorted(numbers)))
        for slug, numbers in wanted.items()
    ]


def load_members(session: Session, chosen: Sequence[Chosen], *, outputs: Collection[int] | None = None) -> Members:
    """Load what the annotators of some campaigns said, of regular items and as far as it counts in figures.

    Parameters
    ----------
    session
        A reading session.
    chosen
        The campaigns, and which of their annotators.
    outputs
        Only items with these outputs.

    Raises
    ------
    InvalidInput
        If a campaign has no annotator of a number that is asked for.
    """
    members = Members()
    for entry in chosen:
        _load(session, entry, members, outputs)
    return members


def _load(session: Session, chosen: Chosen, members: Members, outputs: Collection[int] | None) -> None:
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
        marked = [MarkedError(number, *error) for error in errors.get(annotation_id, ())]
        members.judgements.setdefault(key, []).append(Judgement(number, tuple(shown[item_id]), answers, marked))
        members.datasets[key] = datasets[item_id]


def _annotators(session: Session, chosen: Chosen, first: int) -> tuple[dict[tuple[int | None, int], int], list[str]]:
    """Give each chosen annotator of a campaign a number and a name; repeats of one model are annotators of their own."""
    campaign = chosen.campaign
    rows = session.execute(
        select(Assignment.annotator_id, Assignment.repeat, func.min(Assignment.slot), func.min(Assignment.id))
        .join(Annotation, Annotation.assignment_id == Assignment.id)
        .join(BatchItem, (BatchItem.batch_id == Assignment.batch_id) & (BatchItem.item_id == Annotation.item_id))
        .where(Assignment.campaign_id == campaign.id, BatchItem.role == ItemRole.REGULAR, *counted())
        .group_by(Assignment.annotator_id, Assignment.repeat)
    ).all()
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


def _errors(session: Session, annotations: Collection[int]) -> dict[int, list[tuple[Any, ...]]]:
    """Return the spans of annotations, as what `MarkedError` takes after the annotator."""
    errors: dict[int, list[tuple[Any, ...]]] = {}
    for chunk in chunked(sorted(annotations), AT_ONCE):
        for annotation_id, *error in session.execute(
            select(
                Span.annotation_id,
                func.coalesce(Span.resolved_start, Span.start_offset),
                func.coalesce(Span.resolved_end, Span.end_offset),
                Category.key,
                Span.subcategory,
                Span.severity,
                Span.reason,
                Span.side,
                Span.source_field,
                ItemOutput.output_id,
            )
            .join(Category, Category.id == Span.category_id)
            .join(Annotation, Annotation.id == Span.annotation_id)
            .join(
                ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == Span.output_position)
            )
            .where(Span.annotation_id.in_(chunk))
            .order_by(Span.annotation_id, Span.position)
        ):
            errors.setdefault(annotation_id, []).append(tuple(error))
    return errors
