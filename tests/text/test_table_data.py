"""Order, search and files of the studio's tables: the module of the pages in node, or in Chromium where there is none."""

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from spanplat.formats.spreadsheets import FORMULA_STARTS
from spanplat.formats.tables import Table, to_csv

MODULE = Path(__file__).parents[2] / "static" / "js" / "studio" / "table_data.js"
Evaluate = Callable[[str, Any], Any]


@pytest.fixture
def evaluate(request: pytest.FixtureRequest) -> Evaluate:
    """Evaluate an expression over the module ``data`` and an argument ``given``."""
    node = shutil.which("node")
    return partial(in_node, node) if node else partial(in_chromium, request.getfixturevalue("browser"))


def in_node(node: str, expression: str, given: Any) -> Any:
    script = (
        f"import * as data from {json.dumps(MODULE.as_uri())}; import {{ readFileSync }} from 'node:fs';"
        f"const given = JSON.parse(readFileSync(0, 'utf8')); console.log(JSON.stringify({expression}));"
    )
    done = subprocess.run(
        [node, "--input-type=module", "--no-warnings", "-e", script],
        input=json.dumps(given), capture_output=True, encoding="utf-8", check=True, timeout=60,
    )  # fmt: skip
    return json.loads(done.stdout)


def in_chromium(browser: Browser, expression: str, given: Any) -> Any:
    load = "await import(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})))"
    run = f"async ([source, given]) => {{ const data = {load}; return {expression}; }}"
    with browser.new_page() as page:
        return page.evaluate(run, [MODULE.read_text(encoding="utf-8"), given])


def test_columns_are_ordered_by_what_they_hold(evaluate: Evaluate) -> None:
    columns = {
        "numbers": ["9", "10.5", "", "-1", "1e3"],
        "texts": ["Émile", "zoe", "", "eva", "Batch 10", "Batch 9"],
        "moments": ["2026-05-02T00:00:00+00:00", "", "2026-05-01T00:00:00+00:00"],
        "equal": ["1", "1", "1"],
    }
    ordered = evaluate(
        "Object.fromEntries(Object.entries(given).map(([name, values]) => [name, "
        "[data.beginsWithGreatest(values), ...[false, true].map((down) => data.order(values, down))]]))",
        columns,
    )
    assert ordered == {
        "numbers": [True, [3, 0, 1, 4, 2], [4, 1, 0, 3, 2]],
        "texts": [False, [5, 4, 0, 3, 1, 2], [1, 3, 0, 4, 5, 2]],
        "moments": [True, [2, 0, 1], [0, 2, 1]],
        "equal": [True, [0, 1, 2], [0, 1, 2]],
    }


def test_rows_are_found_by_any_cell_whatever_capitals_and_accents(evaluate: Evaluate) -> None:
    rows = [["Kočka", "gold"], ["ŒUVRE", "Straße"]]
    wanted = {"kocka": [True, False], "GOLD ": [True, False], "oeuvre": [False, False], "": [True, True]}
    found = evaluate(
        "Object.fromEntries(given[1].map((text) => [text, given[0].map((row) => data.matches(row, text))]))",
        [rows, list(wanted)],
    )
    assert found == wanted


def test_a_file_is_written_as_the_server_writes_its_own(evaluate: Evaluate) -> None:
    cells = [f"{start}x" for start in FORMULA_STARTS] + [
        "'tis",
        'say "so", twice',
        "two\nlines",
        "plain",
        "",
        "=1",
        "+2",
    ]
    rows = [[cell, "next"] for cell in cells]
    assert evaluate("data.toCsv(given)", [["text", "b"], *rows]) == to_csv(Table("t", ["text", "b"], rows))
    assert evaluate("data.toCsv(given)", [["-0.25", "1e-05"]]) == "-0.25,1e-05\r\n"


def test_the_address_names_columns_by_their_headings(evaluate: Evaluate) -> None:
    headings = ["People now", "Cost ($)", "F1", "F1", "Größe", "95 % interval"]
    assert evaluate("data.keysOf(given)", headings) == ["people-now", "cost", "f1", "f1-2", "große", "95-interval"]
    assert evaluate("given.map(data.readSort)", ["cost-", "people-now", ""]) == [
        {"key": "cost", "descending": True},
        {"key": "people-now", "descending": False},
        {"key": "", "descending": False},
    ]


@pytest.mark.parametrize(("greatest_first", "clicks"), [(True, ["cost-", "cost", ""]), (False, ["cost", "cost-", ""])])
def test_clicks_on_a_heading_go_round(evaluate: Evaluate, greatest_first: bool, clicks: list[str]) -> None:
    now = ["name", *clicks[:2]]
    assert evaluate(f"given.map((sort) => data.nextSort(sort, 'cost', {json.dumps(greatest_first)}))", now) == clicks
