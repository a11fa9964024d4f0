"""Approximate search: the passages of a text with the fewest edits to a pattern.

The distances come from the bit-parallel algorithm of Myers (1999, "A fast bit-vector algorithm for approximate string
matching based on dynamic programming", Journal of the ACM 46(3)), in Hyyrö's formulation; Python's integers serve as
bit vectors of any width.
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
        Where to search.
    pattern
        What to search, not empty.
    most
        Greatest number of edits (insertions, deletions, replacements) allowed.

    Returns
    -------
    list of Passage
        All with the same, smallest distance, from left to right; of passages that overlap, one. Empty when all need
        more edits.
    """
    best, ends = most, list[int]()
    for end, distance in enumerate(_distances(pattern, text, anchored=False), start=1):
        if distance > best:
            continue
        if distance < best:
            best, ends = distance, []
        if not ends or end - ends[-1] >= max(1, len(pattern) - best):
            ends.append(end)
    return [Passage(_start_of(text, pattern, end, best), end, best) for end in ends]


def _start_of(text: str, pattern: str, end: int, distance: int) -> int:
    earliest = max(0, end - len(pattern) - distance)
    backwards = _distances(pattern[::-1], text[earliest:end][::-1], anchored=True)
    return end - next(length for length, found in enumerate(backwards, start=1) if found == distance)


def _distances(pattern: str, text: str, *, anchored: bool) -> Iterator[int]:
    """Yield, after each character, the distance to the best passage ending there (anchored: that starts at 0)."""
    every = (1 << len(pattern)) - 1
    top = 1 << (len(pattern) - 1)
    where: dict[str, int] = {}
    for position, character in enumerate(pattern):
        where[character] = where.get(character, 0) | 1 << position
    rises, falls, distance = every, 0, len(pattern)
    for character in text:
        here = where.get(character, 0)
        diagonal = (((here & rises) + rises) ^ rises) | here
        right_rises = (falls | ~(diagonal | rises)) & every
        right_falls = rises & diagonal
        if right_rises & top:
            distance += 1
        elif right_falls & top:
            distance -= 1
        right_rises = right_rises << 1 | anchored
        right_falls <<= 1
        vertical = here | falls
        rises = (right_falls | ~(vertical | right_rises)) & every
        falls = right_rises & vertical & every
        yield distance
