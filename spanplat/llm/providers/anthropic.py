"""Anthropic's models."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from spanplat.llm.addresses import allowed_address
from spanplat.llm.interfaces.messages import Messages
from spanplat.llm.keys import find_key_of, is_own_address, without_keys
from spanplat.llm.provider import BatchSearch, BatchState, CallFailed, ModelReply, Request, SubmittedBatch
from spanplat.llm.providers.failures import status_of
from spanplat.llm.providers.remote import NO_KEY, RemoteProvider
from spanplat.schemas.categories import Category
from spanplat.schemas.model_settings import ModelSettings

KEY_VARIABLE = "ANTHROPIC_API_KEY"
OWN_HOST = "api.anthropic.com"
OWN_ADDRESS = f"https://{OWN_HOST}"


class AnthropicProvider(RemoteProvider):
    """Provider that uses the ``anthropic`` SDK.

    Raises
    ------
    InvalidInput
        If the key is not set, or the operator did not allow the server.
    """

    def __init__(self, settings: ModelSettings) -> None:
        import anthropic  # noqa: PLC0415 (only where it is used)

        key = find_key_of(settings, KEY_VARIABLE, own=is_own_address(settings, OWN_HOST))
        client = anthropic.AsyncAnthropic(
            api_key=key or NO_KEY,
            base_url=allowed_address(settings, OWN_ADDRESS),  # the SDK would take it from the environment
            max_retries=0,
            timeout=settings.timeout,
            # Otherwise the SDK would trace each call for the process's OpenTelemetry, if there is one.
            open_telemetry=False,
        )
        super().__init__(anthropic, client, key, settings, Messages())

    @classmethod
    def of(cls, settings: ModelSettings, categories: Sequence[Category] = ()) -> "AnthropicProvider":
        """Return the provider for these settings. Language models need no ``categories``; their prompt has them."""
        del categories
        return cls(settings)

    @staticmethod
    def sent_reasoning(settings: ModelSettings) -> dict[str, Any]:
        """Return effort and budget of reasoning."""
        reasoning = settings.reasoning
        if reasoning is None:
            return {}
        effort = {"output_config": {"effort": reasoning.effort}} if reasoning.effort else {}
        thinking = {"type": "enabled", "budget_tokens": reasoning.budget}
        return effort | ({"thinking": thinking} if reasoning.budget else {})

    @staticmethod
    def sends_budget(settings: ModelSettings) -> bool:
        """Return True, because the interface has a field for it."""
        del settings
        return True

    async def submit_batch(self, key: str, requests: Mapping[str, Request]) -> str:
        """Submit requests as a message batch. The interface has no field for the key, so only the ids of the requests carry it."""
        del key
        entries: Any = [{"custom_id": name, "params": self.body(request)} for name, request in requests.items()]
        return str((await self._call(self._client.messages.batches.create(requests=entries))).id)

    async def find_batch(self, batch: SubmittedBatch) -> BatchSearch:
        """Search for a batch created since, with as many requests and with its mark in their ids.

        The ids can be seen only after a batch has ended.
        """

        async def search() -> BatchSearch:
            unclear = False
            async for listed in self._client.messages.batches.list(limit=100):  # the newest first
                if listed.created_at < batch.earliest:
                    break
                counts = listed.request_counts
                size = counts.processing + counts.succeeded + counts.errored + counts.expired + counts.canceled
                # The list shows no ids of requests, so a batch is first compared by its size.
                if listed.id in batch.others or size != batch.requests:
                    continue
                if listed.processing_status != "ended":
                    # It may be ours, but its ids can be read only when it has ended.
                    unclear = True
                elif await self._bears(listed.id, batch.mark):
                    return BatchSearch(str(listed.id))
            return BatchSearch(unclear=unclear)

        return await self._call(search())

    async def _bears(self, batch: str, mark: str) -> bool:
        """Return whether the ids of an ended batch's requests begin with a mark."""
        results = await self._client.messages.batches.results(batch)
        try:
            async for line in results:  # all ids of a batch begin alike, so the first line is enough
                return str(line.custom_id).startswith(mark)
        finally:
            await results.close()
        return False

    async def batch_state(self, batch: str) -> BatchState:
        """Return the state of a batch."""
        found = await self._call(self._client.messages.batches.retrieve(batch))
        counts = found.request_counts
        return BatchState(
            found.processing_status == "ended",
            counts.succeeded,
            counts.errored + counts.expired + counts.canceled,
            cancelling=found.processing_status == "canceling",
        )

    async def batch_results(self, batch: str) -> AsyncIterator[tuple[str, ModelReply | CallFailed]]:
        """Yield the results of a batch."""
        found = await self._call(self._client.messages.batches.retrieve(batch))
        if not found.results_url:
            raise CallFailed(f"the results of batch {batch} are no longer kept", status=410)
        results = await self._call(self._client.messages.batches.results(batch))
        lines = aiter(results)
        # Not "async for": each step goes through _call, which turns the SDK's errors into CallFailed.
        while (line := await self._call(anext(lines, None))) is not None:
            yield self._result(line.to_dict(mode="json", warnings=False))

    async def cancel_batch(self, batch: str) -> None:
        """Ask the provider to stop a batch."""
        await self._call(self._client.messages.batches.cancel(batch))

    def _result(self, line: Mapping[str, Any]) -> tuple[str, ModelReply | CallFailed]:
        name, result = str(line.get("custom_id")), line.get("result") or {}
        kind = result.get("type")
        if kind == "succeeded":
            try:
                return name, self._read(result.get("message"))
            except CallFailed as failure:
                return name, failure
        error = result.get("error") or {}
        error = error.get("error") or error  # the error itself is nested in a second object
        message = without_keys(f"in the batch: {error.get('message') or kind}", self._key)
        if kind != "errored":
            return name, CallFailed(message, code=kind)
        return name, CallFailed(message, status=status_of(error.get("type")), code=error.get("type"))
