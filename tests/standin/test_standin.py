"""The stand-in speaks the providers' protocols as their own SDKs understand them, streams included."""

import json
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from tests.asynchronous import run
from tests.standin.script import Reply, always
from tests.standin.server import StandIn

SCHEMA = {"type": "object", "properties": {"annotations": {"type": "array"}}}
ASKED: Any = [{"role": "user", "content": "Annotate: it rains."}]
REPLY = Reply('{"annotations": []}', reasoning="Let me see.", tokens=(30, 12, 7))


def test_chat_completions_can_be_streamed() -> None:
    async def ask(url: str) -> tuple[str, int, str | None]:
        async with AsyncOpenAI(api_key="any", base_url=f"{url}/v1", max_retries=0) as client:
            stream = await client.chat.completions.create(
                model="tiny",
                messages=ASKED,
                stream=True,
                stream_options={"include_usage": True},
            )
            chunks = [chunk async for chunk in stream]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        usage = chunks[-1].usage
        return text, usage.completion_tokens if usage else 0, chunks[-2].choices[0].finish_reason

    with StandIn(always(REPLY)) as server:
        assert run(ask(server.url)) == ('{"annotations": []}', 12, "stop")


def test_responses_can_be_streamed() -> None:
    async def ask(url: str) -> tuple[str, str]:
        async with AsyncOpenAI(api_key="any", base_url=f"{url}/v1", max_retries=0) as client:
            stream = await client.responses.create(model="tiny", input="Annotate: it rains.", stream=True)
            events = [event async for event in stream]
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        return text, events[-1].type

    with StandIn(always(REPLY)) as server:
        assert run(ask(server.url)) == ('{"annotations": []}', "response.completed")


@pytest.mark.parametrize("tool", [False, True])
def test_messages_can_be_streamed(tool: bool) -> None:
    async def ask(url: str) -> tuple[str, str, int]:
        extra: Any = {"tools": [{"name": "annotations", "input_schema": SCHEMA}]} if tool else {}
        choice: Any = {"tool_choice": {"type": "tool", "name": "annotations"}} if tool else {}
        async with (
            AsyncAnthropic(api_key="any", base_url=url, max_retries=0, open_telemetry=False) as client,
            client.messages.stream(model="tiny", max_tokens=100, messages=ASKED, **extra, **choice) as stream,
        ):
            message = await stream.get_final_message()
        last = message.content[-1]
        text = json.dumps(last.input) if last.type == "tool_use" else last.text if last.type == "text" else ""
        return text, message.content[0].type, message.usage.output_tokens

    with StandIn(always(REPLY)) as server:
        assert run(ask(server.url)) == ('{"annotations": []}', "thinking", 12)
