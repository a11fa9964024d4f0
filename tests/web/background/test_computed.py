"""Parts of pages with computed figures: progress, stopping, old figures, and new requests."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from spanplat.db import Database
from spanplat.models import Annotation, Assignment, Campaign, Job, JobState
from spanplat.services.agreement.comparison import AGREEMENT, AgreementOptions
from spanplat.services.background import computations, jobs
from spanplat.services.background.computations import ResultQuestion, answer_now, find_status
from spanplat.worker.handlers import HANDLERS
from spanplat.worker.performing import Performer

CHOICE = "reference=demo-sample-a&hypothesis=demo-sample-b"
PAGE = f"/admin/agreement?{CHOICE}"
PART = f"/admin/computed/agreement?{CHOICE}"
STOP = PART.replace("?", "/stop?")
QUESTION = ResultQuestion(AGREEMENT, ("demo-sample-a", "demo-sample-b"), AgreementOptions(bootstrap=1000))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is too much work for a request."""
    monkeypatch.setattr(computations, "AT_ONCE_SECONDS", 0.0)


def job_of(demo: Database) -> Job:
    with demo.reading() as session:
        job = find_status(session, QUESTION).job
        assert job is not None
        return job


def follow(viewer: Any, text: str) -> Any:
    """Ask as the line of progress does."""
    address = text.split('hx-get="/admin/computed/agreement')[1].split('"', maxsplit=1)[0].replace("&amp;", "&")
    return viewer.get(f"/admin/computed/agreement{address}", HX_Request="true")


@pytest.mark.usefixtures("large")
def test_large_work_goes_to_the_worker_and_the_line_of_progress_follows_it(viewer: Any, demo: Database) -> None:
    viewer.get(PAGE)
    waiting = viewer.post(PART, htmx=True).text
    assert "Waiting for the worker …" in waiting
    assert 'hx-trigger="every 1s"' in waiting
    unchanged = follow(viewer, waiting)
    assert "HX-Retarget" not in unchanged.headers
    job = job_of(demo)
    with demo.transaction() as session:
        jobs.claim(session, job.id, "tester")
        jobs.report_progress(session, job.id, "tester", 400, 1000)
    answer_now(demo, QUESTION, until="headline")
    with demo.transaction() as session:
        session.execute(update(Job).values(started_at=datetime.now(UTC) - timedelta(hours=4)))
    first = follow(viewer, waiting)
    assert first.headers["HX-Retarget"] == "#part-agreement"
    assert "Computing γ, 40\N{NARROW NO-BREAK SPACE}%" in first.text or "Computing γ, 40 %" in first.text
    assert "about 6 hr left" in first.text
    assert 'class="cards"' in first.text
    assert "not computed yet" in first.text
    assert "HX-Retarget" not in follow(viewer, first.text).headers
    with demo.transaction() as session:
        session.execute(update(Job).values(state=JobState.QUEUED, claimed_by=None))
    Performer(demo, HANDLERS, "tester").perform(job.id)
    done = follow(viewer, first.text)
    assert done.headers["HX-Retarget"] == "#part-agreement"
    assert 'hx-trigger="every' not in done.text
    assert "not computed yet" not in done.text


@pytest.mark.usefixtures("large")
def test_a_line_of_progress_without_news_is_not_sent_again(viewer: Any) -> None:
    viewer.get(PAGE)
    waiting = viewer.post(PART, htmx=True).text
    first = follow(viewer, waiting)
    address = first.request.full_path
    assert viewer.get(address, HX_Request="true", If_None_Match=first.headers["ETag"]).status_code == 304


@pytest.mark.usefixtures("large")
def test_work_can_be_stopped_and_gone_on_with(viewer: Any, demo: Database) -> None:
    viewer.get(PAGE)
    viewer.post(PART, htmx=True)
    stopped = viewer.post(STOP, htmx=True).text
    assert "Stopped before everything was computed." in stopped
    assert 'hx-trigger="load"' not in stopped
    assert job_of(demo).state == JobState.CANCELLED
    assert "Waiting for the worker" in viewer.post(PART, htmx=True).text
    assert viewer.post(STOP).status_code == 303


@pytest.mark.usefixtures("large")
def test_a_failed_job_shows_its_message_and_can_be_tried_again(viewer: Any, demo: Database) -> None:
    viewer.get(PAGE)
    viewer.post(PART, htmx=True)
    with demo.transaction() as session:
        job = session.scalars(select(Job).where(Job.kind == "result")).one()
        jobs.claim(session, job.id, "tester")
        jobs.fail(session, job.id, "tester", "the cluster does not answer")
    text = viewer.get(PAGE).text
    assert "the cluster does not answer" in text
    assert "Try again" in text
    assert "Waiting for the worker" in viewer.post(PART, htmx=True).text


@pytest.mark.usefixtures("large")
def test_where_no_worker_runs_the_page_says_how_to_start_one_and_offers_to_compute_itself(
    viewer: Any, demo: Database
) -> None:
    viewer.get(PAGE)
    viewer.post(PART, htmx=True)
    with demo.transaction() as session:
        session.execute(update(Job).values(created_at=datetime.now(UTC) - timedelta(minutes=1)))
    text = viewer.get(PAGE).text
    assert "<code>spanplat worker</code>" in text
    assert "Compute it here and wait" in text
    here = viewer.post(PART, htmx=True, here="yes").text
    assert "These figures are those of the present data." in here
    assert job_of(demo).state == JobState.CANCELLED


@pytest.mark.usefixtures("large")
def test_a_download_of_figures_that_are_not_there_is_refused(viewer: Any, demo: Database) -> None:
    response = viewer.get(f"/admin/agreement/figures.json?{CHOICE}")
    assert response.status_code == 409
    assert "open the page they stand on" in response.text
    answer_now(demo, QUESTION)
    assert viewer.get(f"/admin/agreement/figures.json?{CHOICE}").json["signature"]


def test_older_figures_are_marked_until_they_are_recomputed_and_never_downloaded(viewer: Any, demo: Database) -> None:
    def count(status: str) -> None:
        with demo.transaction() as session:
            campaign = session.scalars(select(Campaign).where(Campaign.slug == "demo-sample-b")).one()
            works = select(Assignment.id).where(Assignment.campaign_id == campaign.id)
            chosen = select(Annotation.id).where(Annotation.assignment_id.in_(works)).order_by(Annotation.id).limit(2)
            session.execute(update(Annotation).where(Annotation.id.in_(chosen)).values(status=status))

    count("draft")
    old = answer_now(demo, QUESTION)
    count("complete")
    text = viewer.get(PAGE).text
    assert "2 annotations are newer than these figures." in text
    assert old.signature in text
    assert 'hx-trigger="load"' not in text.split('class="cards"')[0]
    download = viewer.get(f"/admin/agreement/figures.json?{CHOICE}").json
    assert download["signature"] != old.signature
    assert (old.outputs, download["outputs"]) == (34, 36)
    count("draft")
    assert "2 annotations of these figures count no more." in viewer.get(PAGE).text
    new = viewer.post(PART, htmx=True).text
    assert "count no more" not in new


def test_what_is_not_computed_here_is_not_found(viewer: Any) -> None:
    assert viewer.get("/admin/computed/luck").status_code == 404
