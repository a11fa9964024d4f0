"""factgenie campaigns in both layouts, with the typical faults of their files."""

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanplat.errors import InvalidInput
from spanplat.formats.datasets import DatasetEntry, read_dataset
from spanplat.formats.factgenie import (
    FactgenieAnnotation,
    FactgenieAssignment,
    read_factgenie_annotations,
    read_factgenie_assignments,
)
from spanplat.formats.factgenie_campaign import find_factgenie_campaigns, hex_color, read_factgenie_campaign
from spanplat.formats.placement import ResolvedPlace, resolve_span
from spanplat.formats.problem import Problem
from spanplat.schemas.dataset import OutputRecord

CONFIG = """
annotation_span_categories:
- {name: Contradictory, description: " The data say otherwise. ", color: "rgb(214, 39, 40)"}
- {name: Other, color: "#ABC"}
annotation_granularity: chars
annotation_overlap_allowed: false
annotator_instructions: Mark the errors.
flags: [{label: Fluent, value: false}]
sliders: []
"""


def record(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "dataset": "D2T", "split": "test", "example_idx": 3, "setup_id": "phi3.5", "annotator_group": 1,
        "annotations": [{"type": 0, "text": "cat", "start": 4, "id": "x1"}],
    }  # fmt: skip
    return {**fields, **changes}


def published(folder: Path, *lines: dict[str, Any] | str, config: str = CONFIG) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    (folder / "annotations.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return folder


def annotations_of(folder: Path) -> list[FactgenieAnnotation | Problem]:
    return list(read_factgenie_annotations(read_factgenie_campaign(folder)))


def the_annotation(folder: Path) -> FactgenieAnnotation:
    (only,) = annotations_of(folder)
    assert isinstance(only, FactgenieAnnotation)
    return only


def test_settings_of_a_published_campaign(tmp_path: Path) -> None:
    campaign = read_factgenie_campaign(published(tmp_path / "humans", record()))
    assert (campaign.layout, campaign.id, campaign.annotator_kind) == ("published", "humans", "human")
    assert [(c.name, c.description, c.color) for c in campaign.categories] == [
        ("Contradictory", "The data say otherwise.", "#d62728"),
        ("Other", "", "#aabbcc"),
    ]
    assert (campaign.granularity, campaign.overlap_allowed, campaign.instructions) == (
        "character",
        False,
        "Mark the errors.",
    )
    assert campaign.questions == {"flags": [{"label": "Fluent", "value": False}]}
    assert campaign.config["sliders"] == []


def test_a_campaign_with_a_model_is_a_model_campaign(tmp_path: Path) -> None:
    config = "{annotation_span_categories: [{name: A}], model: gpt-4o, model_args: {temperature: 0}, prompt_template: 'Find {text}'}"
    campaign = read_factgenie_campaign(published(tmp_path, record(), config=config))
    assert (campaign.annotator_kind, campaign.model, campaign.model_args) == ("llm", "gpt-4o", {"temperature": 0})
    assert campaign.prompt_template == "Find {text}"


def test_names_are_slugs_and_the_original_index_joins(tmp_path: Path) -> None:
    annotation = the_annotation(
        published(tmp_path, record(orig_example_idx=17, thinking_trace="hm", annotator_group="2"))
    )
    assert (annotation.dataset, annotation.split, annotation.setup) == ("d2t", "test", "phi3-5")
    assert (annotation.example_idx, annotation.example_key, annotation.group) == (3, "17", 2)
    assert annotation.thinking_trace == "hm"
    assert annotation.raw["setup_id"] == "phi3.5"


@pytest.mark.parametrize(
    ("received", "position", "category"),
    [
        (1, 1, "Other"), ("1", 1, "Other"), (1.0, 1, "Other"), ("other", 1, "Other"),
        (-1, -1, None), (9, 9, None), ("?", None, None), (None, None, None),
    ],
)  # fmt: skip
def test_types_come_as_numbers_strings_and_out_of_range(
    tmp_path: Path, received: Any, position: int | None, category: str | None
) -> None:
    folder = published(tmp_path, record(annotations=[{"type": received, "text": "cat", "start": 4}]))
    campaign = read_factgenie_campaign(folder)
    (span,) = the_annotation(folder).spans
    assert span.type == position
    found = campaign.category(span.type)
    assert (found.name if found else None) == category
    assert span.raw["type"] == received


def test_not_a_number_is_read_as_missing(tmp_path: Path) -> None:
    line = json.dumps(record(annotations=[{"type": 0, "text": "cat", "start": float("nan"), "reason": float("nan")}]))
    assert "NaN" in line
    (span,) = the_annotation(published(tmp_path, line)).spans
    assert (span.start, span.reason, span.raw["start"]) == (None, None, None)


def test_a_malformed_line_becomes_a_problem_between_its_neighbours(tmp_path: Path) -> None:
    good = record()
    folder = published(
        tmp_path, good, '{"dataset": "d', good, "[1]",
        record(annotations=None), record(example_idx="x"), record(annotations=[{"type": 0}]),
    )  # fmt: skip
    entries = annotations_of(folder)
    problems = {entry.line: entry for entry in entries if isinstance(entry, Problem)}
    assert [isinstance(entry, Problem) for entry in entries] == [False, True, False, True, True, True, True]
    assert {line: problem.reason for line, problem in problems.items()} == {
        2: "is not JSON: Unterminated string starting (column 13)",
        4: "the record is a JSON list, not an object",
        5: "the record has no list of annotations",
        6: "example_idx is 'x', not a whole number",
        7: "annotation 0 has no text",
    }
    assert problems[2].raw == '{"dataset": "d'
    assert str(problems[2]).startswith(f"{folder / 'annotations.jsonl'}, line 2: ")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["label", "value", "text", "start", "type"]), inner)
    ),
    max_leaves=6,
)
damaged = st.dictionaries(
    st.sampled_from(
        [*record(), "metadata", "flags", "options", "sliders", "orig_example_idx", "thinking_trace", "output"]
    ),
    json_values,
)


@settings(deadline=None)
@given(
    changes=st.lists(damaged | st.none(), min_size=1, max_size=4),
    rest=st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"")),
)
def test_whatever_stands_in_a_line_gives_one_record_or_one_problem(
    changes: list[dict[str, Any] | None], rest: bytes
) -> None:
    lines = [json.dumps([] if change is None else record(**change)).encode() for change in changes] + [rest] * bool(
        rest.strip()
    )
    with tempfile.TemporaryDirectory() as name:
        folder = published(Path(name))
        (folder / "annotations.jsonl").write_bytes(b"\n".join(lines))
        assert [entry.line for entry in annotations_of(folder)] == list(range(1, len(lines) + 1))


def test_an_installed_campaign(tmp_path: Path) -> None:
    folder = tmp_path / "campaigns" / "pilot"
    (folder / "files").mkdir(parents=True)
    config = {"annotation_span_categories": [{"name": "Error", "color": "red"}], "annotation_granularity": "words"}
    metadata = {"id": "pilot", "mode": "crowdsourcing", "status": "running", "config": config}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    answers = {
        "flags": [{"label": "Fluent", "value": True}],
        "options": [
            {"label": "Rating", "index": "1", "value": "good", "optionList": ["bad", "good"]},
            {"label": "Tone", "index": "0", "optionList": ["dry"]},
        ],
        "sliders": [{"label": "Score", "value": "7", "min": "0", "max": "10", "step": "1"}],
        "text_fields": [{"label": "Comment", "value": ""}],
    }  # fmt: skip
    inner = {
        "annotator_id": "worker-1",
        "annotator_group": 0,
        "start_timestamp": 1700000000,
        "end_timestamp": 1700000060,
    }
    line = record(annotator_group=None, output="The cat.", metadata=inner, **answers)
    (folder / "files" / "0-0-worker-1-1700000060.jsonl").write_text(json.dumps(line) + "\n")
    (folder / "db.csv").write_text(
        "dataset,split,example_idx,setup_id,batch_idx,annotator_group,annotator_id,status,start,end\n"
        "D2T,test,3,phi3.5,0,0,worker-1,finished,1700000000.0,1700000060.0\n"
        "D2T,test,4,phi3.5,0,1,,free,,\nD2T,te"
    )
    campaign = read_factgenie_campaign(folder)
    assert (campaign.layout, campaign.mode, campaign.status, campaign.annotator_kind) == (
        "installed",
        "crowdsourcing",
        "running",
        "human",
    )
    assert campaign.categories[0].color == ""
    annotation = the_annotation(folder)
    assert (annotation.annotator_id, annotation.group, annotation.received_output) == ("worker-1", 0, "The cat.")
    assert (annotation.started_at, annotation.ended_at) == (1700000000, 1700000060)
    assert [(answer.kind, answer.label, answer.value) for answer in annotation.answers] == [
        ("flag", "Fluent", True), ("option", "Rating", "good"), ("option", "Tone", "dry"), ("slider", "Score", 7.0),
        ("text_field", "Comment", ""),
    ]  # fmt: skip
    finished, free, cut = read_factgenie_assignments(campaign)
    assert isinstance(finished, FactgenieAssignment)
    assert (finished.status, finished.annotator_id, finished.end) == ("finished", "worker-1", 1700000060)
    assert isinstance(free, FactgenieAssignment)
    assert (free.status, free.annotator_id, free.start) == ("free", None, None)
    assert isinstance(cut, Problem)
    assert (cut.line, cut.reason) == (4, "example_idx is None, not a whole number")
    assert list(find_factgenie_campaigns(tmp_path)) == [folder]


def test_a_folder_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is no factgenie campaign: expected config\.yaml"):
        read_factgenie_campaign(tmp_path)


@pytest.mark.parametrize("config", ["- just\n- a list\n", "a: [", "annotation_span_categories: [{color: red}]"])
def test_settings_that_cannot_be_read_are_refused(tmp_path: Path, config: str) -> None:
    with pytest.raises(InvalidInput, match=str(tmp_path)):
        read_factgenie_campaign(published(tmp_path, record(), config=config))


@pytest.mark.parametrize(
    ("color", "expected"), [("rgba(0, 128, 255, 0.5)", "#0080ff"), ("rgb(1,2,300)", ""), (None, ""), ("#12345", "")]
)
def test_colors(color: Any, expected: str) -> None:
    assert hex_color(color) == expected


# Annotations and spans in each published campaign, then spans that differ from the text: in case, and in their offset.
EXPECTED = {
    "human/dev": (84, 238, 0, 0),
    "human/iaa": (341, 1276, 0, 0),
    "human/qualification/qualification-key": (5, 10, 0, 1),
    "human/qualification/qualification-task": (1097, 4840, 0, 0),
    "human/test": (2151, 5881, 0, 0),
    "model/dev/5shot-llama3-3": (84, 213, 1, 0),
    "model/dev/cot-deepseek-r1": (84, 90, 2, 0),
    "model/dev/noreason-llama3-3": (84, 182, 0, 0),
    "model/dev/zeroshot-llama3-3": (84, 203, 0, 0),
    "model/test/gpt4o": (1200, 2284, 6, 1),
    "model/test/llama3-3": (1200, 3214, 14, 4),
    "model/test/o3-mini": (1200, 1836, 22, 1),
}


@pytest.mark.data
def test_the_published_study_is_read_and_placed_in_full(research_data: Path) -> None:
    root = research_data / "d2t-eval"
    texts: dict[tuple[str | None, str, str, str], str] = {}
    for entry in read_dataset(root / "outputs"):
        assert isinstance(entry, DatasetEntry)
        assert isinstance(entry.record, OutputRecord)
        texts[entry.dataset, entry.record.split, entry.record.key, entry.record.system] = entry.record.text
    counted = {}
    for folder in find_factgenie_campaigns(root):
        count: Counter[str] = Counter()
        for annotation in annotations_of(folder):
            assert isinstance(annotation, FactgenieAnnotation)
            text = texts[annotation.dataset, annotation.split, annotation.example_key, annotation.setup]
            count["annotations"] += 1
            for span in annotation.spans:
                placed = resolve_span(text, span.text, span.start)
                assert isinstance(placed, ResolvedPlace)
                count.update(["spans", *placed.differences])
        name = str(folder.relative_to(root / "annotations"))
        counted[name] = (count["annotations"], count["spans"], count["case"], count["offset"])
    assert counted == EXPECTED
