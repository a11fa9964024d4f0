"""OpenAI's responses interface."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spanplat.llm.interfaces.interface import SCHEMA_NAME, count, cut_off, unintelligible
from spanplat.llm.provider import CallFailed, FinishReason, ModelReply, Request, Usage
from spanplat.schemas.model_settings import ReplyFormat

_LAST_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class Responses:
    """The responses interface. The server is asked to store nothing."""

    path = "/responses"
    streaming: Mapping[str, Any] = {"stream": True}

    def body(self, model: str, request: Request, reply_format: ReplyFormat) -> dict[str, Any]:
        """Return the body of a request."""
        body: dict[str, Any] = {
            "model": model,
            "input": [{"role": message.role, "content": message.content} for message in request.messages],
            "store": False,
        }
        parameters = dict(request.parameters)
        # The schema and other settings of the text share one field, so they are merged.
        text = dict(parameters.pop("text", {}))
        if request.schema is not None and reply_format == "schema":
            schema = {"type": "json_schema", "name": SCHEMA_NAME, "strict": True, "schema": dict(request.schema)}
            text = {"format": schema} | text
        elif request.schema is not None and reply_format == "json":
            text = {"format": {"type": "json_object"}} | text
        return body | ({"text": text} if text else {}) | parameters

    def read(self, response: Mapping[str, Any]) -> ModelReply:
        """Read a response. Its reasoning consists of the summaries of reasoning."""
        output = response.get("output")
        if not isinstance(output, list):
            raise unintelligible("it has no output")
        if response.get("status") == "failed":
            error = response.get("error")
            message = error.get("message") if isinstance(error, Mapping) else None
            # A response that failed has HTTP status 200. As 500 it is retried like other errors of the server.
            raise CallFailed(f"the server could not finish the answer: {message or 'no reason given'}", status=500)
        texts = list(_parts(output, "message", "content", "output_text", "text"))
        refusals = list(_parts(output, "message", "content", "refusal", "refusal"))
        usage = response.get("usage")
        return ModelReply(
            text="".join(texts or refusals),
            reasoning="\n\n".join(_parts(output, "reasoning", "summary", "summary_text", "text")),
            model_version=str(response.get("model") or ""),
            response=response,
            finish_reason="refusal" if refusals else _finish(response),
            usage=Usage(
                input_tokens=count(usage, "input_tokens"),
                output_tokens=count(usage, "output_tokens"),
                reasoning_tokens=count(usage, "output_tokens_details", "reasoning_tokens"),
                cached_tokens=count(usage, "input_tokens_details", "cached_tokens"),
                cache_write_tokens=count(usage, "input_tokens_details", "cache_write_tokens"),
            ),
        )

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the whole response, which is in the last event."""
        for event in reversed(events):
            if event.get("type") in _LAST_EVENTS and isinstance(event.get("response"), Mapping):
                return dict(event["response"])
        raise cut_off()


def _finish(response: Mapping[str, Any]) -> FinishReason:
    if response.get("status") != "incomplete":
        return "stop"
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return "length" if reason == "max_output_tokens" else "refusal" if reason == "content_filter" else "other"


def _parts(output: list[Any], kind: str, field: str, part: str, name: str) -> Iterator[str]:
    """Yield the texts of parts of one type within output items of one type."""
    for item in output:
        if isinstance(item, Mapping) and item.get("type") == kind:
            for piece in item.get(field) or ():
                if isinstance(piece, Mapping) and piece.get("type") == part:
                    yield str(piece.get(name) or "")
