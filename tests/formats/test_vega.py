"""Charts drawn on the server."""

from pathlib import Path

import pytest

from spanplat.errors import InvalidInput
from spanplat.formats import charts
from spanplat.formats.vega import draw

BARS = [
    {"label": "one", "value": 0.5, "low": 0.4, "high": 0.6},
    {"label": "two", "value": 0.3, "low": 0.2, "high": 0.35},
]
CHARTS = {
    "bars": charts.interval_bars(BARS, title="F1", line=0.4, line_label="people"),
    "scatter": charts.count_scatter(
        [{"reference": 1, "hypothesis": 0, "outputs": 3}], x_title="mine", y_title="theirs", size_title="outputs"
    ),
    "histogram": charts.histogram(
        [{"low": 0.0, "high": 0.1, "series": "both", "outputs": 3}], x_title="F1", y_title="outputs", series_title=""
    ),
    "lines": charts.lines([{"x": 0, "y": 1.0, "series": "micro"}], x_title="n", y_title="F1", series_title=""),
}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_drawn(name: str) -> None:
    assert draw(CHARTS[name], "svg").startswith(b"<svg ")
    assert draw(CHARTS[name], "png", theme="dark").startswith(b"\x89PNG")


def test_labels_and_figures_stand_in_the_chart() -> None:
    drawn = draw(CHARTS["bars"], "svg").decode()
    assert all(text in drawn for text in ("one", "two", "0.500", "people", "F1"))


def test_a_chart_is_drawn_once(tmp_path: Path) -> None:
    first = draw(CHARTS["bars"], "svg", folder=tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"as kept")
    assert draw(CHARTS["bars"], "svg", folder=tmp_path) == b"as kept"
    assert draw(CHARTS["bars"], "svg", theme="dark", folder=tmp_path) != first


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(InvalidInput, match="svg or png, not 'gif'"):
        draw(CHARTS["bars"], "gif")
    with pytest.raises(InvalidInput, match="cannot be drawn"):
        draw({"mark": "nothing of the kind"}, "svg")


def test_a_chart_cannot_load_data() -> None:
    spec = {"data": {"url": "https://example.org/data.json"}, "mark": "point", "encoding": {}}
    with pytest.raises(InvalidInput, match="External data url not allowed"):
        draw(spec, "svg")
