"""OpenAI and servers with its interfaces: Ollama, vLLM, DeepSeek, Gemini, OpenRouter and others."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from spanplat.llm.addresses import allowed_address
from spanplat.llm.interfaces.chat import ChatCompletions
from spanplat.llm.interfaces.interface import Interface
from spanplat.llm.interfaces.responses import Responses
from spanplat.llm.keys import find_key_of, is_own_address, without_keys
from spanplat.llm.provider import BatchSearch, BatchState, CallFailed, FailureKind, ModelReply, Request, SubmittedBatch
from spanplat.llm.providers.remote import NO_KEY, RemoteProvider
from spanplat.schemas.categories import Category
from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.prompt_settings import ReasoningSettings

# "words" is a server without a field for a budget of reasoning. The prompt states the budget in words then.
Server = Literal["words", "openrouter", "dashscope", "vllm", "gemini"]

KEY_VARIABLE = "OPENAI_API_KEY"
OWN_HOST = "api.openai.com"
OWN_ADDRESS = f"https://{OWN_HOST}/v1"
_ENDED = {"completed", "failed", "expired", "cancelled"}
_TOO_LARGE = "token_limit_exceeded"
_TIMED_OUT = "request_timeout"
_METADATA = "spanplat_batch"
_HOSTS: tuple[tuple[str, Server], ...] = (
    ("openrouter.ai", "openrouter"),
    ("aliyuncs.com", "dashscope"),
    ("generativelanguage.googleapis.com", "gemini"),
)


class OpenAIProvider(RemoteProvider):
    """Provider that uses the ``openai`` SDK.

    Raises
    ------
    InvalidInput
        If the key is not set, or the operator did not allow the server. Another server (``base_url``) may need none.
    """

    def __init__(self, settings: ModelSettings) -> None:
        import openai  # noqa: PLC0415 (only where it is used)

        own = is_own_address(settings, OWN_HOST)
        key = find_key_of(settings, KEY_VARIABLE, own=own)
        # The SDK would read address and account from the environment. Other servers must not see the names of the OpenAI account.
        nobody: Any = {} if own else {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        client = openai.AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=allowed_address(settings, OWN_ADDRESS),
            max_retries=0,
            timeout=settings.timeout,
            default_headers=nobody,
        )
        interface: Interface = Responses() if settings.interface == "responses" else ChatCompletions()
        super().__init__(openai, client, key, settings, interface)

    @classmethod
    def of(cls, settings: ModelSettings, categories: Sequence[Category] = ()) -> "OpenAIProvider":
        """Return the provider for these settings. Language models need no ``categories``; their prompt has them."""
        del categories
        return cls(settings)

    @staticmethod
    def sent_limit(settings: ModelSettings) -> dict[str, Any]:
        """Return the limit of a reply under the interface's name for it. Return nothing if the settings do not state it."""
        if settings.max_tokens is None:
            return {}
        if settings.interface == "responses":
            return {"max_output_tokens": settings.max_tokens}
        own = is_own_address(settings, OWN_HOST)  # other servers may not know OpenAI's newer name
        return {"max_completion_tokens" if own else "max_tokens": settings.max_tokens}

    @staticmethod
    def sent_reasoning(settings: ModelSettings) -> dict[str, Any]:
        """Return effort and budget of reasoning under the interface's and the server's names for them."""
        reasoning = settings.reasoning
        if reasoning is None:
            return {}
        if settings.interface == "responses":
            return {"reasoning": {"effort": reasoning.effort}} if reasoning.effort else {}
        return _compatible(_server(settings, reasoning), reasoning)

    @staticmethod
    def sends_budget(settings: ModelSettings) -> bool:
        """Return whether the server has a name for a budget of reasoning."""
        return settings.reasoning is not None and _server(settings, settings.reasoning) != "words"

    async def submit_batch(self, key: str, requests: Mapping[str, Request]) -> str:
        """Upload requests as a file, and create a batch from it."""
        endpoint = f"/v1{self._interface.path}"
        lines = (
            {"custom_id": name, "method": "POST", "url": endpoint, "body": self.body(request)}
            for name, request in requests.items()
        )
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
        upload = self._client.files.create(file=(f"{key}.jsonl", content), purpose="batch")
        file = await self._call(upload)
        # The key is stored with the batch, so that find_batch recognises it after a lost answer.
        create = self._client.batches.create(
            completion_window="24h",
            endpoint=endpoint,
            input_file_id=file.id,
            metadata={_METADATA: key},
        )
        return str((await self._call(create)).id)

    async def find_batch(self, batch: SubmittedBatch) -> BatchSearch:
        """Search for a batch by the key in its metadata, among those created since."""

        async def search() -> str | None:
            async for listed in self._client.batches.list(limit=100):  # the newest first
                if (listed.metadata or {}).get(_METADATA) == batch.key:
                    return str(listed.id)
                if listed.created_at < batch.earliest.timestamp():
                    break
            return None

        return BatchSearch(await self._call(search()))

    async def batch_state(self, batch: str) -> BatchState:
        """Return the state of a batch."""
        found = await self._call(self._client.batches.retrieve(batch))
        counts, error, is_too_large = found.request_counts, None, False
        if found.status == "failed":
            errors = (found.errors.data if found.errors else None) or []
            reasons = [entry.message for entry in errors if entry.message]
            error = without_keys("; ".join(reasons[:3]) or "the provider gave no reason", self._key)
            is_too_large = any(entry.code == _TOO_LARGE for entry in errors)
        return BatchState(
            found.status in _ENDED,
            counts.completed if counts else 0,
            counts.failed if counts else 0,
            error,
            is_too_large,
            found.status == "cancelling",
        )

    async def batch_results(self, batch: str) -> AsyncIterator[tuple[str, ModelReply | CallFailed]]:
        """Yield the results of a batch from its two files: replies and errors."""
        found = await self._call(self._client.batches.retrieve(batch))
        for file in (found.output_file_id, found.error_file_id):
            if file is None:
                continue
            content = await self._call(self._client.files.content(file))
            for line in content.text.split("\n"):  # splitlines would also split at U+2028 within a reply
                if line.strip():
                    yield self._result(_parsed(line))

    async def cancel_batch(self, batch: str) -> None:
        """Ask the provider to stop a batch."""
        await self._call(self._client.batches.cancel(batch))

    def _result(self, line: Mapping[str, Any]) -> tuple[str, ModelReply | CallFailed]:
        name, response = str(line.get("custom_id")), line.get("response") or {}
        status, body = response.get("status_code"), response.get("body")
        if status == 200:
            try:
                return name, self._read(body)
            except CallFailed as failure:
                return name, failure
        error = (body or {}).get("error") if isinstance(body, Mapping) else None
        # A request that was never answered has no response, and its error stands on the line itself.
        error = error or line.get("error") or {}
        message = without_keys(f"in the batch: {error.get('message') or 'no reason given'}", self._key)
        code = error.get("code")
        kind: FailureKind = "timeout" if code == _TIMED_OUT else "status"
        return name, CallFailed(message, kind=kind, status=status, code=code)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise CallFailed(f"the results of the batch are no JSON: {error}", kind="unintelligible") from None


def _compatible(server: Server, reasoning: ReasoningSettings) -> dict[str, Any]:
    """Return the parameters of reasoning for chat completions. Each server has its own name for a budget; OpenAI has none."""
    budget = reasoning.budget
    effort = {"reasoning_effort": reasoning.effort} if reasoning.effort else {}
    match server if budget is not None else "words":
        case "openrouter":  # takes the one or the other
            return {"reasoning": {"max_tokens": budget}}
        case "dashscope":
            return {"enable_thinking": True, "thinking_budget": budget}
        case "gemini":  # refuses an effort beside a budget
            return {"extra_body": {"google": {"thinking_config": {"thinking_budget": budget}}}}
        case "vllm":
            return effort | {"thinking_token_budget": budget}
        case _:
            return effort


def _server(settings: ModelSettings, reasoning: ReasoningSettings) -> Server:
    if reasoning.budget_for != "auto":
        return reasoning.budget_for
    host = str(settings.base_url.host) if settings.base_url else ""
    # The responses interface has no field for a budget, on any server.
    if settings.interface != "chat":
        return "words"
    return next((server for name, server in _HOSTS if host == name or host.endswith(f".{name}")), "words")
