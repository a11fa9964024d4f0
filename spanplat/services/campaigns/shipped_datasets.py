"""Datasets that ship with spanplat; each shipped study uses one of them."""

from pathlib import Path

from spanplat import paths
from spanplat.db import Database
from spanplat.errors import NotFound
from spanplat.schemas.definition_file import parse_yaml
from spanplat.services.campaigns.validation import ValidationResult
from spanplat.services.datasets import import_dataset

DEMO_DATASET = "demo"


def shipped_datasets() -> dict[str, Path]:
    """Return the files of the shipped datasets by the slug that the shipped studies use."""
    files = sorted((paths.CAMPAIGNS / "starters" / "data").glob("*.jsonl"))
    return {DEMO_DATASET: paths.CAMPAIGNS / "demo" / "dataset.jsonl"} | {file.stem: file for file in files}


def missing_shipped(result: ValidationResult) -> str | None:
    """Return the slug of the dataset that a definition lacks, if spanplat ships it; otherwise None."""
    definition = result.definition
    if definition is None or definition.data is None or definition.data.dataset not in shipped_datasets():
        return None
    lacks = any(tuple(problem.path) == ("data", "dataset") for problem in result.problems)
    return definition.data.dataset if lacks else None


def import_shipped(database: Database, text: str) -> str:
    """Import the shipped dataset that a definition's text names, and return its slug; existing data stay as they are.

    Raises
    ------
    NotFound
        If the text does not name a shipped dataset.
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
