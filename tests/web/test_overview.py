"""The overview: campaigns, their progress, and what needs attention."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import delete, select

from spanplat.db import Database
from spanplat.models import (
    Base,
    Campaign,
    CampaignStatus,
    ClaimState,
    Completion,
    Event,
    Job,
    ModelClaim,
    Unplaced,
    User,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.background.jobs import STALE_AFTER
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign, plan_clone, set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.model_work.claims import first_free
from tests.campaigns import create_campaign


def test_every_campaign_is_listed_with_its_kind_state_and_progress(researcher: Any) -> None:
    text = researcher.get("/").text
    for title in ("Errors in short reports (demo)", "Sample annotations A (made for the demo)"):
        assert title in text
    assert "People</td>" in text
    assert '<span class="state open">Open</span>' in text
    assert "0 / 54" in text
    assert "36 / 36" in text


def test_records_without_a_place_are_put_on_top(researcher: Any, demo: Database) -> None:
    assert "Needs attention" not in researcher.get("/").text
    with demo.transaction() as session:
        campaign = session.scalars(select(Campaign).where(Campaign.slug == "demo-sample-a")).one()
        session.add(Unplaced(campaign_id=campaign.id, kind="span", record={"text": "x"}, reason="no such category"))
    text = researcher.get("/").text
    assert "Needs attention" in text
    assert "1 record could not be placed" in text
    assert '/admin/campaigns/demo-sample-a/unplaced"' in text


def test_a_campaign_that_nobody_opened_yet_needs_attention(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        session.scalars(select(Campaign).where(Campaign.slug == "demo-people")).one().status = CampaignStatus.DRAFT
    assert "nobody gets in until it is opened" in researcher.get("/").text


def test_an_empty_installation_says_how_to_begin(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        for table in reversed(Base.metadata.sorted_tables):
            if table.name not in (User.__tablename__, Event.__tablename__):  # nobody deletes from the log
                session.execute(delete(table))
    text = researcher.get("/").text
    assert "No campaign yet" in text
    assert '<a href="/admin/datasets">Bring your texts</a>' in text
    assert '<a href="/admin/drafts">Set a campaign up</a>' in text


def test_the_live_part_is_a_fragment_of_the_page_and_is_sent_only_when_it_changed(
    researcher: Any, demo: Database
) -> None:
    page = researcher.get("/")
    part = researcher.get("/", HX_Request="true")
    assert part.text.startswith('<div id="campaigns"')
    assert part.text.strip() in page.text
    assert "HX-Request" in part.headers["Vary"]
    tag = part.headers["ETag"]
    assert researcher.get("/", HX_Request="true", If_None_Match=tag).status_code == 304
    with demo.transaction() as session:
        session.scalars(select(Campaign).where(Campaign.slug == "demo-people")).one().title = "Renamed"
    assert "Renamed" in researcher.get("/", HX_Request="true", If_None_Match=tag).text


def test_an_unchanged_answer_is_recognised_through_compression(researcher: Any) -> None:
    headers = {"HX-Request": "true", "Accept-Encoding": "br"}
    first = researcher.client.get("/", headers=headers)
    assert first.headers["Content-Encoding"] == "br"
    again = researcher.client.get("/", headers={**headers, "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_what_a_model_was_asked_in_vain_leads_to_what_helps(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        create_campaign(session, plan_clone(session, "demo-overlap", "again"))
        campaign = set_status(session, "again", CampaignStatus.OPEN)
        key = first_free(session, campaign.id)[0]
        session.add(ModelClaim(**key._asdict(), campaign_id=campaign.id, state=ClaimState.FAILED, error="too odd"))
    text = researcher.get("/").text
    assert "1 item was asked about in vain" in text
    assert 'href="/admin/campaigns/again#failed"' in text
    assert 'id="failed"' in researcher.get("/admin/campaigns/again").text


def test_a_run_that_its_ceiling_stopped_leads_to_its_page_which_says_how_to_go_on(
    researcher: Any, demo: Database
) -> None:
    with demo.transaction() as session:
        definition = definition_of(find_campaign(session, "demo-overlap")).model_dump(
            mode="json", exclude_defaults=True
        )
        priced = {"price": {"input": 0, "output": 1e6}, "parameters": {"max_tokens": 3}, "max_cost": 4}
        content = definition | {"slug": "dear", "model": {"provider": "openai", "model": "tiny"} | priced}
        campaign = create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(content)))
        set_status(session, "dear", CampaignStatus.OPEN)
        key = first_free(session, campaign.id)[0]
        call = {"request_sha256": "0" * 64, "request": {}, "response": {}, "latency": 1.0, "cost": 2.0}
        session.add(Completion(campaign_id=campaign.id, **key._asdict(), **call))
    text = researcher.get("/").text
    assert "the next call might cost more than is left of $4.00" in text
    assert '<a href="/admin/campaigns/dear">' in text
    assert "--max-cost USD" in researcher.get("/admin/campaigns/dear").text


@pytest.mark.parametrize(
    ("kind", "payload", "link"),
    [
        ("run-campaign", {"campaign": "demo-overlap"}, "/admin/campaigns/demo-overlap"),
        ("run-study", {"study": "prompts"}, "/admin/studies/prompts"),
        ("run-generation", {"generation": "drafts"}, "/admin/generations/drafts"),
        ("import-dataset", {"upload": "x"}, "/admin/datasets"),
        ("agreement", {}, "/admin/agreement"),
    ],
)
def test_work_that_no_worker_takes_is_told_with_what_to_look_for(
    researcher: Any, demo: Database, kind: str, payload: dict[str, str], link: str
) -> None:
    asked = datetime.now(UTC) - 2 * STALE_AFTER
    with demo.transaction() as session:
        session.add(Job(kind=kind, key=f"{kind}:x", payload=payload, created_at=asked))
    attention = researcher.get("/").text.partition('class="attention"')[2].partition("</section>")[0]
    assert "no worker has taken it since it was asked for" in attention
    assert "See whether spanplat serve or spanplat worker runs" in attention
    assert f'<a href="{link}">' in attention
