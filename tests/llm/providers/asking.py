"""Providers that send to the stand-in, and requests for them."""

from collections.abc import Callable
from typing import Any

import pytest

from spanplat.llm.item import AskedItem
from spanplat.llm.provider import (
    BatchProvider,
    CallFailed,
    Message,
    ModelReply,
    Provider,
    Request,
)
from spanplat.llm.providers.anthropic import AnthropicProvider
from spanplat.llm.providers.openai import OpenAIProvider
from spanplat.schemas.model_settings import ModelSettings
from tests.asynchronous import run
from tests.standin.server import StandIn

KEY = "planted-4f1d9c2b77a0"
SCHEMA = {"type": "object", "properties": {"annotations": {"type": "array"}}}
INTERFACES = ["chat", "responses", "messages"]
Make = Callable[..., BatchProvider]


def provider_of(interface: str, standin: StandIn, **parts: Any) -> BatchProvider:
    if interface == "messages":
        content = {
            "provider": "anthropic",
            "model": "tiny",
            "base_url": standin.url,
            "key_variable": "ANTHROPIC_API_KEY",
            "timeout": 120,
        } | parts
        return AnthropicProvider(ModelSettings.model_validate(content))
    content = {
        "provider": "openai",
        "model": "tiny",
        "base_url": f"{standin.url}/v1",
        "key_variable": "OPENAI_API_KEY",
        "interface": interface,
        "timeout": 120,
    }
    return OpenAIProvider(ModelSettings.model_validate(content | parts))


def request(text: str = "It rains.", **parts: Any) -> Request:
    messages = [Message("system", "Be exact."), Message("user", f"Annotate: {text}")]
    return Request(AskedItem([text]), messages, **parts)


def complete(provider: Provider, asked: Request | None = None) -> ModelReply:
    async def ask() -> ModelReply:
        try:
            return await provider.complete(asked or request())
        finally:
            await provider.close()

    return run(ask())


def failure(provider: Provider) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        complete(provider)
    return caught.value
