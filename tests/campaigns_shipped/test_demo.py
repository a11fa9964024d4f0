"""The demo's dataset is complete, and its sample annotations fit the texts, the categories and each other."""

import hashlib
import json
from collections import Counter
from typing import Any

import pytest

from spanplat.paths import CAMPAIGNS
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import read_definition
from spanplat.schemas.record import AnnotationRecord

DEMO = CAMPAIGNS / "demo"
SYSTEMS = {"larkspur", "juniper", "marram"}
SAMPLES = ("sample-a", "sample-b")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


def sample(name: str) -> list[AnnotationRecord]:
    return [AnnotationRecord.model_validate(row) for row in rows(f"{name}.jsonl")]


def definition(name: str) -> CampaignDefinition:
    return read_definition((DEMO / f"{name}.yaml").read_text(encoding="utf-8"), name=name)


def annotated_outputs() -> dict[tuple[str, str], str]:
    return {(row["key"], row["system"]): row["text"] for row in rows("dataset.jsonl") if row["split"] == "test"}


def test_three_systems_describe_every_example() -> None:
    outputs = annotated_outputs()

    assert len(outputs) == 36
    assert {system for _, system in outputs} == SYSTEMS
    assert set(outputs) == {(key, system) for key, _ in outputs for system in SYSTEMS}


def test_every_row_is_an_example_and_an_output_and_nothing_is_empty() -> None:
    sources: dict[tuple[str, str], Any] = {}
    for row in rows("dataset.jsonl"):
        source = row.pop("source")
        example = ExampleRecord(split=row["split"], key=row["key"], source=source)
        output = OutputRecord.model_validate(row)

        assert sources.setdefault((example.split, example.key), source) == source, "one example has one source"
        assert isinstance(source, dict)
        assert len(source) > 5
        assert output.text == output.text.strip()
        assert 40 <= len(output.text.split()) <= 90


def test_texts_hold_characters_that_offsets_trip_over() -> None:
    text = "".join(annotated_outputs().values())

    assert "°C" in text
    assert "\n" in text
    assert any(ord(character) > 0xFFFF for character in text), "two UTF-16 units"
    assert "\N{ZERO WIDTH JOINER}" in text


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_annotates_every_output_once(name: str) -> None:
    records = sample(name)
    campaign = definition(name)

    assert {(record.example, record.system): record.text for record in records} == annotated_outputs()
    assert len(records) == 36
    assert {record.annotator for record in records} == {name}
    assert {record.campaign for record in records} == {campaign.slug}
    assert {record.kind for record in records} == {campaign.kind} == {"external"}
    assert all(record.text_sha256 == hashlib.sha256(record.text.encode()).hexdigest() for record in records)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_quotes_what_stands_at_its_offsets(name: str) -> None:
    for record in sample(name):
        for span in record.spans:
            assert span.text
            assert record.text[span.start : span.end] == span.text
            assert span.reason


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_uses_every_category_and_leaves_some_outputs_unmarked(name: str) -> None:
    records = sample(name)
    categories = {category.name for category in definition(name).categories}

    assert len(categories) == 6
    assert {span.category for record in records for span in record.spans} == categories
    assert 5 <= sum(not record.spans for record in records) <= 18


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_answers_the_questions_of_its_campaign(name: str) -> None:
    questions = {question.key for question in definition(name).questions}
    for record in sample(name):
        assert set(record.answers) == questions
        assert record.answers["overall"] in range(1, 6)
        assert record.answers["no-errors"] is not bool(record.spans)


def test_samples_are_named_as_samples() -> None:
    for name, letter in zip(SAMPLES, "AB", strict=True):
        assert definition(name).title == f"Sample annotations {letter} (made for the demo)"


def test_samples_agree_mostly_but_differ_in_boundaries_categories_and_number() -> None:
    kinds: Counter[str] = Counter()
    for first, second in zip(*map(sample, SAMPLES), strict=True):
        for span in first.spans:
            over = [other for other in second.spans if other.start < span.end and span.start < other.end]
            if not over:
                kinds["missed"] += 1
            elif all(other.category != span.category for other in over):
                kinds["category"] += 1
            elif any((other.start, other.end) == (span.start, span.end) for other in over):
                kinds["same"] += 1
            else:
                kinds["boundary"] += 1
        kinds["extra"] += sum(
            not any(span.start < other.end and other.start < span.end for span in first.spans) for other in second.spans
        )

    assert all(kinds[kind] >= 5 for kind in ("missed", "category", "same", "boundary", "extra")), kinds
    assert kinds["same"] + kinds["boundary"] > 2 * (kinds["missed"] + kinds["category"]), kinds


def test_the_worse_system_has_more_errors_in_both_samples() -> None:
    for name in SAMPLES:
        spans = Counter(dict.fromkeys(SYSTEMS, 0))
        for record in sample(name):
            spans[record.system] += len(record.spans)

        assert spans["larkspur"] < spans["juniper"] < spans["marram"]


def test_all_demo_campaigns_share_categories_so_that_they_can_be_compared() -> None:
    people, model, *samples = map(definition, ("human", "model", *SAMPLES))

    assert people.categories == model.categories
    assert all(campaign.categories == people.categories for campaign in samples)
    assert people.guidelines == model.guidelines
    assert model.model is not None
    assert model.model.provider == "overlap"
