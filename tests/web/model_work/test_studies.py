"""The pages of prompt studies."""

import csv
import io
import json
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Job, JobState, Study
from spanplat.schemas.study import StudyDefinition
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign, plan_clone
from spanplat.services.model_work.studies.defining import create_study, plan_study
from spanplat.services.model_work.studies.running import run_study
from tests.campaigns import create_campaign

PAGE = "/admin/studies/baselines"


@pytest.fixture
def baselines(demo: Database) -> Database:
    """A study of the offline annotator under two categories, not run yet."""
    content = {
        "slug": "baselines",
        "title": "Baselines",
        "gold": "demo-sample-a",
        "like": "demo-overlap",
        "variants": {"as-it-is": {}, "again": {"concurrency": 2}},
        "max_cost": 3,
    }
    definition = StudyDefinition.model_validate(content)
    with demo.reading() as session:
        plans = plan_study(session, definition)
    create_study(demo, definition, plans)
    return demo


def test_a_study_is_created_from_its_form(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        like = create_campaign(session, plan_clone(session, "demo-overlap", "asked"))
        like.definition = like.definition | {"model": {"provider": "openai", "model": "gpt-4o-mini"}}
        like.definition_sha256 = "1" * 64
    page = researcher.get("/admin/studies")
    assert "No study yet" in page.text
    form = {"title": "Which prompt?", "gold": "demo-sample-a", "like": "asked", "models": "gpt-4o-mini\n gpt-4o \n"}
    made = researcher.post("/admin/studies", **form, presets="cot", max_cost="2.5")
    assert made.headers["Location"] == "/admin/studies/which-prompt"
    with demo.reading() as session:
        definition = session.scalars(select(Study)).one().definition
    assert (definition["presets"], definition["models"]) == (["cot"], ["gpt-4o-mini", "gpt-4o"])
    assert definition["max_cost"] == 2.5
    page = researcher.get("/admin/studies/which-prompt").text
    assert "at most $2.50" in page
    assert "which-prompt-gpt-4o-mini" in page
    prices = researcher.get("/admin/studies/which-prompt/price").text
    assert "The whole study:" in prices
    assert "≈ $" in prices


def test_several_models_by_a_protocol_and_their_average_are_one_form(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        like = create_campaign(session, plan_clone(session, "demo-overlap", "asked"))
        like.definition = like.definition | {"model": {"provider": "openai", "model": "gpt-4o-mini"}}
        like.definition_sha256 = "1" * 64
    page = researcher.get("/admin/studies").text
    assert "asked three times, with seeds 42, 1738 and 1234" in page
    form = {"title": "Three", "gold": "", "like": "asked", "models": "gpt-4o-mini\ngpt-4o\no3-mini"}
    made = researcher.post("/admin/studies", **form, protocol="three-seeds", ensemble="yes")
    assert made.headers["Location"] == "/admin/studies/three"
    page = researcher.get("/admin/studies/three").text
    assert "protocol <code>three-seeds</code>" in page
    assert "Once every variant has answered everything, their scores are averaged" in page
    assert "compared with" not in page
    assert "Cost, figures and significance" not in page
    with demo.reading() as session:
        model = definition_of(find_campaign(session, "three-gpt-4o")).model
    assert model is not None
    assert (model.repeats, model.max_tokens, model.parameters["seed"]) == (3, 1024, [42, 1738, 1234])
    assert "–" in researcher.get("/admin/studies").text
    answer = researcher.get("/admin/study-table/study?study=three&format=csv")
    assert (answer.status_code, "nothing to compare" in answer.text) == (404, True)


def test_the_average_of_all_variants_is_linked_once_it_is_there(researcher: Any, demo: Database) -> None:
    content = {
        "slug": "mean",
        "title": "Mean",
        "like": "demo-overlap",
        "variants": {"one": {}, "two": {}},
        "ensemble": True,
    }
    definition = StudyDefinition.model_validate(content)
    with demo.reading() as session:
        plans = plan_study(session, definition)
    create_study(demo, definition, plans)
    run_study(demo, "mean")
    page = researcher.get("/admin/studies/mean").text
    assert 'href="/admin/campaigns/mean-ensemble"' in page
    assert "Once every variant" not in page
    assert researcher.get("/admin/campaigns/mean-ensemble").status_code == 200


def test_a_mistake_in_the_form_is_told_above_what_was_typed(researcher: Any) -> None:
    researcher.get("/admin/studies")
    answer = researcher.post("/admin/studies", title="Mine", gold="demo-people", like="demo-overlap")
    assert answer.status_code == 422
    assert "there is nothing to compare: list presets, models or variants" in answer.text
    assert 'value="Mine"' in answer.text


def test_a_run_is_asked_for_once_paused_and_cancelled(researcher: Any, baselines: Database) -> None:
    assert "Run the study" in researcher.get(PAGE).text
    for _ in range(2):
        assert researcher.post(f"{PAGE}/run").status_code == 303

    def job() -> Job:
        with baselines.reading() as session:
            return session.scalars(select(Job).where(Job.kind == "run-study")).one()

    assert (job().payload, job().state) == ({"study": "baselines"}, JobState.QUEUED)
    assert researcher.get(PAGE, HX_Request="true").headers["HX-Refresh"] == "true"
    assert "waits for the worker" in researcher.get(PAGE, HX_Request="true", Run_State="queued").text
    researcher.post(f"{PAGE}/run/pause")
    assert job().state == JobState.PAUSED
    assert "Resume the run" in researcher.get(PAGE).text
    researcher.post(f"{PAGE}/run/stop")
    assert job().state == JobState.CANCELLED
    assert researcher.post(f"{PAGE}/run/stop").status_code == 404


def test_the_table_downloads_as_csv_json_and_latex(researcher: Any, baselines: Database) -> None:
    run_study(baselines, "baselines")
    researcher.get(PAGE)
    part = researcher.client.post(
        "/admin/computed/study?study=baselines", data={"csrf_token": researcher.token}, headers={"HX-Request": "true"}
    ).text
    assert "p against the best" in part
    assert "Seconds per output" in part
    address = "/admin/study-table/{}?study=baselines&format={}"
    rows = list(csv.DictReader(io.StringIO(researcher.get(address.format("study", "csv")).text)))
    assert [row["variant"] for row in rows] == ["as-it-is", "again"]
    assert {"cost per 1000", "seconds per output", "char.hard", "char.hard low", "gamma.hard", "rank"} <= rows[0].keys()
    assert rows[0]["char.hard"] == rows[1]["char.hard"]
    tests = json.loads(researcher.get(address.format("tests", "json")).text)
    assert {"measure": "char.hard", "variant": "as-it-is", "other": "again", "difference": 0.0, "p": 1.0} in tests[
        "rows"
    ]
    assert "booktabs" not in tests["caption"]
    assert r"\toprule" in researcher.get(address.format("study", "latex")).text


def test_whoever_may_only_look_cannot_create_or_run_studies(viewer: Any, baselines: Database) -> None:
    assert "New study" not in viewer.get("/admin/studies").text
    assert "Run the study" not in viewer.get(PAGE).text
    assert viewer.post(f"{PAGE}/run").status_code == 403
    assert viewer.post("/admin/studies", title="Mine").status_code == 403
    with baselines.reading() as session:
        assert session.scalars(select(Job)).all() == []
