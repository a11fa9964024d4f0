"""Placing a span that came as a quote and an approximate start: received offsets stay, resolved ones stand beside them."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from spanplat.errors import InvalidInput
from spanplat.text import Located, locate_quote, match_at, utf16_to_code_points

PlacementRule = Literal["at-offset", "at-utf16-offset", "at-lower-case-offset", "only-place", "nearby"]
Difference = Literal["offset", "case", "space"]

# Tools shift offsets by a few characters (an emoji, markup, a letter that grows in lower case); a repeated quote
# farther away than this may well be another mention, so nothing but its offset could say which one was meant.
_NEARBY = 32

_DIFFERENCES: dict[str, tuple[Difference, ...]] = {
    "exact": (),
    "ignoring-case": ("case",),
    "ignoring-space": ("space",),
    "ignoring-case-and-space": ("case", "space"),
}


@dataclass(frozen=True, slots=True)
class ResolvedSpan:
    """Where a received span stands in the stored text: half-open code-point offsets."""

    start: int
    end: int
    rule: PlacementRule
    differences: tuple[Difference, ...] = ()
    """How the received span differs from the text: in its offset, in letter case, in white space; empty when in nothing."""


@dataclass(frozen=True, slots=True)
class UnresolvedSpan:
    """A received span that has no place; ``reason`` says why."""

    reason: str


def resolve_span(text: str, received_text: str, received_start: int | None) -> ResolvedSpan | UnresolvedSpan:
    """Place a received span in a text.

    Tried in this order: the text at the offset, in code points; at the offset read as UTF-16 units (pages that count as
    the browser does); at the offset read in the lower-cased text (tools that search there); anywhere, if there is one
    place or one nearby.

    Parameters
    ----------
    text
        The stored text.
    received_text
        The passage as received.
    received_start
        Its start as received; None when there was none.

    Returns
    -------
    ResolvedSpan or UnresolvedSpan
        The place, the rule that found it and every difference; or why there is no place.
    """
    if not received_text:
        return UnresolvedSpan("the span's text is empty")
    if received_start is not None and received_start >= 0:
        for rule, start in _readings(text, received_start):
            found = match_at(text, start, received_text)
            if found is not None:
                return ResolvedSpan(found.start, found.end, rule, _differences(found, received_start))
    return _elsewhere(text, received_text, received_start)


def _readings(text: str, received_start: int) -> Iterator[tuple[PlacementRule, int]]:
    yield "at-offset", received_start
    with suppress(InvalidInput):  # no character begins there in the browser's count: one reading less
        yield "at-utf16-offset", utf16_to_code_points(text, received_start)
    if len(text.lower()) != len(text):
        lowered = 0
        for position, character in enumerate(text):
            if lowered == received_start:
                yield "at-lower-case-offset", position
                return
            lowered += len(character.lower())


def _elsewhere(text: str, received_text: str, received_start: int | None) -> ResolvedSpan | UnresolvedSpan:
    located = locate_quote(text, received_text, near=received_start)
    if not isinstance(located, Located):
        return UnresolvedSpan(f"the span's text {located.reason}")
    differences = _differences(located, received_start)
    if located.chosen_by == "only-one":
        return ResolvedSpan(located.start, located.end, "only-place", differences)
    if received_start is not None and abs(located.start - received_start) <= _NEARBY:
        return ResolvedSpan(located.start, located.end, "nearby", differences)
    return UnresolvedSpan("the span's text is not at its offset and occurs in several places, none of them near")


def _differences(located: Located, received_start: int | None) -> tuple[Difference, ...]:
    moved: tuple[Difference, ...] = () if located.start == received_start else ("offset",)
    return moved + _DIFFERENCES[located.rule]
