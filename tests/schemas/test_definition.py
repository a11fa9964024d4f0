"""Definitions: allowed values and defaults."""

from typing import Any

import pytest
from pydantic import ValidationError

from spanplat.schemas.categories import PALETTE
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.slug import slugify

ITEM = {"split": "test", "example": "1", "system": "a"}


def define(**parts: Any) -> CampaignDefinition:
    content = {"slug": "s", "title": "S", "categories": [{"name": "Wrong"}], "data": {"dataset": "d"}}
    return CampaignDefinition.model_validate(content | parts)


def test_categories_get_keys_colours_and_hotkeys() -> None:
    named = [{"name": "Not checkable"}, {"name": "B", "hotkey": "1"}, {"name": "C", "color": "#123456", "key": "sea"}]
    first, second, third = define(categories=named).categories
    assert (first.key, first.color, first.hotkey) == ("not-checkable", PALETTE[0], "2")
    assert (second.color, second.hotkey) == (PALETTE[1], "1")
    assert (third.key, third.color, third.hotkey) == ("sea", "#123456", "3")


def test_more_categories_than_colours_and_digits_are_fine() -> None:
    categories = define(categories=[{"name": f"Kind {n}"} for n in range(14)]).categories
    assert categories[12].color == PALETTE[0]
    assert [category.hotkey for category in categories[8:10]] == ["9", "b"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"categories": [{"name": "A"}, {"name": "B", "key": "a"}]}, "two categories have the key 'a'"),
        ({"categories": [{"name": "A", "key": "x"}, {"name": "a", "key": "y"}]}, "two categories have the name 'a'"),
        ({"categories": [{"name": "A", "hotkey": "x"}, {"name": "B", "hotkey": "x"}]}, "the hotkey 'x'; give one of them"),
        ({"severities": [{"name": "Minor"}, {"name": "minor"}]}, "two severities have the name 'minor'"),
        ({"groups": [{"name": "One"}, {"name": "One"}]}, "two groups have the name 'one'"),
        ({"categories": []}, "there is nothing to annotate"),
        ({"kind": "qualification"}, "needs qualification_given"),
        ({"kind": "human", "model": {"provider": "overlap"}}, "filled by people; remove model, or use kind: llm"),
        ({"item": {"kind": "aspect"}}, "items of kind 'aspect' need a list of aspects"),
        ({"item": {"kind": "aspect", "aspects": [{"name": "A"}, {"name": "a"}]}}, "two aspects have the key 'a'"),
        ({"item": {"kind": "span"}}, "items of kind 'span' need spans_from"),
        ({"batches": {"sampling": "sample"}}, "sampling needs the number of batches"),
        ({"batches": {"regular": 0}}, "a batch without regular items needs gold items"),
        ({"batches": {"attention": 1}}, "each batch needs 1 attention checks, but 0 are defined under checks"),
        ({"batches": {"gold": 2}}, "each batch needs 2 gold items, but 0 are defined under checks"),
        ({"data": {"dataset": "d", "min_characters": 9, "max_characters": 8}}, "nothing can be at least 9 and at most 8"),
        (
            {"questions": [{"type": "text", "label": "Why", "wording": {"calm": "Why?"}}]},
            "has a wording for group 'calm', which is not defined .groups: none",
        ),
        (
            {"checks": [{"name": "c", "type": "must_mark", "item": ITEM, "expected": {"category": "Blue"}}]},
            "check 'c' expects category 'Blue', which is not defined .categories: Wrong",
        ),
        (
            {"checks": [{"name": "c", "type": "gold", "item": ITEM, "golds": [[{"category": "Blue"}]]}]},
            "check 'c' expects category 'Blue'",
        ),
        (
            {"checks": [{"name": "c", "type": "must_mark", "item": ITEM, "expected": {"start": 3}}]},
            "give both start and end, or neither",
        ),
        (
            {"checks": [{"name": "c", "type": "must_mark", "item": ITEM, "expected": {"start": 3, "end": 3}}]},
            "start 3 must lie before end 3",
        ),
        (
            {"questions": [{"type": "choices", "label": "Q", "options": ["a", "b"], "minimum": 3}]},
            "minimum 3 is more than there are options",
        ),
        (
            {"comprehension": {"questions": [{"label": "Q", "options": ["a", "b"], "answer": "c"}]}},
            "the answer 'c' is not one of the options",
        ),
    ],
)  # fmt: skip
def test_settings_that_contradict_each_other_are_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        define(**parts)


MARK = {"name": "c", "type": "must_mark", "item": ITEM}
TOLD = {"name": "d", "type": "instructed", "question": "q", "answer": "a"}
ASKED = {"type": "choice", "label": "Q", "options": ["a", "b"]}
MODEL = {"provider": "openai", "model": "m"}


@pytest.mark.parametrize(
    ("parts", "places"),
    [
        ({"data": None}, ["data"]),
        ({"categories": []}, ["categories"]),
        ({"kind": "llm"}, ["model"]),
        ({"kind": "qualification", "model": MODEL}, ["qualification_given", "model"]),
        ({"qualification_taken": "q"}, ["qualification_taken"]),
        ({"categories": [{"name": "A"}, {"name": "B"}, {"name": "a"}]}, ["categories.2.name"]),
        ({"categories": [{"name": "A"}, {"name": "B", "key": "a"}]}, ["categories.1.key"]),
        ({"categories": [{"name": n, "hotkey": "x"} for n in "ABC"]}, ["categories.1.hotkey", "categories.2.hotkey"]),
        ({"questions": [ASKED, ASKED]}, ["questions.1.key"]),
        ({"spans": {"suggestions": "required"}}, ["spans.suggestions_from"]),
        ({"spans": {"suggestions_from": "s"}}, ["spans.suggestions_from"]),
        ({"spans": {"attributes": [{"type": "text", "label": "A"}] * 2}}, ["spans.attributes.1.label"]),
        (
            {"worked_examples": [{"text": "a b", "spans": [{"quote": "a", "category": "Blue", "severity": "Bad"}]}]},
            ["worked_examples.0.spans.0.category", "worked_examples.0.spans.0.severity"],
        ),
        (
            {"worked_examples": [{"text": "a a", "spans": [{"quote": q, "category": "Wrong"} for q in ("a", "b")]}]},
            ["worked_examples.0.spans.0.occurrence", "worked_examples.0.spans.1.quote"],
        ),
        ({"questions": [ASKED | {"wording": {"calm": "Q?"}}]}, ["questions.0.wording.calm"]),
        (
            {"checks": [MARK | {"expected": {"category": "Blue"}}, TOLD]},
            ["checks.0.expected.category", "checks.1.question"],
        ),
        (
            {"checks": [{"name": "c", "type": "gold", "item": ITEM, "golds": [[{"category": n} for n in ("Wrong", "Blue", "Blue")]]}]},
            ["checks.0.golds.0.1.category"],
        ),
        ({"practice": [{"item": ITEM, "golds": [[], [{"category": "Blue"}]]}]}, ["practice.0.golds.1.0.category"]),
        ({"checks": [MARK | {"expected": {"start": 3}}]}, ["checks.0.must_mark.expected.end"]),
        ({"batches": {"attention": 1, "gold": 2}}, ["batches.attention", "batches.gold"]),
        (
            {"batches": {"sampling": "sample", "regular": 0, "balance": ["length"]}},
            ["batches.lengths", "batches.batches", "batches.regular"],
        ),
        ({"item": {"kind": "aspect"}}, ["item.aspects"]),
        ({"item": {"kind": "span", "aspects": [{"name": "A"}, {"name": "a"}]}}, ["item.aspects.1.name", "item.spans_from"]),
        ({"data": {"dataset": "d", "min_characters": 9, "max_characters": 8}}, ["data.max_characters"]),
        ({"data": {"dataset": "d", "source": {"fields": [{"path": "x"}] * 2}}}, ["data.source.fields.1.path"]),
        ({"comprehension": {"questions": [ASKED | {"answer": "c"}]}}, ["comprehension.questions.0.answer"]),
        ({"qualification_required": {}}, ["qualification_required.campaign"]),
        ({"qualification_required": {"campaign": "c", "pool": "p"}}, ["qualification_required.pool"]),
        ({"qualification_given": {"threshold": None}}, ["qualification_given.threshold"]),
        ({"kind": "llm", "model": MODEL | {"model": "", "reply_format": "tool"}}, ["model.model", "model.reply_format"]),
        ({"kind": "llm", "model": MODEL | {"preset": "fewshot"}}, ["model.examples_from"]),
        ({"kind": "llm", "model": MODEL | {"parameters": {"stream": True}}}, ["model.parameters.stream"]),
        ({"kind": "llm", "model": MODEL | {"max_tokens": 9, "reasoning": {"budget": 9}}}, ["model.reasoning.budget"]),
        ({"kind": "llm", "model": MODEL | {"protocol": "three-seeds", "repeats": 2}}, ["model.repeats"]),
    ],
)  # fmt: skip
def test_what_concerns_several_parts_is_told_at_the_part_where_it_is_mended(
    parts: dict[str, Any], places: list[str]
) -> None:
    with pytest.raises(ValidationError) as refused:
        define(**parts)
    assert [".".join(map(str, problem["loc"])) for problem in refused.value.errors()] == places


def test_groups_read_their_own_wording() -> None:
    question = {"type": "text", "label": "Why?", "wording": {"calm": "Would you tell us why?"}}
    (asked,) = define(groups=[{"name": "Calm"}, {"name": "Strict"}], questions=[question]).questions
    assert [asked.label_for(group) for group in ("calm", "strict", None)] == ["Would you tell us why?", "Why?", "Why?"]


def test_options_may_be_words_long_sentences_or_mappings() -> None:
    sentence = "The text says something that the data do not say, and nobody could find out whether it is true. " * 2
    options = ["Good", sentence, {"label": "Bad"}, {"key": "c", "label": "None"}]
    (asked,) = define(questions=[{"type": "choice", "label": "Q", "options": options}]).questions
    assert [option.key for option in asked.options][::2] == ["good", "bad"]  # type: ignore[union-attr]
    assert len(asked.options[1].key) <= 60  # type: ignore[union-attr]


def test_a_category_is_found_by_key_or_by_name_in_any_case() -> None:
    definition = define(categories=[{"name": "Not checkable"}])
    found = [definition.find_category(name) for name in ("not-checkable", "NOT CHECKABLE", "checkable")]
    assert [category.name if category else None for category in found] == ["Not checkable", "Not checkable", None]


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("phi3.5", "phi3-5"),
        ("Phi3-5", "phi3-5"),
        ("llama3.3", "llama3-3"),
        ("  Müller & Søn ", "muller-s-n"),
        ("模型", "u6a21-u578b"),
        ("a__b", "a-b"),
        ("…", "u2026"),
    ],
)
def test_names_that_are_spelt_differently_meet_in_one_slug(name: str, slug: str) -> None:
    assert slugify(name) == slug
    assert slugify(slug) == slug
