"""Renderer of time series: a list of records with times, as a chart and a table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from spanplat.formats.charts import small_multiples
from spanplat.rendering.context import Chart, RenderingContext, is_number, is_record, written
from spanplat.rendering.markup import element, join
from spanplat.rendering.tables import Column, columns_of, flatten, table

SHORTEST = 3
"""Least number of points of a series."""

MOST_POINTS = 2000
MOST_PANELS = 8
PANEL_HEIGHT = 64
WIDTH = 460

_TIMES = (
    "time",
    "date",
    "datetime",
    "timestamp",
    "dt_txt",
    "dt",
    "day",
    "month",
    "year",
    "period",
    "hour",
    "when",
    "at",
)
_NO_MEASURES = re.compile(r"(?:^|_)(?:id|code|icon|index)$|Id$")
_MONTH = re.compile(r"\d{4}-\d{2}\Z")


@dataclass(frozen=True)
class Series:
    """A table whose rows are in the order of time."""

    rows: Sequence[Mapping[Column, Any]]
    columns: Sequence[Column]
    time: Column
    """The column with the times."""
    times: Sequence[datetime]
    measures: Sequence[Column]
    """The columns with numbers that vary."""


def render_series(value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
    """Render a time series as a placeholder for its chart, and its table; return None if the value is no series."""
    series = find_series(value, asked=asked)
    if series is None:
        return None
    heads = [context.label(*column) for column in series.columns]
    rows = [[row.get(column) for column in series.columns] for row in series.rows]
    drawn = series.measures[:MOST_PANELS]
    # The size includes axes and headings: the placeholder must have the proportions of the chart that replaces it.
    chart = Chart(_spec(series, drawn, context), WIDTH + 60, len(drawn) * (PANEL_HEIGHT + 30) + 30)
    context.charts.append(chart)
    place = element(
        "svg",
        viewBox=f"0 0 {chart.width} {chart.height}",
        role="img",
        aria_label=f"{context.words.chart}: {', '.join(context.label(*measure) for measure in drawn)}",
        data_chart=len(context.charts) - 1,
    )
    return join([element("figure", place, class_="chart"), table(heads, rows, context)])


def find_series(value: Any, *, asked: bool = False) -> Series | None:
    """Return the series in a JSON value: records with strictly ordered times, and numbers that vary; None for other values."""
    if not isinstance(value, list) or not (2 if asked else SHORTEST) <= len(value) <= MOST_POINTS:
        return None
    if not all(is_record(entry) for entry in value):
        return None
    rows = [row for row in map(flatten, value) if row is not None]
    if len(rows) < len(value):
        return None
    columns = columns_of(rows)
    for column in columns:
        if column[-1].casefold() not in _TIMES:
            continue
        times = [_time(row.get(column), column[-1].casefold()) for row in rows]
        known = [time for time in times if time is not None]
        if len(known) == len(rows) and _goes_one_way(known):
            others = [name for name in columns if name != column]
            measures = [name for name in others if _is_measure(name, rows)]
            return Series(rows, [column, *others], column, known, measures) if measures else None
    return None


def _spec(series: Series, measures: Sequence[Column], context: RenderingContext) -> dict[str, Any]:
    rows = [
        {
            "time": int(time.timestamp() * 1000),
            "series": context.label(*measure),
            "value": row[measure],
            "title": f"{written(row[series.time])}: {context.label(*measure)} {written(row[measure])}",
        }
        for measure in measures
        for time, row in zip(series.times, series.rows, strict=True)
        if is_number(row.get(measure))
    ]
    return small_multiples(rows, width=WIDTH, height=PANEL_HEIGHT)


def _is_measure(column: Column, rows: Sequence[Mapping[Column, Any]]) -> bool:
    values = [row.get(column) for row in rows]
    # Ids and codes are numbers, but their course in time means nothing.
    if _NO_MEASURES.search(column[-1]) or not all(value is None or is_number(value) for value in values):
        return False
    return len({value for value in values if value is not None}) > 1


def _time(value: Any, name: str) -> datetime | None:
    """Parse an ISO 8601 date or time, a year, or seconds or milliseconds since 1970; return None for anything else."""
    try:
        if isinstance(value, str) and len(value) >= 7:
            found = datetime.fromisoformat(f"{value}-01" if _MONTH.match(value) else value)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        if name in ("year", "time", "date", "period") and 1000 <= value <= 2999:
            return datetime(value, 1, 1, tzinfo=UTC)
        if 10**8 <= value < 10**13:  # smaller numbers are counts rather than times; larger ones are far in the future
            return datetime.fromtimestamp(value / 1000 if value >= 10**11 else value, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _goes_one_way(times: Sequence[datetime]) -> bool:
    pairs = list(pairwise(times))
    # Many sources have the newest entry first.
    return all(before < after for before, after in pairs) or all(before > after for before, after in pairs)
