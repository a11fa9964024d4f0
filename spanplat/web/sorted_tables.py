"""Sortable and searchable tables of the studio, with parameters in the address (``?sort=cost-&find=gold``), and their downloads.

If several tables share a page, their parameters have the name of the table and a dot as a prefix: ``?standings.sort=figure-``.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl, urlsplit

from flask import Response, abort, request, url_for
from pydantic import Field

from spanplat.errors import InvalidInput
from spanplat.formats.tables import Cell, Table, to_csv
from spanplat.web.address import Page, PageQuery, page_of

MOST_LETTERS = 200
"""Maximum length of a search text."""
WORTH_SEARCHING = 8
"""Minimum number of rows for a search field."""

_OF_A_TABLE = re.compile(r"(^|\.)(sort|find)$|^page$")
# At most 18 digits, because `int` refuses strings of several thousand.
_DIGITS = re.compile(r"(\d{1,18})")

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """Column by which rows can be sorted."""

    title: Any
    value: Callable[[Row], Cell]
    """Function that returns the sort value of a row. None comes last in both directions."""
    is_number: bool = False
    greatest_first: bool = False
    """Whether the first click on the heading sorts in descending order."""
    css: str = ""
    """CSS class of the cells, in addition to the class of numbers."""


def number_column(title: Any, value: Callable[[Row], float | None], css: str = "") -> Column[Row]:
    """Return a column of numbers; its first click shows the greatest first."""
    return Column(title, value, is_number=True, greatest_first=True, css=css)


def time_column(title: Any, value: Callable[[Row], datetime | None], css: str = "") -> Column[Row]:
    """Return a column of times; its first click shows the latest first."""
    # As ISO 8601 text a time sorts correctly, and the download contains a date that programs can read.
    return Column(title, lambda row: at.isoformat() if (at := value(row)) else None, greatest_first=True, css=css)


def name_columns(columns: Iterable[Column[Row]]) -> dict[str, Column[Row]]:
    """Return columns by names for the address: "People now" becomes "people-now". Repeated names get a number."""
    named: dict[str, Column[Row]] = {}
    seen: Counter[str] = Counter()
    for column in columns:
        name = re.sub(r"[\W_]+", "-", _folded(str(column.title))).strip("-")
        seen[name] += 1
        named[name if seen[name] == 1 else f"{name}-{seen[name]}"] = column
    return named


class TableQuery(PageQuery):
    """Query of a table: search text, sort column (with a minus at its end for descending order), and page."""

    sort: str = ""
    find: str = Field(default="", max_length=MOST_LETTERS)

    @property
    def is_plain(self) -> bool:
        """Whether the query neither sorts nor searches."""
        return not self.sort and not self.find.strip()

    def direction(self, name: str) -> str | None:
        """Return the sort direction of a column as a value of ``aria-sort``; None if another column sorts."""
        return {name: "ascending", f"{name}-": "descending"}.get(self.sort)


@dataclass(frozen=True)
class SortedTable(Generic[Row]):
    """Definition of a table: its columns, and the words by which rows are found."""

    columns: Mapping[str, Column[Row]]
    """Columns by their name in the address, in the order of the page."""
    words: Callable[[Row], Iterable[str]] | None = None
    """Function that returns the searchable texts of a row; by default the values of its columns."""

    def query(self, prefix: str = "") -> TableQuery:
        """Read the query from the address.

        Parameters
        ----------
        prefix
            Prefix of the parameter names.

        Raises
        ------
        InvalidInput
            If the sort column does not exist.
        """
        query = TableQuery.from_request(prefix)
        if query.sort and query.sort.removesuffix("-") not in self.columns:
            raise InvalidInput(
                f"the address asks for something that does not exist (sort: {query.sort!r} is none of {', '.join(self.columns)})"
            )
        return query

    def choose(self, rows: Sequence[Row], query: TableQuery) -> list[Row]:
        """Return the found rows in the order of the query. Equal rows keep their order."""
        wanted = _folded(query.find.strip())
        # A line break cannot be typed into the search field, so that no search matches across two words of a row.
        found = [row for row in rows if wanted in _folded("\n".join(self._words_of(row)))]
        column = self.columns.get(query.sort.removesuffix("-"))
        if column is None:
            return found
        # Rows without a value are kept apart: None cannot be compared, and they come last in both directions.
        given = [row for row in found if column.value(row) is not None]
        given.sort(key=lambda row: _key(column.value(row)), reverse=query.sort.endswith("-"))
        return given + [row for row in found if column.value(row) is None]

    def view(
        self,
        name: str,
        place: "TablePage",
        rows: Sequence[Row],
        per_page: int | None = None,
        *,
        part: str = "",
        beside: Sequence[str] = (),
    ) -> "TableView[Row]":
        """Return the view of the page of rows that the address asks for.

        Parameters
        ----------
        name
            Name of the table.
        place
            The page with the table.
        per_page
            Rows on a page; by default one page has all rows.
        part
            Id of the part of the page that changes with the table; by default the table's name. A live part requests itself by its
            address. It must be replaced as a whole, so that its address contains how its tables are sorted.
        beside
            Names of the other tables on the page. With them, the parameters get the table's name as a prefix.

        Raises
        ------
        InvalidInput
            If the sort column does not exist.
        werkzeug.exceptions.HTTPException
            If the address asks for a download (``?download=NAME``). The exception carries the response with the file.
        """
        prefix = f"{name}." if beside else ""
        query = self.query(prefix)
        found = self.choose(rows, query)
        if request.args.get("download") == name:
            # `abort` ends the request from within the view, so that no page needs a branch for its downloads.
            abort(self._file(name, found))
        shown = page_of(len(found), per_page) if per_page else Page(1, 1, 0)
        some = found[shown.first : shown.first + per_page] if per_page else found
        return TableView(
            name, place, self.columns, query, shown, some, len(found), len(rows), part or name, beside, prefix
        )

    def _words_of(self, row: Row) -> Iterable[str]:
        if self.words is not None:
            return self.words(row)
        return (str(value) for column in self.columns.values() if (value := column.value(row)) is not None)

    def _file(self, name: str, rows: Iterable[Row]) -> Response:
        cells = [[column.value(row) for column in self.columns.values()] for row in rows]
        table = Table(name, [str(column.title) for column in self.columns.values()], cells)
        response = Response(to_csv(table), content_type="text/csv; charset=utf-8")
        response.headers.set("Content-Disposition", "attachment", filename=f"{name}.csv")
        return response


def table_parameters() -> dict[str, str]:
    """Return the parameters of tables in the current address."""
    return {name: value for name, value in request.args.items() if _OF_A_TABLE.search(name)}


@dataclass(frozen=True)
class TablePage:
    """Page with a table."""

    endpoint: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    stands_elsewhere: bool = False
    """Whether another page shows this page as a part and keeps its own address."""

    def address(self, **more: Any) -> str:
        """Return the address of the page."""
        return url_for(self.endpoint, **{**self.arguments, **more})


@dataclass(frozen=True)
class TableView(Generic[Row]):
    """View of one page of a table, for the template."""

    name: str
    place: TablePage
    columns: Mapping[str, Column[Row]]
    query: TableQuery
    shown: Page
    rows: Sequence[Row]
    """Rows of this page."""
    found: int
    """Number of found rows on all pages."""
    total: int
    """Number of all rows, found or not."""
    part: str
    """Id of the part of the page that changes with the table."""
    beside: Sequence[str] = ()
    """Names of the other tables on the page. Their links contain the parameters of this table."""
    prefix: str = ""
    """Prefix of the table's parameters in the address."""

    @property
    def is_worth_searching(self) -> bool:
        """Whether the table has a search field. It stays during a search, however few rows there are."""
        return self.total >= WORTH_SEARCHING or bool(self.query.find)

    def arguments(self, **changes: str) -> dict[str, Any]:
        """Return the arguments of the first page after these changes."""
        return {**self.place.arguments, **self._asked(**changes)}

    def here(self) -> str:
        """Return the address of this page of the table."""
        return self._address(**self._asked(), page=self.shown.page if self.shown.page > 1 else None)

    def sorted_by(self, name: str) -> str:
        """Return the address for a click on a heading: first its usual direction, then the other, then unsorted."""
        first, second = self._directions(name)
        following = {first: second, second: ""}.get(self.query.sort, first)
        return self._address(**self._asked(sort=following))

    def orders(self) -> list[tuple[str, str]]:
        """Return all sort orders, for the address and in words. Narrow screens list them, because they show no headings."""
        return [
            (order, f"{self.columns[name].title} {'↓' if order.endswith('-') else '↑'}")
            for name in self.columns
            for order in self._directions(name)
        ]

    def finding(self) -> tuple[str, list[tuple[str, str]]]:
        """Return the address and the hidden parameters of the search form."""
        # A GET form replaces the query of its address, so the other parameters are hidden fields.
        address = urlsplit(self._address())
        return address.path, parse_qsl(address.query)

    def file(self) -> str:
        """Return the address for the download of the found rows."""
        return self._address(**self._asked(), download=self.name)

    def _directions(self, name: str) -> tuple[str, str]:
        return (f"{name}-", name) if self.columns[name].greatest_first else (name, f"{name}-")

    def _asked(self, **changes: str) -> dict[str, Any]:
        asked = self.query.model_copy(update=changes).model_dump(exclude_defaults=True, exclude={"page"})
        return {self.prefix + name: value for name, value in asked.items()}

    def _address(self, **asked: Any) -> str:
        """Return the address with the present parameters of other tables and the given parameters of this one."""
        own = {f"{self.prefix}sort", f"{self.prefix}find"} | (set() if self.prefix else {"page"})
        others = {name: value for name, value in table_parameters().items() if name not in own}
        return self.place.address(**{**others, **asked})


def _folded(text: str) -> str:
    """Return the text without capitals and accents."""
    return "".join(
        letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter)
    ).casefold()


def _key(value: Cell) -> tuple[float, list[str | int]]:
    """Return the sort key of a value. Numbers in texts count as numbers, so that "batch 10" follows "batch 9"."""
    if not isinstance(value, str):
        return (value or 0.0, [])
    # `split` returns text and digits in turn, so two keys never compare a number with a text.
    return (0.0, [int(part) if part.isdecimal() else part for part in _DIGITS.split(_folded(value))])
