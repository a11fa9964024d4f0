"""The pages of generations."""

from typing import Any

from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Example, Generation, GenerationCall, Job, JobState

PAGE = "/admin/generations/drafts"
TEXT = """\
slug: drafts
system: gpt
dataset: demo
model:
  provider: openai
  model: gpt-4o-mini
  prompt: Write about {{ source_text }}
"""


def test_a_generation_is_created_priced_and_run_by_the_worker(researcher: Any, demo: Database) -> None:
    assert "No generation yet" in researcher.get("/admin/generations").text
    made = researcher.post("/admin/generations", definition=TEXT)
    assert (made.status_code, made.headers["Location"]) == (303, PAGE)
    page = researcher.get(PAGE).text
    assert "Write about {{ source_text }}" in page
    assert "SHA-256 of this prompt" in page
    assert "≈ $0.0" in page
    for _ in range(2):
        assert researcher.post(f"{PAGE}/run").status_code == 303

    def job() -> Job:
        with demo.reading() as session:
            return session.scalars(select(Job).where(Job.kind == "run-generation")).one()

    assert (job().payload, job().state) == ({"generation": "drafts"}, JobState.QUEUED)
    assert researcher.get(PAGE, HX_Request="true").headers["HX-Refresh"] == "true"
    assert "waits for the worker" in researcher.get(PAGE, HX_Request="true", Run_State="queued").text
    researcher.post(f"{PAGE}/run/pause")
    assert "Resume the run" in researcher.get(PAGE).text
    researcher.post(f"{PAGE}/run/stop")
    assert job().state == JobState.CANCELLED
    assert researcher.post(f"{PAGE}/run/stop").status_code == 404


def test_the_overview_names_a_generation_that_its_ceiling_stopped(researcher: Any, demo: Database) -> None:
    researcher.get("/admin/generations")
    assert researcher.post("/admin/generations", definition=f"{TEXT}  max_cost: 2\n").status_code == 303
    link = f'<a href="{PAGE}">'
    assert link not in researcher.get("/").text
    with demo.transaction() as session:
        generation = session.scalars(select(Generation)).one()
        example = session.scalars(select(Example.id).order_by(Example.id)).first()
        call = {"generation_id": generation.id, "example_id": example, "cost": 2.0}
        session.add(GenerationCall(**call, request_sha256="0" * 64, request={}))
    for asked in ({}, {"HX_Request": "true"}):
        attention = researcher.get("/", **asked).text.partition('class="attention"')[2].partition("</section>")[0]
        assert link in attention
        assert "the next call might cost more than is left of $2.00" in attention


def test_a_mistake_is_told_with_its_line_above_what_was_typed(researcher: Any) -> None:
    researcher.get("/admin/generations")
    answer = researcher.post("/admin/generations", definition=TEXT.replace("system:", "sistem:"))
    assert answer.status_code == 422
    assert "definition:2: sistem: unknown key" in answer.text
    assert "sistem: gpt" in answer.text


def test_whoever_may_only_look_creates_and_runs_nothing(viewer: Any) -> None:
    assert "New generation" not in viewer.get("/admin/generations").text
    assert viewer.post("/admin/generations", definition=TEXT).status_code == 403
    assert viewer.post(f"{PAGE}/run").status_code == 403
