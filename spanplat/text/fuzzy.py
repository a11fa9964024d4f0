"""Approximate search: the passages of a text with the fewest edits to a pattern.

The distances come from the bit-parallel algorithm of Myers (1999, "A fast bit-vector algorithm for approximate string
matching based on dynamic programming", Journal of the ACM 46(3)), in Hyyrö's formulation. Python's integers are the bit
vectors, because they may have any width.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Passage(NamedTuple):
    """A passage of a text: half-open offsets, and its Levenshtein distance to the pattern."""

    start: int
    end: int
    distance: int


def closest_passages(text: str, pattern: str, most: int) -> list[Passage]:
    """Find the passages of a text that have the fewest edits to a pattern.

    Parameters
    ----------
    text
        Text to search.
    pattern
        Pattern to find, not empty.
    most
        Greatest allowed number of edits (insertions, deletions, replacements).

    Returns
    -------
    list of Passage
        All passages with the smallest distance, from left to right; one of passages that overlap. Empty if all need more edits.
    """
    best, ends = most, list[int]()
    for end, distance in enumerate(_distances(pattern, text, anchored=False), start=1):
        if distance > best:
            continue
        if distance < best:
            best, ends = distance, []
        # A passage has at least len(pattern) - best characters, so an earlier end would give an overlap.
        if not ends or end - ends[-1] >= max(1, len(pattern) - best):
            ends.append(end)
    return [Passage(_start_of(text, pattern, end, best), end, best) for end in ends]


def _start_of(text: str, pattern: str, end: int, distance: int) -> int:
    # The algorithm finds ends only. The same algorithm backwards from the end, over the longest possible passage, finds the start.
    earliest = max(0, end - len(pattern) - distance)
    backwards = _distances(pattern[::-1], text[earliest:end][::-1], anchored=True)
    return end - next(length for length, found in enumerate(backwards, start=1) if found == distance)


def _distances(pattern: str, text: str, *, anchored: bool) -> Iterator[int]:
    """Yield, after each character, the distance to the best passage that ends there (if anchored, to the one that starts at 0)."""
    every = (1 << len(pattern)) - 1
    top = 1 << (len(pattern) - 1)
    where: dict[str, int] = {}
    for position, character in enumerate(pattern):
        where[character] = where.get(character, 0) | 1 << position
    # Bit i of `rises` or `falls` says that the distance rises or falls by 1 between rows i and i + 1 of the present
    # column. Before the text begins, it rises in every row.
    rises, falls, distance = every, 0, len(pattern)
    for character in text:
        here = where.get(character, 0)
        # The carry of the addition passes a match on through all rising rows below it, which then need no further edit
        # either.
        diagonal = (((here & rises) + rises) ^ rises) | here
        right_rises = (falls | ~(diagonal | rises)) & every
        right_falls = rises & diagonal
        # The top bit is the last row of the matrix of distances: only this row is the distance to the whole pattern.
        if right_rises & top:
            distance += 1
        elif right_falls & top:
            distance -= 1
        # The row above the pattern is 0 everywhere if a passage may start anywhere; anchored, it rises by 1 with each character.
        right_rises = right_rises << 1 | anchored
        right_falls <<= 1
        vertical = here | falls
        rises = (right_falls | ~(vertical | right_rises)) & every
        falls = right_rises & vertical & every
        yield distance
