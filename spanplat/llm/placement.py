"""Placing a model's quotes in the text: where each goes and by which rule, or why it has no place."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from spanplat.schemas.reply import QuotedSpan
from spanplat.text import NotLocated, locate_quote

Placement = Literal["in_order", "first"]


@dataclass(frozen=True)
class PlacedQuote:
    """A quote with its place (half-open code points) and the rule that found it."""

    quote: QuotedSpan
    start: int
    end: int
    category: str
    """Key of the category."""
    rule: str


@dataclass(frozen=True)
class UnplacedQuote:
    """A quote without a place, and why."""

    quote: QuotedSpan
    reason: str


def place_quotes(
    text: str,
    quotes: Sequence[QuotedSpan],
    *,
    find_category: Callable[[str], str | None],
    placement: Placement = "in_order",
    allow_overlap: bool = True,
) -> list[PlacedQuote | UnplacedQuote]:
    """Place quotes, in the order given.

    Parameters
    ----------
    text
        The stored text.
    quotes
        What the model marked.
    find_category
        Gives the key for a category's key or name, or None.
    placement
        Where the k-th mention of a repeated quote goes: to its k-th occurrence, or always to the first.
    allow_overlap
        Whether a span may share characters with one placed before it.
    """
    mentions: dict[str, int] = defaultdict(int)
    placed: list[PlacedQuote | UnplacedQuote] = []
    for quote in quotes:
        mention = mentions[quote.text.casefold()]
        mentions[quote.text.casefold()] += 1
        category = find_category(quote.category)
        if category is None:
            placed.append(UnplacedQuote(quote, f"unknown category {quote.category!r}"))
            continue
        occurrence = quote.occurrence if quote.occurrence is not None else mention if placement == "in_order" else 0
        located = locate_quote(text, quote.text, occurrence=occurrence)
        if isinstance(located, NotLocated):
            placed.append(UnplacedQuote(quote, f"the quote {located.reason}"))
        elif not allow_overlap and _overlaps(located.start, located.end, placed):
            placed.append(UnplacedQuote(quote, "it overlaps an earlier span, which the campaign forbids"))
        else:
            rule = located.rule if located.chosen_by == "only-one" else f"{located.rule}, {located.chosen_by}"
            placed.append(PlacedQuote(quote, located.start, located.end, category, rule))
    return placed


def _overlaps(start: int, end: int, placed: Sequence[PlacedQuote | UnplacedQuote]) -> bool:
    return any(isinstance(other, PlacedQuote) and other.start < end and start < other.end for other in placed)
