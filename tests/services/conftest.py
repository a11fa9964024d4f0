"""A small dataset and campaigns on it."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from spanplat.db import Database
from spanplat.models import Campaign, Dataset, Example, Output, System
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.record import AnnotationRecord, SpanRecord
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.campaigns.launching import open_campaign
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.datasets.importing import import_dataset
from spanplat.text import sha256_of
from tests.campaigns import create_campaign

CategorySpec = dict[str, Any]
Spans = Mapping[int, Sequence[Any]]


@pytest.fixture
def define() -> Callable[..., CampaignDefinition]:
    """Make a definition over the dataset ``reports``; keyword arguments replace its parts."""

    def make(**parts: Any) -> CampaignDefinition:
        content: dict[str, Any] = {
            "slug": "study",
            "title": "A study",
            "categories": [{"name": "Wrong"}, {"name": "Unclear"}],
            "data": {"dataset": "reports"},
            "batches": {"regular": 3},
        }
        return CampaignDefinition.model_validate(content | parts)

    return make


@pytest.fixture
def reports(database: Database) -> None:
    """Store a dataset of six examples with outputs of two systems; some texts hold emoji and Arabic."""
    texts = [
        "A short report.",
        "It rains 🌧️ all day.",
        "درجة الحرارة 21 مئوية.",
        "e\u0301tude № 5",
        "Line one\nline two.",
        "12 °C",
    ]
    with database.transaction() as session:
        dataset = Dataset(slug="reports", name="reports")
        systems = [System(slug=slug, name=slug.title()) for slug in ("alder", "birch")]
        session.add_all([dataset, *systems])
        session.flush()
        for number, text in enumerate(texts):
            example = Example(dataset_id=dataset.id, split="test", key=str(number), source={"number": number})
            session.add(example)
            session.flush()
            for system in systems:
                full = f"{system.name}: {text}"
                session.add(Output(example_id=example.id, system_id=system.id, text=full, text_sha256=sha256_of(full)))


@pytest.fixture
def launch(database: Database, reports: None, define: Callable[..., CampaignDefinition]) -> Callable[..., Campaign]:
    """Create and open a campaign over the dataset ``reports``; keyword arguments replace parts of its definition."""
    del reports

    def make(**parts: Any) -> Campaign:
        with database.transaction() as session:
            slug = create_campaign(session, plan_campaign(session, define(**parts))).slug
        return open_campaign(database, slug)

    return make


SEVERITIES: Mapping[str, float | None] = {"Minor": None, "Major": None}
"""Levels with their weights."""


@pytest.fixture
def imported(database: Database, tmp_path: Path) -> Callable[..., str]:
    """Import a campaign over six outputs, ``0`` to ``5`` of the systems alder (even) and birch (odd), with given spans.

    Each keyword argument is an annotator: by output their spans as ``(start, end, category)`` or with a severity as the fourth.
    """
    import_dataset(database, [_made_dataset(tmp_path)], name="made")

    def make(
        slug: str,
        categories: Sequence[str] = ("Wrong", "Unclear"),
        severities: Mapping[str, float | None] = SEVERITIES,
        **annotators: Spans,
    ) -> str:
        definition = CampaignDefinition.model_validate(
            {
                "slug": slug,
                "title": slug.title(),
                "kind": "external",
                "categories": [{"name": name} for name in categories],
                "severities": [{"name": name, "weight": weight} for name, weight in severities.items()],
            }
        )
        path = tmp_path / f"{slug}.jsonl"
        records = [
            _made_record(slug, group, annotator, output, spans)
            for group, (annotator, work) in enumerate(annotators.items())
            for output, spans in work.items()
        ]
        path.write_text("".join(record.model_dump_json() + "\n" for record in records))
        import_campaign(database, path, slug=slug, format="native", definition=definition)
        return slug

    return make


def _made_text(output: int) -> str:
    return f"Report {output}: it rains all day and nobody knows why."


def _made_dataset(folder: Path) -> Path:
    path = folder / "made.jsonl"
    lines = [
        {
            "split": "test",
            "example": str(output // 2),
            "system": ("alder", "birch")[output % 2],
            "output": _made_text(output),
        }
        for output in range(6)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _made_record(slug: str, group: int, annotator: str, output: int, spans: Sequence[Any]) -> AnnotationRecord:
    text = _made_text(output)
    return AnnotationRecord(
        campaign=slug,
        kind="external",
        dataset="made",
        split="test",
        example=str(output // 2),
        system=("alder", "birch")[output % 2],
        text=text,
        text_sha256=sha256_of(text),
        annotator=annotator,
        annotator_kind="human",
        group=str(group),
        seconds=30.0,
        spans=[
            SpanRecord(
                start=span[0],
                end=span[1],
                text=text[span[0] : span[1]],
                category=span[2],
                severity=span[3] if len(span) > 3 else None,
            )
            for span in spans
        ],
    )
