"""Tables of the agreement page as files, and its charts."""

import csv
import io
from typing import Any

import pytest

from spanplat.db import Database
from spanplat.services.agreement.comparison import AgreementOptions, compute_agreement

CHOICE = "reference=demo-sample-a&hypothesis=demo-sample-b"
TABLES = ("headline", "categories", "confusion", "measures", "counts", "distribution", "statistics")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_the_page_is_a_file_in_every_format(viewer: Any, name: str) -> None:
    for chosen, start in (("csv", ""), ("json", "{"), ("latex", r"\begin{table}")):
        response = viewer.get(f"/admin/agreement/table/{name}?{CHOICE}&format={chosen}")
        assert response.status_code == 200
        assert f"filename={name}." in response.headers["Content-Disposition"]
        assert response.text.startswith(start)


def test_a_table_has_the_figures_of_the_page(viewer: Any, demo: Database) -> None:
    result = compute_agreement(demo, "demo-sample-a", "demo-sample-b", AgreementOptions(bootstrap=1000)).as_json()
    text = viewer.get(f"/admin/agreement/table/headline?{CHOICE}").text
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert float(rows[0]["figure"]) == result["char"]["hard"]["f1"]
    confusion = viewer.get(f"/admin/agreement/table/confusion?{CHOICE}&format=json").json["rows"]
    labels = result["confusion"]["labels"]
    assert [[row[label] for label in labels] for row in confusion] == result["confusion"]["matrix"]


def test_the_agreement_page_fetches_the_distribution_once_its_figures_are_there(viewer: Any) -> None:
    part = "/admin/computed/distribution?reference=demo-sample-a&amp;hypothesis=demo-sample-b"
    viewer.get(f"/admin/agreement?{CHOICE}")
    assert part not in viewer.post(f"/admin/computed/agreement?{CHOICE}", htmx=True).text
    assert f'hx-get="{part}"' in viewer.post(f"/admin/computed/agreement?{CHOICE}", htmx=True).text


def test_the_distribution_is_a_part_for_htmx_and_a_page_otherwise(viewer: Any) -> None:
    viewer.get(f"/admin/agreement?{CHOICE}")
    part = viewer.post(f"/admin/computed/distribution?{CHOICE}", htmx=True).text
    assert "Numbers of spans" in part
    assert "<html" not in part
    page = f"/admin/agreement/distribution?{CHOICE}"
    assert part.strip() in viewer.get(page).text
    assert viewer.get(f"/admin/computed/distribution?{CHOICE}").headers["Location"] == page


@pytest.mark.parametrize("name", ["counts", "distribution"])
def test_the_charts_are_drawn(viewer: Any, name: str) -> None:
    assert viewer.get(f"/admin/agreement/chart/{name}?{CHOICE}").data.startswith(b"<svg ")
    saved = viewer.get(f"/admin/agreement/chart/{name}?{CHOICE}&format=png&download=yes")
    assert saved.headers["Content-Disposition"] == f"attachment; filename={name}.png"


def test_what_is_not_there_is_not_found(viewer: Any) -> None:
    assert viewer.get(f"/admin/agreement/chart/other?{CHOICE}").status_code == 404
    assert viewer.get(f"/admin/agreement/table/other?{CHOICE}").status_code == 404


def test_statistics_of_a_campaign_are_a_file(viewer: Any) -> None:
    address = "/admin/campaigns/demo-sample-a/table/statistics?format=json"
    assert address in viewer.get("/admin/campaigns/demo-sample-a/statistics").text
    rows = viewer.get(address).json["rows"]
    assert rows[0]["category"] == "all"
    assert rows[0]["spans"] == sum(row["spans"] for row in rows[1:])
