"""The prompt of a model campaign, item by item."""

from typing import Any

import pytest

from spanplat import paths
from spanplat.db import Database
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import parse_yaml, read_definition
from spanplat.services.campaigns.amendments import amend, definition_text
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.planning import plan_campaign
from tests.campaigns import create_campaign

PROMPT = "/admin/campaigns/data-to-text-llm/prompt"


@pytest.fixture
def model_campaign(demo: Database) -> None:
    """Create the campaign that the starter for language models describes."""
    text = (paths.CAMPAIGNS / "starters" / "data-to-text-llm.yaml").read_text("utf-8")
    with demo.transaction() as session:
        create_campaign(session, plan_campaign(session, read_definition(text)))


@pytest.mark.usefixtures("model_campaign")
def test_the_prompt_is_shown_item_by_item_with_its_length_and_price(researcher: Any) -> None:
    first, second = researcher.get(PROMPT).text, researcher.get(f"{PROMPT}?page=2").text
    assert "You annotate a text." in first
    assert "Item 1 of 30" in first
    assert "Item 2 of 30" in second
    assert "≈ $" in first
    assert "&lt;text&gt;" in first
    assert "additionalProperties" in first
    assert first != second


@pytest.mark.usefixtures("model_campaign")
def test_an_item_that_there_is_not_is_not_found(researcher: Any) -> None:
    response = researcher.get(f"{PROMPT}?page=31")
    assert response.status_code == 404
    assert "there is no item 31" in response.text


def test_who_is_asked_nothing_has_no_prompt(researcher: Any) -> None:
    assert "it is asked nothing" in researcher.get("/admin/campaigns/demo-overlap/prompt").text
    assert "/prompt" not in researcher.get("/admin/campaigns/demo-people").text
    assert researcher.get("/admin/campaigns/demo-people/prompt").status_code == 422
    assert researcher.get("/admin/campaigns/demo-overlap/prompt?page=-1").status_code == 422


@pytest.fixture
def instructed(demo: Database) -> Database:
    """A model campaign that is asked with the instructions of the demo's people."""
    with demo.transaction() as session:
        content = definition_of(find_campaign(session, "demo-people")).model_dump(mode="json", exclude_defaults=True)
        kept = {name: content[name] for name in ("categories", "data", "questions") if name in content}
        scale = {"key": "fluent", "type": "slider", "label": "The text is fluent."}
        model = {"provider": "openai", "model": "m", "preset": "verbatim", "instructions_from": "demo-people"}
        told = {"slug": "told", "title": "Told", "kind": "llm", "model": model} | kept | {"questions": [scale]}
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(told)))
    return demo


CHANGED = "People in demo-people read other instructions by now"
LIVE = "Nothing was kept of demo-people when this campaign was created"


@pytest.mark.parametrize("page", ["/admin/campaigns/told", "/admin/campaigns/told/prompt"])
def test_that_people_are_given_other_instructions_by_now_is_told(
    researcher: Any, instructed: Database, page: str
) -> None:
    before = researcher.get(page).text
    assert CHANGED not in before
    assert LIVE not in before
    with instructed.transaction() as session:
        changed = definition_of(find_campaign(session, "demo-people")).model_copy(update={"guidelines": "Read twice."})
        amend(session, "demo-people", parse_yaml(definition_text(changed)), "clearer")
    assert CHANGED in researcher.get(page).text


@pytest.mark.parametrize("page", ["/admin/campaigns/told", "/admin/campaigns/told/prompt"])
def test_that_nothing_was_kept_of_the_instructions_is_told_of_older_campaigns(
    researcher: Any, instructed: Database, page: str
) -> None:
    with instructed.transaction() as session:
        told = find_campaign(session, "told")
        model = {
            name: value for name, value in told.definition["model"].items() if name not in ("taken", "prompt_sha256")
        }
        told.definition = told.definition | {"model": model}
        told.definition_sha256 = "2" * 64
    text = researcher.get(page).text
    assert LIVE in text
    assert CHANGED not in text
