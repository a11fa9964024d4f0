"""OpenAI's chat completions, which most other servers support too."""

from collections.abc import Mapping, Sequence
from typing import Any

from spanplat.llm.interfaces.interface import SCHEMA_NAME, count, cut_off, unintelligible
from spanplat.llm.provider import FinishReason, ModelReply, Request, Usage
from spanplat.schemas.model_settings import ReplyFormat

_FINISHES: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "stop",
    "length": "length",
    "content_filter": "refusal",
}


class ChatCompletions:
    """The chat completions interface."""

    path = "/chat/completions"
    streaming: Mapping[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}

    def body(self, model: str, request: Request, reply_format: ReplyFormat) -> dict[str, Any]:
        """Return the body of a request."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        }
        if request.schema is not None and reply_format == "schema":
            schema = {"name": SCHEMA_NAME, "strict": True, "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema is not None and reply_format == "json":
            body["response_format"] = {"type": "json_object"}
        return body | dict(request.parameters)

    def read(self, response: Mapping[str, Any]) -> ModelReply:
        """Read a response. Reasoning is in different fields at different servers."""
        choices = response.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            raise unintelligible("it has no choices")
        message = choices[0].get("message")
        if not isinstance(message, Mapping):
            raise unintelligible("its choice has no message")
        refusal = message.get("refusal")
        finish = _FINISHES.get(str(choices[0].get("finish_reason")), "other")
        usage = response.get("usage")
        return ModelReply(
            text=str(message.get("content") or refusal or ""),
            # The first name is DeepSeek's and vLLM's, the second OpenRouter's.
            reasoning=str(message.get("reasoning_content") or message.get("reasoning") or ""),
            model_version=str(response.get("model") or ""),
            response=response,
            finish_reason="refusal" if refusal else finish,
            usage=Usage(
                input_tokens=count(usage, "prompt_tokens"),
                output_tokens=count(usage, "completion_tokens"),
                reasoning_tokens=count(usage, "completion_tokens_details", "reasoning_tokens"),
                cached_tokens=count(usage, "prompt_tokens_details", "cached_tokens"),
            ),
        )

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Assemble the chunks of a stream. The reply is complete once a finish reason has come."""
        message: dict[str, Any] = {"role": "assistant"}
        whole: dict[str, Any] = {}
        finish = usage = None
        for event in events:
            whole = {name: event[name] for name in ("id", "created", "model") if event.get(name)} | whole
            usage = event.get("usage") or usage
            choices = event.get("choices")
            if not isinstance(choices, list) or not choices:  # the chunk with the usage has no choices
                continue
            finish = choices[0].get("finish_reason") or finish
            for name, piece in (choices[0].get("delta") or {}).items():
                if isinstance(piece, str) and name != "role":  # texts grow by pieces, the role may be sent again
                    message[name] = message.get(name, "") + piece
        if finish is None:
            raise cut_off()
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return whole | {"object": "chat.completion", "choices": [choice], "usage": usage}
