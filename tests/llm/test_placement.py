"""Where a model's quotes go, and why some go nowhere."""

from typing import Any

import pytest

from spanplat.llm.placement import PlacedQuote, UnplacedQuote, place_quotes
from spanplat.schemas.reply import QuotedSpan

TEXT = "Rain 🌧️ and rain and more Rain."
KEYS = {"wrong": "wrong", "Wrong": "wrong"}


def quote(text: str, **more: Any) -> QuotedSpan:
    return QuotedSpan.model_validate({"text": text, "category": "Wrong"} | more)


def place(*quotes: QuotedSpan, **options: Any) -> list[tuple[int, int] | str]:
    placed = place_quotes(TEXT, quotes, find_category=KEYS.get, **options)
    return [(p.start, p.end) if isinstance(p, PlacedQuote) else p.reason for p in placed]


def test_repeated_quotes_go_to_one_occurrence_after_the_other_or_all_to_the_first() -> None:
    assert place(quote("Rain"), quote("Rain")) == [(0, 4), (26, 30)]
    assert place(quote("Rain"), quote("Rain"), placement="first") == [(0, 4), (0, 4)]


def test_an_occurrence_that_is_named_decides() -> None:
    assert place(quote("Rain", occurrence=1), quote("Rain", occurrence=0)) == [(26, 30), (0, 4)]


def test_offsets_count_code_points_behind_an_emoji() -> None:
    ((start, end),) = [found for found in place(quote("and more")) if not isinstance(found, str)]
    assert TEXT[start:end] == "and more"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (quote("Rain", category="Blue"), "unknown category 'Blue'"),
        (quote("snow"), "the quote does not occur in the text"),
        (quote("  "), "the quote is empty"),
        (quote("Rain", occurrence=7), "the quote occurs in several places, and nothing says which one is meant"),
    ],
)
def test_a_quote_without_a_place_says_why(sent: QuotedSpan, reason: str) -> None:
    assert place(sent) == [reason]


def test_overlap_is_refused_only_where_forbidden() -> None:
    both = quote("and rain and"), quote("rain and more")
    assert all(not isinstance(found, str) for found in place(*both))
    assert place(*both, allow_overlap=False)[1] == "it overlaps an earlier span, which the campaign forbids"
    assert all(not isinstance(found, str) for found in place(quote("and"), quote("rain"), allow_overlap=False))


def test_the_rule_that_placed_a_quote_is_told() -> None:
    placed = place_quotes(TEXT, [quote("AND MORE"), quote("and\n more"), quote("Rain")], find_category=KEYS.get)
    rules = [found.rule for found in placed if not isinstance(found, UnplacedQuote)]
    assert rules == ["ignoring-case", "ignoring-space", "exact, occurrence"]
