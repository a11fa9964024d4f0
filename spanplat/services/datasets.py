"""Listing datasets and what they hold."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import NotFound
from spanplat.models import Dataset, Example, Output, System


@dataclass(frozen=True)
class DatasetSummary:
    """What a dataset holds."""

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
