"""Comparisons of several campaigns from the command line give the numbers of the pages."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from spanplat.db import Database
from spanplat.models import Role
from spanplat.schemas import yaml_documents
from spanplat.services.accounts.users import add_user
from spanplat.settings import Settings
from spanplat.web.accounts.sign_in import StaffMember
from spanplat.web.app import create_app

from .conftest import Run

pytestmark = pytest.mark.usefixtures("demo_loaded")

RunJson = Callable[..., Any]


@pytest.fixture
def pages(home: Path) -> FlaskClient:
    """The pages over the same database, for a viewer."""
    settings = Settings(home=home, _env_file=None)
    database = Database(settings.database)
    with database.transaction() as session:
        user, _password = add_user(session, "viewer@example.org", Role.VIEWER)
    client = create_app(settings, database).test_client()
    with client.session_transaction() as cookie:
        cookie["_user_id"] = StaffMember.of(user).get_id()
    return client


def rows(pages: FlaskClient, address: str) -> list[dict[str, Any]]:
    response = pages.get(f"{address}&format=json")
    assert response.status_code == 200
    assert response.json is not None
    found: list[dict[str, Any]] = response.json["rows"]
    return found


def numbers(found: Any) -> set[float]:
    """Return every number that stands anywhere in a document."""
    if isinstance(found, dict):
        return set().union(*(numbers(value) for value in found.values())) if found else set()
    if isinstance(found, list):
        return set().union(*(numbers(value) for value in found)) if found else set()
    return {float(found)} if isinstance(found, int | float) and not isinstance(found, bool) else set()


@pytest.mark.parametrize(
    ("command", "address"),
    [
        (
            ("leaderboard", "demo-sample-a", "demo-sample-b", "demo-overlap"),
            "/admin/leaderboard/table/standings?reference=demo-sample-a&campaign=demo-sample-b&campaign=demo-overlap",
        ),
        (
            ("matrix", "demo-sample-a", "demo-sample-b", "demo-overlap"),
            "/admin/leaderboard/matrix/table/matrix?reference=demo-sample-a&campaign=demo-sample-b&campaign=demo-overlap",
        ),
        (
            ("systems", "demo-sample-a", "demo-sample-b"),
            "/admin/systems/table/systems?campaign=demo-sample-a&campaign=demo-sample-b",
        ),
        (
            ("sentinels", "demo-sample-a", "demo-sample-b"),
            "/admin/agreement/sentinels/table/wider?reference=demo-sample-a&hypothesis=demo-sample-b",
        ),
    ],
    ids=["leaderboard", "matrix", "systems", "sentinels"],
)
def test_the_command_gives_the_numbers_of_the_page(
    run_json: RunJson, pages: FlaskClient, command: tuple[str, ...], address: str
) -> None:
    shown = numbers(rows(pages, address))
    assert len(shown) >= 3
    assert shown <= numbers(run_json(*command))


def test_a_leaderboard_is_printed_best_first(run: Run) -> None:
    lines = run("leaderboard", "demo-sample-a", "demo-overlap", "demo-sample-b").stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["demo-sample-b", "demo-overlap"]


def test_matrix_systems_and_sentinels_are_printed_as_tables(run: Run) -> None:
    assert "demo-overlap" in run("matrix", "demo-sample-a", "demo-overlap").stdout
    assert "errors per output" in run("systems", "demo-sample-a").stdout
    assert "characters added a side" in run("sentinels", "demo-sample-a", "demo-sample-b").stdout


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("leaderboard", "demo-sample-a", "nothing"), "no campaign 'nothing'"),
        (("leaderboard", "demo-sample-a", "demo-sample-a"), "choose at least one campaign besides the reference"),
        (("systems", "demo-people"), "no completed annotation"),
    ],
)
def test_what_cannot_be_compared_says_why(run: Run, command: tuple[str, ...], problem: str) -> None:
    assert problem in run(*command, status=1).stderr


def test_an_unknown_measure_is_wrong_usage(run: Run) -> None:
    assert "char.hard" in run("leaderboard", "a", "b", "--measure", "nonsense", status=2).stderr


RATINGS = {
    "slug": "ratings",
    "title": "Ratings",
    "kind": "external",
    "questions": [{"key": "overall", "type": "likert", "label": "How good is it?", "points": 5}],
}


@pytest.fixture
def ratings(run: Run, tmp_path: Path) -> str:
    """Slug of a campaign with answers of two annotators and without categories."""
    exported, file, definition = (tmp_path / name for name in ("a.jsonl", "ratings.jsonl", "ratings.yaml"))
    run("export", "demo-sample-a", "--format", "jsonl", "--output", exported)
    work = [json.loads(line) for line in exported.read_text("utf-8").splitlines()]
    records = [
        {**record, "annotator": name, "group": group, "spans": []}
        for group, name in (("0", "ann"), ("1", "ben"))
        for record in work
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    definition.write_text(yaml_documents.dump(RATINGS), encoding="utf-8")
    run("campaign", "import", file, "--slug", "ratings", "--format", "native", "--definition", definition)
    return "ratings"


def test_annotators_of_a_campaign_without_categories_have_undefined_figures_with_a_reason(
    run: Run, ratings: str
) -> None:
    compared = run("agreement", ratings, ratings, "--ref-rule", "pairs", "--hyp-rule", "pairs")
    assert "outputs compared: 36" in compared.stdout
    assert "pearson.micro is undefined: one side has the same number of spans everywhere" in compared.stderr
    assert "gamma.hard.mean is undefined: no output has spans of two annotators" in compared.stderr


def test_undefined_agreement_among_the_annotators_is_a_dash(run: Run, ratings: str) -> None:
    compared = run("agreement", ratings, "demo-sample-a", "--empty", "skip")
    assert "annotators of ratings among themselves: F1 hard –, soft – on 36 outputs" in compared.stderr
