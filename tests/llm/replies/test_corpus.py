"""Raw replies of models with the expected results. They are in the folder ``corpus``."""

from pathlib import Path
from typing import Any

import pytest

from spanplat.llm.item import AskedItem
from spanplat.llm.replies import ParsedReply, UnreadableReply, read_reply, rule_of
from spanplat.schemas import yaml_documents
from spanplat.schemas.definition import CampaignDefinition
from tests.llm.replies.asking import defined

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.yaml"))


def cases() -> list[Any]:
    found = []
    for path in CORPUS:
        content = yaml_documents.load(path.read_text("utf-8"))
        for case in content.pop("cases"):
            definition = defined(**(content["definition"] | case.get("definition", {})))
            found.append(pytest.param(content, definition, case, id=f"{path.stem}: {case['name']}"))
    return found


def asked(content: dict[str, Any]) -> AskedItem:
    texts = [content["text"], *([content["second"]] if "second" in content else [])]
    return AskedItem(texts, None, content.get("source_texts", {}), content.get("aspect"))


@pytest.mark.parametrize(("content", "definition", "case"), cases())
def test_a_reply_is_read_as_the_corpus_says(
    content: dict[str, Any], definition: CampaignDefinition, case: dict[str, Any]
) -> None:
    def read() -> ParsedReply:
        return read_reply(case["reply"], definition, asked(content), finish_reason=case.get("finish_reason", "stop"))

    if "failure" in case:
        with pytest.raises(UnreadableReply) as failure:
            read()
        assert failure.value.kind == case["failure"]
        return
    reading = read()
    sides = [span.side for span in reading.spans]
    found = [[span.start, span.text, span.category, rule_of(span)] for span in reading.spans]
    assert found == [expected[:4] for expected in case.get("spans", [])]
    assert sides == [expected[4] if len(expected) > 4 else "output" for expected in case.get("spans", [])]
    for span in reading.spans:
        text = content["text"] if span.side == "output" else content["source_texts"][span.field]
        assert text[span.start : span.end] == span.text
    assert [left.reason for left in reading.unplaced] == case.get("unplaced", [])
    assert dict(reading.answers) == case.get("answers", {})
    assert case.get("reasoning", "") in reading.reasoning
    assert bool(case.get("reasoning")) == bool(reading.reasoning)
    for name, values in (
        ("how", reading.how),
        ("remarks", dict(reading.remarks)),
        ("severities", [span.severity for span in reading.spans]),
        ("subcategories", [span.subcategory for span in reading.spans]),
        ("origins", [span.origin for span in reading.spans]),
    ):
        assert case.get(name, values) == values


def test_the_corpus_is_large_and_its_names_are_distinct() -> None:
    names = [case.id for case in cases()]
    assert len(names) == len(set(names)) >= 120
