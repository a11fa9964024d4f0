"""Sentinel plots."""

from typing import Any

CHOICE = "reference=demo-sample-a&hypothesis=demo-sample-b"
ADDRESS = "/admin/agreement/sentinels"


def test_the_page_asks_for_the_plots_and_then_shows_them(viewer: Any) -> None:
    part = f"/admin/computed/sentinels?{CHOICE}"
    assert f'hx-post="{part.replace("&", "&amp;")}"' in viewer.get(f"{ADDRESS}?{CHOICE}").text
    fragment = viewer.post(part, htmx=True).text
    assert "Outputs with at most one span emptied" in fragment
    assert fragment.strip() in viewer.get(f"{ADDRESS}?{CHOICE}").text


def test_plots_are_drawn_and_their_points_are_files(viewer: Any) -> None:
    for name in ("wider", "fewer"):
        assert viewer.get(f"{ADDRESS}/chart/{name}?{CHOICE}").data.startswith(b"<svg ")
        assert viewer.get(f"{ADDRESS}/table/{name}?{CHOICE}&format=json").json["rows"][0]["F1"] > 0
    assert viewer.get(f"{ADDRESS}/table/removed?{CHOICE}").status_code == 200
    assert viewer.get(f"{ADDRESS}/chart/other?{CHOICE}").status_code == 404


def test_what_cannot_be_compared_is_said(viewer: Any) -> None:
    viewer.get(f"{ADDRESS}?{CHOICE}")
    text = viewer.post("/admin/computed/sentinels?reference=demo-sample-a&hypothesis=demo-people", htmx=True).text
    assert "Nothing to compare" in text
