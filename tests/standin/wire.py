"""The providers' own forms of a reply, an error and a stream."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.standin.script import Reply, Trouble

Tokens = tuple[int, int, int]
Event = tuple[str, dict[str, Any]]
INTERFACES = {"/v1/chat/completions": "chat", "/v1/responses": "responses", "/v1/messages": "messages"}

_FINISH = {
    "chat": {"stop": "stop", "length": "length", "refusal": "content_filter"},
    "messages": {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"},
}


def prompt_of(body: Mapping[str, Any]) -> str:
    """Join what a request says."""
    turns = body.get("messages") or body.get("input") or []
    said = [turn["content"] for turn in turns] if isinstance(turns, list) else [turns]
    return "\n".join([str(body.get("system") or ""), *said]).strip()


def reply_body(interface: str, body: Mapping[str, Any], reply: Reply, tokens: Tokens, number: int) -> dict[str, Any]:
    """Return a whole reply in an interface's form."""
    version = f"{body['model']}-2026-01-01"
    match interface:
        case "chat":
            return _chat(version, reply, tokens, number)
        case "responses":
            return _responses(version, reply, tokens, number)
        case _:
            return _messages(version, reply, tokens, number, body)


def error_body(interface: str, trouble: Trouble) -> dict[str, Any]:
    """Return an error in an interface's form."""
    if interface == "messages":
        return {"type": "error", "error": {"type": trouble.code, "message": trouble.message}}
    return {"error": {"message": trouble.message, "type": "error", "code": trouble.code, "param": None}}


def rate_limit_headers(interface: str, remaining: int) -> dict[str, str]:
    """Return the headers by which a provider tells how much may still be asked."""
    if interface == "messages":
        full = datetime.now(UTC) + timedelta(milliseconds=60)
        return {
            "anthropic-ratelimit-requests-limit": "1000",
            "anthropic-ratelimit-requests-remaining": str(remaining),
            "anthropic-ratelimit-requests-reset": full.isoformat(),
        }
    return {
        "x-ratelimit-limit-requests": "1000",
        "x-ratelimit-remaining-requests": str(remaining),
        "x-ratelimit-reset-requests": "60ms",
    }


def _chat(version: str, reply: Reply, tokens: Tokens, number: int) -> dict[str, Any]:
    refused = reply.finish == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused else reply.text,
        "refusal": reply.text if refused else None,
    }
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": version,
        "choices": [{"index": 0, "message": message, "finish_reason": _FINISH["chat"][reply.finish], "logprobs": None}],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": tokens[0] + tokens[1],
            "completion_tokens_details": {"reasoning_tokens": tokens[2]},
        },
    }


def _responses(version: str, reply: Reply, tokens: Tokens, number: int) -> dict[str, Any]:
    refused = reply.finish == "refusal"
    part = {"type": "refusal", "refusal": reply.text} if refused else {"type": "output_text", "text": reply.text}
    output: list[dict[str, Any]] = [
        {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}
    ]
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        output.insert(0, {"type": "reasoning", "id": f"rs_{number}", "summary": summary})
    cut = reply.finish == "length"
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_760_000_000,
        "model": version,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": output,
        "usage": {
            "input_tokens": tokens[0],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": tokens[1],
            "output_tokens_details": {"reasoning_tokens": tokens[2]},
            "total_tokens": tokens[0] + tokens[1],
        },
    }


def _messages(version: str, reply: Reply, tokens: Tokens, number: int, body: Mapping[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if reply.reasoning:
        content.append({"type": "thinking", "thinking": reply.reasoning, "signature": "c2ln"})
    stop = _FINISH["messages"][reply.finish]
    if body.get("tool_choice") and reply.finish == "stop":
        name = body["tool_choice"]["name"]
        content.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": json.loads(reply.text)})
        stop = "tool_use"
    elif reply.text:
        content.append({"type": "text", "text": reply.text})
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": version,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "output_tokens_details": {"thinking_tokens": tokens[2]},
        },
    }


def stream_events(interface: str, body: dict[str, Any]) -> Iterator[Event]:
    """Cut a whole reply into the events of a stream, with the text in two pieces."""
    match interface:
        case "chat":
            yield from _chat_events(body)
        case "responses":
            yield from _response_events(body)
        case _:
            yield from _message_events(body)


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _chat_events(body: dict[str, Any]) -> Iterator[Event]:
    choice = body["choices"][0]
    head = {key: body[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        return "", head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}

    yield chunk({"role": "assistant", "content": ""})
    if choice["message"].get("reasoning_content"):
        yield chunk({"reasoning_content": choice["message"]["reasoning_content"]})
    field = "refusal" if choice["message"].get("refusal") else "content"
    for piece in _halves(choice["message"][field] or ""):
        yield chunk({field: piece})
    yield chunk({}, choice["finish_reason"])
    yield "", head | {"choices": [], "usage": body["usage"]}


def _response_events(body: dict[str, Any]) -> Iterator[Event]:
    number = 0

    def event(kind: str, **content: Any) -> Event:
        nonlocal number
        number += 1
        return kind, {"type": kind, "sequence_number": number, **content}

    yield event("response.created", response=body | {"status": "in_progress", "output": []})
    for index, item in enumerate(body["output"]):
        yield event("response.output_item.added", output_index=index, item=item | {"content": []})
        if item["type"] == "message" and "text" in item["content"][0]:
            for piece in _halves(item["content"][0]["text"]):
                place = {"item_id": item["id"], "output_index": index, "content_index": 0}
                yield event("response.output_text.delta", delta=piece, logprobs=[], **place)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed" if body["status"] == "completed" else "response.incomplete", response=body)


def _message_events(body: dict[str, Any]) -> Iterator[Event]:
    usage = body["usage"]
    start = body | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(body["content"]):
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
        opened = block | empty[block["type"]]
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": opened}
        for delta in _deltas(block):
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}}
    yield "message_stop", {"type": "message_stop"}


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": piece} for piece in _halves(block["text"]))
        case "thinking":
            yield {"type": "thinking_delta", "thinking": block["thinking"]}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            text = json.dumps(block["input"])
            yield from ({"type": "input_json_delta", "partial_json": piece} for piece in _halves(text))
