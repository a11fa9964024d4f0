"""Request bodies of published protocols and reasoning settings, for each provider."""

from typing import Any

import pytest

from spanplat.llm.dialogue import Dialogue
from spanplat.llm.interfaces.parameters import sends_budget, sent_parameters
from spanplat.llm.item import AskedItem
from spanplat.schemas.model_settings import ModelSettings
from tests.llm.providers.asking import complete, provider_of
from tests.llm.replies.asking import defined
from tests.standin.script import Reply, always
from tests.standin.server import StandIn

ITEM = AskedItem(["It rains."], {"sky": "blue"})
INTERFACES: dict[str, dict[str, Any]] = {
    "chat": {"provider": "openai"},
    "responses": {"provider": "openai", "interface": "responses"},
    "messages": {"provider": "anthropic"},
}


def asked(standin: StandIn, interface: str, repeats: int = 1, **model: Any) -> list[dict[str, Any]]:
    """Ask about an item as a campaign with these settings would, and return the bodies that the provider got."""
    address = standin.url if interface == "messages" else f"{standin.url}/v1"
    definition = defined(model=INTERFACES[interface] | {"model": "tiny", "base_url": address} | model)
    for repeat in range(repeats):
        provider = provider_of(interface, standin, **model)
        complete(provider, Dialogue(definition).request(ITEM, repeat))
    return [dict(call.body) for call in standin.ledger.calls]


def test_three_seeds_are_three_requests_that_differ_by_their_seed_alone(standin: StandIn) -> None:
    bodies = asked(standin, "chat", repeats=3, protocol="three-seeds")
    assert [body.pop("seed") for body in bodies] == [42, 1738, 1234]
    assert bodies[0] == bodies[1] == bodies[2]
    assert (bodies[0]["temperature"], bodies[0]["top_p"]) == (0.001, 1)


@pytest.mark.parametrize(
    ("protocol", "tokens"), [("three-seeds", 1024), ("three-seeds-short", 128), ("reasoning", 32_768)]
)
@pytest.mark.parametrize(
    ("interface", "name"), [("chat", "max_tokens"), ("responses", "max_output_tokens"), ("messages", "max_tokens")]
)
def test_the_longest_reply_goes_under_the_name_of_the_interface(
    standin: StandIn, protocol: str, tokens: int, interface: str, name: str
) -> None:
    (body,) = asked(standin, interface, protocol=protocol)
    limits = {key: value for key, value in body.items() if key.startswith("max_")}
    assert limits == {name: tokens}
    assert "seed" not in body or interface == "chat"


def test_anthropic_is_given_the_effort_and_holds_the_model_to_the_budget(standin: StandIn) -> None:
    standin.script = always(Reply('{"annotations": []}', reasoning="It does rain."))
    (body,) = asked(standin, "messages", protocol="reasoning")
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    assert body["output_config"]["effort"] == "medium"
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert body["stream"] is True
    assert not {"temperature", "top_p", "seed", "reasoning"} & set(body)


def test_openai_is_given_the_effort_and_told_the_budget_in_words(standin: StandIn) -> None:
    for interface in ("chat", "responses"):
        asked(standin, interface, protocol="reasoning")
    chat, responses = (dict(call.body) for call in standin.ledger.calls)
    assert chat["reasoning_effort"] == "medium"
    assert responses["reasoning"] == {"effort": "medium"}
    for call in standin.ledger.calls:
        assert "for at most about 4,096 tokens" in call.prompt
        assert call.prompt.endswith("Give it even if you are not sure of every point.")
    assert not {"thinking", "thinking_budget", "thinking_token_budget"} & (set(chat) | set(responses))


@pytest.mark.parametrize(
    ("server", "fields"),
    [
        ("openrouter", {"reasoning": {"max_tokens": 4096}}),
        ("dashscope", {"enable_thinking": True, "thinking_budget": 4096}),
        ("gemini", {"extra_body": {"google": {"thinking_config": {"thinking_budget": 4096}}}}),
        ("vllm", {"reasoning_effort": "medium", "thinking_token_budget": 4096}),
        ("words", {"reasoning_effort": "medium"}),
    ],
)
def test_a_compatible_server_is_given_the_budget_under_its_own_name(
    standin: StandIn, server: str, fields: dict[str, Any]
) -> None:
    names = {
        "reasoning",
        "reasoning_effort",
        "enable_thinking",
        "thinking_budget",
        "thinking_token_budget",
        "extra_body",
    }
    (body,) = asked(standin, "chat", protocol="reasoning", reasoning={"budget_for": server})
    assert {name: value for name, value in body.items() if name in names} == fields
    assert body["max_tokens"] == 32_768


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("https://openrouter.ai/api/v1", "reasoning"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "thinking_budget"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "extra_body"),
        ("https://api.openai.com/v1", None),
        ("https://notopenrouter.ai/v1", None),
        ("http://127.0.0.1:8000/v1", None),
    ],
)
def test_servers_that_take_a_budget_are_known_by_their_address(address: str, field: str | None) -> None:
    settings = ModelSettings.model_validate(
        {"provider": "openai", "model": "m", "base_url": address, "protocol": "reasoning"}
    )
    assert sends_budget(settings) is (field is not None)
    assert (field or "reasoning_effort") in sent_parameters(settings)


def test_openai_itself_gets_the_limit_under_its_newer_name_and_parameters_go_before_settings() -> None:
    own = ModelSettings.model_validate({"provider": "openai", "model": "m", "max_tokens": 50})
    assert sent_parameters(own) == {"max_completion_tokens": 50}
    stated = own.model_copy(update={"parameters": {"max_completion_tokens": 40, "top_k": 5}})
    assert sent_parameters(stated) == {"max_completion_tokens": 40, "top_k": 5}
