"""Leaderboard and matrix: campaigns against a reference and against each other."""

import csv
import io
import re
from typing import Any

import pytest

from spanplat.db import Database
from spanplat.services.agreement.leaderboard import compute_leaderboard

CHOICE = "reference=demo-sample-a&campaign=demo-sample-b&campaign=demo-overlap"
PAGE = f"/admin/leaderboard?{CHOICE}"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_without_a_choice_the_page_explains_what_to_choose(viewer: Any) -> None:
    assert "Choose a reference and campaigns" in viewer.get("/admin/leaderboard").text
    assert "Choose a reference and campaigns" in viewer.get("/admin/leaderboard/matrix").text


@pytest.mark.parametrize(("part", "page"), [("leaderboard", PAGE), ("matrix", PAGE.replace("?", "/matrix?"))])
def test_what_is_not_computed_yet_is_asked_for_by_the_page_and_then_stands_on_it(
    viewer: Any, part: str, page: str
) -> None:
    assert f'hx-post="/admin/computed/{part}?reference=demo-sample-a&amp;' in viewer.get(page).text
    fragment = viewer.post(f"/admin/computed/{part}?{CHOICE}", htmx=True).text
    assert "<table" in fragment
    assert fragment.strip() in viewer.get(page).text


def test_the_page_says_who_is_first_and_whether_it_is_chance(viewer: Any) -> None:
    viewer.get(PAGE)
    text = viewer.post(f"/admin/computed/leaderboard?{CHOICE}", htmx=True).text
    assert "is closest to" in text or "are closest to" in text
    assert re.search(r"\(p (=|&lt;) 0\.", text)
    assert "They differ most on" in text
    assert re.search(r'<a href="/admin/agreement/outputs/\d+\?[^"]*hypothesis=demo-', text)


def test_the_download_has_the_figures_of_the_service_in_the_order_shown(viewer: Any, demo: Database) -> None:
    board = compute_leaderboard(demo, "demo-sample-a", ["demo-sample-b", "demo-overlap"]).as_json()
    figures = {entry["campaign"]: entry["figures"]["gamma.hard"]["value"] for entry in board["entries"]}
    rows = rows_of(viewer.get(f"/admin/leaderboard/table/standings?{CHOICE}&measure=gamma.hard&format=csv").text)
    assert [row["campaign"] for row in rows] == sorted(figures, key=lambda slug: -figures[slug])
    assert [float(row["gamma.hard"]) for row in rows] == sorted(figures.values(), reverse=True)


@pytest.mark.parametrize("address", ["table/standings", "table/measures", "matrix/table/matrix", "matrix/table/pairs"])
@pytest.mark.parametrize(
    ("chosen", "media_type"), [("csv", "text/csv"), ("json", "application/json"), ("latex", "application/x-tex")]
)
def test_every_table_is_a_file_in_every_format(viewer: Any, address: str, chosen: str, media_type: str) -> None:
    response = viewer.get(f"/admin/leaderboard/{address}?{CHOICE}&format={chosen}")
    assert response.status_code == 200
    assert response.mimetype == media_type
    assert response.headers["Content-Disposition"].startswith("attachment; filename=")
    assert "demo-overlap" in response.text


def test_the_chart_is_drawn_as_svg_and_png_and_cached(viewer: Any) -> None:
    drawn = viewer.get(f"/admin/leaderboard/chart?{CHOICE}")
    assert drawn.mimetype == "image/svg+xml"
    assert drawn.data.startswith(b"<svg ")
    again = viewer.get(f"/admin/leaderboard/chart?{CHOICE}", If_None_Match=drawn.headers["ETag"])
    assert again.status_code == 304
    assert viewer.get(f"/admin/leaderboard/chart?{CHOICE}&format=png&theme=dark").data.startswith(b"\x89PNG")


def test_the_matrix_shows_every_pair(viewer: Any) -> None:
    rows = rows_of(viewer.get(f"/admin/leaderboard/matrix/table/matrix?{CHOICE}&measure=char.soft").text)
    assert [row["campaign"] for row in rows] == ["demo-sample-a", "demo-sample-b", "demo-overlap"]
    assert rows[0]["demo-overlap"] == rows[2]["demo-sample-a"] != ""
    assert rows[0]["demo-sample-a"] == ""


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("&measure=luck", 422),
        ("&outputs=some", 422),
        ("&rule=best", 422),
        ("&campaign=nowhere", 404),
    ],
)
def test_an_address_that_asks_for_what_is_not_there_is_refused(viewer: Any, query: str, status: int) -> None:
    assert viewer.get(PAGE + query).status_code == status


def test_an_unknown_table_or_format_is_not_found(viewer: Any) -> None:
    assert viewer.get(f"/admin/leaderboard/table/other?{CHOICE}").status_code == 404
    assert viewer.get(f"/admin/leaderboard/table/standings?{CHOICE}&format=xlsx").status_code == 404
    assert viewer.get(f"/admin/leaderboard/chart?{CHOICE}&format=gif").status_code == 404


def test_what_cannot_be_compared_is_said_in_the_fragment(viewer: Any) -> None:
    viewer.get(PAGE)
    text = viewer.post(f"/admin/computed/leaderboard?{CHOICE}&outputs=several", htmx=True).text
    assert "Nothing to compare" in text
    assert "compare on all shared outputs" in text
