"""The overview: what there is, how far it is, what needs attention."""

from typing import Any

from sqlalchemy import delete, select

from spanplat.db import Database
from spanplat.models import Base, Campaign, CampaignStatus, Event, Unplaced, User


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
