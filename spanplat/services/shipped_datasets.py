"""The datasets that ship with spanplat: each shipped study is about one of them."""

from pathlib import Path

from spanplat import paths
from spanplat.db import Database
from spanplat.errors import NotFound
from spanplat.schemas.definition_file import parse_yaml
from spanplat.services.demo import DATASET
from spanplat.services.examinations import Examination
from spanplat.services.importing.datasets import import_dataset


def shipped_datasets() -> dict[str, Path]:
    """Return the files of the datasets that ship, by the slug that the shipped studies know them under."""
    files = sorted((paths.CAMPAIGNS / "starters" / "data").glob("*.jsonl"))
    return {DATASET: paths.CAMPAIGNS / "demo" / "dataset.jsonl"} | {file.stem: file for file in files}


def missing_shipped(examination: Examination) -> str | None:
    """Return the dataset that a definition lacks, if it is one that ships; None where nothing or something else is missing."""
    definition = examination.definition
    if definition is None or definition.data is None or definition.data.dataset not in shipped_datasets():
        return None
    lacks = any(tuple(problem.path) == ("data", "dataset") for problem in examination.problems)
    return definition.data.dataset if lacks else None


def import_shipped(database: Database, text: str) -> str:
    """Import the shipped dataset that a definition's text names, and return its slug; what is there stays as it is.

    Raises
    ------
    NotFound
        If the text names none that ships.
    InvalidInput
        If the text is not YAML.
    """
    value = parse_yaml(text).value
    data = value.get("data") if isinstance(value, dict) else None
    slug = str(data.get("dataset")) if isinstance(data, dict) else ""
    files = shipped_datasets()
    if slug not in files:
        raise NotFound(f"spanplat ships no dataset {slug!r} (datasets: {', '.join(files)}); bring your own texts")
    import_dataset(database, [files[slug]], name=slug)
    return slug
