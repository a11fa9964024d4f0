"""Tables that the server orders and searches, because they may be longer than a page: what the address asks for, and what is shown."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from flask import url_for
from pydantic import Field

from spanplat.errors import InvalidInput
from spanplat.formats.tables import Cell
from spanplat.web.address import PageQuery, Stretch, stretch_of

MOST_LETTERS = 200
WORTH_SEARCHING = 8
"""Rows from which on a table has a field to find some; static/js/studio/tables.js begins with as many."""

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column that rows are ordered by."""

    title: Any
    value: Callable[[Row], Cell]
    """What rows are ordered by; None comes last in either direction."""
    is_number: bool = False
    greatest_first: bool = False
    """Whether the first click on the heading asks for the greatest."""
    css: str = ""
    """Class of the cells, beside that of numbers."""


class TableQuery(PageQuery):
    """What the address says: what to find, the column that orders the rows (a minus behind it: the greatest first), and the page."""

    sort: str = ""
    find: str = Field(default="", max_length=MOST_LETTERS)

    @property
    def is_plain(self) -> bool:
        """Whether all rows are wanted, in the order they have by themselves."""
        return not self.sort and not self.find.strip()

    def direction(self, name: str) -> str | None:
        """Return the direction in which this column orders the page, as ``aria-sort`` has it."""
        return {name: "ascending", f"{name}-": "descending"}.get(self.sort)


@dataclass(frozen=True)
class SortedTable(Generic[Row]):
    """How rows of a kind are ordered and found."""

    columns: Mapping[str, Column[Row]]
    """By their name in the address, in the order of the page."""
    words: Callable[[Row], Iterable[str]]
    """The words by which a row is found: those that stand in its cells, one text for each."""

    def query(self) -> TableQuery:
        """Read the address.

        Raises
        ------
        InvalidInput
            If it asks for a column that is none.
        """
        query = TableQuery.from_request()
        if query.sort and query.sort.removesuffix("-") not in self.columns:
            raise InvalidInput(
                f"the address asks for something that does not exist (sort: {query.sort!r} is none of {', '.join(self.columns)})"
            )
        return query

    def choose(self, rows: Sequence[Row], query: TableQuery) -> list[Row]:
        """Return the rows that are looked for, in the order asked for; equal ones in the order they came."""
        wanted = _folded(query.find.strip())
        found = [row for row in rows if wanted in _folded("\n".join(self.words(row)))]
        column = self.columns.get(query.sort.removesuffix("-"))
        if column is None:
            return found
        given = [row for row in found if column.value(row) is not None]
        given.sort(key=lambda row: _key(column.value(row)), reverse=query.sort.endswith("-"))
        return given + [row for row in found if column.value(row) is None]

    def view(self, name: str, place: "Place", rows: Sequence[Row], per_page: int) -> "TableView[Row]":
        """Return what the page that the address asks for shows of these rows."""
        query = self.query()
        found = self.choose(rows, query)
        shown = stretch_of(len(found), per_page)
        some = found[shown.first : shown.first + per_page]
        return TableView(name, place, self.columns, query, shown, some, len(found), len(rows))


@dataclass(frozen=True)
class Place:
    """The page that a table stands on."""

    endpoint: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def address(self, **more: Any) -> str:
        """Return its address."""
        return url_for(self.endpoint, **{**self.arguments, **more})


@dataclass(frozen=True)
class TableView(Generic[Row]):
    """One page of a table as somebody looks at it."""

    name: str
    """Id of the live part of the page that it stands in."""
    place: Place
    columns: Mapping[str, Column[Row]]
    query: TableQuery
    shown: Stretch
    rows: Sequence[Row]
    """Those of this page."""
    found: int
    """Rows on all pages."""
    total: int
    """Rows there are, found or not."""

    @property
    def is_worth_searching(self) -> bool:
        """Whether a field to find rows is of use."""
        return self.total >= WORTH_SEARCHING or bool(self.query.find)

    def arguments(self, **changes: str) -> dict[str, Any]:
        """Return what the address of the first page says after these changes."""
        asked = self.query.model_copy(update=changes).model_dump(exclude_defaults=True, exclude={"page"})
        return {**self.place.arguments, **asked}

    def here(self) -> str:
        """Return the address of this page of the table."""
        page = self.shown.page if self.shown.page > 1 else None
        return self.place.address(**self.arguments(), page=page)

    def sorted_by(self, name: str) -> str:
        """Return where a click on a heading leads: the natural direction, then the other, then the order of the rows by themselves."""
        first, second = (f"{name}-", name) if self.columns[name].greatest_first else (name, f"{name}-")
        following = {first: second, second: ""}.get(self.query.sort, first)
        return self.place.address(**self.arguments(sort=following))


def _folded(text: str) -> str:
    """Without capitals and accents."""
    return "".join(
        letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter)
    ).casefold()


def _key(value: Cell) -> tuple[float, str]:
    return (0.0, _folded(value)) if isinstance(value, str) else (value or 0.0, "")
