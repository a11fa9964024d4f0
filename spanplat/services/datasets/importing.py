"""Import of datasets from files and folders."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.formats.datasets import DATASET_FORMATS, DETECT, DatasetEntry, read_dataset
from spanplat.formats.problem import Problem
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from spanplat.schemas.slug import slugify
from spanplat.services.background import OnProgress, ignore_progress
from spanplat.services.datasets.storing import OutputKey, StoredData, store_records

PROBLEMS_LISTED = 1000


@dataclass
class DatasetReport:
    """Report of a dataset import."""

    datasets: dict[str, StoredData] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """First thousand rows that could not be used, with file and line."""
    problem_count: int = 0

    @property
    def differing(self) -> list[OutputKey]:
        """Outputs that were stored before with another text; the stored text stays."""
        return [key for stored in self.datasets.values() for key in stored.differing]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)

    def note(self, problem: Problem) -> None:
        """Count a problem, and store its message if it is among the first thousand."""
        self.problem_count += 1
        if len(self.problems) < PROBLEMS_LISTED:
            self.problems.append(str(problem))


def import_dataset(
    database: Database,
    paths: Sequence[Path],
    *,
    name: str | None = None,
    format: str = DETECT,  # noqa: A002 (the option's name)
    renames: Mapping[str, str] | None = None,
    columns: Mapping[str, str | None] | None = None,
    on_progress: OnProgress = ignore_progress,
) -> DatasetReport:
    """Import examples and outputs; existing ones stay as they are, so a second run adds nothing.

    Parameters
    ----------
    database
        The target database.
    paths
        Files or folders.
    name
        Slug of the dataset, for files that name no dataset or only one.
    format
        One of `spanplat.formats.datasets.DATASET_FORMATS`.
    renames
        New slugs of systems by their names in the files.
    columns
        Columns for roles that are guessed wrong.
    on_progress
        Called with the number of records done.

    Raises
    ------
    NotFound, InvalidInput
        If a path is missing, no column can be used, the data are named differently from ``name``, or nothing could be read.
    """
    report = DatasetReport()
    system_renames = {slugify(old): slugify(new) for old, new in (renames or {}).items()}
    records = read_records(paths, name, format, system_renames, report, columns=columns)
    # Reading the first record finds an empty file or a wrong name before anything is written.
    first = list(islice(records, 1))
    if not first:
        reasons = "\n".join(report.problems[:5]) or "the files hold no records"
        raise InvalidInput(f"nothing could be imported:\n{reasons}")
    report.datasets = store_records(database, _chain(first, records), on_progress=on_progress)
    return report


def read_records(
    paths: Sequence[Path],
    name: str | None,
    format_name: str,
    renames: Mapping[str, str],
    report: DatasetReport,
    *,
    columns: Mapping[str, str | None] | None = None,
) -> Iterator[tuple[str, ExampleRecord | OutputRecord]]:
    """Yield the records of files, each with its dataset; add problems to the report.

    Raises
    ------
    InvalidInput
        If there is no such format, a record belongs to no dataset, or the files hold several datasets while one name was given.
    """
    if format_name not in DATASET_FORMATS:
        listed = ", ".join(DATASET_FORMATS[:-1])
        raise InvalidInput(f"{format_name!r} is not a format of datasets; use {listed} or {DATASET_FORMATS[-1]}")
    wanted = slugify(name) if name else None
    named: set[str] = set()
    for path in paths:
        for entry in read_dataset(path, layout=format_name, columns=columns):
            if isinstance(entry, Problem):
                report.note(entry)
                continue
            dataset = _dataset_of(entry, wanted, named)
            record = entry.record
            if isinstance(record, OutputRecord) and record.system in renames:
                record = record.model_copy(update={"system": renames[record.system]})
            yield dataset, record


def _dataset_of(entry: DatasetEntry, wanted: str | None, named: set[str]) -> str:
    if entry.dataset is not None:
        named.add(entry.dataset)
    if wanted is not None and len(named) > 1:
        raise InvalidInput(
            f"the files hold several datasets ({', '.join(sorted(named))}), so --name {wanted} cannot name them; leave --name out"
        )
    dataset = wanted or entry.dataset
    if dataset is None:
        raise InvalidInput(f"{entry.file}, line {entry.line} names no dataset; give one with --name")
    return dataset


def _chain(
    first: list[tuple[str, ExampleRecord | OutputRecord]], rest: Iterator[tuple[str, ExampleRecord | OutputRecord]]
) -> Iterator[tuple[str, ExampleRecord | OutputRecord]]:
    yield from first
    yield from rest
