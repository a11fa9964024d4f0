"""Loader of the published annotations: first annotator of every output, offsets as received."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanplat.metrics import Comparison, SpanSet

Key = tuple[str, str, str, int]
Spans = list[tuple[int, int, int]]
Annotations = dict[Key, dict[int, Spans]]
"""Per output, per annotator group, the spans."""

CATEGORIES = ("Contradictory", "Not checkable", "Misleading", "Incoherent", "Repetitive", "Other")


def read_annotations(folder: Path) -> Annotations:
    """Read one published campaign; a repeated (output, group) keeps its first record."""
    annotations: Annotations = {}
    with (folder / "annotations.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record: dict[str, Any] = json.loads(line)
            system = record["setup_id"].replace(".", "-")
            key = (record["dataset"], record["split"], system, record["example_idx"])
            spans = [(s["start"], s["start"] + len(s["text"]), s["type"]) for s in record["annotations"]]
            annotations.setdefault(key, {}).setdefault(record.get("annotator_group", 0), spans)
    return annotations


def first_annotators(annotations: Annotations) -> dict[Key, Spans]:
    """The annotator with the lowest group of every output."""
    return {key: groups[min(groups)] for key, groups in annotations.items()}


def align(reference: dict[Key, Spans], hypothesis: dict[Key, Spans]) -> Comparison:
    """The outputs that both sides completed, in a fixed order."""
    common = sorted(reference.keys() & hypothesis.keys())
    left, right = (SpanSet.from_lists([side[key] for key in common]) for side in (reference, hypothesis))
    return Comparison(left, right, CATEGORIES)


@pytest.fixture(scope="session")
def published(research_data: Path) -> Callable[[str], Annotations]:
    """Read a campaign by its folder below ``annotations``."""
    return lambda name: read_annotations(research_data / "d2t-eval" / "annotations" / name)


@pytest.fixture(scope="session", params=["o3-mini", "gpt4o", "llama3-3"])
def model(request: pytest.FixtureRequest) -> str:
    """One of the models compared with people."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def against_people(published: Callable[[str], Annotations], model: str) -> Comparison:
    """The model against the first human annotator of the test data."""
    return align(first_annotators(published("human/test")), first_annotators(published(f"model/test/{model}")))
