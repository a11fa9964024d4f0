"""Training data: scores, a split without leaks, and examples in chat format."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.llm.providers.scripted import ScriptedProvider
from spanplat.services.campaigns.exports import export_records
from spanplat.services.model_work.running import run_campaign
from spanplat.services.model_work.training import TrainingExample, score_of, split_apart, training_examples

KEYS = st.lists(st.lists(st.integers(0, 25).map(str), min_size=1, max_size=3), max_size=60)
SHARES = st.lists(st.floats(0, 10), min_size=1, max_size=4).filter(lambda shares: sum(shares) > 0.01)


@pytest.mark.parametrize(
    ("ratings", "score"),
    [
        ([1], 0),
        ([5], 100),
        ([3], 50),
        ([3, 4], 65),  # 12.5 steps: half goes up
        ([1, 1, 1, 1, 1, 1, 1, 2], 5),  # 0.625 steps
        ([1, 1, 1, 1, 1, 1, 1, 1, 1, 2], 5),  # 0.5 steps exactly, also where the mean is no binary fraction
        ([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2], 0),
        ([1.1], 5),
    ],
)
def test_scores_are_rounded_half_up_to_steps_of_five(ratings: list[float], score: int) -> None:
    assert score_of(ratings) == score


@given(KEYS, SHARES, st.integers(0, 5))
def test_no_key_is_ever_in_two_parts_and_every_example_is_in_one(
    keys: list[list[str]], shares: list[float], seed: int
) -> None:
    parts = split_apart(keys, shares, seed=seed)
    assert len(parts) == len(keys)
    where: dict[str, set[int]] = {}
    for own, part in zip(keys, parts, strict=True):
        assert shares[part] > 0
        for key in own:
            where.setdefault(key, set()).add(part)
    assert all(len(found) == 1 for found in where.values())
    assert split_apart(keys, shares, seed=seed) == parts


def test_parts_are_as_large_as_asked_where_nothing_belongs_together() -> None:
    parts = split_apart([[str(number)] for number in range(100)], [80, 10, 10])
    assert Counter(parts) == {0: 80, 1: 10, 2: 10}
    assert parts != split_apart([[str(number)] for number in range(100)], [80, 10, 10], seed=7)


def test_shares_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one is above 0"):
        split_apart([["a"]], [0, 0])


def test_an_annotation_becomes_a_short_prompt_and_the_reply_to_learn(
    database: Database, imported: Callable[..., str]
) -> None:
    imported("people", ann={0: [(13, 26, "Wrong")], 1: [], 4: []}, ben={0: []})
    with database.reading() as session:
        examples = training_examples(session, "people", shares=[1])
    assert len(examples) == 3  # an item that two annotated is one example
    content: dict[str, Any] = json.loads(examples[0].line())
    user, assistant = content["messages"]
    assert (user["role"], assistant["role"]) == ("user", "assistant")
    assert user["content"].startswith(
        "Judge the text. List its errors, quoted word for word, each as one of: Wrong; Unclear"
    )
    assert user["content"].endswith("<text>\nReport 0: it rains all day and nobody knows why.\n</text>")
    assert json.loads(assistant["content"]) == {"errors": [{"text": "rains all day", "category": "Wrong"}]}
    assert json.loads(examples[1].reply) == {"errors": []}


def test_outputs_of_one_source_stay_in_one_part(database: Database, imported: Callable[..., str]) -> None:
    imported("people", ann={output: [] for output in range(6)})
    with database.reading() as session:
        examples = training_examples(session, "people", shares=[1, 1, 1])
        again = training_examples(session, "people", shares=[1, 1, 1])
    assert examples == again

    def part_of(report: int) -> str:
        (found,) = [example for example in examples if f"Report {report}:" in example.prompt]
        assert isinstance(found, TrainingExample)
        return found.part

    for example in range(3):
        assert part_of(2 * example) == part_of(2 * example + 1)
    assert len({part_of(2 * example) for example in range(3)}) == 3


def test_nothing_finished_makes_no_training_data(database: Database, launch: Callable[..., Any]) -> None:
    launch()
    with database.reading() as session, pytest.raises(InvalidInput, match="no finished annotation"):
        training_examples(session, "study")


def test_severities_are_asked_for_and_answered_by_name(database: Database, imported: Callable[..., str]) -> None:
    imported("people", ann={0: [(13, 26, "Wrong", "major")]})
    with database.reading() as session:
        (example,) = training_examples(session, "people", shares=[1])
    assert "each as one of: Wrong; Unclear, with its severity: Minor; Major." in example.prompt
    assert json.loads(example.reply)["errors"] == [{"text": "rains all day", "category": "Wrong", "severity": "Major"}]


def test_a_campaign_that_asks_for_nothing_a_reply_could_hold_makes_no_training_data(
    database: Database, launch: Callable[..., Any]
) -> None:
    launch(categories=[], questions=[{"key": "said", "type": "text", "label": "What do you say?"}])
    with (
        database.reading() as session,
        pytest.raises(InvalidInput, match="neither categories nor questions on a scale"),
    ):
        training_examples(session, "study")


def test_only_what_was_rated_is_asked_for_and_answered(database: Database, launch: Callable[..., Any]) -> None:
    scales = [
        {"key": key, "type": "likert", "label": label, "points": 5} for key, label in (("a", "Fluent"), ("b", "Dull"))
    ]
    model = {"provider": "openai", "model": "tiny", "preset": "verbatim", "instructions": "definitions"}
    launch(kind="llm", categories=[], questions=scales, model=model | {"price": {"input": 0, "output": 0}})
    provider = ScriptedProvider(
        lambda request: "Fluent: 4" if "Report 0" in request.item.text else "Fluent: 2\nDull: 3"
    )
    run_campaign(database, "study", provider=provider)
    with database.reading() as session:
        replies = {example.prompt: json.loads(example.reply) for example in training_examples(session, "study")}
    assert replies
    for prompt, reply in replies.items():
        assert ("Dull" in prompt) == ("Dull" in reply["scores"])


def test_attention_checks_are_no_training_data(database: Database, launch: Callable[..., Any]) -> None:
    item = {"split": "test", "example": "0", "system": "alder"}
    launch(
        kind="llm",
        model={"provider": "overlap"},
        data={"dataset": "reports", "examples": ["1", "2"]},
        checks=[{"name": "clean", "type": "must_abstain", "item": item}],
        batches={"regular": 4, "attention": 1},
    )
    assert run_campaign(database, "study").left == 0
    with database.reading() as session:
        prompts = [example.prompt for example in training_examples(session, "study")]
        asked = [record.text for record in export_records(session, "study")]
    assert "Alder: A short report." in asked
    assert len(prompts) == len(set(asked)) - 1
    assert not [prompt for prompt in prompts if "Alder: A short report." in prompt]


def test_scores_are_the_mean_of_all_annotators(database: Database, launch: Callable[..., Any]) -> None:
    rating = {"key": "fluency", "type": "likert", "label": "Fluent", "points": 5}
    model = {
        "provider": "openai",
        "model": "tiny",
        "preset": "verbatim",
        "instructions": "definitions",
        "repeats": 2,
        "parameters": {"seed": 1},
        "price": {"input": 0, "output": 0},
    }
    launch(kind="llm", categories=[], questions=[rating], model=model)
    provider = ScriptedProvider(lambda request: f"Fluent: {4 if request.parameters['seed'] == 1 else 5}")
    assert run_campaign(database, "study", provider=provider).left == 0
    with database.reading() as session:
        example = training_examples(session, "study")[0]
    assert json.loads(example.reply) == {"scores": {"Fluent": 90}}
    assert "Rate it from 0 to 100: Fluent. Reply in JSON." in example.prompt
