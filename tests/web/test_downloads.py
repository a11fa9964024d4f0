"""Downloads of the comparing pages: tables as CSV, JSON and LaTeX, charts as SVG and PNG."""

import csv
import html
import io
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from click.testing import CliRunner

from spanplat.cli import main
from spanplat.db import Database

CHOICE = "reference=demo-sample-a&hypothesis=demo-sample-b"
BOARD = "reference=demo-sample-a&campaign=demo-sample-b&campaign=demo-overlap"
PAGES = {
    "agreement": f"/admin/agreement?{CHOICE}",
    "distribution": f"/admin/agreement/distribution?{CHOICE}",
    "sentinels": f"/admin/agreement/sentinels?{CHOICE}",
    "leaderboard": f"/admin/leaderboard?{BOARD}",
    "matrix": f"/admin/leaderboard/matrix?{BOARD}",
    "systems": "/admin/systems?campaign=demo-sample-a&campaign=demo-sample-b",
    "statistics": "/admin/campaigns/demo-sample-a/statistics",
    "explorer": f"/admin/agreement/outputs?{CHOICE}",
}
every_page = pytest.mark.parametrize("page", PAGES.values(), ids=list(PAGES))
MOST_PARTS = 20
"""More than any page fetches by itself."""
FORMATS = {"table": {"csv", "json", "latex"}, "chart": {"svg", "png"}}


def whole_page(viewer: Any, address: str) -> str:
    """The page once everything on it is computed, with the parts that it fetches."""
    text: str = viewer.get(address).text
    waiting = [text]
    for _ in range(MOST_PARTS):
        if not waiting:
            return text
        for verb, part in re.findall(r'hx-(post|get)="(/admin/[^"]+)"[^>]* hx-trigger="load"', waiting.pop()):
            there = html.unescape(part)
            answer = (viewer.post(there, htmx=True) if verb == "post" else viewer.get(there, HX_Request="true")).text
            waiting.append(answer)
            text += answer
    raise AssertionError(f"{address} fetches parts without end")


def downloads(text: str) -> dict[str, dict[str, str]]:
    """Addresses of the page's downloads by what they are of and by format."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for link in re.findall(r'href="([^"]+)"[^>]*\bdownload\b', text):
        parts = urlsplit(html.unescape(link))
        if kind := re.search(r"/(table|chart)\b", parts.path):
            arguments = dict(parse_qsl(parts.query))
            name = f"{kind[1]} {parts.path} {arguments.get('campaign', '')}"
            found[name][arguments.get("format", "svg")] = html.unescape(link)
    return found


@every_page
def test_every_download_is_offered_in_all_formats_and_works(viewer: Any, page: str) -> None:
    found = downloads(whole_page(viewer, page))

    assert found
    for name, by_format in found.items():
        assert set(by_format) == FORMATS[name.split()[0]], name
        for chosen, link in by_format.items():
            response = viewer.get(link)
            assert response.status_code == 200, link
            assert "attachment" in response.headers["Content-Disposition"]
            starts = {"json": b"{", "latex": rb"\begin{table}", "svg": b"<svg ", "png": b"\x89PNG"}
            assert response.data.startswith(starts.get(chosen, b"")), link


@every_page
def test_the_three_forms_of_a_table_agree_and_are_well_formed(viewer: Any, page: str) -> None:
    for name, by_format in downloads(whole_page(viewer, page)).items():
        if not name.startswith("table"):
            continue
        document = viewer.get(by_format["json"]).json
        rows = list(csv.reader(io.StringIO(viewer.get(by_format["csv"]).text, newline="")))
        assert rows[0] == document["columns"]
        assert len(rows) == 1 + len(document["rows"])
        assert not [cell for row in rows for cell in row if re.match(r"[=+@]|-(?![\d.])", cell)]
        require_well_formed(viewer.get(by_format["latex"]).text, len(document["columns"]), len(document["rows"]))


def require_well_formed(latex: str, columns: int, rows: int) -> None:
    """What LaTeX would stumble over: braces, bare special characters, rows of another width."""
    assert latex.count("{") - latex.count(r"\{") == latex.count("}") - latex.count(r"\}")
    body = [line for line in latex.splitlines() if line.endswith(r" \\")]
    assert len(body) == 1 + rows
    for line in body:
        assert len(re.findall(r"(?<!\\)&", line)) == columns - 1
        assert not re.search(r"(?<!\\)[%#_]", line)


def test_every_table_on_the_pages_has_its_download(viewer: Any) -> None:
    for name, page in PAGES.items():
        text = whole_page(viewer, page)
        heads = re.findall(r"<table[^>]*>(.*?</thead>)", text, re.DOTALL)
        # One file may hold several tables with the same columns; their headings differ in the links that sort them.
        tables = {" ".join(re.sub(r"<[^>]+>", " ", head).split()) for head in heads}
        files = [key for key in downloads(text) if key.startswith("table")]
        assert len(files) >= len(tables), name


def test_the_command_line_gives_the_numbers_of_the_files(
    viewer: Any, demo: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANPLAT_DATABASE_URL", demo.engine.url.render_as_string(hide_password=False))
    monkeypatch.setenv("SPANPLAT_HOME", str(tmp_path / "home"))
    whole_page(viewer, PAGES["agreement"])

    def ask(*arguments: str) -> Any:
        result = CliRunner().invoke(main, [*arguments, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def table(path: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = viewer.get(f"{path}{'&' if '?' in path else '?'}format=json").json["rows"]
        return rows

    figures = ask("agreement", "demo-sample-a", "demo-sample-b")
    measures = table(f"/admin/agreement/table/measures?{CHOICE}")
    assert measures[0]["hard F1"] == pytest.approx(figures["char"]["hard"]["f1"])
    assert measures[0]["soft P"] == pytest.approx(figures["char"]["soft"]["precision"])
    confusion = table(f"/admin/agreement/table/confusion?{CHOICE}")
    labels = figures["confusion"]["labels"]
    assert [[row[label] for label in labels] for row in confusion] == figures["confusion"]["matrix"]
    statistics = ask("stats", "demo-sample-a")
    assert table("/admin/campaigns/demo-sample-a/table/statistics")[0]["spans"] == statistics["spans"]
