"""The tab Qualification: one table of people and models, and the stored decisions."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from spanplat.db import Database
from spanplat.models import CampaignStatus, Role
from spanplat.platforms.platform import Arrival
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.lifecycle import find_campaign, set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.crowd.pages import list_items, show_item
from spanplat.services.crowd.participation import enter
from spanplat.services.crowd.pools import list_members
from spanplat.services.crowd.saving import save_item
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.model_work.running import run_campaign
from tests.campaigns import create_campaign
from tests.services.crowd.test_annotating import NOW

EXAM: dict[str, Any] = {
    "slug": "exam",
    "title": "Exam",
    "kind": "qualification",
    "data": {"dataset": "demo", "splits": ["test"], "examples": ["0"]},
    "categories": [{"name": "Wrong"}],
    "batches": {"regular": 0, "gold": 1},
    "annotators": {"per_output": 9},
    "checks": [
        {
            "name": "gold-0",
            "type": "gold",
            "item": {"split": "test", "example": "0", "system": "larkspur"},
            "golds": [[]],
        }
    ],
    "qualification_given": {"top": 1, "threshold": 0.5, "pool": "good"},
}
TAB = "/admin/campaigns/exam/qualification"


@pytest.fixture
def database(app: Flask) -> Database:
    """The database behind the application, with an exam that two people took and a model too."""
    found: Database = app.extensions["spanplat_database"]
    with found.transaction() as session:
        definition = CampaignDefinition.model_validate(EXAM)
        create_campaign(session, plan_campaign(session, definition))
        set_status(session, "exam", CampaignStatus.OPEN)
        parts = {"slug": "model", "kind": "llm", "model": {"provider": "overlap"}, "qualification_taken": "exam"}
        unlike: dict[str, Any] = {
            "checks": [],
            "qualification_given": None,
            "batches": {"regular": 5},
            "annotators": {},
        }
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(EXAM | parts | unlike)))
        set_status(session, "model", CampaignStatus.OPEN)
    for person, marks in (("ann", 0), ("bob", 1)):
        _take(found, person, marks)
    run_campaign(found, "model")
    return found


def _take(database: Database, person: str, marks: int) -> None:
    with database.transaction() as session:
        visit = enter(session, find_campaign(session, "exam"), Arrival("prolific", person, person, {}), NOW)
        assert visit.assignment is not None
        [item] = list_items(session, visit.assignment)
        text = show_item(session, visit.definition, visit.assignment, item.position)["text"]
    token = visit.participation.token
    spans = [{"start": 0, "end": 4, "category": "wrong", "text": text[:4]}] * marks
    body = {"revision": 0, "status": "complete", "spans": spans}
    save_item(database, token, item.position, Submission.model_validate(body), NOW)
    submit_batch(database, token, NOW)


def test_people_and_models_stand_in_one_table_and_the_best_are_stored_when_asked(
    database: Database, signed_in: Callable[[Role], Any]
) -> None:
    researcher = signed_in(Role.RESEARCHER)
    page = researcher.get(TAB).text
    assert (page.count("<td>person</td>"), page.count("<td>model</td>")) == (2, 1)
    assert "not decided" in page
    assert "Store who passed" in page
    assert researcher.post(TAB).status_code == 303
    decided = researcher.get(TAB).text
    assert "not decided" not in decided
    assert "Store who passed" not in decided
    with database.reading() as session:
        assert len(list_members(session, "good")) == 1


def test_the_tab_brings_itself_up_to_date(database: Database, signed_in: Callable[[Role], Any]) -> None:
    viewer = signed_in(Role.VIEWER)
    part = viewer.get(TAB, HX_Request="true")
    assert part.text.startswith('<div id="qualification"')
    assert viewer.get(TAB, HX_Request="true", If_None_Match=part.headers["ETag"]).status_code == 304
    _take(database, "cem", 0)
    assert viewer.get(TAB, HX_Request="true", If_None_Match=part.headers["ETag"]).status_code == 200
    assert viewer.post(TAB).status_code == 403


def test_only_qualifications_have_the_tab(signed_in: Callable[[Role], Any]) -> None:
    viewer = signed_in(Role.VIEWER)
    assert "/qualification" not in viewer.get("/admin/campaigns/demo-people").text
    assert viewer.get("/admin/campaigns/demo-people/qualification").status_code == 404


def test_candidates_are_ordered_and_found_on_all_pages_and_downloaded_so(
    database: Database, signed_in: Callable[[Role], Any]
) -> None:
    viewer = signed_in(Role.VIEWER)
    for number in range(6):
        _take(database, f"later-{number}", number % 2)
    worst_first = viewer.get(f"{TAB}?sort=score").text
    scores = [float(score) for score in re.findall(r'<td class="number">(\d\.\d\d)</td>', worst_first)]
    assert scores == sorted(scores)
    assert len(scores) == 9
    models = viewer.get(f"{TAB}?find=MODEL").text
    assert (models.count("<td>person</td>"), models.count("<td>model</td>")) == (0, 1)
    assert "1 of 9" in models
    assert f'hx-get="{TAB}?find=MODEL"' in models
    lines = viewer.get(f"{TAB}/table/qualification?sort=who&find=person").text.splitlines()
    assert (len(lines), lines[0].partition(",")[0]) == (9, "annotator")
    assert viewer.get(f"{TAB}?sort=salary").status_code == 422
    assert "Nobody here fits these words." in viewer.get(f"{TAB}?find=nobody+at+all").text
