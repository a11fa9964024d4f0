"""The report on systems."""

from typing import Any

import pytest

from spanplat.db import Database
from spanplat.schemas.generation import GenerationDefinition
from spanplat.services.agreement.systems import compute_systems
from spanplat.services.model_work.generations.defining import create_generation

CHOICE = "campaign=demo-sample-a&campaign=demo-overlap"


def test_without_a_choice_the_page_explains_what_it_shows(viewer: Any) -> None:
    assert "Choose campaigns" in viewer.get("/admin/systems").text


def test_the_report_is_asked_for_by_the_page_and_then_stands_on_it(viewer: Any) -> None:
    page = f"/admin/systems?{CHOICE}"
    assert 'hx-post="/admin/computed/systems?campaign=demo-sample-a&amp;campaign=demo-overlap"' in viewer.get(page).text
    fragment = viewer.post(f"/admin/computed/systems?{CHOICE}", htmx=True).text
    assert "Do they rank the systems alike?" in fragment
    assert fragment.strip() in viewer.get(page).text


def test_the_downloads_have_the_figures_of_the_service(viewer: Any, demo: Database) -> None:
    report = compute_systems(demo, ["demo-sample-a", "demo-overlap"]).as_json()
    rows = viewer.get(f"/admin/systems/table/systems?{CHOICE}&format=json").json["rows"]
    shown = {(row["campaign"], row["system"]): row["errors per output"] for row in rows}
    assert shown == {
        (one["campaign"], system["system"]): system["per_output"]["value"]
        for one in report["campaigns"]
        for system in one["systems"]
    }
    rankings = viewer.get(f"/admin/systems/table/rankings?{CHOICE}&format=json").json["rows"]
    assert rankings[0]["kendall"] == report["agreement"][0]["figures"]["kendall"]


@pytest.mark.parametrize("chosen", ["csv", "latex"])
def test_tables_are_files_in_every_format(viewer: Any, chosen: str) -> None:
    for name in ("systems", "rankings"):
        assert viewer.get(f"/admin/systems/table/{name}?{CHOICE}&format={chosen}").status_code == 200


def test_the_chart_shows_the_campaign_named_first(viewer: Any) -> None:
    first = viewer.get("/admin/systems/chart/errors?campaign=demo-sample-a&campaign=demo-overlap").data
    second = viewer.get("/admin/systems/chart/errors?campaign=demo-overlap&campaign=demo-sample-a").data
    assert first.startswith(b"<svg ")
    assert first != second
    assert viewer.get(f"/admin/systems/chart/other?{CHOICE}").status_code == 404


def test_what_cannot_be_reported_is_said(viewer: Any) -> None:
    viewer.get("/admin/systems?campaign=demo-people")
    text = viewer.post("/admin/computed/systems?campaign=demo-people", htmx=True).text
    assert "Nothing to compare" in text
    assert "no completed annotation" in text
    assert viewer.get("/admin/systems?campaign=nowhere").status_code == 404


def test_a_system_that_a_model_wrote_shows_how_with_a_link_to_the_run(viewer: Any, demo: Database) -> None:
    system = compute_systems(demo, ["demo-sample-a"]).as_json()["campaigns"][0]["systems"][0]["system"]
    assert "Written by a model" not in viewer.get("/admin/systems?campaign=demo-sample-a").text
    settings = {
        "provider": "openai",
        "model": "tiny-writer",
        "prompt": "Write.",
        "parameters": {"seed": 1738, "top_p": 1},
    }
    content = {"slug": "drafts", "system": system, "dataset": "demo", "model": settings}
    with demo.transaction() as session:
        generation = create_generation(session, GenerationDefinition.model_validate(content))
    text = viewer.get("/admin/systems?campaign=demo-sample-a").text
    assert "Written by a model" in text
    for shown in ('href="/admin/generations/drafts"', "tiny-writer", "1738", "top_p 1", generation.prompt_sha256[:12]):
        assert shown in text
