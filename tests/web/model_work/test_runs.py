"""Running a model campaign from its page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from spanplat.db import Database
from spanplat.models import CampaignStatus, ClaimState, Completion, Job, JobState, ModelBatch, ModelClaim
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.background.jobs import STALE_AFTER
from spanplat.services.background.queue import WorkQueue
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign, plan_clone, set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.model_work.claims import find_open_items
from tests.campaigns import create_campaign

PAGE = "/admin/campaigns/again"


@pytest.fixture
def again(demo: Database) -> Database:
    """A model campaign that has not run yet."""
    with demo.transaction() as session:
        create_campaign(session, plan_clone(session, "demo-overlap", "again"))
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
    assert "The provider is being asked to stop its 2 batches;" in researcher.get(PAGE).text


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
    assert "The key of the provider is not valid" in researcher.get(PAGE).text
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
        key = find_open_items(session, campaign.id, campaign.created_at).free[0]
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


def _fail_one(demo: Database, failure: str, error: str, reply: str) -> None:
    """Have one item of the campaign given up after a reply."""
    with demo.transaction() as session:
        campaign = find_campaign(session, "again")
        key = find_open_items(session, campaign.id, campaign.created_at).free[0]
        names = {"campaign_id": campaign.id, "assignment_id": key.assignment_id, "item_id": key.item_id}
        session.add(ModelClaim(**names, state=ClaimState.FAILED, failure=failure, error=error))
        session.add(Completion(**names, request_sha256="0" * 64, request={}, response={"content": reply}))


def test_what_failed_is_told_first_with_what_helps_and_what_the_model_wrote(researcher: Any, again: Database) -> None:
    reply = "Sure! I would love to <b>help</b>. " * 20
    _fail_one(again, "no answer", "the reply holds no JSON with a list of spans", reply)
    text = researcher.get(PAGE).text
    assert "1 item was asked about in vain and has no annotation." in text
    assert text.index("asked about in vain") < text.index("What a run would take") < text.index('<h2 id="failed">')
    assert "See what the model wrote, below" in text
    assert "I would love to &lt;b&gt;help&lt;/b&gt;" in text
    assert text.count("I would love") == 300 // len("Sure! I would love to <b>help</b>. ") + 1
    assert " …</q>" in text


@pytest.mark.parametrize(
    ("failure", "helps"),
    [
        ("status 503", "usually temporary"),
        ("status 429", "model.requests_per_minute"),
        ("status 400", "The provider refuses the request"),
        ("refusal", "try another model or prompt"),
        ("something new", "what fails again needs a look"),
    ],
)
def test_every_kind_of_failure_has_its_advice(researcher: Any, again: Database, failure: str, helps: str) -> None:
    _fail_one(again, failure, "the error", "")
    assert helps in researcher.get(PAGE).text


def test_an_error_is_told_once_with_what_is_kept(researcher: Any, again: Database) -> None:
    error = "the run of again stopped, what was answered is kept: the key is not valid"
    with again.transaction() as session:
        session.add(Job(kind="run-campaign", key="run-campaign:again", payload={}, state="failed", error=error))
    text = researcher.get(PAGE).text
    assert "The last run stopped with an error." in text
    assert "<p>The key is not valid</p>" in text
    assert "the run of again stopped" not in text
    assert "0 of 36 items are answered and kept" in text


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (JobState.RUNNING, "The worker has not been heard of since"),
        (JobState.QUEUED, "No worker has taken the run since"),
    ],
)
def test_a_run_without_a_worker_says_so(researcher: Any, again: Database, state: JobState, said: str) -> None:
    researcher.get(PAGE)
    researcher.post(f"{PAGE}/run")
    assert said not in researcher.get(PAGE).text
    with again.transaction() as session:
        job = session.scalars(select(Job)).one()
        job.state, job.created_at = state, datetime.now(UTC) - 2 * STALE_AFTER
        job.heartbeat = job.created_at if state == JobState.RUNNING else None
    text = researcher.get(PAGE).text
    assert said in text
    assert "spanplat worker runs" in text
    with again.transaction() as session:
        job = session.scalars(select(Job)).one()
        job.created_at = job.heartbeat = datetime.now(UTC) + timedelta(hours=1)
    assert said not in researcher.get(PAGE).text


@pytest.mark.usefixtures("again")
def test_a_cancelled_run_says_what_is_kept(researcher: Any) -> None:
    researcher.get(PAGE)
    researcher.post(f"{PAGE}/run")
    researcher.post(f"{PAGE}/run/stop")
    text = researcher.get(PAGE).text
    assert "The run was cancelled. 0 of 36 items are answered and kept" in " ".join(text.split())


def test_batches_being_stopped_and_a_silent_provider_are_told_of(researcher: Any, again: Database) -> None:
    researcher.get(PAGE)
    researcher.post(f"{PAGE}/run")
    with again.transaction() as session:
        campaign = find_campaign(session, "again")
        session.add(ModelBatch(campaign_id=campaign.id, key="here:1:0:0", external_id="batch_1", requests=3))
    researcher.post(f"{PAGE}/run/stop")
    text = researcher.get(PAGE).text
    assert "The provider is being asked to stop its 1 batch;" in text
    assert "did not answer" not in text
    with again.transaction() as session:
        session.execute(update(ModelBatch).values(error="the server cannot be reached"))
    text = researcher.get(PAGE).text
    assert "The provider did not answer when it was last asked about its work." in text
    assert "the server cannot be reached" in text


def test_a_ceiling_that_is_reached_is_told_with_the_way_on(
    researcher: Any, again: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    with again.transaction() as session:
        content = definition_of(find_campaign(session, "again")).model_dump(mode="json", exclude_none=True)
        for slug, ceiling in (("scarce", 0.000001), ("plenty", 5.0)):
            price = {"input": 2.0, "output": 8.0}
            model = {"provider": "openai", "model": "tiny", "price": price, "max_cost": ceiling}
            definition = CampaignDefinition.model_validate(content | {"slug": slug, "model": model})
            create_campaign(session, plan_campaign(session, definition))
            set_status(session, slug, CampaignStatus.OPEN)
    said = "The model is not asked any more"
    scarce = researcher.get("/admin/campaigns/scarce").text
    assert said in scarce
    assert "spanplat campaign run scarce --max-cost USD" in scarce
    assert said not in researcher.get("/admin/campaigns/plenty").text


def test_what_a_model_fills_has_no_seats_and_no_people(researcher: Any) -> None:
    assert ">Seats<" in researcher.get("/admin/campaigns/demo-people").text
    assert "Seats" not in researcher.get("/admin/campaigns/demo-overlap").text
    people = researcher.get("/admin/campaigns/demo-overlap/people").text
    assert "A model fills this campaign" in people
    assert "Median time" not in people
