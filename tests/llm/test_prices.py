"""Cost of calls: by the price in the definition, else by the list, else unknown."""

from typing import Any

import pytest

from spanplat.llm.prices import cost_of
from spanplat.llm.provider import Usage
from spanplat.schemas.model_settings import ModelSettings

USAGE = Usage(input_tokens=1_000_000, output_tokens=500_000)


def settings(**parts: Any) -> ModelSettings:
    return ModelSettings.model_validate({"provider": "openai", "model": "gpt-4o-mini"} | parts)


def test_the_list_gives_the_price_of_known_models_and_half_of_it_for_batches() -> None:
    assert cost_of(settings(), USAGE) == pytest.approx(0.15 + 0.3)
    assert cost_of(settings(mode="batch"), USAGE) == pytest.approx((0.15 + 0.3) / 2)
    assert cost_of(settings(provider="anthropic", model="claude-3-5-haiku-20241022"), USAGE) == pytest.approx(0.8 + 2)


def test_the_version_reported_is_priced_and_else_the_name_asked_for() -> None:
    assert cost_of(settings(model="my-alias"), USAGE, "gpt-4o-mini-2024-07-18") == pytest.approx(0.45)
    assert cost_of(settings(), USAGE, "something unheard of") == pytest.approx(0.45)


def test_cached_tokens_cost_less() -> None:
    assert cost_of(settings(), Usage(1_000_000, 0, cached_tokens=1_000_000)) == pytest.approx(0.075)


def test_a_gateway_costs_what_the_provider_asks_and_a_known_server_what_it_asks_itself() -> None:
    assert cost_of(settings(base_url="http://127.0.0.1:9/v1"), USAGE) == pytest.approx(0.45)
    deepseek = settings(model="deepseek-chat", base_url="https://api.deepseek.com/v1")
    assert cost_of(deepseek, USAGE) is not None


def test_an_unknown_price_is_none_and_never_zero() -> None:
    assert cost_of(settings(model="my-own-model", base_url="http://127.0.0.1:9/v1"), USAGE) is None


def test_the_definition_knows_better() -> None:
    assert cost_of(settings(model="my-own-model", price={"input": 2, "output": 8}), USAGE) == pytest.approx(6.0)


@pytest.mark.parametrize(("price", "cost"), [({}, 3.0), ({"batch": 1}, 6.0), ({"batch": 0.25}, 1.5)])
def test_batches_cost_half_of_the_definitions_own_price_unless_it_says_another_share(
    price: dict[str, float], cost: float
) -> None:
    own = settings(model="my-own-model", mode="batch", price={"input": 2, "output": 8} | price)
    assert cost_of(own, USAGE) == pytest.approx(cost)


def test_the_offline_annotator_is_free() -> None:
    assert cost_of(settings(provider="overlap", model=""), USAGE) == 0.0
