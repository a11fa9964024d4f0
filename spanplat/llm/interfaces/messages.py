"""Anthropic's messages."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from spanplat.llm.interfaces.interface import SCHEMA_NAME, count, cut_off, unintelligible
from spanplat.llm.provider import FinishReason, ModelReply, Request, Usage
from spanplat.schemas.model_settings import ReplyFormat
from spanplat.schemas.providers import MESSAGES_REPLY_LIMIT

_FINISHES: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class Messages:
    """The messages interface."""

    path = "/v1/messages"
    streaming: Mapping[str, Any] = {"stream": True}

    def body(self, model: str, request: Request, reply_format: ReplyFormat) -> dict[str, Any]:
        """Return the body of a request. The interface has a separate field for system messages."""
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        # The interface requires max_tokens. A limit in the parameters replaces this one at the end.
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": MESSAGES_REPLY_LIMIT,
            "messages": [
                {"role": message.role, "content": message.content}
                for message in request.messages
                if message.role != "system"
            ],
        }
        if system:
            body["system"] = system
        parameters = dict(request.parameters)
        # The schema and the effort of reasoning share the field output_config, so they are merged.
        if request.schema is not None and reply_format == "schema":
            output = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
            body["output_config"] = output | dict(parameters.pop("output_config", {}))
        elif request.schema is not None and reply_format == "tool":
            description = "Gives the annotations of the text."
            tool = {"name": SCHEMA_NAME, "description": description, "input_schema": dict(request.schema)}
            body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": SCHEMA_NAME}}
        return body | parameters

    def read(self, response: Mapping[str, Any]) -> ModelReply:
        """Read a response. If a tool was used, its input is the reply."""
        content = response.get("content")
        if not isinstance(content, list):
            raise unintelligible("it has no content")
        blocks = [block for block in content if isinstance(block, Mapping)]
        tools = [
            json.dumps(block.get("input"), ensure_ascii=False) for block in blocks if block.get("type") == "tool_use"
        ]
        texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
        thoughts = [str(block.get("thinking") or "") for block in blocks if block.get("type") == "thinking"]
        usage = response.get("usage")
        read, written = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
        return ModelReply(
            text=tools[-1] if tools else "".join(texts),
            reasoning="\n\n".join(thoughts),
            model_version=str(response.get("model") or ""),
            response=response,
            finish_reason=_FINISHES.get(str(response.get("stop_reason")), "other"),
            usage=Usage(
                # Anthropic's input_tokens leave out the tokens read from and written to the cache; ours include them.
                input_tokens=count(usage, "input_tokens") + read + written,
                output_tokens=count(usage, "output_tokens"),
                reasoning_tokens=count(usage, "output_tokens_details", "thinking_tokens"),
                cached_tokens=read,
                cache_write_tokens=written,
            ),
        )

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Assemble the blocks of a stream into a response."""
        whole: dict[str, Any] = {}
        blocks: dict[int, dict[str, Any]] = {}
        inputs: dict[int, str] = {}
        for event in events:
            match event:
                case {"type": "message_start", "message": dict(message)}:
                    whole = dict(message)
                case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                    blocks[index] = dict(block)
                case {"type": "content_block_delta", "index": int(index), "delta": {"partial_json": str(piece)}}:
                    inputs[index] = inputs.get(index, "") + piece
                case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)}:
                    _extend(blocks.setdefault(index, {}), delta)
                case {"type": "message_delta", "delta": dict(delta)}:
                    whole |= delta
                    # The input tokens come with the first event, the output tokens with this one.
                    whole["usage"] = {**(whole.get("usage") or {}), **(event.get("usage") or {})}
                # The pieces of a tool's input are JSON only when all are there.
                case {"type": "message_stop"}:
                    for index, text in inputs.items():
                        blocks[index]["input"] = _parsed(text)
                    return whole | {"content": [blocks[index] for index in sorted(blocks)]}
        raise cut_off()


def _extend(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Append the texts of a delta to a block."""
    # The signature of the reasoning is not used, but the response is stored complete.
    for name in ("text", "thinking", "signature"):
        if isinstance(delta.get(name), str):
            block[name] = block.get(name, "") + delta[name]


def _parsed(text: str) -> Any:
    """Return the input of a tool. If it is not JSON, for example because the reply was cut off, return it as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
