"""Lists of datasets and of their texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, func, literal, select
from sqlalchemy.orm import Session

from spanplat.errors import NotFound
from spanplat.models import Dataset, Example, Item, ItemOutput, Output, System
from spanplat.services.datasets.search import ExcerptPart, SearchPlace, contains, excerpt, excerpt_with_hit

SOURCE_EXCERPT = 200
"""Number of code points of a source that are shown around a hit."""


@dataclass(frozen=True)
class DatasetSummary:
    """Size of a dataset, by split and by system."""

    slug: str
    name: str
    sha256: str
    examples: int
    outputs: int
    splits: dict[str, int]
    """Outputs by split."""
    systems: dict[str, int]
    """Outputs by system."""


def list_datasets(session: Session) -> list[DatasetSummary]:
    """Return all datasets by name."""
    return [_summary(session, dataset) for dataset in session.scalars(select(Dataset).order_by(Dataset.slug))]


def dataset_summary(session: Session, slug: str) -> DatasetSummary:
    """Return one dataset.

    Raises
    ------
    NotFound
        If there is none of this name.
    """
    dataset = session.scalar(select(Dataset).where(Dataset.slug == slug))
    if dataset is None:
        known = ", ".join(session.scalars(select(Dataset.slug).order_by(Dataset.slug))) or "none yet"
        raise NotFound(f"there is no dataset {slug!r} (datasets: {known})")
    return _summary(session, dataset)


def _summary(session: Session, dataset: Dataset) -> DatasetSummary:
    outputs = select(func.count(Output.id)).join(Example).join(System).where(Example.dataset_id == dataset.id)
    examples = select(func.count(Example.id)).where(Example.dataset_id == dataset.id)
    by_split = session.execute(outputs.add_columns(Example.split).group_by(Example.split).order_by(Example.split))
    by_system = session.execute(outputs.add_columns(System.slug).group_by(System.slug).order_by(System.slug))
    return DatasetSummary(
        dataset.slug,
        dataset.name,
        dataset.sha256,
        session.scalar(examples) or 0,
        session.scalar(outputs) or 0,
        {split: count for count, split in by_split},
        {system: count for count, system in by_system},
    )


@dataclass(frozen=True)
class OutputRow:
    """One text of a dataset in a list."""

    id: int
    split: str
    key: str
    system: str
    text: Sequence[ExcerptPart]
    """The whole text, with the hits of the search."""
    has_source: bool
    source_excerpt: Sequence[ExcerptPart]
    """Excerpt of the source around the first hit; empty if the source is not searched or has no hit."""
    campaigns: int
    """Number of campaigns with this text."""


@dataclass(frozen=True)
class OutputFilter:
    """Filter for the texts of a dataset; empty values leave nothing out."""

    split: str = ""
    system: str = ""
    key: str = ""
    search: str = ""
    """Text to search for in `place`, ignoring case."""
    place: SearchPlace = "text"

    @property
    def searches_sources(self) -> bool:
        """Whether sources are searched."""
        return bool(self.search) and self.place != "text"


def count_outputs(session: Session, slug: str, wanted: OutputFilter) -> int:
    """Return the number of texts that match."""
    return session.scalar(_filtered(session, select(func.count(Output.id)), slug, wanted)) or 0


def list_outputs(session: Session, slug: str, wanted: OutputFilter, *, offset: int, limit: int) -> list[OutputRow]:
    """Return one page of the matching texts of a dataset, in import order.

    Parameters
    ----------
    session
        A session that may read.
    slug
        The dataset.
    wanted
        The filter.
    offset, limit
        The page.
    """
    # Sources may be large, so they are read only if they are searched.
    columns = select(
        Output.id,
        Example.split,
        Example.key,
        System.slug.label("system"),
        Output.text,
        (Example.source_plain != "").label("has_source"),
        (Example.source_plain if wanted.searches_sources else literal("")).label("source_plain"),
    )
    page = _filtered(session, columns, slug, wanted).order_by(Example.id, System.slug).offset(offset).limit(limit)
    rows = list(session.execute(page))
    counted = (
        select(ItemOutput.output_id, func.count(Item.campaign_id.distinct()))
        .join(Item, Item.id == ItemOutput.item_id)
        .where(ItemOutput.output_id.in_([row[0] for row in rows]))
        .group_by(ItemOutput.output_id)
    )
    campaigns = {output_id: count for output_id, count in session.execute(counted)}
    return [
        OutputRow(
            id=row.id,
            split=row.split,
            key=row.key,
            system=row.system,
            text=excerpt(row.text, wanted.search, len(row.text)),  # the whole text, with the hits marked
            has_source=row.has_source,
            source_excerpt=excerpt_with_hit(row.source_plain, wanted.search, SOURCE_EXCERPT),
            campaigns=campaigns.get(row.id, 0),
        )
        for row in rows
    ]


def source_of_output(session: Session, slug: str, output_id: int) -> Any:
    """Return the source from which a text of a dataset was generated; None if there is none.

    Raises
    ------
    NotFound
        If the dataset has no such text.
    """
    found = session.execute(
        select(Example.source)
        .join(Output, Output.example_id == Example.id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .where(Dataset.slug == slug, Output.id == output_id)
    ).one_or_none()
    if found is None:
        raise NotFound(f"dataset {slug!r} has no text with the number {output_id}")
    return found.source


def _filtered(
    session: Session, statement: Select[*tuple[Any, ...]], slug: str, wanted: OutputFilter
) -> Select[*tuple[Any, ...]]:
    found = (
        statement.join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .join(System, System.id == Output.system_id)
        .where(Dataset.slug == slug)
    )
    if wanted.split:
        found = found.where(Example.split == wanted.split)
    if wanted.system:
        found = found.where(System.slug == wanted.system)
    if wanted.key:
        found = found.where(Example.key == wanted.key)
    if wanted.search:
        found = found.where(contains(session, wanted.search, wanted.place))
    return found
