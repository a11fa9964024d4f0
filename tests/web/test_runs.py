"""Running a model campaign from its page."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Job, JobState
from spanplat.services.campaigns import clone_campaign
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
    assert "Stop the run" in text
    assert researcher.post(f"{PAGE}/run/stop").status_code == 303
    assert _job(again).state == JobState.CANCELLED


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
