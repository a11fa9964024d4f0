"""Worked examples of the instructions: each quote is in its text, and each category is defined."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.worked_examples import WorkedExample, WorkedSpan

TEXT = "It rains 🌧️ today, and it rains tomorrow."


def define(*spans: dict[str, Any]) -> CampaignDefinition:
    return CampaignDefinition.model_validate(
        {
            "slug": "study",
            "title": "A study",
            "categories": [{"name": "Wrong"}],
            "severities": [{"name": "Minor"}],
            "data": {"dataset": "reports"},
            "worked_examples": [{"text": TEXT, "spans": spans}],
        }
    )


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ({"quote": "snows"}, "the quote 'snows' does not occur in the text"),
        ({"quote": "TODAY"}, "'TODAY' is not in the text; did you mean 'today'"),
        ({"quote": "rains"}, "'rains' stands in the text 2 times; say which is meant"),
        ({"quote": "rains", "occurrence": 3}, "there is no occurrence 3"),
        ({"quote": "today", "category": "Right"}, "worked example 1 expects category 'Right', which is not defined"),
        ({"quote": "today", "severity": "Major"}, "worked example 1 has the severity 'Major', which is not defined"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_reason(span: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        define({"category": "Wrong"} | span)


def test_a_quote_that_stands_twice_is_told_apart_by_its_number() -> None:
    definition = define({"quote": "rains", "occurrence": 2, "category": "wrong", "severity": "minor"})
    [example] = definition.worked_examples
    start, end = example.place(example.spans[0])
    assert (TEXT[start:end], start) == ("rains", TEXT.rindex("rains"))


@given(st.text(min_size=1, max_size=30), st.data())
def test_a_place_always_covers_exactly_the_quote(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    quote = text[start : data.draw(st.integers(start + 1, len(text)))]
    occurrence = data.draw(st.integers(1, text.count(quote)))
    span = WorkedSpan(quote=quote, occurrence=occurrence, category="x")
    try:
        example = WorkedExample(text=text, spans=[span])
    except ValueError:
        assert not quote.strip()
        return
    first, last = example.place(span)
    assert text[first:last] == quote
