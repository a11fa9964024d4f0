"""Reading a definition: each message names the file, the line, the path and the remedy."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.errors import InvalidInput
from spanplat.schemas.definition_file import parse_yaml, read_definition

GOOD = """slug: study
title: A study
categories:
- name: Wrong
  color: "#D55E00"
- name: Unclear
questions:
- type: slider
  label: How good is it?
- type: choice
  label: Grade
  options: [Yes, No, off]
data:
  dataset: reports
"""


def test_a_good_file_is_read() -> None:
    definition = read_definition(GOOD)
    assert [category.key for category in definition.categories] == ["wrong", "unclear"]
    assert [question.key for question in definition.questions] == ["how-good-is-it", "grade"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title:", "titel:", "study.yaml:2: titel: unknown key 'titel'; remove it or correct its spelling"),
        ("title: A study\n", "", "study.yaml:1: title: is missing; add it"),
        ("- name: Unclear", "- description: vague", "study.yaml:6: categories.1.name: is missing; add it"),
        ("Unclear", "wrong", "study.yaml:6: categories.1.name: two categories have the name 'wrong'; rename one or remove it"),
        ("slug: study", "slug: My study", "study.yaml:1: slug: 'My study' must be lower-case letters, digits and single hyphens"),
        ("slug: study", "slug: 2026", "study.yaml:1: slug: 2026 is not text; put it in quotes"),
        ('"#D55E00"', "red", "study.yaml:5: categories.0.color: 'red' does not have the form ^#[0-9a-fA-F]{6}$"),
        ("type: slider", "type: slider\n  maximum: many", "study.yaml:9: questions.0.maximum: Input should be a valid number"),
        ("type: slider", "type: slider\n  minimum: 200", "study.yaml:9: questions.0.minimum: minimum 200 must be below maximum 100"),
        ("type: slider", "type: slidre", "study.yaml:8: questions.0.type: 'slidre' is none of 'checkbox', 'no_errors', 'choice'"),
        ("- type: slider\n  label", "- label", "study.yaml:8: questions.0: type is missing; it says which kind this is"),
        ("[Yes, No, off]", "[Yes]", "study.yaml:12: questions.1.options: List should have at least 2 items"),
        ("[Yes, No, off]", "[Yes, YES]", "study.yaml:12: questions.1.options.1: two options have the key 'yes'; change a label"),
        ("data:\n  dataset: reports\n", "", "study.yaml:1: data: is missing: name the dataset"),
        ("  dataset: reports", "  dataset: reports\n  limit: 0", "study.yaml:15: data.limit: Input should be greater than"),
        ("title: A study", "title: A study\ntitle: Again", "study.yaml:3: the key 'title' stands here a second time; remove one"),
        ("  dataset: reports", "  dataset: [reports", "not valid YAML: "),
        ("title: A study", "title: A: study", "study.yaml:2: not valid YAML: mapping values are not allowed here"),
        ("title: A study", "? [a]\n: b", "study.yaml:2: a key must be a word, not a list or mapping"),
        ("title: A study", "title: !!python/object:os.system x", "study.yaml:2: not valid YAML: could not determine a constructor"),
        ("title: A study", "kind: llm\ntitle: A study", "study.yaml:1: model: a campaign of kind 'llm' needs model settings"),
        (
            "title: A study",
            "title: A study\nchecks:\n- {name: c, type: gold, item: {split: t, example: 1, system: s}, golds: [[]]}",
            "study.yaml:4: checks.0.item.example: 1 is not text; put it in quotes",
        ),
        (
            "title: A study",
            "title: A study\nchecks:\n- name: c\n  type: instructed\n  question: none\n  answer: a",
            "study.yaml:6: checks.0.question: check 'c' asks question 'none', which is not defined",
        ),
    ],
)  # fmt: skip
def test_a_message_names_file_line_path_and_what_to_do(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidInput) as refused:
        read_definition(GOOD.replace(old, new), name="study.yaml")
    assert message in str(refused.value)
    assert str(refused.value).startswith("study.yaml")
    assert "Value error" not in str(refused.value)


def test_all_that_contradicts_other_parts_is_told_at_its_own_line() -> None:
    text = GOOD + (
        "batches:\n  gold: 2\nchecks:\n- name: blatant\n  type: must_mark\n  item: {split: t, example: e, system: s}\n"
        "  expected:\n    category: Gone\n- name: told\n  type: instructed\n  question: gone\n  answer: a\n"
    )
    with pytest.raises(InvalidInput) as refused:
        read_definition(text, name="f")
    assert str(refused.value).splitlines() == [
        "f:22: checks.0.expected.category: check 'blatant' expects category 'Gone', which is not defined (categories: Wrong, Unclear)",
        "f:25: checks.1.question: check 'told' asks question 'gone', which is not defined",
        "f:16: batches.gold: each batch needs 2 gold items, but 0 are defined under checks",
    ]


def test_every_problem_has_its_line() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_definition(GOOD.replace("title:", "titel:").replace("slug: study", "slug: 1"), name="f")
    assert [line.split(": ")[0] for line in str(refused.value).splitlines()] == ["f:1", "f:1", "f:2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: the file is empty; a campaign definition needs at least slug, title and data"),
        ("- a\n- b\n", "f: a definition is a mapping (slug: …, title: …), not a list"),
        ("just words", "not a str"),
        ("a: b\n---\nc: d\n", "f:2: not valid YAML: but found another document"),
        ("a: \x00", "f: not valid YAML"),
        ("a: " + "x" * 2_000_000, "f: has 2,000,003 characters; at most 2,000,000 are accepted"),
        ("&a [*a]", "f:1: lists and mappings are nested more than 50 deep"),
        ("a: " + "[" * 5_000, "f:1: lists and mappings are nested more than 50 deep"),
        (
            "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
            + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(7)),
            "holds more than 200,000 values",
        ),
    ],
)
def test_what_is_no_definition_at_all_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_definition(text, name="f")
    assert message in str(refused.value)


def test_words_that_old_yaml_takes_for_booleans_stay_words() -> None:
    definition = read_definition(GOOD.replace("title: A study", "title: No\nspans: {reason: off}"))
    assert (definition.title, definition.spans.reason) == ("No", "off")
    assert [option.label for option in definition.questions[1].options] == ["Yes", "No", "off"]  # type: ignore[union-attr]
    assert read_definition(GOOD + "  limit: 3\nitem: {show_systems: true}\n").item.show_systems is True


@given(st.text())
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    with contextlib.suppress(InvalidInput):
        assert parse_yaml(text).lines[()] >= 1
