"""Prompts of a model campaign, loaded from the tables: items, worked examples, instructions."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select, update

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotFound
from spanplat.llm.providers.scripted import ScriptedProvider
from spanplat.models import Annotation, Campaign, Item, JudgedSpan, Span
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import parse_yaml
from spanplat.schemas.prompt_settings import PromptSettings
from spanplat.services.campaigns.amendments import amend, definition_text
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign, plan_clone
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.campaigns.prompt_inputs import inputs_state
from spanplat.services.model_work.previews import preview_prompt
from spanplat.services.model_work.prompts import load_asked_items, load_prompt_inputs
from spanplat.services.model_work.running import run_campaign
from tests.campaigns import create_campaign

Create = Callable[..., Campaign]


@pytest.fixture
def create(database: Database, define: Callable[..., CampaignDefinition]) -> Create:
    """Create a model campaign over some examples of ``made``; keyword arguments replace parts of its definition and model."""

    def make(slug: str = "study", **parts: Any) -> Campaign:
        names = (
            "preset",
            "examples",
            "examples_from",
            "examples_seed",
            "instructions_from",
            "instructions",
            "prompt",
            "parts",
        )
        model = {"provider": "openai", "model": "some-model"}
        model |= {name: parts.pop(name) for name in names if name in parts}
        data = {"dataset": "made", "examples": ["0"]}
        content = {"slug": slug, "kind": "llm", "data": data, "model": model} | parts
        with database.transaction() as session:
            return create_campaign(session, plan_campaign(session, define(**content)))

    return make


def test_an_item_is_asked_about_with_its_texts_in_the_order_shown(
    database: Database, imported: Callable[..., str], create: Create
) -> None:
    del imported
    question = {"type": "preference", "key": "better", "label": "Which is better?"}
    campaign = create(preset="pairwise", item={"kind": "pair"}, questions=[question], categories=[])
    with database.reading() as session:
        ids = session.scalars(select(Item.id).where(Item.campaign_id == campaign.id)).all()
        items = load_asked_items(session, definition_of(campaign), ids)
        shown = [entry.output.text for entry in session.get_one(Item, ids[0]).outputs]
    assert len(shown) == 2
    assert list(items[ids[0]].texts) == shown


def test_examples_are_drawn_with_a_seed_and_never_from_what_is_asked_about(
    database: Database, imported: Callable[..., str], create: Create
) -> None:
    spans = {0: [(0, 6, "wrong")], 1: [], 2: [(10, 18, "wrong"), (0, 6, "unclear")], 3: [], 4: [(0, 8, "wrong")], 5: []}
    imported("gold", annotator=spans)
    one = create("one", preset="fewshot", examples_from="gold", examples=3)
    other = create("other", preset="fewshot", examples_from="gold", examples=3, examples_seed=7)
    wanting_all = create("all", preset="fewshot", examples_from="gold", examples=100)
    with database.reading() as session:
        drawn = load_prompt_inputs(session, one).examples
        assert drawn == load_prompt_inputs(session, one).examples
        assert drawn != load_prompt_inputs(session, other).examples
        every = load_prompt_inputs(session, wanting_all).examples
    asked = ("Report 0", "Report 1")
    assert len(drawn) == 3
    assert not [example for example in (*drawn, *every) if example.text.startswith(asked)]
    replies = {example.text[:8]: example.reply for example in every}
    assert set(replies) == {"Report 2", "Report 3", "Report 4", "Report 5"}
    assert replies["Report 3"] == '{"annotations": []}'
    assert replies["Report 2"] == (
        '{"annotations": [{"reason": "", "text": "Report", "category": "Unclear"}, '
        '{"reason": "", "text": "it rains", "category": "Wrong"}]}'
    )


def test_without_anything_to_draw_from_it_is_said_why(imported: Callable[..., str], create: Create) -> None:
    imported("gold", annotator={0: [], 1: []})
    with pytest.raises(InvalidInput, match="'gold' has no finished annotation to draw examples from for 'study'"):
        create(preset="fewshot", examples_from="gold")


def test_what_is_taken_from_other_campaigns_stays_as_it_was_when_the_campaign_was_created(
    database: Database, imported: Callable[..., str], create: Create, define: Callable[..., CampaignDefinition]
) -> None:
    imported("gold", annotator={2: [(0, 6, "wrong")], 3: []})
    people = {"slug": "people", "title": "People", "data": {"dataset": "made"}}
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, define(**people, guidelines="Move the sliders.")))
    campaign = create(preset="fewshot", examples_from="gold", instructions_from="people", prompt="{{ instructions }}")
    with database.reading() as session:
        told = load_prompt_inputs(session, campaign)
        assert inputs_state(session, definition_of(campaign)) == "same"
    with database.transaction() as session:
        changed = definition_of(find_campaign(session, "people")).model_copy(update={"guidelines": "Drag them."})
        amend(session, "people", parse_yaml(definition_text(changed)), "clearer")
        session.execute(update(Span).values(reason="another"))
    with database.reading() as session:
        assert load_prompt_inputs(session, find_campaign(session, "study")) == told
        assert told.instructions == "Move the sliders."
        assert preview_prompt(session, "study").prompt.user == "Move the sliders."
        assert inputs_state(session, definition_of(find_campaign(session, "study"))) == "changed"
    again = create(
        "again", preset="fewshot", examples_from="gold", instructions_from="people", prompt="{{ instructions }}"
    )
    with database.transaction() as session:
        clone = create_campaign(session, plan_clone(session, "study", "clone"))
        assert load_prompt_inputs(session, clone) == told
        assert load_prompt_inputs(session, again).instructions == "Drag them."
    digests = [(definition_of(entry).model or PromptSettings()).prompt_sha256 for entry in (campaign, clone, again)]
    assert digests[0] == digests[1] != digests[2]


def test_worked_examples_of_a_clone_are_not_asked_about_either(
    database: Database, imported: Callable[..., str], create: Create
) -> None:
    imported("gold", annotator={2: []})
    campaign = create(preset="fewshot", examples_from="gold")
    content = definition_of(campaign).model_dump(mode="json") | {"slug": "other"}
    content["data"] |= {"examples": ["1"]}
    with (
        database.reading() as session,
        pytest.raises(InvalidInput, match=r"asks about test/1, which is one of its worked examples"),
    ):
        plan_campaign(session, CampaignDefinition.model_validate(content))


def test_verbatim_takes_the_instructions_of_a_human_campaign(
    database: Database, imported: Callable[..., str], create: Create, define: Callable[..., CampaignDefinition]
) -> None:
    del imported
    with database.transaction() as session:
        people = define(slug="people", guidelines="Move the **sliders**.", data={"dataset": "made"})
        create_campaign(session, plan_campaign(session, people))
    questions = [{"type": "slider", "key": "fluent", "label": "The text is fluent."}]
    create(preset="verbatim", instructions_from="people", questions=questions, categories=[])
    with database.reading() as session:
        preview = preview_prompt(session, "study", 2)
        with pytest.raises(NotFound, match="has 2 items; there is no item 3"):
            preview_prompt(session, "study", 3)
    assert preview.prompt.user.startswith("Move the **sliders**.\n\n## ")
    assert "Report 1" in preview.prompt.user
    assert preview.estimate.input_tokens > len(preview.prompt.user) / 5
    assert preview.estimate.cost is None  # nobody knows what some-model costs
    assert (preview.number, preview.items, preview.example, preview.systems) == (2, 2, "test/0", ("birch",))


def test_a_model_judges_single_spans_as_people_do(
    database: Database, imported: Callable[..., str], create: Create
) -> None:
    imported("marks", annotator={0: [(0, 6, "wrong"), (10, 18, "unclear")], 1: []})
    question = {"key": "right", "type": "choice", "label": "Is it?", "options": ["Yes", "No"]}
    spans = {"item": {"kind": "span", "spans_from": "marks"}, "questions": [question], "categories": []}
    create(preset="verbatim", instructions="minimal", **spans)
    provider = ScriptedProvider(
        lambda request: "Is it: Yes" if "**Wrong**" in request.messages[0].content else "Is it: No"
    )
    report = run_campaign(database, "study", provider=provider)
    assert (report.left, report.failed) == (0, {})
    first, second = sorted(
        (request.messages[0].content for request in provider.asked), key=lambda text: "Unclear" in text
    )
    assert "<passage>\nReport\n</passage>" in first
    assert "<passage>\nit rains\n</passage>" in second
    assert "<context>Report 0: it rains all day" in second
    with database.reading() as session:
        answers = session.execute(
            select(Span.text, Annotation.answers)
            .join(JudgedSpan, JudgedSpan.span_id == Span.id)
            .join(Annotation, Annotation.item_id == JudgedSpan.item_id)
            .order_by(Span.position)
        ).all()
    assert [(text, answer["right"]) for text, answer in answers] == [("Report", "yes"), ("it rains", "no")]
    with pytest.raises(InvalidInput, match="single spans are judged by answers to questions, with preset verbatim"):
        create("other", **spans)


def test_a_campaign_keeps_the_text_of_its_prompt(
    database: Database, imported: Callable[..., str], create: Create
) -> None:
    del imported
    create(parts={"task": "Mark what is wrong."})
    with database.reading() as session:
        model = definition_of(find_campaign(session, "study")).model
    assert model is not None
    assert model.prompt is not None
    assert 'parts("task", "categories"' in model.prompt
    assert model.parts["task"] == "Mark what is wrong."
    assert model.parts["reply"].startswith("## Reply")


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"prompt": "{{ txet }}"}, "prompt template model.prompt, line 1: 'txet' is undefined"),
        ({"preset": "pairwise"}, "compares two texts; it needs item"),
        ({"preset": "fewshot", "examples_from": "nowhere"}, "there is no campaign 'nowhere'"),
        (
            {"preset": "verbatim", "instructions_from": "nowhere", "questions": [{"type": "text", "label": "Why?"}]},
            "there is no campaign 'nowhere'",
        ),
    ],
)
def test_a_prompt_that_cannot_be_made_is_refused_when_the_campaign_is_created(
    imported: Callable[..., str], create: Create, parts: dict[str, Any], problem: str
) -> None:
    del imported
    with pytest.raises(InvalidInput, match=problem):
        create(**parts)
