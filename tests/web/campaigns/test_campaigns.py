"""Pages of a campaign."""

import html
import json
import re
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.formats.native import read_csv, read_jsonl
from spanplat.models import Campaign, CampaignStatus, Unplaced
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import read_definition
from spanplat.schemas.record import AnnotationRecord
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.planning import plan_campaign
from tests.campaigns import create_campaign

PEOPLE = "/admin/campaigns/demo-people"
SAMPLE = "/admin/campaigns/demo-sample-a"


def _status(demo: Database, slug: str = "demo-people") -> str:
    with demo.reading() as session:
        return session.scalars(select(Campaign.status).where(Campaign.slug == slug)).one()


def test_progress_shows_every_batch_and_the_link_for_annotators(researcher: Any) -> None:
    text = researcher.get(PEOPLE).text
    assert '<code id="start-link">http://localhost/c/demo-people/start</code>' in text
    assert text.count("1 open</span>") == 9


def test_batches_are_ordered_and_found_on_all_pages_and_downloaded_so(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        definition = definition_of(find_campaign(session, "demo-people")).model_dump(mode="json", exclude_defaults=True)
        many = definition | {
            "slug": "many",
            "batches": {"regular": 2, "sampling": "sample", "batches": 103},
            "checks": [],
        }
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(many)))
    page = "/admin/campaigns/many"
    first, last = researcher.get(page).text, researcher.get(f"{page}?sort=batch-").text
    assert re.findall(r'<th scope="row">(\d+)</th>', first)[::99] == ["1", "100"]
    assert re.findall(r'<th scope="row">(\d+)</th>', last)[::99] == ["103", "4"]
    assert 'aria-sort="descending"' in last
    assert f'<a rel="next" href="{page}?sort=batch-&amp;page=2">' in last
    found = researcher.get(f"{page}?find=103", HX_Request="true").text
    assert re.findall(r'<th scope="row">(\d+)</th>', found) == ["103"]
    assert "1 of 103" in found
    assert f'hx-get="{page}?find=103"' in found
    assert researcher.get(f"{page}?page=999").text.count('<th scope="row">') == 3
    lines = researcher.get(f"{page}/batches/table/batches?find=10").text.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["batch", "10", "100", "101", "102", "103"]
    assert "No batch fits these words." in researcher.get(f"{page}?find=nothing").text
    assert researcher.get(f"{page}?sort=salary").status_code == 422


def test_a_campaign_nobody_enters_has_no_link(researcher: Any) -> None:
    assert "start-link" not in researcher.get(SAMPLE).text
    assert "start-link" not in researcher.get("/admin/campaigns/demo-overlap").text


def test_the_live_part_of_the_progress_is_sent_only_when_it_changed(researcher: Any) -> None:
    part = researcher.get(PEOPLE, HX_Request="true")
    assert part.text.startswith('<div id="progress"')
    assert researcher.get(PEOPLE, HX_Request="true", If_None_Match=part.headers["ETag"]).status_code == 304


def test_following_a_tab_by_htmx_gives_the_whole_page(researcher: Any) -> None:
    assert "<html" in researcher.get(PEOPLE, HX_Request="true", HX_Boosted="true").text


def test_a_researcher_pauses_closes_and_opens_a_campaign(researcher: Any, demo: Database) -> None:
    researcher.get(PEOPLE)
    for status in (CampaignStatus.PAUSED, CampaignStatus.CLOSED, CampaignStatus.OPEN):
        response = researcher.post(f"{PEOPLE}/status", status=status)
        assert (response.status_code, response.headers["Location"]) == (303, f"{PEOPLE}#status")
        assert _status(demo) == status


def test_only_states_that_a_person_may_choose_are_accepted(researcher: Any, demo: Database) -> None:
    researcher.get(PEOPLE)
    response = researcher.post(f"{PEOPLE}/status", status="importing")
    assert response.status_code == 422
    assert "choose open, paused or closed" in response.text
    assert _status(demo) == CampaignStatus.OPEN


def test_an_imported_campaign_cannot_be_opened(researcher: Any) -> None:
    researcher.get(PEOPLE)
    response = researcher.post(f"{SAMPLE}/status", status="open")
    assert response.status_code == 409
    assert "was imported" in response.text


def test_an_unknown_campaign_is_answered_with_those_there_are(researcher: Any) -> None:
    response = researcher.get("/admin/campaigns/nothing")
    assert response.status_code == 404
    assert "demo-people" in response.text


def test_statistics_show_how_much_was_marked(researcher: Any) -> None:
    text = researcher.get(f"{SAMPLE}/statistics").text
    assert "in 36 annotations" in text
    assert "Contradicts the data" in text


def test_statistics_of_nothing_say_so(researcher: Any) -> None:
    assert "No annotation is complete yet" in researcher.get(f"{PEOPLE}/statistics").text


def test_what_could_not_be_placed_is_shown_with_its_reason_and_its_record(researcher: Any, demo: Database) -> None:
    assert "Everything has its place" in researcher.get(f"{SAMPLE}/unplaced").text
    with demo.transaction() as session:
        campaign = session.scalars(select(Campaign).where(Campaign.slug == "demo-sample-a")).one()
        for number in range(60):
            record = {"text": f"<i>word {number}</i>"}
            session.add(Unplaced(campaign_id=campaign.id, kind="span", record=record, reason="no such category"))
    first, second = researcher.get(f"{SAMPLE}/unplaced").text, researcher.get(f"{SAMPLE}/unplaced?page=2").text
    assert '<td class="number">60</td>' in first
    assert "&lt;i&gt;word 0&lt;/i&gt;" in first
    assert "word 59" not in first
    assert "word 59" in second


def test_the_definition_shown_creates_the_same_campaign(researcher: Any, demo: Database) -> None:
    text = researcher.get(f"{PEOPLE}/definition").text
    shown = text.split('<pre id="definition" tabindex="0">')[1].split("</pre>")[0]
    with demo.reading() as session:
        stored: CampaignDefinition = definition_of(
            session.scalars(select(Campaign).where(Campaign.slug == "demo-people")).one()
        )
    assert read_definition(html.unescape(shown), name="shown") == stored


@pytest.mark.parametrize(("extension", "read"), [("jsonl", read_jsonl), ("csv", read_csv)])
def test_a_download_holds_every_annotation(
    researcher: Any, demo: Database, tmp_path: Any, extension: str, read: Any
) -> None:
    response = researcher.get(f"{SAMPLE}/export.{extension}")
    assert response.headers["Content-Disposition"] == f'attachment; filename="demo-sample-a.{extension}"'
    file = tmp_path / "file"
    file.write_bytes(response.data)
    with demo.reading() as session:
        expected = list(export_records(session, "demo-sample-a"))
    records = list(read(file))
    assert len(records) == 36
    assert records == expected
    assert all(isinstance(record, AnnotationRecord) for record in records)


def test_an_unknown_format_is_answered_with_those_there_are(researcher: Any) -> None:
    response = researcher.get(f"{SAMPLE}/export.exe")
    assert response.status_code == 404
    assert "jsonl, csv" in response.text


def test_a_record_is_shown_as_json(researcher: Any, demo: Database) -> None:
    record = {"text": "é", "start": 3}
    with demo.transaction() as session:
        campaign = session.scalars(select(Campaign).where(Campaign.slug == "demo-sample-a")).one()
        session.add(Unplaced(campaign_id=campaign.id, kind="span", record=record, reason="why"))
    text = researcher.get(f"{SAMPLE}/unplaced").text
    shown = text.split('<pre tabindex="0">')[1].split("</pre>")[0].replace("&#34;", '"')
    assert json.loads(shown) == record


def test_what_cannot_be_suggested_is_said_before_a_campaign_opens_and_when_it_does(
    researcher: Any, demo: Database
) -> None:
    content = {
        "slug": "post-editing",
        "title": "Post-editing",
        "categories": [{"key": "contradicts", "name": "Contradicts the data"}],
        "guidelines": "Decide on every suggestion.",
        "data": {"dataset": "demo"},
        "spans": {"suggestions_from": "demo-sample-a"},
    }
    with demo.transaction() as session:
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(content)))
    page = "/admin/campaigns/post-editing"
    because = "because this campaign does not have their category “Misleading”: "
    draft = html.unescape(researcher.get(page).text)
    assert "Not everything can be suggested" in draft
    assert because in draft
    opened = researcher.post(f"{page}/status", status="open")
    assert opened.status_code == 303
    told = html.unescape(researcher.get(opened.headers["Location"]).text)
    assert "Not everything was suggested" in told
    assert because in told
    assert because not in html.unescape(researcher.get(page).text)
