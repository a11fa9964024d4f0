"""Key and address of each provider."""

from typing import Any

import pytest

from spanplat.errors import InvalidInput
from spanplat.llm.keys import find_key_of, is_own_address
from spanplat.llm.providers.anthropic import AnthropicProvider
from spanplat.llm.providers.openai import OpenAIProvider
from spanplat.schemas.model_settings import ModelSettings
from tests.asynchronous import run
from tests.llm.providers.asking import KEY, complete, failure, provider_of
from tests.standin.server import StandIn


@pytest.mark.parametrize(("provider", "variable"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")])
def test_a_missing_key_is_told_with_the_variable_to_set(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    settings = ModelSettings.model_validate({"provider": provider, "model": "tiny"})
    with pytest.raises(InvalidInput, match=f"set the environment variable {variable}"):
        (OpenAIProvider if provider == "openai" else AnthropicProvider)(settings)


PROVIDERS = pytest.mark.parametrize("interface", ["chat", "messages"])


@PROVIDERS
def test_a_server_of_ones_own_gets_no_key_or_account_that_the_definition_does_not_name(
    interface: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
    for name in (*secrets, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, f"planted-{name}")
    with StandIn() as server:
        complete(provider_of(interface, server, key_variable=None))
        headers = server.ledger.calls[0].headers
    assert headers["authorization"] == "Bearer none"
    assert "planted" not in str(headers)


@PROVIDERS
def test_a_server_of_ones_own_that_wants_a_key_says_so_and_where_to_name_it(standin: StandIn, interface: str) -> None:
    failed = failure(provider_of(interface, standin, key_variable=None))
    assert failed.status == 401
    assert "it was sent no key" in str(failed)
    assert "model.key_variable" in str(failed)


def test_a_server_of_ones_own_can_have_its_own_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("DEEPSEEK_API_KEY=from-the-file\n")
    with StandIn(key="from-the-file") as server:
        assert complete(provider_of("chat", server, key_variable="DEEPSEEK_API_KEY")).finish_reason == "stop"


@pytest.mark.parametrize(
    ("address", "own"),
    [
        (None, True),
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.elsewhere.org/v1", False),
        ("https://notapi.openai.com/v1", False),
        ("http://127.0.0.1:11434/v1", False),
    ],
)
def test_only_the_providers_own_addresses_over_a_safe_connection_are_its_own(address: str | None, own: bool) -> None:
    settings = ModelSettings.model_validate({"provider": "openai", "model": "tiny", "base_url": address})
    assert is_own_address(settings, "api.openai.com") == own
    assert find_key_of(settings, "OPENAI_API_KEY", own=own) == (KEY if own else None)


def test_the_address_is_the_definitions_and_not_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    for name, provider in (("openai", OpenAIProvider), ("anthropic", AnthropicProvider)):
        made = provider(ModelSettings.model_validate({"provider": name, "model": "tiny"}))
        assert str(made._client.base_url).startswith(f"https://api.{name}.com")
        run(made.close())


@PROVIDERS
def test_only_servers_that_the_operator_allows_are_asked(
    standin: StandIn, interface: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANPLAT_MODEL_HOSTS", "models.example.org 127.0.0.1:1")
    with pytest.raises(InvalidInput, match=r"none of the servers that may be asked here .* SPANPLAT_MODEL_HOSTS"):
        provider_of(interface, standin)
    assert standin.ledger.calls == []
    monkeypatch.setenv("SPANPLAT_MODEL_HOSTS", f"models.example.org {standin.url.removeprefix('http://')}")
    assert complete(provider_of(interface, standin)).text
    own = {"provider": "openai", "model": "tiny"}
    assert OpenAIProvider(ModelSettings.model_validate(own)).name == "openai/tiny", "its own address is always allowed"
