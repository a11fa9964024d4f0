"""Renderer of tables: lists of records, lists of rows, and rows with a list of columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from spanplat.rendering.context import Record, RenderingContext, is_number, is_record, is_scalar, written
from spanplat.rendering.markup import element
from spanplat.rendering.text import scalar

MOST_COLUMNS = 16
"""Columns of a table; a list of records with more fields is easier to read as a tree."""

_HEADS = ("columns", "header", "headers", "head", "column_names")
_BODIES = ("rows", "data", "table", "values", "body")


def render_table(value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
    """Render a table; return None if the value is no table."""
    if is_record(value):
        return _rows_under_heads(value, context)
    if not isinstance(value, list) or len(value) < (1 if asked else 2):
        return None
    if all(is_record(entry) for entry in value):
        rows = [flatten(entry) for entry in value]
        columns = columns_of(row for row in rows if row is not None)
        if not columns or any(row is None for row in rows) or (len(columns) > MOST_COLUMNS and not asked):
            return None
        return table(
            [context.label(*column) for column in columns],
            [[row.get(column) for column in columns] for row in rows if row is not None],
            context,
        )
    if all(isinstance(row, list) and row for row in value):
        return _rows(value, context)
    return None


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], context: RenderingContext) -> Markup:
    """Return a table whose header row stays visible while the rows are scrolled."""
    rows = list(rows)
    head = element("tr", *(_head(name, [row[at] for row in rows if at < len(row)]) for at, name in enumerate(heads)))
    body = (element("tr", *(_cell(value, context) for value in row)) for row in rows)
    return wrapped(element("thead", head) if heads else "", element("tbody", *body), context=context, heads=heads)


def wrapped(*content: Markup | str, context: RenderingContext, heads: Sequence[str] = ()) -> Markup:
    """Put the parts of a table into a scrollable box that can be reached by keyboard."""
    named = (context.label(context.name) if context.name else ", ".join(heads)) or context.words.table
    return element("div", element("table", *content), class_="table-wrap", tabindex=0, role="group", aria_label=named)


Column = tuple[str, ...]
"""Names on the path to a value in nested records."""


def flatten(record: Record, prefix: Column = ()) -> dict[Column, Any] | None:
    """Return nested records as one row, with one cell for each scalar; None if a value does not fit into a cell.

    A list with one record counts as that record.

    >>> flatten({"time": {"elapsed": 3}, "type": "Goal"})
    {('time', 'elapsed'): 3, ('type',): 'Goal'}
    >>> flatten({"quarters": [22, 19]}) is None
    True
    """
    row: dict[Column, Any] = {}
    for name, value in record.items():
        only = value[0] if isinstance(value, list) and len(value) == 1 else value
        if is_scalar(only):
            row[*prefix, name] = only
        elif is_record(only) and len(prefix) < 4:
            inner = flatten(only, (*prefix, name))
            if inner is None:
                return None
            row |= inner
        else:
            return None
    return row


def columns_of(rows: Iterable[Mapping[Column, Any]]) -> list[Column]:
    """Return the names of all fields, in the order of their first occurrence."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _rows_under_heads(value: Record, context: RenderingContext) -> Markup | None:
    if len(value) != 2:
        return None
    (first, heads), (second, rows) = value.items()
    if first.casefold() not in _HEADS or second.casefold() not in _BODIES:
        return None
    if not _all_scalars(heads) or not isinstance(rows, list) or not all(_all_scalars(row) for row in rows):
        return None
    widest = max((len(row) for row in rows), default=0)
    return table([str(head) for head in heads], rows, context) if widest <= len(heads) else None


def _rows(rows: Sequence[list[Any]], context: RenderingContext) -> Markup | None:
    """Render rows of values, or of cells such as ``{"value": "Year", "is_header": true, "column_span": 2}``."""
    if all(_all_scalars(row) for row in rows):
        if len({len(row) for row in rows}) > 1:
            return None
        first, *rest = rows
        # A first row of names over rows with numbers is a header. Without numbers it could just as well be data.
        titled = all(isinstance(name, str) and name for name in first) and any(
            is_number(value) for row in rest for value in row
        )
        return table([str(name) for name in first], rest, context) if titled else table([], rows, context)
    if all(_is_cell(cell) for row in rows for cell in row):
        body = (element("tr", *(_spanning_cell(cell, context) for cell in row)) for row in rows)
        return wrapped(element("tbody", *body), context=context)
    return None


def _head(name: str, values: Sequence[Any]) -> Markup:
    """Render the header of a column, right-aligned above numbers."""
    stated = [value for value in values if value is not None and value != ""]
    if stated and all(is_number(value) for value in stated):
        return element("th", name, scope="col", class_="number")
    return element("th", name, scope="col")


def _cell(value: Any, context: RenderingContext) -> Markup:
    if is_number(value):
        return element("td", written(value), class_="number")
    return element("td", scalar(value, context) if value is None or value == "" else written(value), dir="auto")


def _is_cell(cell: Any) -> bool:
    return is_record(cell) and "value" in cell and all(is_scalar(part) for part in cell.values())


def _spanning_cell(cell: Record, context: RenderingContext) -> Markup:
    heading = cell.get("is_header") is True
    return element(
        "th" if heading else "td",
        scalar(cell["value"], context),
        *(
            scalar(value, context)
            for name, value in cell.items()
            if name not in ("value", "is_header", "column_span", "row_span", "colspan", "rowspan")
        ),
        colspan=_span(cell, "column_span", "colspan"),
        rowspan=_span(cell, "row_span", "rowspan"),
    )


def _span(cell: Record, *names: str) -> int | None:
    # HTML allows a column span of at most 1,000.
    found = next((cell[name] for name in names if name in cell), None)
    return found if isinstance(found, int) and not isinstance(found, bool) and 1 < found <= 1000 else None


def _all_scalars(value: Any) -> bool:
    return isinstance(value, list) and all(is_scalar(entry) for entry in value)
