"""Replies made from published model annotations are parsed into exactly the published spans."""

import json
from collections import Counter
from pathlib import Path

import pytest

from spanplat.llm.item import AskedItem
from spanplat.llm.replies import read_reply, rule_of
from spanplat.schemas import yaml_documents
from spanplat.schemas.slug import slugify
from tests.llm.replies.asking import defined

pytestmark = pytest.mark.data

Key = tuple[str, str, int]


@pytest.fixture(scope="module")
def texts(research_data: Path) -> dict[Key, str]:
    found = {}
    for path in (research_data / "d2t-eval" / "outputs").rglob("*-test.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            found[record["dataset"], slugify(record["setup_id"]), record["example_idx"]] = record["output"]
    return found


@pytest.mark.parametrize(
    ("model", "spans", "shifted"), [("o3-mini", 1836, 1), ("gpt4o", 2284, 1), ("llama3-3", 3214, 4)]
)
def test_placing_on_the_first_occurrence_reproduces_the_published_runs(
    research_data: Path, texts: dict[Key, str], model: str, spans: int, shifted: int
) -> None:
    folder = research_data / "d2t-eval" / "annotations" / "model" / "test" / model
    names = [
        entry["name"]
        for entry in yaml_documents.load((folder / "config.yaml").read_text("utf-8"))["annotation_span_categories"]
    ]
    campaign = defined(placement="first", categories=[{"name": name} for name in names])
    rules: Counter[str] = Counter()
    elsewhere = []
    for line in (folder / "annotations.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        text = texts[record["dataset"], slugify(record["setup_id"]), record["example_idx"]]
        asked = [
            {"reason": span.get("reason"), "text": span["text"], "category": names[span["type"]]}
            for span in record["annotations"]
        ]
        reading = read_reply(json.dumps({"annotations": asked}), campaign, AskedItem([text]))
        assert list(reading.unplaced) == []
        for got, published in zip(reading.spans, record["annotations"], strict=True):
            rules[rule_of(got)] += 1
            assert got.category == slugify(names[published["type"]])
            assert got.end - got.start == len(published["text"])
            if got.start != published["start"]:
                elsewhere.append((got.start - published["start"], "İ" in text[: got.start]))
    assert rules.total() == spans
    assert set(rules) == {"exact", "exact, first", "ignoring-case"}
    assert elsewhere == [(-1, True)] * shifted, "İ is two characters in lower case, which shifted what was published"
