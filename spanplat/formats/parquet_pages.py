"""What the page headers of a Parquet file state: the footer states sizes too, but readers believe the headers.

A column chunk is a run of pages, each after a header in Thrift's compact protocol; a reader makes room for what the header says
before it looks at the page. Headers are read here without unpacking anything. Formats: parquet.thrift (PageHeader) and
thrift-compact-protocol.md of the Apache projects.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import TypeAlias, Union

_BOOLEANS, _BYTE, _I32, _INTEGERS, _BINARY, _STRUCT = (1, 2), 3, 5, (4, 5, 6), 8, 12
"""Types of the compact protocol; page headers have no others."""
_DEEPEST = 8
_DATA, _DICTIONARY, _DATA_V2 = 5, 7, 8
"""Fields of a page header that say what kind of page follows."""
_ENCODING_FIELD = {_DATA: 2, _DICTIONARY: 2, _DATA_V2: 4}
_DELTA_BYTE_ARRAY = 7

_Fields: TypeAlias = dict[int, Union[int, "_Fields"]]


class BadHeader(ValueError):
    """A page header cannot be read, or contradicts itself."""


@dataclass(frozen=True)
class Page:
    """What the header of a page states."""

    unpacked: int
    """Bytes."""
    values: int
    is_dictionary: bool
    has_shared_prefixes: bool
    """Whether a value may repeat the one before and add to it, so that values are larger than the page."""


def read_pages(content: mmap, start: int, length: int, values: int) -> Iterator[Page]:
    """Yield the pages of a column chunk, without unpacking them.

    Parameters
    ----------
    content
        The file.
    start, length
        Where the chunk lies in it, in bytes.
    values
        How many the footer says that it holds; a reader stops when it has met as many.

    Raises
    ------
    BadHeader
        If a header cannot be read before so many values were met.
    """
    position, end, seen = start, start + length, 0
    while seen < values and position < end:
        reader = _CompactReader(content, position, end)
        header = reader.struct()
        page = _page(header)
        packed = _number(header, 3)
        position = reader.position + packed
        if position > end:
            raise BadHeader("a page is longer than its column")
        if not page.is_dictionary:
            seen += page.values
        yield page


def _page(header: _Fields) -> Page:
    unpacked = _number(header, 2)
    kinds = {kind: about for kind in _ENCODING_FIELD if isinstance(about := header.get(kind), dict)}
    if not kinds:  # an index, which readers leave out
        return Page(unpacked, 0, is_dictionary=False, has_shared_prefixes=False)
    if len(kinds) > 1:
        raise BadHeader("a page is of two kinds")
    [(kind, about)] = kinds.items()
    has_shared_prefixes = _number(about, _ENCODING_FIELD[kind]) == _DELTA_BYTE_ARRAY
    return Page(unpacked, _number(about, 1), kind == _DICTIONARY, has_shared_prefixes)


def _number(fields: _Fields, field: int) -> int:
    found = fields.get(field)
    if not isinstance(found, int) or not 0 <= found < 2**31:
        raise BadHeader("a page header states no size")
    return found


class _CompactReader:
    """Reads one structure: its 32-bit integers and structures by field number; everything else is passed over."""

    def __init__(self, content: mmap, position: int, end: int) -> None:
        self._content = content
        self._end = end
        self.position = position

    def struct(self, depth: int = 0) -> _Fields:
        """Read the fields up to the end of the structure."""
        if depth > _DEEPEST:
            raise BadHeader("a page header is nested too deeply")
        fields: _Fields = {}
        met: set[int] = set()
        field = 0
        while head := self._byte():
            kind, step = head & 0x0F, head >> 4
            field = field + step if step else self._integer()
            if field in met:
                raise BadHeader("a page header says something twice")
            met.add(field)
            value = self._value(kind, depth)
            if value is not None:
                fields[field] = value
        return fields

    def _value(self, kind: int, depth: int) -> "int | _Fields | None":
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in _INTEGERS:
            number = self._integer()
            return number if kind == _I32 else None
        if kind in (_BYTE, _BINARY):
            self._skip(1 if kind == _BYTE else self._varint())
        elif kind not in _BOOLEANS:
            raise BadHeader("a page header holds something unknown")
        return None

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise BadHeader("a page header holds a number without end")

    def _byte(self) -> int:
        if self.position >= self._end:
            raise BadHeader("a page header is cut off")
        byte = self._content[self.position]
        self.position += 1
        return byte

    def _skip(self, length: int) -> None:
        self.position += length
        if self.position > self._end:
            raise BadHeader("a page header is cut off")
