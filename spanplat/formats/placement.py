"""Placement of spans that were received as a quote with an approximate start. The received offsets are kept as well."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from spanplat.errors import InvalidInput
from spanplat.text import NotLocated, QuoteLocation, locate_quote, match_at, utf16_to_code_points

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
class ResolvedPlace:
    """Position of a received span in the stored text: half-open code-point offsets."""

    start: int
    end: int
    rule: PlacementRule
    differences: tuple[Difference, ...] = ()
    """Differences between the received span and the text: in the offset, letter case or white space; empty if there are none."""


def resolve_span(text: str, received_text: str, received_start: int | None) -> ResolvedPlace | NotLocated:
    """Find the place of a received span in a text.

    The function tries in this order: the offset in code points; the offset in UTF-16 units, as browsers count; the offset in the
    lower-cased text, as some tools search; any place, if there is only one, or one nearby.

    Parameters
    ----------
    text
        The stored text.
    received_text
        The passage as received.
    received_start
        Its start as received; None if there was none.

    Returns
    -------
    ResolvedPlace or NotLocated
        The place, the rule that found it and every difference; or the reason why there is no place.
    """
    if not received_text:
        return NotLocated("the span's text is empty")
    if received_start is not None and received_start >= 0:
        for rule, start in _readings(text, received_start):
            found = match_at(text, start, received_text)
            if found is not None:
                return ResolvedPlace(found.start, found.end, rule, _differences(found, received_start))
    return _elsewhere(text, received_text, received_start)


def _readings(text: str, received_start: int) -> Iterator[tuple[PlacementRule, int]]:
    yield "at-offset", received_start
    with suppress(InvalidInput):  # no character begins at this UTF-16 offset, so this reading is impossible
        yield "at-utf16-offset", utf16_to_code_points(text, received_start)
    # A few letters grow in lower case (İ becomes two code points), which shifts all offsets after them.
    if len(text.lower()) != len(text):
        lowered = 0
        for position, character in enumerate(text):
            if lowered == received_start:
                yield "at-lower-case-offset", position
                return
            lowered += len(character.lower())


def _elsewhere(text: str, received_text: str, received_start: int | None) -> ResolvedPlace | NotLocated:
    located = locate_quote(text, received_text, near=received_start)
    if not isinstance(located, QuoteLocation):
        return NotLocated(f"the span's text {located.reason}")
    differences = _differences(located, received_start)
    if located.chosen_by == "only-one":
        return ResolvedPlace(located.start, located.end, "only-place", differences)
    if received_start is not None and abs(located.start - received_start) <= _NEARBY:
        return ResolvedPlace(located.start, located.end, "nearby", differences)
    return NotLocated("the span's text is not at its offset and occurs in several places, none of them near")


def _differences(located: QuoteLocation, received_start: int | None) -> tuple[Difference, ...]:
    moved: tuple[Difference, ...] = () if located.start == received_start else ("offset",)
    return moved + _DIFFERENCES[located.rule]
