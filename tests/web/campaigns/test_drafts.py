"""Campaign drafts in the browser."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.formats.yaml_editing import YamlText
from spanplat.models import Base
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.accounts.audit import list_events
from spanplat.services.campaigns.amendments import put_in_force
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.drafts import list_starters, starter_text
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.campaigns.shipped_datasets import shipped_datasets
from spanplat.services.datasets.listing import dataset_summary
from spanplat.web.definition_names import TYPES, VALUES
from tests.campaigns import create_campaign


def hidden(text: str) -> dict[str, str]:
    return dict(re.findall(r'type="hidden" name="(revision|editor)" value="([^"]*)"', text))


def sent(text: str) -> dict[str, str]:
    """Return what a browser would send with a page's form as it stands."""
    form = text.partition('id="step-form"')[2].partition("</form>")[0]
    values = dict(re.findall(r'<input type="(?:text|number)"[^>]* name="([^"]+)" value="([^"]*)"', form))
    values |= dict.fromkeys(re.findall(r'<input type="checkbox"[^>]* name="([^"]+)" checked', form), "on")
    values |= dict(re.findall(r'<textarea[^>]* name="([^"]+)"[^>]*>(.*?)</textarea>', form, re.DOTALL))
    for name, options in re.findall(r'<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'value="([^"]*)"[^>]* selected>', options) or re.search(r'value="([^"]*)"', options)
        values[name] = chosen[1] if chosen else ""
    return {name: unescape(value) for name, value in values.items()}


STEPS = (
    "start", "data", "categories", "guidelines", "questions", "checks", "assignment", "platform", "model", "review", "text"
)  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_every_step_of_a_shipped_study_is_shown(researcher: Any, draft: str, step: str) -> None:
    response = researcher.get(f"{draft}/{step}")
    assert response.status_code == 200
    assert 'aria-current="page"' in response.text


def test_a_shipped_study_offers_its_texts_with_one_click(researcher: Any, draft: str, demo: Database) -> None:
    assert "Take the dataset hotels" in researcher.get(f"{draft}/start").text
    assert "Take the dataset hotels" in researcher.get(f"{draft}/review").text
    assert researcher.post(f"{draft}/dataset").headers["Location"] == f"{draft}/data#f-data.dataset"
    shown = researcher.get(f"{draft}/data").text
    assert "Take the dataset" not in shown
    assert "Nothing to mend here" in shown
    with demo.reading() as session:
        count = dataset_summary(session, "hotels").outputs
    assert count > 0
    assert researcher.post(f"{draft}/dataset").status_code == 303
    with demo.reading() as session:
        assert dataset_summary(session, "hotels").outputs == count


def test_a_draft_about_other_texts_is_offered_none(researcher: Any, copy: str) -> None:
    page = researcher.get(f"{copy}/text").text
    researcher.post(
        f"{copy}/text", **(hidden(page) | {"text": sent(page)["text"].replace("dataset: demo", "dataset: own")})
    )
    assert "Take the dataset" not in researcher.get(f"{copy}/data").text
    refused = researcher.post(f"{copy}/dataset")
    assert (refused.status_code, "ships no dataset" in refused.text) == (404, True)


@pytest.mark.parametrize("name", list_starters())
def test_every_shipped_study_has_its_texts(name: str) -> None:
    data = YamlText(starter_text(name)).content["data"]
    assert data["dataset"] in shipped_datasets()


def test_the_instructions_of_people_are_taken_for_a_model_with_one_click(researcher: Any) -> None:
    button = re.search(
        r'name="start" value="(model:demo-people)"', researcher.get("/admin/campaigns/demo-people/definition").text
    )
    assert button is not None
    begun = researcher.post("/admin/drafts", start=button[1])
    step = researcher.get(begun.headers["Location"])
    assert sent(step.text)["model.instructions_from"] == "demo-people"
    assert "name the model as the provider spells it" in step.text


def test_a_model_that_only_marks_spans_is_asked_for_spans_with_the_guidelines(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        definition = definition_of(find_campaign(session, "demo-people")).model_dump(mode="json", exclude_defaults=True)
        plain = definition | {"slug": "plain", "questions": [], "groups": [], "checks": [], "batches": {"regular": 4}}
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(plain)))
    researcher.get("/admin/drafts")
    begun = researcher.post("/admin/drafts", start="model:plain").headers["Location"]
    step = researcher.get(begun)
    assert sent(step.text)["model.preset"] == "base"
    assert "name the model as the provider spells it" in step.text
    assert researcher.get(begun.replace("/model", "/guidelines")).text.count(definition["guidelines"][:30])


def test_a_change_in_a_step_stands_in_the_text_and_back(researcher: Any, draft: str) -> None:
    page = researcher.get(f"{draft}/start").text
    form = sent(page) | hidden(page) | {"title": "Hotels, again", "go": "data"}
    response = researcher.post(f"{draft}/start", **form)
    assert (response.status_code, response.headers["Location"]) == (303, f"{draft}/data#f-data.dataset")
    text = researcher.get(f"{draft}/text").text
    assert "title: Hotels, again" in text
    yaml = re.search(r'<textarea id="yaml"[^>]*>(.*?)</textarea>', text, re.DOTALL)
    assert yaml is not None
    plain = (
        yaml[1]
        .replace("&#39;", "'")
        .replace("&#34;", '"')
        .replace("&amp;", "&")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
    )
    researcher.post(f"{draft}/text", **hidden(text), text=plain.replace("Hotels, again", "Hotels, a third time"))
    assert "Hotels, a third time" in researcher.get(f"{draft}/start").text


def test_a_step_says_at_once_what_is_wrong_with_it(researcher: Any, draft: str) -> None:
    page = researcher.get(f"{draft}/assignment").text
    form = hidden(page) | sent(page) | {"batches.regular": "-1"}
    response = researcher.client.post(
        f"{draft}/assignment", data={"csrf_token": researcher.token, **form}, headers={"HX-Request": "true"}
    )
    assert response.status_code == 200
    assert 'href="#f-batches.regular"' in response.text
    assert "greater than or equal to 0" in response.text
    assert '<span class="badge">1</span>' in researcher.get(f"{draft}/start").text


def test_what_cannot_be_taken_over_comes_back_beside_its_control(researcher: Any, draft: str) -> None:
    page = researcher.get(f"{draft}/assignment").text
    response = researcher.post(f"{draft}/assignment", **hidden(page) | sent(page) | {"batches.regular": "many"})
    assert response.status_code == 422
    assert "is not a whole number" in response.text


def test_an_entry_is_added_and_the_page_comes_back_at_it(researcher: Any, draft: str) -> None:
    page = researcher.get(f"{draft}/categories").text
    response = researcher.post(f"{draft}/categories", **hidden(page) | sent(page) | {"act": "add:categories"})
    assert response.headers["Location"].endswith("#f-categories.2.name")
    assert 'name="categories.2.name"' in researcher.get(f"{draft}/categories").text


def test_a_text_that_is_no_yaml_is_mended_as_text(researcher: Any, draft: str) -> None:
    page = researcher.get(f"{draft}/text").text
    researcher.post(f"{draft}/text", **hidden(page), text="a: [1")
    shown = researcher.get(f"{draft}/start").text
    assert 'id="yaml"' in shown
    assert "not valid YAML" in shown


def test_the_second_of_two_pages_is_told_and_nothing_is_overwritten(researcher: Any, draft: str) -> None:
    first, second = (researcher.get(f"{draft}/start").text for _ in range(2))
    researcher.post(f"{draft}/start", **hidden(first) | sent(first) | {"title": "First"})
    response = researcher.post(f"{draft}/start", **hidden(second) | sent(second) | {"title": "Second"})
    assert (response.status_code, "another tab" in response.text) == (409, True)
    assert 'value="First"' in researcher.get(f"{draft}/start").text


def test_the_campaign_is_made_from_the_review(researcher: Any, copy: str) -> None:
    page = researcher.get(f"{copy}/start").text
    researcher.post(f"{copy}/start", **hidden(page) | sent(page) | {"slug": "hotels-mine"})
    review = researcher.get(f"{copy}/review").text
    assert "Make the campaign" in review
    assert "Reward in all" in review
    response = researcher.post(f"{copy}/make")
    assert response.headers["Location"] == "/admin/campaigns/hotels-mine"
    assert "Draft" in researcher.get("/admin/campaigns/hotels-mine").text
    assert "A campaign was made of this draft" in researcher.get(f"{copy}/review").text


def test_a_protocol_is_one_choice_and_the_page_says_what_it_sends(researcher: Any, demo: Database) -> None:
    researcher.get("/admin/drafts")
    start = researcher.post("/admin/drafts", start="starter:data-to-text-llm").headers["Location"]
    address = start.rpartition("/")[0]
    page = researcher.get(f"{address}/model").text
    assert "Sent beside the prompt" not in page
    for protocol, shown in (
        ("three-seeds", ("[42, 1738, 1234]", "<code>1024</code>", "<dd>3</dd>")),
        ("reasoning", ("<code>reasoning_effort</code>", "<code>32768</code>", "<dd>1</dd>")),
    ):
        page = researcher.get(f"{address}/model").text
        response = researcher.post(
            f"{address}/model", htmx=True, **hidden(page) | sent(page) | {"model.protocol": protocol}
        )
        assert response.status_code == 200
        for part in shown:
            assert part in response.text
    assert "protocol: reasoning" in unescape(researcher.get(f"{address}/text").text)
    assert researcher.post(f"{address}/make").headers["Location"] == "/admin/campaigns/data-to-text-llm"
    with demo.reading() as session:
        model = definition_of(find_campaign(session, "data-to-text-llm")).model
    assert model is not None
    assert model.reasoning is not None
    assert (model.reasoning.budget, model.final_instructions) == (4096, True)
    prompt = researcher.get("/admin/campaigns/data-to-text-llm/prompt").text
    assert '"reasoning_effort": "medium"' in unescape(prompt)
    assert "This server takes no budget for reasoning" in prompt
    assert "for at most about 4,096 tokens" in prompt


def test_a_draft_is_thrown_away(researcher: Any, draft: str) -> None:
    researcher.post(f"{draft}/drop")
    assert researcher.get(f"{draft}/start").status_code == 404


def test_the_texts_of_checks_stand_beside_them(researcher: Any, copy: str) -> None:
    shown = researcher.get(f"{copy}/checks").text
    assert 'data-text-of="checks.0"' in shown
    assert 'data-expect="checks.0"' in shown


def test_guidelines_are_previewed(researcher: Any, draft: str) -> None:
    assert "As annotators see them" in researcher.get(f"{draft}/guidelines").text


@pytest.mark.parametrize("start", ["campaign:demo-people", "blank"])
def test_a_draft_starts_from_a_campaign_or_from_nothing(researcher: Any, start: str) -> None:
    researcher.get("/admin/drafts")
    response = researcher.post("/admin/drafts", start=start)
    assert researcher.get(response.headers["Location"]).status_code == 200


def test_an_unknown_step_and_start_are_told(researcher: Any, draft: str) -> None:
    assert researcher.get(f"{draft}/nonsense").status_code == 404
    assert researcher.post("/admin/drafts", start="starter:nonsense").status_code == 404
    assert researcher.post("/admin/drafts", start="nonsense").status_code == 422


def rows(demo: Database) -> dict[str, int]:
    with demo.reading() as session:
        return {
            table.name: session.scalars(select(func.count()).select_from(table)).one()
            for table in Base.metadata.sorted_tables
        }


def test_a_draft_is_previewed_as_annotators_would_see_it_and_nothing_of_it_is_stored(
    researcher: Any, copy: str, demo: Database
) -> None:
    page = researcher.get(f"{copy}/guidelines").text
    form = sent(page) | hidden(page) | {"guidelines": "Mark what is **new** here."}
    researcher.post(f"{copy}/guidelines", **form)
    before = rows(demo)
    assert f"{copy}/preview" in researcher.get(f"{copy}/review").text
    location = researcher.get(f"{copy}/preview").headers["Location"]
    shown = researcher.get(location)
    assert (shown.status_code, "Mark what is <strong>new</strong> here." in shown.text) == (200, True)
    assert "Back to the draft" in shown.text
    base = location.partition("?")[0]
    item = researcher.get(f"{base}/items/1").get_json()
    span = {"start": 0, "end": 3, "category": item["categories"][0]["key"], "text": item["text"][:3]}
    body = {"revision": 0, "status": "draft", "spans": [span]}
    assert researcher.client.put(f"{base}/items/1", json=body).get_json() == {"revision": 1}
    assert researcher.client.put(f"{base}/items/1", json=body | {"spans": [span | {"text": "!"}]}).status_code == 409
    assert researcher.get(f"{base.replace('/1/', '/2/')}/items/1").get_json()["text"] != item["text"]
    assert researcher.get(base.replace("/1/", "/99/")).status_code == 404
    assert rows(demo) == before


def test_the_preview_of_a_draft_that_is_not_complete_says_what_to_mend(researcher: Any, draft: str) -> None:
    response = researcher.get(f"{draft}/preview")
    assert (response.status_code, "there is no dataset" in response.text) == (422, True)
    assert f"{draft}/preview" not in researcher.get(f"{draft}/review").text


def test_the_review_lists_each_step_and_what_the_platforms_rules_say(researcher: Any, copy: str) -> None:
    page = researcher.get(f"{copy}/platform").text
    paid = {"platform.service": "prolific", "platform.reward": "£0.10", "platform.minutes": "60"}
    researcher.post(f"{copy}/platform", **(sent(page) | hidden(page) | paid))
    assert "below the minimum" in researcher.get(f"{copy}/platform").text
    review = researcher.get(f"{copy}/review").text
    checklist = review.partition('class="checklist"')[2]
    assert checklist.count('data-done="yes"') == 8, "the platform has a thing to mend"
    assert checklist.count('data-done="no"') == 2
    assert f'<a href="{copy}/platform#f-platform.reward" title="platform.reward">Platform › Reward</a>' in checklist
    assert "below the minimum" in checklist
    assert "Make the campaign" not in review
    refused = researcher.post(f"{copy}/make")
    assert (refused.status_code, "£0.10 an hour is below the minimum" in refused.text) == (409, True)
    page = researcher.get(f"{copy}/platform").text
    researcher.post(f"{copy}/platform", **(sent(page) | hidden(page) | {"platform.reward": "£9.00"}))
    assert "Make the campaign" in researcher.get(f"{copy}/review").text


def test_a_palette_colours_every_category_and_the_text_says_so(researcher: Any, copy: str) -> None:
    page = researcher.get(f"{copy}/categories").text
    form = sent(page) | hidden(page) | {"act": "colour:categories:Tol bright"}
    assert researcher.post(f"{copy}/categories", **form).status_code == 303
    page = researcher.get(f"{copy}/categories").text
    assert re.findall(r'name="categories\.\d\.color" value="([^"]+)"', page)[:2] == ["#4477AA", "#EE6677"]
    assert "4477AA" in researcher.get(f"{copy}/text").text
    form = sent(page) | hidden(page) | {"act": "colour:categories:rainbow"}
    refused = researcher.post(f"{copy}/categories", **form)
    assert (refused.status_code, "there is no palette" in refused.text) == (422, True)


def test_the_model_step_tells_what_all_calls_would_cost(researcher: Any, copy: str) -> None:
    page = researcher.get(f"{copy}/text").text
    text = sent(page)["text"] + (
        "kind: llm\nmodel: {provider: openai, model: some-model, price: {input: 100, output: 100}}\n"
    )
    researcher.post(f"{copy}/text", **(hidden(page) | {"text": text}))
    shown = researcher.get(f"{copy}/model").text
    assert "Calls of the model" in shown
    price = re.search(r"Price of all calls</dt><dd>≈ \$([\d.,]+)", shown)
    assert price is not None
    assert float(price[1]) > 0
    page = researcher.get(f"{copy}/text").text
    free = sent(page)["text"].replace(", price: {input: 100, output: 100}", "")
    researcher.post(f"{copy}/text", **(hidden(page) | {"text": free}))
    assert "not known; state it" in researcher.get(f"{copy}/model").text


def test_the_forms_call_values_by_names_and_keep_the_files_words_as_values(researcher: Any, draft: str) -> None:
    page = researcher.get(f"{draft}/checks").text
    assert re.search(r'<option value="withhold_bonus" title="withhold_bonus" selected>bonus withheld</option>', page)
    assert "“screened out” ends the visit" in page, "the help speaks as the choice does"
    assert 'title="checks.0.on_fail">When failed' in page
    for step in STEPS[:-2]:
        shown = re.sub(r"<textarea.*?</textarea>|<[^>]+>", " ", researcher.get(f"{draft}/{step}").text, flags=re.DOTALL)
        assert "``" not in shown
        assert re.findall(r"\b(?:screen_out|withhold_bonus|must_mark|leave_out|in_order|per_output)\b", shown) == []


def test_every_value_that_a_form_offers_has_a_name() -> None:
    schema = CampaignDefinition.model_json_schema(mode="validation")
    shapes = {"": schema} | schema["$defs"]
    offered = {(shape, field, value) for shape, parts in shapes.items() for field, value in _choices(parts)}
    assert len(offered) > 80
    names = {word for values in (*VALUES.values(), *TYPES.values()) for word in values}
    assert {choice for choice in offered if choice[2] not in names} == set()


def _choices(shape: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for field, part in shape.get("properties", {}).items():
        for one in (part, *part.get("anyOf", ())):
            values = one.get("enum", [one["const"]] if "const" in one else ())
            yield from ((field, value) for value in values)


def test_a_draft_begins_with_the_texts_it_is_asked_for(researcher: Any) -> None:
    page = researcher.get("/admin/drafts?dataset=demo").text
    assert '<option value="demo" selected>' in page
    assert 'href="/admin/drafts?dataset=demo"' in researcher.get("/admin/datasets/demo").text
    begun = researcher.post("/admin/drafts", start="starter:hotel-highlights-spans-short", dataset="demo")
    data = YamlText(sent(researcher.get(begun.headers["Location"].replace("/start", "/text")).text)["text"]).content[
        "data"
    ]
    assert (data["dataset"], data.get("splits")) == ("demo", None)
    begun = researcher.post("/admin/drafts", start="blank", dataset="demo")
    assert "Nothing to mend here" in researcher.get(begun.headers["Location"].replace("/start", "/data")).text


def test_a_draft_from_a_campaign_that_the_rules_refuse_shows_where_to_mend_it(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        campaign = find_campaign(session, "demo-people")
        definition = definition_of(campaign)
        pay = definition.platform.model_copy(update={"service": "prolific", "reward": "£0.10", "minutes": 60})
        put_in_force(session, campaign, definition.model_copy(update={"platform": pay}), "as it was allowed once")
    researcher.get("/admin/drafts")
    begun = researcher.post("/admin/drafts", start="campaign:demo-people")
    assert begun.status_code == 303
    first = researcher.get(begun.headers["Location"]).text
    assert re.search(r'/platform">Platform \(1\)</a>', first), "the other steps point to it"
    platform = researcher.get(begun.headers["Location"].replace("/start", "/platform")).text
    assert "£0.10 an hour is below the minimum" in platform


def test_the_log_names_who_took_a_shipped_dataset(researcher: Any, draft: str, demo: Database) -> None:
    researcher.get(f"{draft}/data")
    researcher.post(f"{draft}/dataset")
    with demo.reading() as session:
        [line] = list_events(session, subject="hotels", thing="dataset")
    assert line.actor_name == "researcher@example.org"
