"""Common base of the providers that use an SDK: send a request once, whole or as a stream, and report failures."""

import json
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from time import perf_counter
from types import ModuleType
from typing import Any, TypeVar

from spanplat.llm.allowance import read_allowance
from spanplat.llm.interfaces.interface import Interface
from spanplat.llm.keys import HIDDEN, SHORTEST_KEY, without_keys
from spanplat.llm.provider import CallFailed, ModelReply, Request
from spanplat.llm.providers.failures import calling, failure_within
from spanplat.schemas.model_settings import ModelSettings

NO_KEY = "none"
"""Key for servers that need none. The SDKs require one."""

T = TypeVar("T")


class RemoteProvider:
    """Provider that uses an SDK. The SDK's own retries are off, so that every call is counted and stored.

    Parameters
    ----------
    sdk
        The SDK's module.
    client
        Its asynchronous client.
    key
        The key that the client sends. None if the server gets none.
    settings
        Settings of the model.
    interface
        Wire format of requests and responses.
    """

    def __init__(
        self, sdk: ModuleType, client: Any, key: str | None, settings: ModelSettings, interface: Interface
    ) -> None:
        self._sdk = sdk
        self._client = client
        self._key = key
        self._settings = settings
        self._interface = interface

    @staticmethod
    def sent_limit(settings: ModelSettings) -> dict[str, Any]:
        """Return the limit of a reply under its most common name. Return nothing if the settings do not state it."""
        return {} if settings.max_tokens is None else {"max_tokens": settings.max_tokens}

    @property
    def name(self) -> str:
        """Identify the annotator."""
        return f"{self._settings.provider}/{self._settings.model}"

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body that is sent."""
        body = self._interface.body(self._settings.model, request, self._settings.reply_format)
        return {**body, **self._interface.streaming} if self._settings.streams else body

    async def complete(self, request: Request) -> ModelReply:
        """Send a request once."""
        started = perf_counter()
        body = self.body(request)
        response, headers = await (self._stream(body) if self._settings.streams else self._post(body))
        return replace(self._read(response), latency=perf_counter() - started, allowance=read_allowance(headers))

    async def close(self) -> None:
        """Close connections."""
        await self._client.close()

    async def _post(self, body: Mapping[str, Any]) -> tuple[object, Mapping[str, str]]:
        import httpx2  # noqa: PLC0415 (comes with the SDKs, and is loaded with them)

        # The raw response instead of the SDK's types, because it is stored as received.
        response = await self._call(self._client.post(self._interface.path, body=body, cast_to=httpx2.Response))
        try:
            return response.json(), response.headers
        # For example the web page of a wrong address. _read shows how it begins.
        except ValueError:
            return response.text, response.headers

    async def _stream(self, body: Mapping[str, Any]) -> tuple[object, Mapping[str, str]]:
        # Opened and read in one awaitable, because errors within the stream pass through _call too.
        async def events() -> tuple[list[Any], Mapping[str, str]]:
            stream = await self._client.post(
                self._interface.path, body=body, cast_to=object, stream=True, stream_cls=self._sdk.AsyncStream[object]
            )
            return [event async for event in stream], stream.response.headers

        received, headers = await self._call(events())
        whole = self._interface.assemble([event for event in received if isinstance(event, Mapping)])
        return whole, headers

    async def _call(self, call: Awaitable[T]) -> T:
        try:
            return await calling(self._sdk, self._key, call)
        except CallFailed as failure:
            # Another server never gets the provider's own key, so a refusal there needs its own explanation.
            if failure.status in (401, 403) and self._key is None:
                raise CallFailed(
                    f"{failure}; it was sent no key, because model.base_url is not the provider's own address: "
                    "name the environment variable with its key in model.key_variable",
                    status=failure.status,
                    code=failure.code,
                ) from None
            raise

    def _read(self, response: object) -> ModelReply:
        if not isinstance(response, Mapping):
            message = f"the server's response is no JSON object but begins {str(response)[:80]!r}; check model.base_url"
            raise CallFailed(without_keys(message, self._key), kind="unintelligible")
        failure = failure_within(response, self._key)
        if failure is not None:
            raise failure
        return self._interface.read(self._without_key(response))

    def _without_key(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """Hide the key in a response that is stored. A gateway may repeat the request in it."""
        if (
            self._key is None
            or len(self._key) < SHORTEST_KEY
            or self._key not in (text := json.dumps(response, ensure_ascii=False))
        ):
            return response
        hidden: Mapping[str, Any] = json.loads(text.replace(self._key, HIDDEN))
        return hidden
