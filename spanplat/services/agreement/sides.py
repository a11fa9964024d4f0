"""One side of a comparison: a campaign's spans as arrays, and the rules that choose among several annotators."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.metrics import SpanSet
from spanplat.models import (
    Annotation,
    Annotator,
    Assignment,
    BatchItem,
    Campaign,
    Category,
    Dataset,
    Example,
    ItemOutput,
    ItemRole,
    Output,
    Span,
    System,
)
from spanplat.models.revisions import counted, data_revision
from spanplat.services.campaigns import definition_of, find_campaign

WorkQuery = Select[int, int, int, int, str, str, str, float | None]


@dataclass(frozen=True)
class Filters:
    """Outputs and categories that count. An empty tuple means all."""

    datasets: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    shared_with: str = ""
    """Slug of another campaign. Only the outputs that this campaign completed too count."""


@dataclass(frozen=True)
class Work:
    """One completed annotation of one output."""

    annotation_id: int
    output_id: int
    annotator_id: int
    order: int
    """Position of the annotator: the numeric group of an import, else the slot."""
    dataset: str
    split: str
    system: str
    seconds: float | None


@dataclass(frozen=True)
class Side:
    """A campaign's completed annotations with their spans, sorted by output and then by annotator order."""

    campaign: str
    works: tuple[Work, ...]
    spans: SpanSet
    """One row per entry of ``works``. A category is its position in the list given to `load_side`."""

    def by_output(self) -> dict[int, list[int]]:
        """Return the rows of each output, in annotator order."""
        rows: dict[int, list[int]] = defaultdict(list)
        for row, work in enumerate(self.works):
            rows[work.output_id].append(row)
        return rows


@dataclass(frozen=True)
class Rule:
    """Rule that chooses annotations on a side with several annotators per output."""

    name: str
    group: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Rule":
        """Read a rule: ``first``, ``each``, ``pairs``, ``all`` or ``group=K``.

        Raises
        ------
        InvalidInput
            If the text is none of these rules.
        """
        if match := re.fullmatch(r"group=(\d+)", text):
            return cls("group", int(match[1]))
        if text in ("first", "each", "pairs", "all"):
            return cls(text)
        raise InvalidInput(f"{text!r} is no rule; use first, each, pairs, all, or group=K with the number of a group")

    def __str__(self) -> str:
        return f"group={self.group}" if self.name == "group" else self.name

    def rows(self, side: Side, candidates: Sequence[int]) -> list[int]:
        """Return the chosen rows of one output. The candidates are in annotator order."""
        if self.name == "first":
            return list(candidates[:1])
        if self.name == "group":
            return [row for row in candidates if side.works[row].order == self.group][:1]
        return list(candidates)


@dataclass(frozen=True)
class Alignment:
    """Rows of two sides that are compared with each other."""

    reference: np.ndarray[tuple[int], np.dtype[np.int64]]
    hypothesis: np.ndarray[tuple[int], np.dtype[np.int64]]

    def __len__(self) -> int:
        return len(self.reference)


@dataclass(frozen=True)
class JointAlignment:
    """Annotations of several annotators of each output, aligned for one joint γ."""

    groups: list[list[SpanSet]]
    """Outputs grouped by their number of annotators. Each group has one span set per annotator."""
    reference_rows: np.ndarray[tuple[int], np.dtype[np.int64]]
    hypothesis_rows: np.ndarray[tuple[int], np.dtype[np.int64]]
    outputs: set[int]


def categories_of(session: Session, campaigns: Sequence[Campaign]) -> dict[str, str]:
    """Return the names of the campaigns' categories by key. The first campaign's categories come first."""
    rows = session.execute(
        select(Category.campaign_id, Category.key, Category.name)
        .where(Category.campaign_id.in_({campaign.id for campaign in campaigns}))
        .order_by(Category.position)
    )
    own: dict[int, list[tuple[str, str]]] = {}
    for campaign_id, key, name in rows:
        own.setdefault(campaign_id, []).append((key, name))
    categories: dict[str, str] = {}
    for campaign in campaigns:
        # A key that several campaigns have keeps the name of the first.
        for key, name in own.get(campaign.id, ()):
            categories.setdefault(key, name)
    return categories


def load_side(
    session: Session, campaign: Campaign, categories: Sequence[str], filters: Filters, *, resolved: bool = False
) -> Side:
    """Load a campaign's completed annotations.

    Parameters
    ----------
    session
        A reading session.
    campaign
        The campaign.
    categories
        Keys of the categories. Their positions become the category numbers.
    filters
        Outputs and categories that count.
    resolved
        Use the offsets where imported quotes were found, not the offsets in the file.

    Notes
    -----
    Some annotations are left out: late work, work excluded by a failed check, attention checks, and seats given to another annotator.
    """
    works = [Work(*row) for row in session.execute(_filtered(_works(campaign), filters))]
    row_of = {(work.annotation_id, work.output_id): row for row, work in enumerate(works)}
    code_of = {key: code for code, key in enumerate(categories)}
    wanted = {code_of[key] for key in filters.categories if key in code_of}
    levels = definition_of(campaign).severities
    # A span stores its severity as text, which may be the key or the name of a level. 0 stands for no severity.
    severities = {name: code for code, level in enumerate(levels, start=1) for name in (level.key, level.name)}
    # These are the spans of all annotations, drafts and excluded work included. `row_of` has only those that count.
    rows = session.execute(_marks(campaign, resolved=resolved))
    columns = [
        (
            row_of[annotation, output],
            first,
            last,
            code_of[key],
            severities.get(severity or "", 0),
            int(side == "source"),
        )
        for annotation, output, first, last, key, severity, side in rows
        if (annotation, output) in row_of and (not wanted or code_of[key] in wanted)
    ]
    table = np.array(columns, dtype=np.int64).reshape(len(columns), 6).T
    spans = SpanSet.from_columns(
        table[0],
        n_outputs=len(works),
        start=table[1],
        end=table[2],
        category=table[3],
        severity=table[4],
        side=table[5],
    )
    return Side(campaign.slug, tuple(works), spans)


def third_revision(session: Session, filters: Filters) -> str:
    """Return the data revision of the campaign that the filter ``shared_with`` names, or an empty string."""
    return data_revision(session, find_campaign(session, filters.shared_with)) if filters.shared_with else ""


def count_spans(session: Session, campaigns: Sequence[Campaign]) -> int:
    """Count the spans of some campaigns, including drafts. Estimates of computing time use this number."""
    spans = select(func.count(Span.id)).join(Annotation, Annotation.id == Span.annotation_id)
    of_campaigns = spans.join(Assignment, Assignment.id == Annotation.assignment_id)
    chosen = Assignment.campaign_id.in_({campaign.id for campaign in campaigns})
    return session.scalar(of_campaigns.where(chosen)) or 0


def count_annotators(session: Session, campaign: Campaign) -> int:
    """Count the annotators with an assignment in a campaign, finished or not."""
    annotators = select(func.count(Assignment.annotator_id.distinct())).where(Assignment.campaign_id == campaign.id)
    return session.scalar(annotators) or 0


def align(reference: Side, reference_rule: Rule, hypothesis: Side, hypothesis_rule: Rule) -> Alignment:
    """Align the chosen annotations of the outputs that both sides completed.

    If a rule keeps several annotators on an output, each annotator is compared with each annotator of the other side. An annotation
    is never compared with itself.
    """
    theirs = hypothesis.by_output()
    pairs = [
        pair
        for output, rows in reference.by_output().items()
        for pair in product(
            reference_rule.rows(reference, rows), hypothesis_rule.rows(hypothesis, theirs.get(output, ()))
        )
        if reference.works[pair[0]].annotation_id != hypothesis.works[pair[1]].annotation_id
    ]
    return _alignment(pairs)


def align_within(side: Side, rule: Rule) -> Alignment:
    """Align the annotator that a rule chooses with the other annotators of the same campaign."""
    return align(side, rule if rule.name == "group" else Rule("first"), side, Rule("each"))


def outputs_of(side: Side, rows: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the output of each row."""
    return np.array([side.works[row].output_id for row in rows.tolist()], dtype=np.int64)


def restrict(alignment: Alignment, side: Side, outputs: np.ndarray[Any, np.dtype[np.int64]]) -> Alignment:
    """Return the alignment without the rows of other outputs. ``side`` is the reference."""
    kept = np.isin(outputs_of(side, alignment.reference), outputs)
    return Alignment(alignment.reference[kept], alignment.hypothesis[kept])


def align_annotators(reference: Side, hypothesis: Side) -> Iterator[Alignment]:
    """Yield one alignment for each pair of annotators that share outputs: within one campaign, or across two."""
    mine, theirs = _by_annotator(reference), _by_annotator(hypothesis)
    # Within one campaign `product` would give every pair twice, and each annotator with themselves.
    same = reference.campaign == hypothesis.campaign
    names = combinations(mine, 2) if same else product(mine, theirs)
    for one, other in names:
        common = [(row, theirs[other][output]) for output, row in mine[one].items() if output in theirs[other]]
        if common:
            yield _alignment(common)


def align_jointly(reference: Side, reference_rule: Rule, hypothesis: Side, hypothesis_rule: Rule) -> JointAlignment:
    """Align all chosen annotations of each output: of both sides, or of one campaign's annotators.

    An output is left out if a side did not complete it, or if it has only one annotator.
    """
    one_campaign = reference.campaign == hypothesis.campaign
    theirs = hypothesis.by_output()
    spans = reference.spans if one_campaign else SpanSet.concatenate([reference.spans, hypothesis.spans])
    rows_of: dict[int, list[int]] = {}
    for output, candidates in reference.by_output().items():
        mine = reference_rule.rows(reference, candidates)
        others = [] if one_campaign else hypothesis_rule.rows(hypothesis, theirs.get(output, ()))
        if len(mine) + len(others) >= 2 and (one_campaign or (mine and others)):
            # The hypothesis comes first, as in every comparison of two sides. The order decides which random samples γ draws.
            rows_of[output] = [*(len(reference.works) + row for row in others), *mine]
    by_size: dict[int, list[list[int]]] = defaultdict(list)
    for rows in rows_of.values():
        by_size[len(rows)].append(rows)
    # γ takes one span set per annotator, so the outputs of one group must have the same number of annotators.
    groups = [
        [spans.select(annotator) for annotator in np.array(by_size[size], dtype=np.int64).T] for size in sorted(by_size)
    ]
    used = np.array(sorted({row for rows in rows_of.values() for row in rows}), dtype=np.int64)
    first = used[used < len(reference.works)]
    second = first if one_campaign else used[used >= len(reference.works)] - len(reference.works)
    return JointAlignment(groups, first, second, set(rows_of))


def _by_annotator(side: Side) -> dict[int, dict[int, int]]:
    """Return the row of each output, by annotator. The first row counts if an annotator repeated an output."""
    annotators: dict[int, dict[int, int]] = {}
    for row, work in enumerate(side.works):
        annotators.setdefault(work.annotator_id, {}).setdefault(work.output_id, row)
    return annotators


def _alignment(pairs: Sequence[tuple[int, int]]) -> Alignment:
    # An empty list gives shape (0,). `reshape` makes it (0, 2), so that the columns exist.
    table = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)
    return Alignment(table[:, 0], table[:, 1])


def _works(campaign: Campaign) -> WorkQuery:
    return (
        select(
            Annotation.id,
            ItemOutput.output_id,
            Annotator.id,
            Assignment.slot,
            Dataset.slug,
            Example.split,
            System.slug,
            Annotation.seconds,
        )
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .join(Annotator, Annotator.id == Assignment.annotator_id)
        .join(BatchItem, (BatchItem.batch_id == Assignment.batch_id) & (BatchItem.item_id == Annotation.item_id))
        .join(ItemOutput, ItemOutput.item_id == Annotation.item_id)
        .join(Output, Output.id == ItemOutput.output_id)
        .join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .join(System, System.id == Output.system_id)
        .where(Assignment.campaign_id == campaign.id, BatchItem.role == ItemRole.REGULAR, *counted())
        # The order of annotators: rules such as ``first`` take the first row of an output.
        .order_by(ItemOutput.output_id, Assignment.slot, Assignment.repeat, Annotation.id)
    )


def _marks(campaign: Campaign, *, resolved: bool) -> Select[int, int, int, int, str, str | None, str]:
    start = func.coalesce(Span.resolved_start, Span.start_offset) if resolved else Span.start_offset
    end = func.coalesce(Span.resolved_end, Span.end_offset) if resolved else Span.end_offset
    return (
        select(Span.annotation_id, ItemOutput.output_id, start, end, Category.key, Span.severity, Span.side)
        .join(Annotation, Annotation.id == Span.annotation_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .join(ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == Span.output_position))
        .join(Category, Category.id == Span.category_id)
        .where(Assignment.campaign_id == campaign.id)
        # `disagreement_outputs` reads spans in the same order and matches them by position.
        .order_by(Span.annotation_id, Span.position)
    )


def _filtered(query: WorkQuery, filters: Filters) -> WorkQuery:
    if filters.datasets:
        query = query.where(Dataset.slug.in_(filters.datasets))
    if filters.splits:
        query = query.where(Example.split.in_(filters.splits))
    if filters.systems:
        query = query.where(System.slug.in_(filters.systems))
    if filters.shared_with:
        query = query.where(ItemOutput.output_id.in_(_completed_by(filters.shared_with)))
    return query


def _completed_by(slug: str) -> Select[int]:
    """Return the query for the outputs that a campaign completed."""
    return (
        select(ItemOutput.output_id)
        .join(Annotation, Annotation.item_id == ItemOutput.item_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .join(BatchItem, (BatchItem.batch_id == Assignment.batch_id) & (BatchItem.item_id == Annotation.item_id))
        .where(Campaign.slug == slug, BatchItem.role == ItemRole.REGULAR, *counted())
        # The outer query selects from the same tables. SQLAlchemy would take them for the outer ones and drop them here.
        .correlate(None)
    )
