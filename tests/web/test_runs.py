"""Running a model campaign from its page."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from spanplat.db import Database
from spanplat.models import ClaimState, Completion, Job, JobState, ModelBatch, ModelClaim
from spanplat.services.campaigns import clone_campaign, find_campaign
from spanplat.services.model_runs.questions import open_questions
from spanplat.services.queue import WorkQueue

PAGE = "/admin/campaigns/again"


@pytest.fixture
def again(demo: Database) -> Database:
    """A model campaign that has not run yet."""
    with demo.transaction() as session:
        clone_campaign(session, "demo-overlap", "again")
    return demo


def _job(demo: Database) -> Job:
    with demo.reading() as session:
        return session.scalars(select(Job).where(Job.key == "run-campaign:again")).one()


def test_a_run_is_asked_for_once_and_the_worker_is_woken(researcher: Any, again: Database, app: Flask) -> None:
    assert "Run the model" in researcher.get(PAGE).text
    response = researcher.post(f"{PAGE}/run")
    assert (response.status_code, response.headers["Location"]) == (303, PAGE)
    researcher.post(f"{PAGE}/run")
    job = _job(again)
    assert (job.kind, job.payload, job.state) == ("run-campaign", {"campaign": "again"}, JobState.QUEUED)
    queue = WorkQueue(app.extensions["spanplat_settings"])
    assert len(queue) >= 1
    queue.close()
    assert "The run waits for the worker" in researcher.get(PAGE).text


def test_a_run_shows_how_far_it_is_and_can_be_stopped(researcher: Any, again: Database) -> None:
    researcher.get(PAGE)
    researcher.post(f"{PAGE}/run")
    with again.transaction() as session:
        job = session.scalars(select(Job)).one()
        job.state, job.progress, job.total = JobState.RUNNING, 7, 38
    text = researcher.get(PAGE).text
    assert "7 of 38 items" in text
    assert "Pause the run" in text
    assert "Cancel the run" in text
    assert researcher.post(f"{PAGE}/run/stop").status_code == 303
    assert _job(again).state == JobState.CANCELLED


def test_with_a_run_its_batches_are_cancelled_and_no_later_ones(researcher: Any, again: Database) -> None:
    researcher.get(PAGE)
    researcher.post(f"{PAGE}/run")
    with again.transaction() as session:
        campaign = find_campaign(session, "again")
        session.add_all(ModelBatch(campaign_id=campaign.id, key=f"here:1:0:{n}", requests=3) for n in range(2))
    researcher.post(f"{PAGE}/run/stop")
    with again.reading() as session:
        batches = list(session.scalars(select(ModelBatch.id).order_by(ModelBatch.id)))
        job = session.scalars(select(Job).where(Job.kind == "cancel-batches")).one()
    assert job.payload == {"campaign": "again", "batches": batches}
    assert "The provider has 2 batches still" in researcher.get(PAGE).text


def test_batches_that_could_not_be_cancelled_are_told_of_and_can_be_cancelled_again(
    researcher: Any, again: Database
) -> None:
    researcher.get(PAGE)
    researcher.post(f"{PAGE}/run")
    with again.transaction() as session:
        session.add(ModelBatch(campaign_id=find_campaign(session, "again").id, key="here:1:0:0", requests=3))
    researcher.post(f"{PAGE}/run/stop")
    with again.transaction() as session:
        job = session.scalars(select(Job).where(Job.kind == "cancel-batches")).one()
        job.state, job.error = JobState.FAILED, "the provider does not take the key"
    text = researcher.get(PAGE).text
    assert "The provider was not asked to stop its 1 batch" in text
    assert "the provider does not take the key" in text
    researcher.post(f"{PAGE}/run/stop")
    with again.reading() as session:
        assert session.scalars(select(Job).where(Job.kind == "cancel-batches")).one().state == JobState.QUEUED
    assert "was not asked to stop" not in researcher.get(PAGE).text


def test_a_failed_run_says_why_and_needs_attention(researcher: Any, again: Database) -> None:
    with again.transaction() as session:
        error = "the key of the provider is not valid"
        session.add(Job(kind="run-campaign", key="run-campaign:again", payload={}, state="failed", error=error))
    assert error in researcher.get(PAGE).text
    assert "the last run stopped with an error" in researcher.get("/").text


def test_a_campaign_of_people_does_not_run(researcher: Any) -> None:
    researcher.get("/")
    response = researcher.post("/admin/campaigns/demo-people/run")
    assert response.status_code == 409
    assert "filled by people" in response.text


def test_a_run_that_was_never_asked_for_cannot_be_stopped(researcher: Any) -> None:
    researcher.get("/")
    assert researcher.post("/admin/campaigns/demo-overlap/run/stop").status_code == 404


def test_a_paused_run_is_resumed_where_it_was(researcher: Any, again: Database) -> None:
    researcher.get(PAGE)
    researcher.post(f"{PAGE}/run")
    assert researcher.post(f"{PAGE}/run/pause").status_code == 303
    assert _job(again).state == JobState.PAUSED
    text = researcher.get(PAGE).text
    assert "The run is paused" in text
    assert "Resume the run" in text
    researcher.post(f"{PAGE}/run")
    assert _job(again).state == JobState.QUEUED


def test_the_live_part_has_the_page_loaded_anew_when_the_run_is_in_another_state(
    researcher: Any, again: Database
) -> None:
    researcher.get(PAGE)
    assert "HX-Refresh" not in researcher.get(PAGE, HX_Request="true").headers
    researcher.post(f"{PAGE}/run")
    assert researcher.get(PAGE, HX_Request="true").headers["HX-Refresh"] == "true"
    assert "HX-Refresh" not in researcher.get(PAGE, HX_Request="true", Run_State="queued").headers
    assert _job(again).state == JobState.QUEUED


def test_a_model_campaign_shows_what_it_cost_and_what_failed_with_the_last_error(
    researcher: Any, again: Database
) -> None:
    with again.transaction() as session:
        campaign = find_campaign(session, "again")
        key = open_questions(session, campaign.id, campaign.created_at).free[0]
        error = "the server answers 400: the text is too odd"
        names = {"campaign_id": campaign.id, "assignment_id": key.assignment_id, "item_id": key.item_id}
        session.add(ModelClaim(**names, state=ClaimState.FAILED, failure="status 400", error=error))
        call = {
            "request_sha256": "0" * 64,
            "request": {},
            "response": {"content": ""},
            "input_tokens": 1200,
            "latency": 2.0,
        }
        session.add(Completion(**names, **call, cost=0.5))
    text = researcher.get(PAGE).text
    assert error in text
    assert "$0.50" in text
    assert "1,200 in" in text
    with again.transaction() as session:
        session.execute(update(Completion).values(cost=None))
    text = researcher.get(PAGE).text
    assert "not known" in text
    assert "$0" not in text
