"""A researcher previews the annotator's pages of any campaign, and nothing is written."""

from typing import Any

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.models import Base
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.planning import plan_campaign
from tests.campaigns import create_campaign

PREVIEW = "/admin/campaigns/demo-people/preview"
BASE = f"{PREVIEW}/1/en/everybody"


def _rows(demo: Database) -> dict[str, int]:
    with demo.reading() as session:
        return {
            table.name: session.scalars(select(func.count()).select_from(table)).one()
            for table in Base.metadata.sorted_tables
        }


def test_the_preview_leads_to_the_annotators_page_with_the_first_item(viewer: Any) -> None:
    response = viewer.get(PREVIEW)
    assert response.status_code == 303
    page = viewer.get(response.headers["Location"]).text
    assert 'id="text"' in page
    assert "Nothing you do here is stored." in page
    assert "js/annotator/main" in page


@pytest.mark.parametrize("slug", ["demo-people", "demo-overlap", "demo-sample-a"])
def test_campaigns_of_every_kind_can_be_previewed(viewer: Any, slug: str) -> None:
    location = viewer.get(f"/admin/campaigns/{slug}/preview").headers["Location"]
    assert viewer.get(location).status_code == 200


def test_a_draft_can_be_previewed(viewer: Any, demo: Database) -> None:
    with demo.transaction() as session:
        definition = definition_of(find_campaign(session, "demo-people")).model_copy(update={"slug": "draft"})
        create_campaign(session, plan_campaign(session, definition))
    assert viewer.get("/admin/campaigns/draft/preview/1/en/everybody").status_code == 200


def test_a_save_is_checked_answered_and_not_stored(viewer: Any, demo: Database) -> None:
    before = _rows(demo)
    item = viewer.get(f"{BASE}/items/1").get_json()
    text = item["text"]
    span = {"start": 0, "end": 3, "category": item["categories"][0]["key"], "text": text[:3]}
    body = {"revision": 4, "status": "draft", "spans": [span]}
    saved = viewer.client.put(f"{BASE}/items/1", json=body)
    assert saved.get_json() == {"revision": 5}
    refused = viewer.client.put(f"{BASE}/items/1", json=body | {"spans": [span | {"text": "xyz"}]})
    assert refused.status_code == 409
    assert viewer.get(f"{BASE}/items/1").get_json() == item
    assert viewer.client.post(f"{BASE}/submit").status_code == 303
    assert _rows(demo) == before


def test_the_last_page_shows_the_way_back(viewer: Any) -> None:
    assert "Thank you, your work was submitted" in viewer.get(f"{BASE}?page=done").text
    assert "You withdrew" in viewer.client.post(f"{BASE}/withdraw").text


def test_consent_and_comprehension_go_on_as_for_annotators(viewer: Any, demo: Database) -> None:
    question = {"label": "What?", "options": ["Errors", "Names"], "answer": "Errors"}
    with demo.transaction() as session:
        content = definition_of(find_campaign(session, "demo-people")).model_dump(mode="json")
        content |= {"slug": "asking", "consent": {"text": "Do you?"}, "comprehension": {"questions": [question]}}
        content |= {"groups": [{"name": "A"}, {"name": "B"}]}
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(content)))
    base = "/admin/campaigns/asking/preview/1/en/b"
    assert "Do you?" in viewer.get(f"{base}?page=consent").text
    assert "did not agree" in viewer.client.post(f"{base}/consent", data={"agreed": "no"}).text
    assert (
        viewer.client.post(f"{base}/consent", data={"agreed": "yes"}).headers["Location"].endswith("page=comprehension")
    )
    assert "1 more try" in viewer.client.post(f"{base}/comprehension", data={"what": "names"}).text
    assert (
        viewer.client.post(f"{base}/comprehension", data={"what": "errors"}).headers["Location"].endswith("page=work")
    )


def test_practice_and_its_feedback_are_shown_in_turn_and_nothing_is_kept(viewer: Any, demo: Database) -> None:
    texts = ({"example": "must-mark", "system": "marram"}, {"example": "must-abstain", "system": "larkspur"})
    golds: tuple[list[list[dict[str, str]]], ...] = ([[{"quote": "fly to the moon", "category": "unsupported"}]], [[]])
    practice = [
        {"item": {"split": "checks"} | text, "golds": gold, "explanation": f"Because of {text['example']}."}
        for text, gold in zip(texts, golds, strict=True)
    ]
    with demo.transaction() as session:
        content = definition_of(find_campaign(session, "demo-people")).model_dump(mode="json")
        content |= {"slug": "practising", "practice": practice, "checks": [], "batches": {"regular": 4}}
        content |= {"questions": []}
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(content)))
    before = _rows(demo)
    base = "/admin/campaigns/practising/preview/1/en/everybody"
    assert viewer.client.post(f"{base}/consent", data={"agreed": "yes"}).location == f"{base}?page=practice"
    assert f'action="{base}/practice/1/submit"' in viewer.get(f"{base}?page=practice").text
    item = viewer.get(f"{base}/practice/1/items/1").json
    assert "fly to the moon" in item["text"]
    save = {"revision": 0, "status": "complete", "spans": []}
    assert viewer.client.put(f"{base}/practice/1/items/1", json=save).json == {"revision": 1}
    assert viewer.get(f"{base}/practice/1/items").json[0]["status"] == "new"
    told = viewer.client.post(f"{base}/practice/1/submit")
    assert told.location == f"{base}?page=feedback&item=1"
    assert "Because of must-mark." in viewer.get(told.location).text
    assert viewer.client.post(f"{base}/practice/1/continue").location == f"{base}?page=practice&item=2"
    assert "Because of must-abstain." in viewer.get(f"{base}?page=feedback&item=2").text
    assert viewer.client.post(f"{base}/practice/2/continue").location == f"{base}?page=work"
    assert "You withdrew" in viewer.client.post(f"{base}/practice/2/withdraw").text
    assert viewer.get(f"{base}/practice/3/items/1").status_code == 404
    assert "this source has no chart 9" in viewer.get(f"{base}/practice/1/items/1/charts/9").text
    assert _rows(demo) == before


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (f"{PREVIEW}/99/en/everybody", "has no batch 99"),
        (f"{PREVIEW}/1/xx/everybody", "not translated to"),
        (f"{PREVIEW}/1/en/nobody", "has no group"),
        (f"{BASE}?page=tea", "has no page"),
        (f"{BASE}/items/99", "no item at position 99"),
    ],
)
def test_what_there_is_not_is_said(viewer: Any, address: str, reason: str) -> None:
    response = viewer.get(address)
    assert response.status_code == 404
    assert reason in response.text


def test_the_page_of_a_batch_of_thousands_stays_small_and_says_how_many_there_are(viewer: Any, demo: Database) -> None:
    few = viewer.get(BASE).text
    with demo.transaction() as session:
        content = definition_of(find_campaign(session, "demo-people")).model_dump(mode="json")
        aspects = [{"name": f"Aspect {number}"} for number in range(139)]  # of 36 texts
        content |= {"slug": "large", "item": {"kind": "aspect", "aspects": aspects}, "batches": {"regular": 10_000}}
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(content)))
    base = "/admin/campaigns/large/preview/1/en/everybody"
    page = viewer.get(base).text
    assert len(viewer.get(f"{base}/items").get_json()) == 5004
    assert "1 of 5004" in page
    assert len(page.encode()) < len(few.encode()) + 30_000 < 150_000
