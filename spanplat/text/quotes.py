"""Search for a quote in a text: first exactly, then without letter case and white space, and last (on request) approximately.

The offsets always refer to the original text, whatever the search ignores.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from spanplat.text.fuzzy import closest_passages

Rule = Literal["exact", "ignoring-case", "ignoring-space", "ignoring-case-and-space", "approximate"]
ChosenBy = Literal["only-one", "occurrence", "nearest"]
Spaces = Literal["keep", "collapse", "drop"]

# Limit of rejected places. A hostile text (a long periodic quote that never ends at the end of a character) would take quadratic time.
_MOST_REJECTED = 1_000
_WHITE_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class QuoteLocation:
    """Place of a quote (half-open, in code points), the rule that found it, and the reason for choosing it among several places."""

    start: int
    end: int
    rule: Rule
    chosen_by: ChosenBy = "only-one"
    distance: int = 0
    """Number of edits between quote and text; above 0 only for the rule "approximate"."""


@dataclass(frozen=True, slots=True)
class NotLocated:
    """Reason why a quote has no place; ``reason`` completes the sentence "The quote …"."""

    reason: str
    ambiguous: bool = False


class _Place(NamedTuple):
    position: int
    """Position in the folded text; the other two are offsets of the original text."""
    start: int
    end: int


# Steps of the search: the name, whether case is folded, and the treatment of white space. White space is collapsed to one space
# before it is dropped completely, because a quote without its spaces may also fit in wrong places.
_STEPS: tuple[tuple[Rule, bool, Spaces], ...] = (
    ("exact", False, "keep"),
    ("ignoring-case", True, "keep"),
    ("ignoring-space", False, "collapse"),
    ("ignoring-case-and-space", True, "collapse"),
    ("ignoring-space", False, "drop"),
    ("ignoring-case-and-space", True, "drop"),
)


def locate_quote(
    text: str, quote: str, *, near: int | None = None, occurrence: int | None = None, most_edits: float = 0.0
) -> QuoteLocation | NotLocated:
    """Find a quote in a text.

    Parameters
    ----------
    text
        The stored text.
    quote
        The passage to find, as a person or a model wrote it.
    near
        Expected start, in code points. Among several places the nearest is chosen (the earlier of two at the same distance).
    occurrence
        Number of the place among several, counted from 0 without overlaps as ``str.count`` does. It has priority over ``near``. A
        single place is chosen whatever the number is.
    most_edits
        Share of the quote's characters that may be inserted, deleted or replaced if no other step finds it; 0 turns this off.

    Returns
    -------
    QuoteLocation or NotLocated
        The place and the rule that found it, or the reason why there is none (also if there are several and no hint decides).
    """
    if not quote.strip():
        return NotLocated("is empty")
    seen: set[tuple[str, str]] = set()
    for rule, fold_case, spaces in _STEPS:
        view, needle = _View(text, fold_case, spaces), _folded(quote, fold_case, spaces)
        if (view.folded, needle) in seen:  # this step ignores nothing that the text or the quote contains
            continue
        seen.add((view.folded, needle))
        found = _choose(view, needle, rule, near, occurrence)
        if found is not None:
            return found
    return _approximate(text, quote, near, most_edits) if most_edits > 0 else NotLocated("does not occur in the text")


def same_ignoring(one: str, other: str) -> Rule | None:
    r"""Return the strictest rule under which two passages are equal, or None if they differ under all rules.

    Examples
    --------
    >>> same_ignoring("Straße", "STRASSE"), same_ignoring("a b", "a\n b"), same_ignoring("a", "b")
    ('ignoring-case', 'ignoring-space', None)
    """
    for rule, fold_case, spaces in _STEPS:
        if _folded(one, fold_case, spaces) == _folded(other, fold_case, spaces):
            return rule
    return None


def match_at(text: str, start: int, quote: str) -> QuoteLocation | None:
    """Compare a quote with the passage at an offset, first exactly, then without letter case and white space.

    Parameters
    ----------
    text
        The stored text.
    start
        Start of the passage, in code points.
    quote
        The passage as received; its length may differ from the text's if case or white space differs.

    Returns
    -------
    QuoteLocation or None
        The passage and the strictest rule under which it equals the quote; None if there is no such rule. The passage has no white
        space at its ends, unless it matches exactly.
    """
    if not 0 <= start < len(text) or not quote:
        return None
    if text.startswith(quote, start):
        return QuoteLocation(start, start + len(quote), "exact")
    if text[start].isspace() != quote[0].isspace():  # without its first space, the passage would have another offset
        return None
    for rule, fold_case, spaces in _STEPS[1:]:
        end = _end_of_match(text, start, _folded(quote, fold_case, spaces), fold_case, spaces)
        if end is not None:
            return QuoteLocation(start, end, rule)
    return None


def _end_of_match(text: str, start: int, needle: str, fold_case: bool, spaces: Spaces) -> int | None:
    # As if after a space: the folded quote begins without one, so white space at the start of the passage counts for nothing.
    done, after_space = 0, True
    for position in range(start, len(text)):
        if done >= len(needle):
            break
        piece = text[position].casefold() if fold_case else text[position]
        if spaces != "keep" and piece.isspace():
            piece = "" if after_space or spaces == "drop" else " "
            after_space = True
        else:
            after_space = False
        if not needle.startswith(piece, done):
            return None
        done += len(piece)
        if done == len(needle):
            return position + 1
    return None


class _View:
    """A text as one step of the search sees it, with a mapping to offsets of the original."""

    def __init__(self, text: str, fold_case: bool, spaces: Spaces) -> None:
        self.text = text
        self.folded = _folded(text, fold_case, spaces, strip=False)
        self._fold_case, self._spaces = fold_case, spaces

    @cached_property
    def _origin(self) -> list[int] | None:
        """Original positions of the folded characters; None if all are unchanged (folding never makes a character shorter)."""
        if self._spaces == "keep" and len(self.folded) == len(self.text):
            return None
        return _origins(self.text, self._fold_case, self._spaces)

    def position_of(self, offset: int) -> int:
        """Return the first position in the view that comes from this original offset or a later one."""
        return max(0, offset) if self._origin is None else bisect_left(self._origin, offset)

    def widened(self, position: int, end: int) -> tuple[int, int]:
        """Return the original offsets of a passage of the view, extended to whole characters."""
        return (position, end) if self._origin is None else (self._origin[position], self._origin[end - 1] + 1)

    def place(self, position: int, end: int) -> tuple[int, int] | None:
        """Return the original offsets of a passage of the view; None if it cuts a character or (without spaces) a word."""
        origin = self._origin
        if origin is not None:
            # Folding can make several characters of one (ß → ss): a place must not begin or end between them.
            begins_inside = position > 0 and origin[position - 1] == origin[position]
            if begins_inside or (end < len(origin) and origin[end] == origin[end - 1]):
                return None
        start, stop = self.widened(position, end)
        if self._spaces == "drop" and (_inside_word(self.text, start) or _inside_word(self.text, stop)):
            return None
        return start, stop

    def places_from(self, needle: str, first: int) -> Iterator[_Place]:
        """Yield the places of the needle that begin at ``first`` or later, from left to right, with overlapping ones."""
        rejected, position = 0, self.folded.find(needle, first)
        while position >= 0 and rejected < _MOST_REJECTED:
            placed = self.place(position, position + len(needle))
            if placed is None:
                rejected += 1
            else:
                yield _Place(position, *placed)
            position = self.folded.find(needle, position + 1)

    def places_before(self, needle: str, first: int) -> Iterator[_Place]:
        """Yield the places of the needle that begin before ``first``, from right to left, with overlapping ones."""
        rejected, position = 0, self.folded.rfind(needle, 0, first + len(needle) - 1)
        while position >= 0 and rejected < _MOST_REJECTED:
            placed = self.place(position, position + len(needle))
            if placed is None:
                rejected += 1
            else:
                yield _Place(position, *placed)
            position = self.folded.rfind(needle, 0, position + len(needle) - 1)


def _folded(passage: str, fold_case: bool, spaces: Spaces, *, strip: bool = True) -> str:
    if spaces != "keep":
        passage = _WHITE_SPACE.sub(" " if spaces == "collapse" else "", passage.strip() if strip else passage)
    return passage.casefold() if fold_case else passage


def _origins(text: str, fold_case: bool, spaces: Spaces) -> list[int]:
    """Return the original position of each character of the folded text."""
    origin: list[int] = []
    after_space = False
    for position, character in enumerate(text):
        if spaces != "keep" and character.isspace():
            if spaces == "collapse" and not after_space:
                origin.append(position)
            after_space = True
            continue
        after_space = False
        origin.append(position)
        if fold_case and character > "\x7f":  # ASCII characters never grow (ß becomes "ss")
            origin.extend([position] * (len(character.casefold()) - 1))
    return origin


def _inside_word(text: str, position: int) -> bool:
    """Tell whether a cut here splits a word or a number; letters without case pass, because their scripts may have no spaces."""
    if not 0 < position < len(text):
        return False
    return all(c.isdecimal() or c.lower() != c.upper() for c in text[position - 1 : position + 1])


def _choose(
    view: _View, needle: str, rule: Rule, near: int | None, occurrence: int | None
) -> QuoteLocation | NotLocated | None:
    # Lazily: whether there is a second place is all that matters here, and a short quote may have thousands.
    places = view.places_from(needle, 0)
    first = next(places, None)
    if first is None:
        return None
    if next(places, None) is None:
        return QuoteLocation(first.start, first.end, rule)
    if occurrence is not None:  # a number that does not exist decides nothing, but the other hint may
        counted = _counted(view, needle, occurrence)
        if counted is not None:
            return QuoteLocation(counted.start, counted.end, rule, "occurrence")
    if near is not None:
        nearest = _nearest(view, needle, near)
        return QuoteLocation(nearest.start, nearest.end, rule, "nearest")
    return NotLocated("occurs in several places, and nothing says which one is meant", ambiguous=True)


def _counted(view: _View, needle: str, occurrence: int) -> _Place | None:
    place, position = None, 0
    for _ in range(occurrence + 1):
        place = next(view.places_from(needle, position), None)
        if place is None:
            return None
        position = place.position + len(needle)
    return place


def _nearest(view: _View, needle: str, near: int) -> _Place:
    """Return the place with the nearest start; there must be at least one place."""
    at = view.position_of(near)
    around = [next(view.places_before(needle, at), None), next(view.places_from(needle, at), None)]
    return min((place for place in around if place is not None), key=lambda place: abs(place.start - near))


def _approximate(text: str, quote: str, near: int | None, most_edits: float) -> QuoteLocation | NotLocated:
    view, needle = _View(text, True, "collapse"), _folded(quote, True, "collapse")
    passages = closest_passages(view.folded, needle, int(most_edits * len(needle)))
    if not passages:
        return NotLocated("does not occur in the text, not even approximately")
    places = [(*view.widened(passage.start, passage.end), passage.distance) for passage in passages]
    if len(places) == 1:
        start, end, distance = places[0]
        return QuoteLocation(start, end, "approximate", distance=distance)
    if near is None:
        return NotLocated("occurs approximately in several places, and nothing says which one is meant", ambiguous=True)
    start, end, distance = min(places, key=lambda place: abs(place[0] - near))
    return QuoteLocation(start, end, "approximate", "nearest", distance)
