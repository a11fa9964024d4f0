"""The offline annotator marks what the source lacks, and quotes it so that it is found again."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.llm.overlap import OverlapAnnotator
from spanplat.llm.placement import PlacedQuote, place_quotes
from spanplat.llm.provider import CategoryBrief, Reply, Task
from spanplat.schemas.reply import ModelReply

CATEGORIES = [CategoryBrief("wrong", "Wrong", ""), CategoryBrief("other", "Other", "")]


def annotate(text: str, source: Any) -> Reply:
    return OverlapAnnotator().annotate(Task(text, source, CATEGORIES))


def marked(text: str, source: Any) -> list[str]:
    """Return the passages marked, where they are placed in the text."""
    quotes = ModelReply.model_validate_json(annotate(text, source).content).annotations
    placed = place_quotes(text, quotes, find_category=lambda name: name)
    assert all(isinstance(quote, PlacedQuote) for quote in placed)
    return [text[quote.start : quote.end] for quote in placed if isinstance(quote, PlacedQuote)]


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("It is 4.20.", {"price": 4.2}, []),
        ("It is 4.2.", {"price": "4.20"}, []),
        ("It weighs 1,200 g.", {"weighs": 1200}, []),
        ("It is 4.3.", {"price": 4.2}, ["4.3"]),
        ("At 18:30.", {"time": "18:30"}, []),
        ("At 18:45.", {"time": "18:30"}, ["18:45"]),
        ("BRNO is sunny.", {"city": "brno", "weather": "Sunny"}, []),
        ("A cafe in Plzen.", "Café v Plzeň", []),
        ("An e\u0301tude.", "étude", []),
        ("An étude.", "e\u0301tude", []),
        ("It was raining.", "rains, rainy", ["raining"]),
        ("Temperatures waning.", "temperature wanes", ["waning"]),
        ("The phone has a camera.", {"phone": ["camera", None]}, []),
        ("The phone has a nice screen.", {"phone": 1}, ["nice screen"]),
        ("About 21 °C tomorrow.", {"t": 20}, ["21", "tomorrow"]),
        ("A 50% better battery.", {"battery": 1}, ["50% better"]),
        ("Sunny, windy.", "", ["Sunny", "windy"]),
        ("It is as it was, although these could.", "", []),
        ("", {"a": 1}, []),
        ("ﾞ; ١٢!", "", ["١٢"]),
    ],
)
def test_content_words_and_numbers_that_the_source_lacks_are_marked(
    text: str, source: Any, expected: list[str]
) -> None:
    assert marked(text, source) == expected


def test_repeated_words_are_each_marked_in_their_place() -> None:
    text = "Snow fell. No snow, then Snow again."
    quotes = ModelReply.model_validate_json(annotate(text, "fell again").content).annotations
    assert [(quote.text, quote.occurrence) for quote in quotes] == [("Snow", 0), ("snow", 0), ("Snow", 1)]
    placed = place_quotes(text, quotes, find_category=lambda name: name)
    assert [quote.start for quote in placed if isinstance(quote, PlacedQuote)] == [0, 14, 25]


@given(text=st.text() | st.text("ab1 .,-%°\n🌧é"), source=st.text() | st.dictionaries(st.text(), st.integers()))
def test_every_mark_of_any_text_stands_where_it_was_seen(text: str, source: Any) -> None:
    reply = annotate(text, source)
    quotes = ModelReply.model_validate_json(reply.content).annotations
    placed = [
        quote for quote in place_quotes(text, quotes, find_category=lambda name: name) if isinstance(quote, PlacedQuote)
    ]
    assert len(placed) == len(quotes)
    assert all(text[quote.start : quote.end] == quote.quote.text for quote in placed)
    starts = [quote.start for quote in placed]
    assert starts == sorted(set(starts)), "in the order of the text, each in a place of its own"
    share = reply.answers["source-overlap"]
    assert share is None or 0 <= share <= 1


def test_the_share_of_supported_words_is_an_answer() -> None:
    assert annotate("red green", "red").answers == {"source-overlap": 0.5}
    assert annotate("…", "red").answers == {"source-overlap": None}


def test_the_category_is_the_one_named_or_the_first() -> None:
    task = Task("Snow.", "", CATEGORIES)
    chosen = [OverlapAnnotator(name).annotate(task) for name in (None, "other")]
    assert [json.loads(reply.content)["annotations"][0]["category"] for reply in chosen] == ["wrong", "other"]
    assert json.loads(OverlapAnnotator().annotate(Task("Snow.", "", [])).content) == {"annotations": []}
