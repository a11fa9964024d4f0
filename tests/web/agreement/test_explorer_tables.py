"""The disagreement explorer as files."""

import csv
import html
import io
import re
from typing import Any

import pytest

from spanplat.db import Database
from spanplat.metrics.disagreement import TYPES, ClusterType
from spanplat.services.agreement.disagreement import DisagreementFilter, choose, find_disagreements

CHOICE = "reference=demo-sample-a&hypothesis=demo-sample-b"
OUTPUTS = "/admin/agreement/outputs"


def first_output(viewer: Any, choice: str = "") -> str:
    found = re.search(r'href="(/admin/agreement/outputs/\d+\?[^"]*)"', viewer.get(f"{OUTPUTS}?{CHOICE}{choice}").text)
    assert found is not None
    return html.unescape(found[1])


def rows_of(viewer: Any, address: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(viewer.get(address).text, newline="")))


def test_every_table_is_offered_in_every_format_and_is_a_file(viewer: Any) -> None:
    pages = f"{OUTPUTS}?{CHOICE}&type=extra", first_output(viewer)
    for page, names in zip(pages, (["outputs", "types"], ["spans"]), strict=True):
        offered = [
            html.unescape(link) for link in re.findall(r'href="([^"]+/table/[^"]+)" download', viewer.get(page).text)
        ]
        assert len(offered) == 3 * len(names)
        for link in offered:
            response = viewer.get(link)
            assert response.status_code == 200
            assert any(f"filename={name}." in response.headers["Content-Disposition"] for name in names)


def test_the_outputs_are_those_of_the_choice_in_its_order(viewer: Any, demo: Database) -> None:
    rows = rows_of(viewer, f"{OUTPUTS}/table/outputs?{CHOICE}&type=missing")
    with demo.reading() as session:
        found = find_disagreements(session, "demo-sample-a", "demo-sample-b")
        chosen = choose(session, found, DisagreementFilter(ClusterType.MISSING)).rows.tolist()

    assert [(row["system"], float(row["F1"])) for row in rows] == [
        (found.reference[row].system, float(found.f1[row])) for row in chosen
    ]
    counts = found.clusters.counts[chosen]
    assert [[int(row[kind]) for kind in TYPES] for row in rows] == counts.tolist()


def test_the_kinds_are_counted_as_on_the_page(viewer: Any, demo: Database) -> None:
    rows = viewer.get(f"{OUTPUTS}/table/types?{CHOICE}&format=json").json["rows"]
    with demo.reading() as session:
        found = find_disagreements(session, "demo-sample-a", "demo-sample-b")

        counted = choose(session, found, DisagreementFilter()).by_type

    assert {row["kind"]: row["clusters"] for row in rows} == {str(kind): number for kind, number in counted.items()}


def test_the_spans_of_an_output_are_those_that_fit_the_filter(viewer: Any) -> None:
    address = first_output(viewer, "&type=missing").replace("?", "/table/spans?")
    document = viewer.get(f"{address}&format=json").json

    assert document["rows"]
    assert {row["kind"] for row in document["rows"]} == {"missing"}
    assert {row["campaign"] for row in document["rows"]} == {"demo-sample-a"}
    assert "demo-sample-b against demo-sample-a" in document["caption"]


def test_latex_escapes_what_people_wrote(viewer: Any) -> None:
    text = viewer.get(first_output(viewer).replace("?", "/table/spans?") + "&format=latex").text
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]

    assert not re.search(r"(?<!\\)[%#_]", body)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/table/other?", 404),
        ("/table/outputs?format=xml&", 404),
        ("/999999/table/spans?", 404),
        ("/table/outputs?type=odd&", 422),
    ],
)
def test_what_is_not_there_is_said(viewer: Any, path: str, status: int) -> None:
    assert viewer.get(f"{OUTPUTS}{path}{CHOICE}").status_code == status
