"""A run over published outputs, with the replies of a published model, stores exactly the published spans."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.metrics import Comparison, char, count_correlation, gamma, s_empty, statistics
from spanplat.models import Annotation, Dataset, Example, ItemOutput, Output, Span, System
from spanplat.schemas import yaml_documents
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.slug import slugify
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.datasets.importing import import_dataset
from spanplat.services.model_work.running import run_campaign
from tests.campaigns import create_campaign
from tests.metrics.conftest import CATEGORIES, Key, align, first_annotators, read_annotations
from tests.standin.script import Call, Reply
from tests.standin.server import StandIn

pytestmark = pytest.mark.data

MOVED = ("d2t-football", "57", "phi3-5", "contradictory", 573, 788)
"""The one published span that a run does not reproduce: output, category, and offsets as published."""


@pytest.fixture
def model(research_data: Path) -> Path:
    """The annotations of o3-mini."""
    return research_data / "d2t-eval" / "annotations" / "model" / "test" / "o3-mini"


def categories_of(model: Path) -> list[str]:
    settings = yaml_documents.load((model / "config.yaml").read_text("utf-8"))
    return [entry["name"] for entry in settings["annotation_span_categories"]]


def published(model: Path) -> Iterator[tuple[str, str, str, str, int, int]]:
    names = categories_of(model)
    for line in (model / "annotations.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        for span in record["annotations"]:
            end = span["start"] + len(span["text"])
            place = (record["dataset"], str(record["example_idx"]), slugify(record["setup_id"]))
            yield (*place, slugify(names[span["type"]]), span["start"], end)


def test_a_run_reproduces_the_published_one_span_for_span(
    sqlite_database: Database, research_data: Path, model: Path, standin: StandIn
) -> None:
    database, names = sqlite_database, categories_of(model)
    folder = research_data / "d2t-eval"
    import_dataset(database, [folder / "inputs", folder / "outputs"])
    replies: dict[str, list[str]] = {}
    with database.reading() as session:
        texts = {
            (dataset, key, system): text
            for dataset, key, system, text in session.execute(
                select(Dataset.slug, Example.key, System.slug, Output.text)
                .join(Example, Example.dataset_id == Dataset.id)
                .join(Output, Output.example_id == Example.id)
                .join(System, System.id == Output.system_id)
                .where(Example.split == "test")
            )
        }
    datasets = set()
    for line in (model / "annotations.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        datasets.add(record["dataset"])
        asked = [
            {"reason": span.get("reason"), "text": span["text"], "category": names[span["type"]]}
            for span in record["annotations"]
        ]
        text = texts[record["dataset"], str(record["example_idx"]), slugify(record["setup_id"])]
        replies.setdefault(text.strip("\n"), []).append(json.dumps({"annotations": asked}))

    def say(call: Call) -> Reply:
        return Reply(replies[call.prompt.strip("\n")].pop())

    standin.script = say
    for dataset in sorted(datasets):
        content = {
            "slug": f"again-{dataset}",
            "title": "Again",
            "kind": "llm",
            "categories": [{"name": name} for name in names],
            "data": {"dataset": dataset, "splits": ["test"]},
            "model": {
                "provider": "openai",
                "model": "tiny",
                "base_url": f"{standin.url}/v1",
                "key_variable": "OPENAI_API_KEY",
                "price": {"input": 0, "output": 0},
                "prompt": "{{ text }}",
                "placement": "first",
                "concurrency": 16,
            },
        }
        with database.transaction() as session:
            create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(content)))
        report = run_campaign(database, f"again-{dataset}")
        assert (report.left, report.failed, report.unplaced) == (0, {}, 0)
    assert sum(len(left) for left in replies.values()) == 0, "every published output was asked about"
    with database.reading() as session:
        stored = [
            (dataset, key, system, span.category.key, span.start_offset, span.end_offset)
            for span, dataset, key, system in session.execute(
                select(Span, Dataset.slug, Example.key, System.slug)
                .join(Span.annotation)
                .join(ItemOutput, ItemOutput.item_id == Annotation.item_id)
                .join(Output, Output.id == ItemOutput.output_id)
                .join(System, System.id == Output.system_id)
                .join(Example, Example.id == Output.example_id)
                .join(Dataset, Dataset.id == Example.dataset_id)
            )
        ]
    expected = list(published(model))
    assert len(stored) == len(expected) == 1836
    (moved,) = set(expected) - set(stored)
    assert moved == MOVED, "İ is two characters in lower case, which shifted one published span"
    assert (*moved[:4], moved[4] - 1, moved[5] - 1) in stored
    require_the_published_row(against_people(database, research_data))


def against_people(database: Database, research_data: Path) -> Comparison:
    """Compare what the run stored with the first human annotator of each output."""
    people = first_annotators(read_annotations(research_data / "d2t-eval" / "annotations" / "human" / "test"))
    run: dict[Key, list[tuple[int, int, int]]] = {}
    with database.reading() as session:
        rows = session.execute(
            select(Annotation, Dataset.slug, Example.key, System.slug)
            .join(ItemOutput, ItemOutput.item_id == Annotation.item_id)
            .join(Output, Output.id == ItemOutput.output_id)
            .join(System, System.id == Output.system_id)
            .join(Example, Example.id == Output.example_id)
            .join(Dataset, Dataset.id == Example.dataset_id)
        )
        places = {slugify(name): number for number, name in enumerate(CATEGORIES)}
        for annotation, dataset, key, system in rows:
            spans = [(span.start_offset, span.end_offset, places[span.category.key]) for span in annotation.spans]
            run[dataset, "test", system, int(key)] = spans
    reference = {
        (dataset, split, slugify(system), number): spans for (dataset, split, system, number), spans in people.items()
    }
    return align(reference, run)


def require_the_published_row(comparison: Comparison) -> None:
    """The row of o3-mini among the published figures, to the last printed digit."""
    figures = statistics(comparison.hypothesis, CATEGORIES)
    assert (figures.annotations, figures.spans) == (1200, 1836)
    assert (
        f"{figures.spans_per_annotation:.2f} {figures.empty_percent:.1f} {figures.chars_per_span:.1f}"
        == "1.53 35.6 58.0"
    )
    assert count_correlation(comparison)["micro"] == pytest.approx(0.505, abs=5e-4)
    for soft, (precision, recall), mean in ((False, (0.351, 0.250), 0.2727), (True, (0.486, 0.345), 0.2830)):
        characters, agreement = char(comparison, soft=soft), gamma(comparison, soft=soft)
        assert (characters.precision, characters.recall) == pytest.approx((precision, recall), abs=5e-4)
        assert agreement.mean == pytest.approx(mean, abs=5e-5)
        assert agreement.outputs == 646
    assert s_empty([comparison.reference, comparison.hypothesis]).mean == pytest.approx(0.637, abs=5e-4)
