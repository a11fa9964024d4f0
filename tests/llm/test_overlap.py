"""The offline annotator marks words without support in the source. Its quotes are placed where it marked them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.errors import InvalidInput
from spanplat.llm.item import AskedItem
from spanplat.llm.provider import ModelReply
from spanplat.llm.providers.choice import make_provider
from spanplat.llm.providers.overlap import OverlapAnnotator
from spanplat.llm.replies import read_reply
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.span import MarkedSpan


def define(**model: Any) -> CampaignDefinition:
    content = {
        "slug": "baseline",
        "title": "Baseline",
        "kind": "llm",
        "data": {"dataset": "any"},
        "categories": [{"name": "Wrong"}, {"name": "Other"}],
        "model": {"provider": "overlap"} | model,
    }
    return CampaignDefinition.model_validate(content)


DEFINITION = define()


def annotate(text: str, source: Any) -> ModelReply:
    return OverlapAnnotator("wrong").annotate(AskedItem([text], source))


def placed(text: str, source: Any) -> list[MarkedSpan]:
    """Return the spans marked, where they are placed in the text."""
    reading = read_reply(annotate(text, source).text, DEFINITION, AskedItem([text], source))
    assert not reading.unplaced
    return list(reading.spans)


def marked(text: str, source: Any) -> list[str]:
    return [text[span.start : span.end] for span in placed(text, source)]


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
    quotes = json.loads(annotate(text, "fell again").text)["annotations"]
    assert [(quote["text"], quote["occurrence"]) for quote in quotes] == [("Snow", 0), ("snow", 0), ("Snow", 1)]
    assert [span.start for span in placed(text, "fell again")] == [0, 14, 25]


@given(text=st.text() | st.text("ab1 .,-%°\n🌧é"), source=st.text() | st.dictionaries(st.text(), st.integers()))
def test_every_mark_of_any_text_stands_where_it_was_seen(text: str, source: Any) -> None:
    reply = annotate(text, source)
    quotes = json.loads(reply.text)["annotations"]
    spans = placed(text, source)
    assert [text[span.start : span.end] for span in spans] == [quote["text"] for quote in quotes]
    starts = [span.start for span in spans]
    assert starts == sorted(set(starts)), "in the order of the text, each in a place of its own"
    share = reply.answers["source-overlap"]
    assert share is None or 0 <= share <= 1


def test_the_share_of_supported_words_is_an_answer() -> None:
    assert annotate("red green", "red").answers == {"source-overlap": 0.5}
    assert annotate("…", "red").answers == {"source-overlap": None}


def test_the_category_is_the_one_named_or_the_first() -> None:
    item = AskedItem(["Snow."], "")
    providers = [make_provider(define(**model)) for model in ({}, {"category": "other"})]
    chosen = [provider.annotate(item) for provider in providers if isinstance(provider, OverlapAnnotator)]
    assert [json.loads(reply.text)["annotations"][0]["category"] for reply in chosen] == ["wrong", "other"]
    assert json.loads(OverlapAnnotator().annotate(item).text) == {"annotations": []}
    with pytest.raises(InvalidInput, match=r"model\.category is 'blue'"):
        make_provider(define(category="blue"))
