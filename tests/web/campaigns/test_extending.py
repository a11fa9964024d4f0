"""Extending a campaign in the browser: the page shows people and pay before anything is added."""

import re
from typing import Any

from spanplat.db import Database
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.amendments import put_in_force
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.campaigns.progress import count_batches
from tests.campaigns import create_campaign

ADDRESS = "/admin/campaigns/demo-people/extend"


def pay(database: Database, reward: str) -> None:
    """Amend the reward of the demo's campaign."""
    with database.transaction() as session:
        campaign = find_campaign(session, "demo-people")
        definition = definition_of(campaign)
        platform = definition.platform.model_copy(update={"reward": reward, "bonus": "£1"})
        put_in_force(session, campaign, definition.model_copy(update={"platform": platform}), "pay")


def promised(database: Database) -> float:
    with database.reading() as session:
        return definition_of(find_campaign(session, "demo-people")).annotators.per_output


def shown_in(page: str) -> str:
    found = re.search(r'name="shown" value="([^"]*)"', page)
    assert found is not None
    return found[1]


def test_what_an_extension_takes_is_shown_before_it_is_made(researcher: Any, demo: Database) -> None:
    pay(demo, "£2.40")
    assert "1 now." in researcher.get(ADDRESS).text
    with demo.reading() as session:
        batches = count_batches(session, find_campaign(session, "demo-people"))
    form = {"per_output": "3", "outputs": ""}
    looked = researcher.post(ADDRESS, **form, act="look")
    assert f"£{batches * 2 * 2.40:,.2f}" in looked.text
    assert f"£{batches * 2:,.2f}" in looked.text, "the bonuses"
    assert promised(demo) == 1, "looking adds nothing"
    made = researcher.post(ADDRESS, **form, act="extend", shown=shown_in(looked.text))
    assert (made.status_code, made.headers["Location"]) == (303, "/admin/campaigns/demo-people")
    assert promised(demo) == 3


def test_what_would_cost_something_else_by_now_is_not_made(researcher: Any, demo: Database) -> None:
    researcher.get(ADDRESS)
    looked = researcher.post(ADDRESS, per_output="2", act="look")
    pay(demo, "£9")
    refused = researcher.post(ADDRESS, per_output="2", act="extend", shown=shown_in(looked.text))
    assert refused.status_code == 409
    assert "nothing was added, look again" in refused.text
    assert promised(demo) == 1


def test_a_wish_that_adds_nothing_says_why(researcher: Any) -> None:
    researcher.get(ADDRESS)
    for form, status, said in (
        ({"per_output": "1"}, 422, "say what to add"),
        ({"per_output": "many"}, 422, "from 1 to 10,000, not &#39;many&#39;"),
        ({"per_output": "1", "outputs": "yes"}, 409, "there is nothing to add"),
    ):
        refused = researcher.post(ADDRESS, **form, act="look")
        assert refused.status_code == status
        assert said in refused.text


def test_a_wish_for_outputs_may_widen_what_is_selected_and_limit_it(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        definition = definition_of(find_campaign(session, "demo-overlap")).model_dump(
            mode="json", exclude_defaults=True
        )
        data = {"dataset": "demo", "splits": ["test"], "systems": ["juniper"], "limit": 2}
        people = {"slug": "narrow", "kind": "human", "model": None, "data": data, "batches": {"regular": 2}}
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(definition | people)))
    address = "/admin/campaigns/narrow/extend"
    page = researcher.get(address).text
    assert 'name="system" value="larkspur"' in page
    assert 'name="system" value="juniper"' not in page, "it is selected already"
    unknown = researcher.post(address, per_output="1", limit="5", system="nobody", act="look")
    assert (unknown.status_code, "&#39;nobody&#39; is not in the dataset" in unknown.text) == (422, True)
    form = {"per_output": "1", "limit": "5", "system": "larkspur"}
    looked = researcher.post(address, **form, act="look")
    assert re.search(r'<dt>Outputs</dt><dd class="big">3</dd>', looked.text)
    assert 'name="system" value="larkspur"' in looked.text.partition("What it takes")[2], (
        "the second step knows the first"
    )
    assert researcher.post(address, **form, act="extend", shown=shown_in(looked.text)).status_code == 303
    with demo.reading() as session:
        changed = definition_of(find_campaign(session, "narrow")).data
    assert changed is not None
    assert (list(changed.systems), changed.limit) == (["juniper", "larkspur"], 5)
    for limit in ("0", "-3", "2.5", "many"):
        refused = researcher.post(address, per_output="1", limit=limit, act="look")
        assert (refused.status_code, "must be a whole number from 1" in refused.text) == (422, True)
