"""Drafts: text and forms stay the same, nothing typed is lost, and every problem is reported."""

from typing import Any

import pytest

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.formats.yaml_editing import YamlText
from spanplat.models import CampaignStatus, Draft
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.draft_forms import fill_in, step_form
from spanplat.services.campaigns.drafts import (
    BLANK,
    campaign_text,
    create_draft,
    drop_draft,
    find_draft,
    list_starters,
    make_campaign,
    model_text,
    open_drafts,
    save_text,
    starter_text,
    title_of,
)
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.validation import STEPS, validate_text
from spanplat.services.model_work.previews import preview_prompt

GOOD = """slug: hotels   # the name in links
title: "Hotels: highlights"
data: {dataset: reports}
categories:
  # what is wrong
  - name: Wrong
  - name: Unclear
batches:
  regular: 3
platform:
  minutes: 6
  reward: £1.20
"""


def typed(text: str, step: str, **changes: str) -> dict[str, str]:
    """Return the values that a browser sends if only some controls of a step are changed."""
    sent: dict[str, str] = {}
    for node in step_form(text, step).nodes:
        for leaf in node.leaves():
            if leaf.kind == "checkbox":
                if leaf.shown:
                    sent[leaf.name] = "on"
            elif leaf.kind == "select" and not leaf.is_stated and leaf.default is None:
                sent[leaf.name] = str(leaf.options[0])
            else:
                sent[leaf.name] = str(leaf.shown)
    return sent | {name.replace("__", "."): value for name, value in changes.items()}


def test_every_field_of_a_definition_stands_in_exactly_one_step() -> None:
    listed = [name for fields in STEPS.values() for name in fields]
    assert sorted(listed) == sorted(CampaignDefinition.model_fields)


@pytest.mark.parametrize("name", list(list_starters()))
@pytest.mark.parametrize("step", list(STEPS))
def test_sending_an_untouched_step_changes_no_value_of_a_shipped_definition(name: str, step: str) -> None:
    text = starter_text(name)
    changed, form = fill_in(text, step, typed(text, step))
    assert form.bad == {}
    assert YamlText(changed).content == YamlText(text).content


def test_a_changed_field_leaves_comments_and_quotes_alone() -> None:
    changed, _form = fill_in(GOOD, "assignment", typed(GOOD, "assignment", batches__regular="5"))
    assert changed == GOOD.replace("regular: 3", "regular: 5")


def test_an_emptied_field_leaves_the_text_and_its_default_holds() -> None:
    changed, _form = fill_in(GOOD, "platform", typed(GOOD, "platform", platform__minutes="", platform__reward=""))
    assert "platform" not in changed
    assert "# what is wrong" in changed


def test_what_is_no_number_is_told_and_the_text_keeps_what_it_had() -> None:
    changed, form = fill_in(GOOD, "assignment", typed(GOOD, "assignment", batches__regular="three"))
    assert changed == GOOD
    assert form.bad == {"batches.regular": "'three' is not a whole number"}


@pytest.mark.parametrize(
    ("act", "names"),
    [
        ("up:categories.1", ["Unclear", "Wrong"]),
        ("down:categories.1", ["Wrong", "Unclear"]),
        ("remove:categories.0", ["Unclear"]),
        ("add:categories", ["Wrong", "Unclear", None]),
    ],
)
def test_entries_are_added_moved_and_removed(act: str, names: list[Any]) -> None:
    _changed, form = fill_in(GOOD, "categories", typed(GOOD, "categories"), act)
    categories = form.nodes[0]
    assert [child.value.get("name") for child in categories.children] == names


def test_an_entry_of_several_types_is_added_with_its_type() -> None:
    changed, form = fill_in(GOOD, "checks", {}, "add:checks:gold")
    assert "type: gold" in changed
    changed, form = fill_in(changed, "checks", typed(changed, "checks", checks__0__name="first"), "add:checks.0.golds")
    changed, form = fill_in(changed, "checks", typed(changed, "checks"), "add:checks.0.golds.0")
    changed, form = fill_in(changed, "checks", typed(changed, "checks", checks__0__golds__0__0__quote="it rains"))
    entry = form.nodes[0].children[0]
    assert (entry.variant, entry.value) == (
        "gold",
        {"type": "gold", "name": "first", "golds": [[{"quote": "it rains"}]]},
    )


@pytest.mark.parametrize("act", ["add:checks:nonsense", "add:slug", "paint:checks", "add:nothing"])
def test_what_a_form_cannot_do_is_refused(act: str) -> None:
    with pytest.raises(InvalidInput):
        fill_in(GOOD, "checks", {}, act)


def test_options_are_lines_until_one_has_a_key_of_its_own() -> None:
    text = GOOD + "questions:\n  - {type: choice, label: Why?, options: [So, Because]}\n"
    changed, _form = fill_in(text, "questions", typed(text, "questions", questions__0__options="So\nBecause\nElse"))
    assert "Else" in changed
    keyed = GOOD + "questions:\n  - {type: choice, label: Why?, options: [{key: a, label: So}, {label: Because}]}\n"
    assert step_form(keyed, "questions").nodes[0].children[0].children[-1].kind == "list"


@pytest.mark.usefixtures("reports")
def test_what_is_wrong_is_said_with_its_place(database: Database) -> None:
    with database.reading() as session:
        assert [problem.path for problem in validate_text(session, BLANK).problems] == [("data",), ("categories",)]
        broken = GOOD.replace("regular: 3", "regular: -3")
        problem = validate_text(session, broken).problems[0]
        assert (problem.path, problem.line) == (("batches", "regular"), 9)
        missing = validate_text(session, GOOD.replace("reports", "nothing"))
        assert missing.problems[0].path == ("data", "dataset")
        assert missing.problems_of("data") == list(missing.problems)
        assert "not valid YAML" in validate_text(session, "a: [").problems[0].message


@pytest.mark.usefixtures("reports")
def test_a_good_definition_says_what_it_comes_to(database: Database) -> None:
    with database.reading() as session:
        figures = validate_text(session, GOOD).figures
    assert figures is not None
    assert (figures.outputs, figures.items, figures.batches, figures.seats, figures.people) == (12, 12, 4, 4, 4)
    assert (figures.hours, figures.reward) == (0.4, "£4.80")


@pytest.mark.usefixtures("reports")
def test_a_campaign_is_made_once_and_its_definition_starts_another(database: Database) -> None:
    with database.transaction() as session:
        draft = create_draft(session, GOOD, None)
    campaign = make_campaign(database, draft.token)
    assert campaign.status == CampaignStatus.DRAFT
    with pytest.raises(Conflict, match="already"):
        make_campaign(database, draft.token)
    with database.reading() as session:
        assert open_drafts(session) == []
        copy = campaign_text(session, "hotels")
        assert "slug: hotels-copy" in copy
        assert validate_text(session, copy).problems == ()
        assert find_campaign(session, "hotels").title == "Hotels: highlights"


@pytest.mark.usefixtures("reports")
def test_a_model_is_told_word_for_word_what_people_were_told(database: Database) -> None:
    grouped = "guidelines: Mark what is *wrong*.\ngroups: [{key: a, name: A}]\nquestions:\n"
    question = "  - {type: text, key: why, label: Your reason, wording: {a: My reason}}\n"
    with database.transaction() as session:
        people = create_draft(session, GOOD + grouped + question, None)
    make_campaign(database, people.token)
    with database.transaction() as session:
        text = model_text(session, "hotels")
        missing = validate_text(session, text).problems
        assert [(problem.path, "name the model" in problem.message) for problem in missing] == [
            (("model", "model"), True)
        ]
        model = create_draft(session, f"{text}  model: some-model\n", None)
    make_campaign(database, model.token)
    with (
        database.reading() as session,
        pytest.raises(InvalidInput, match="campaign 'hotels-model' has no instructions for people"),
    ):
        model_text(session, "hotels-model")
    with database.reading() as session:
        prompt = preview_prompt(session, "hotels-model", 1).prompt.user
    assert "Mark what is *wrong*." in prompt
    assert "Your reason" in prompt


def test_a_bad_definition_makes_no_campaign(database: Database) -> None:
    with database.transaction() as session:
        draft = create_draft(session, BLANK, None)
    with pytest.raises(InvalidInput):
        make_campaign(database, draft.token)
    with database.reading() as session:
        assert [kept.token for kept in open_drafts(session)] == [draft.token]


def test_two_pages_do_not_overwrite_each_other_and_one_page_never_contradicts_itself(database: Database) -> None:
    with database.transaction() as session:
        token = create_draft(session, "title: One\n", None).token
    with database.transaction() as session:
        save_text(session, token, "title: Two\n", revision=1, editor="a")
    with database.transaction() as session:
        save_text(session, token, "title: Three\n", revision=1, editor="a")
    with database.transaction() as session, pytest.raises(Conflict, match="another tab"):
        save_text(session, token, "title: Four\n", revision=1, editor="b")
    with database.transaction() as session:
        saved = save_text(session, token, "title: Four\n", revision=3, editor="b")
        assert (saved.revision, title_of(saved)) == (4, "Four")
    with database.transaction() as session:
        saved = save_text(session, token, "title: ''\n", revision=4, editor="b")
        assert title_of(saved) == "Draft without a title"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('slug: a\ntitle: "Hotel highlights"  \n', "Hotel highlights"),
        ("title:\nslug: a\n", "Draft without a title"),
        ("subtitle: a\n", "Draft without a title"),
        (f"title: a{' ' * 1_000_000}b", f"a{' ' * 1_000_000}b"),
    ],
    ids=["quoted", "empty", "none", "blanks"],
)
def test_a_draft_is_called_by_its_title_however_that_is_written(text: str, title: str) -> None:
    assert title_of(Draft(text=text)) == title


def test_a_draft_is_thrown_away(database: Database) -> None:
    with database.transaction() as session:
        token = create_draft(session, BLANK, None).token
        drop_draft(session, token)
        with pytest.raises(NotFound):
            find_draft(session, token)
