"""Property tests: every reply is parsed into spans with a place in the text, or raises the parser's own error."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.llm.item import AskedItem
from spanplat.llm.replies import UnreadableReply, quote_of, read_reply, rule_of
from spanplat.llm.replies.json_text import search_json
from spanplat.llm.replies.reasoning import separate_reasoning
from spanplat.schemas import yaml_documents
from spanplat.schemas.span import MarkedSpan
from spanplat.text import same_ignoring
from tests.llm.replies.asking import defined

TEXT = "Rain 🌧️ and rain – and more Rain. Straße, “quoted”, 東京タワー, e\u0301t\u00e9.\nLast line"
ITEM = AskedItem([TEXT, "Another text"], {"a": 1}, {"facts": "No rain today.", "note": "Rain"})
FORMS = {
    "spans": defined(
        categories=[{"name": "Wrong"}, {"name": "Omitted", "side": "source"}, {"name": "All", "exclusive": True}],
        severities=[{"name": "Minor"}, {"name": "Major"}],
    ),
    "no overlap": defined(overlap="forbid", fuzzy=0.3),
    "first": defined(placement="first"),
    "gauge": defined(preset="gauge", questions=[{"key": "q", "type": "likert", "label": "Quality"}]),
    "ratings": defined(preset="verbatim", questions=[{"key": "q", "type": "slider", "label": "Fluent"}]),
    "errors": defined(preset="consolidate", consolidates=["one", "two#3"], severities=[{"name": "Minor"}]),
    "choice": defined(preset="pairwise", questions=[{"key": "q", "type": "preference", "label": "Clearer"}]),
}
REPLIES = [
    str(case["reply"])
    for path in sorted((Path(__file__).parent / "corpus").glob("*.yaml"))
    for case in yaml_documents.load(path.read_text("utf-8"))["cases"]
]
TOKENS = st.sampled_from(
    ["{", "}", "[", "]", '"', "'", ",", ":", "\\", "```", "```json\n", "<think>", "</think>", "\n", " ", "null", "true", "1", "-",
     '"annotations"', '"text"', '"category"', "Rain", "Wrong", "Error 1:", "Location:", "No Error", "Overall label:", "Good", "Best:",
     "Worst:", "Fluent:", "80", "/100", "A", "B", "🌧️", "\ud800", "\x00", "…", "I cannot", "NaN", "1e999", "//", "/*", "\\u12", "“"]
)  # fmt: skip
anything = st.one_of(st.text(), st.lists(TOKENS, max_size=40).map("".join))
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["Rain", "Wrong", "rain"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                ["annotations", "text", "category", "severity", "occurrence", "context", "side", "answers", "x"]
            ),
            inner,
        ),
    ),
    max_leaves=12,
)


def read(form: str, reply: str, finish_reason: str = "stop") -> list[MarkedSpan] | None:
    try:
        reading = read_reply(reply, FORMS[form], ITEM, finish_reason=finish_reason)
    except UnreadableReply:
        return None
    assert_can_be_stored([left.record for left in reading.unplaced])
    assert_can_be_stored([(span.origin, span.reason, span.severity) for span in reading.spans])
    assert_can_be_stored([reading.answers, reading.remarks, reading.reasoning])
    return list(reading.spans)


def test_a_number_of_thousands_of_digits_is_no_category_and_no_severity() -> None:
    reply = json.dumps({"annotations": [{"text": "Straße", "category": "7" * 5_000, "severity": "7" * 5_000}]})
    assert read("spans", reply) == []


def assert_can_be_stored(value: Any) -> None:
    """Every database takes it: it is JSON, and its text has neither NUL nor lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    assert "\\u0000" not in text.replace("\\\\", "")
    text.encode()


def assert_stands(span: MarkedSpan) -> None:
    """The span's text is what stands at its place, and its quote is the same under its rule."""
    text = TEXT if span.side == "output" else ITEM.source_texts[span.field or ""]
    assert 0 <= span.start < span.end <= len(text)
    assert text[span.start : span.end] == span.text
    rule, *more = rule_of(span).split(", ")
    if rule in ("whole text", "approximate") or any("typography" in part or "quotation" in part for part in more):
        return
    assert same_ignoring(span.text, quote_of(span)) is not None
    if rule == "exact":
        assert span.text == quote_of(span)


@pytest.mark.parametrize("form", FORMS)
@given(reply=anything, finish_reason=st.sampled_from(["stop", "length", "other"]))
def test_any_reply_is_read_or_refused(form: str, reply: str, finish_reason: str) -> None:
    for span in read(form, reply, finish_reason) or []:
        assert_stands(span)


@given(form=st.sampled_from(sorted(FORMS)), value=values, ascii_only=st.booleans())
def test_any_json_value_is_read_or_refused(form: str, value: Any, ascii_only: bool) -> None:
    for span in read(form, json.dumps(value, ensure_ascii=ascii_only)) or []:
        assert_stands(span)


@given(
    form=st.sampled_from(["spans", "no overlap", "first"]),
    reply=st.sampled_from(REPLIES),
    edits=st.lists(st.tuples(st.integers(0, 10**6), TOKENS, st.booleans()), max_size=4),
)
def test_a_damaged_reply_is_read_or_refused(form: str, reply: str, edits: list[tuple[int, str, bool]]) -> None:
    for place, token, drop in edits:
        cut = place % (len(reply) + 1)
        reply = reply[:cut] + ("" if drop else token) + reply[cut + drop :]
    for span in read(form, reply) or []:
        assert_stands(span)


@given(st.integers(0, len(TEXT) - 1), st.integers(1, 30), st.booleans())
def test_a_quote_taken_from_the_text_is_found_where_it_stands(start: int, length: int, in_context: bool) -> None:
    quote = TEXT[start : start + length]
    context = TEXT[max(0, start - 20) : start + length + 20] if in_context else None
    reply = json.dumps({"annotations": [{"reason": "r", "text": quote, "context": context, "category": "Wrong"}]})
    if not quote.strip():
        return
    (span,) = read("spans", reply) or []
    assert span.text == quote
    if TEXT.count(quote) == 1:
        assert span.start == start


@given(st.text("abc '\",:", max_size=20), st.text("abc '\",:", max_size=20))
def test_repairing_neither_adds_nor_loses_a_letter(before: str, after: str) -> None:
    reply = f"{{'annotations': [{{'reason': '{before}', 'text': '{after}', 'category': 'Wrong',}}]}}"
    found = search_json(reply, lambda value: isinstance(value, dict), is_entry=lambda _: False).found
    if found is not None:
        assert letters(json.dumps(found.value)) == letters(reply)


def letters(text: str) -> list[str]:
    return [character for character in text if character.isalpha()]


@given(st.text(max_size=50), st.text(max_size=50))
def test_closed_reasoning_never_reaches_the_answer(thought: str, answer: str) -> None:
    if "<" in thought + answer:
        return
    separated = separate_reasoning(f"<think>{thought}</think>{answer}")
    assert separated == (thought.strip(), answer.strip(), "")


@pytest.mark.parametrize(
    "reply",
    [
        "[" * 200_000,
        '{"annotations": [' + "[" * 900 + "]" * 900 + "]}",
        '{"a":' * 100_000,
        "{" * 5_000 + "}" * 5_000,
        '{"annotations": [' * 3_000,
        "<think>" * 50_000,
    ],
)
def test_replies_made_to_be_slow_are_refused_soon(reply: str) -> None:
    assert read("spans", reply) is None
