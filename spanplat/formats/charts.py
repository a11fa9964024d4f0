"""Charts of the pages as Vega-Lite specifications. Each function takes the rows of the table beside the chart."""

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

WIDTH = 680


def interval_bars(
    rows: Sequence[Row], *, title: str, line: float | None = None, line_label: str = ""
) -> dict[str, Any]:
    """Draw one bar with its interval per row, in the order of the rows, and a line across all bars.

    Parameters
    ----------
    rows
        ``label``, ``value``, ``low`` and ``high``.
    title
        Title of the axis.
    line, line_label
        Value and label of the line.

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    order = [row["label"] for row in rows]
    y = {"field": "label", "type": "nominal", "sort": order, "title": None}
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.62}, "opacity": 0.55},
        "encoding": {"x": _number("value", title)},
    }
    interval = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {"x": _number("low", title), "x2": {"field": "high"}},
    }
    figure = {
        "mark": {"type": "text", "align": "left", "dx": 6, "dy": -8, "fontSize": 11},
        "encoding": {
            "x": {"field": "high", "type": "quantitative"},
            "text": {"field": "value", "type": "quantitative", "format": ".3f"},
        },
    }
    layers: list[dict[str, Any]] = [bar, interval, figure]
    spec: dict[str, Any] = {
        "width": WIDTH,
        "height": {"step": 40},
        "data": {"values": list(rows)},
        "encoding": {"y": y},
        "layer": layers,
    }
    if line is not None:
        # Its own data: with those of the bars, the line would be drawn once for each row.
        mark = {"data": {"values": [{"at": line, "text": line_label}]}}
        at = {"field": "at", "type": "quantitative"}
        layers += [
            {**mark, "mark": {"type": "rule", "strokeDash": [5, 4]}, "encoding": {"x": at, "y": None}},
            {
                **mark,
                "mark": {"type": "text", "align": "center", "baseline": "bottom", "dy": -6, "fontSize": 12},
                "encoding": {"x": at, "y": {"value": 0}, "text": {"field": "text"}},
            },
        ]
    return spec


def count_scatter(rows: Sequence[Row], *, x_title: str, y_title: str, size_title: str) -> dict[str, Any]:
    """Draw the number of spans of both sides as a scatter plot; the diagonal is perfect agreement.

    Parameters
    ----------
    rows
        ``reference`` and ``hypothesis`` (numbers of spans), and ``outputs`` (number of outputs with these).
    x_title, y_title, size_title
        Titles of the axes and of the legend.

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    end = max([1, *(max(row["reference"], row["hypothesis"]) for row in rows)])
    scale = {"domain": [-end / 20, end], "nice": False}  # begins below 0, so that circles at 0 are off the axes
    axis = {"tickMinStep": 1, "format": "d", "labelFlush": False}
    return {
        "width": 360,
        "height": 360,
        "layer": [
            {
                "data": {"values": [{"x": 0, "y": 0}, {"x": end, "y": end}]},
                "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1},
                "encoding": {
                    "x": {"field": "x", "type": "quantitative"},
                    "y": {"field": "y", "type": "quantitative"},
                },
            },
            {
                "data": {"values": list(rows)},
                "mark": {"type": "circle", "opacity": 0.65, "clip": False},
                "encoding": {
                    "x": {"field": "reference", "type": "quantitative", "title": x_title, "scale": scale, "axis": axis},
                    "y": {
                        "field": "hypothesis",
                        "type": "quantitative",
                        "title": y_title,
                        "scale": scale,
                        "axis": axis,
                    },
                    "size": {
                        "field": "outputs",
                        "type": "quantitative",
                        "title": size_title,
                        "scale": {"range": [12, 900]},
                        "legend": {"format": "d"},
                    },
                },
            },
        ],
    }


def histogram(rows: Sequence[Row], *, x_title: str, y_title: str, series_title: str) -> dict[str, Any]:
    """Draw a histogram whose bars are stacked by series.

    Parameters
    ----------
    rows
        ``low`` and ``high`` (the bin), ``series`` and ``outputs``.
    x_title, y_title, series_title
        Titles of the axes and of the legend.

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    series = list(dict.fromkeys(row["series"] for row in rows))
    return {
        "width": WIDTH,
        "height": 220,
        "data": {"values": list(rows)},
        "mark": {"type": "bar", "binSpacing": 1},
        "encoding": {
            "x": {"field": "low", "type": "quantitative", "bin": {"binned": True, "step": 0.1}, "title": x_title},
            "x2": {"field": "high"},
            "y": {
                "field": "outputs",
                "type": "quantitative",
                "title": y_title,
                "axis": {"tickMinStep": 1, "format": "d"},
            },
            "color": {
                "field": "series",
                "type": "nominal",
                "title": series_title,
                "sort": series,
                "legend": {"orient": "top", "direction": "vertical"},
            },
        },
    }


def lines(rows: Sequence[Row], *, x_title: str, y_title: str, series_title: str) -> dict[str, Any]:
    """Draw one line per series.

    Parameters
    ----------
    rows
        ``x``, ``y`` and ``series``.
    x_title, y_title, series_title
        Titles of the axes and of the legend.

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    series = {"field": "series", "type": "nominal", "title": series_title}
    return {
        "width": WIDTH,
        "height": 260,
        "data": {"values": list(rows)},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": _number("x", x_title),
            "y": _number("y", y_title),
            "color": series,
            "shape": {**series, "legend": None},
        },
    }


def small_multiples(rows: Sequence[Row], *, width: int, height: int) -> dict[str, Any]:
    """Draw one small line chart per series, below one another, with the same time axis and separate scales.

    Parameters
    ----------
    rows
        ``time`` (milliseconds since 1970), ``value``, ``series`` (its name), and ``title`` (description of the point).
    width, height
        Size of the plot of one series, in pixels.

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    order = list(dict.fromkeys(row["series"] for row in rows))
    header = {"title": None, "labelOrient": "top", "labelAnchor": "start", "labelFontSize": 12, "labelPadding": 4}
    # Vega-Lite shows times in the time zone of the machine that draws, unless the scale says UTC.
    time = {"field": "time", "type": "temporal", "scale": {"type": "utc"}, "title": None, "axis": {"labelFlush": False}}
    value = {
        "field": "value",
        "type": "quantitative",
        "scale": {"zero": False},
        "title": None,
        "axis": {"tickCount": 3},
    }
    return {
        "data": {"values": list(rows)},
        "facet": {"row": {"field": "series", "type": "nominal", "sort": order, "header": header}},
        "resolve": {"scale": {"y": "independent"}},
        "spacing": 8,
        "spec": {
            "width": width,
            "height": height,
            "encoding": {"x": time, "y": value},
            "layer": [
                # Only points have descriptions, which `spanplat.formats.vega.with_titles` shows as tooltips.
                {"mark": {"type": "line", "strokeWidth": 1.5, "aria": False}},
                {
                    "mark": {"type": "point", "filled": True, "size": 22},
                    "encoding": {"description": {"field": "title"}},
                },
            ],
        },
    }


def _number(field: str, title: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, "axis": {"tickCount": 6, "labelFlush": False}}
