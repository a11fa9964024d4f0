"""Published protocols fill in all their settings; a definition that changes one has another protocol."""

from typing import Any

import pytest
from pydantic import ValidationError

from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.protocols import PROTOCOLS, SEEDS, Protocol, protocol_summary

ASKED = [
    {"provider": "openai", "model": "m"},
    {"provider": "openai", "model": "m", "interface": "responses"},
    {"provider": "anthropic", "model": "m"},
]


def settings(**content: Any) -> ModelSettings:
    return ModelSettings.model_validate({"provider": "openai", "model": "m"} | content)


@pytest.mark.parametrize(("protocol", "tokens"), [("three-seeds", 1024), ("three-seeds-short", 128)])
def test_three_seeds_are_three_repeats_at_a_low_temperature(protocol: Protocol, tokens: int) -> None:
    filled = settings(protocol=protocol)
    assert (filled.repeats, filled.max_tokens, filled.reply_limit) == (3, tokens, tokens)
    assert filled.parameters == {"temperature": 0.001, "top_p": 1, "seed": [42, 1738, 1234]}
    assert SEEDS == (42, 1738, 1234)
    assert not filled.final_instructions


def test_reasoning_has_an_effort_a_budget_and_final_instructions_and_time_for_it() -> None:
    filled = settings(protocol="reasoning")
    assert filled.reasoning is not None
    assert (filled.max_tokens, filled.reasoning.effort, filled.reasoning.budget) == (32_768, "medium", 4096)
    assert (filled.final_instructions, filled.repeats, filled.timeout, filled.streams) == (True, 1, 1800, True)
    assert settings(protocol="reasoning", timeout=3000).timeout == 3000


def test_a_parameter_that_an_interface_does_not_take_is_left_out() -> None:
    named = [set(ModelSettings.model_validate(asked | {"protocol": "three-seeds"}).parameters) for asked in ASKED]
    assert named == [{"temperature", "top_p", "seed"}, {"temperature", "top_p"}, {"temperature"}]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("asked", ASKED)
def test_what_was_filled_is_stored_and_read_back_the_same(protocol: Protocol, asked: dict[str, Any]) -> None:
    filled = ModelSettings.model_validate(asked | {"protocol": protocol})
    for content in (filled.model_dump(mode="json"), filled.model_dump(mode="json", exclude_defaults=True)):
        assert ModelSettings.model_validate(content) == filled
    assert protocol_summary(protocol)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"protocol": "three-seeds", "repeats": 2}, "has repeats 3, and the definition says 2; leave out repeats"),
        (
            {"protocol": "three-seeds", "parameters": {"seed": 3}},
            "parameters.seed .42, 1738, 1234., and the definition",
        ),
        ({"protocol": "three-seeds", "parameters": 3}, "has parameters"),
        ({"protocol": "reasoning", "reasoning": {"effort": "high"}}, "has reasoning.effort medium"),
        ({"protocol": "two-seeds"}, "Input should be 'three-seeds', 'three-seeds-short' or 'reasoning'"),
        ({"protocol": "three-seeds", "provider": "overlap"}, "offline annotator is asked nothing in words"),
        (
            {"protocol": "three-seeds", "provider": "anthropic", "parameters": {"seed": 42}},
            "sends no seed to this interface; leave out parameters.seed",
        ),
        (
            {"max_tokens": 9, "parameters": {"max_tokens": 9}},
            "stated twice; leave out max_tokens, or parameters.max_tokens",
        ),
        ({"max_tokens": 4096, "reasoning": {"budget": 4096}}, "leaves nothing of 4096 tokens for the answer"),
        ({"provider": "anthropic", "reasoning": {"budget": 1000}}, "anthropic takes 1024 or more"),
        ({"provider": "anthropic", "reply_format": "tool", "reasoning": {"budget": 2000}}, "use reply_format schema"),
        (
            {"reasoning": {"budget": 2000, "budget_for": "vllm"}},
            "is for provider openai with a base_url and interface chat",
        ),
    ],
)
def test_what_contradicts_a_protocol_or_itself_is_refused(content: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        settings(**content)


def test_other_parameters_may_stand_beside_those_of_a_protocol() -> None:
    assert settings(protocol="three-seeds", parameters={"stop": ["END"]}).parameters["stop"] == ["END"]
