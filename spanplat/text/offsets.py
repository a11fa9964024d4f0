"""Conversion of offsets between Unicode code points (Python, the database, every file) and UTF-16 units (browsers)."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import overload

from spanplat.errors import InvalidInput

_BEYOND_16_BITS = re.compile("[\U00010000-\U0010ffff]")


class OffsetIndex:
    """Converter for many offsets of one text. It scans the text once; each offset then costs a binary search.

    Parameters
    ----------
    text
        The text that the offsets refer to.
    """

    def __init__(self, text: str) -> None:
        self._code_points = len(text)
        # Only characters beyond U+FFFF take two UTF-16 units, so a conversion needs only their positions.
        self._wide = [match.start() for match in _BEYOND_16_BITS.finditer(text)]
        # Each wide character before it shifts a position by one unit.
        self._wide_utf16 = [position + before for before, position in enumerate(self._wide)]

    def to_utf16(self, offset: int) -> int:
        """Return the UTF-16 offset of a code-point offset.

        Raises
        ------
        InvalidInput
            The offset lies outside the text.
        """
        if not 0 <= offset <= self._code_points:
            raise InvalidInput(f"Offset {offset} lies outside the text, which has {self._code_points} code points.")
        return offset + bisect_left(self._wide, offset)

    def to_code_points(self, offset: int) -> int:
        """Return the code-point offset of a UTF-16 offset.

        Raises
        ------
        InvalidInput
            The offset lies outside the text, or between the two halves of a surrogate pair.
        """
        units = self._code_points + len(self._wide)
        if not 0 <= offset <= units:
            raise InvalidInput(f"Offset {offset} lies outside the text, which has {units} UTF-16 units.")
        before = bisect_left(self._wide_utf16, offset)
        if before and self._wide_utf16[before - 1] + 1 == offset:
            raise InvalidInput(f"Offset {offset} lies inside a character: between the two halves of a surrogate pair.")
        return offset - before


@overload
def code_points_to_utf16(text: str, offsets: int) -> int: ...
@overload
def code_points_to_utf16(text: str, offsets: Sequence[int]) -> list[int]: ...
def code_points_to_utf16(text: str, offsets: int | Sequence[int]) -> int | list[int]:
    """Convert one code-point offset, or a sequence of them, to UTF-16 units.

    Raises
    ------
    InvalidInput
        An offset lies outside the text.

    Examples
    --------
    >>> code_points_to_utf16("a😀b", [0, 1, 2, 3])
    [0, 1, 3, 4]
    """
    index = OffsetIndex(text)
    return index.to_utf16(offsets) if isinstance(offsets, int) else [index.to_utf16(offset) for offset in offsets]


@overload
def utf16_to_code_points(text: str, offsets: int) -> int: ...
@overload
def utf16_to_code_points(text: str, offsets: Sequence[int]) -> list[int]: ...
def utf16_to_code_points(text: str, offsets: int | Sequence[int]) -> int | list[int]:
    """Convert one offset in UTF-16 units, or a sequence of them, to code points.

    Raises
    ------
    InvalidInput
        An offset lies outside the text or inside a surrogate pair.

    Examples
    --------
    >>> utf16_to_code_points("a😀b", [0, 1, 3, 4])
    [0, 1, 2, 3]
    """
    index = OffsetIndex(text)
    if isinstance(offsets, int):
        return index.to_code_points(offsets)
    return [index.to_code_points(offset) for offset in offsets]
