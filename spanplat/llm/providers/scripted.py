"""Provider that answers from a script, for trials of a campaign without a model and for tests."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from spanplat.llm.provider import CallFailed, ModelReply, Request

VERSION = "scripted-1"
Answer = str | ModelReply | CallFailed


class ScriptedProvider:
    """Provider that answers with the results of a function, and records the requests.

    Parameters
    ----------
    answer
        Function that returns the reply to a request: its text, a whole `ModelReply`, or the failure to raise.
    name
        Name that identifies the annotator.
    """

    def __init__(self, answer: Callable[[Request], Answer], name: str = "scripted") -> None:
        self._answer = answer
        self._name = name
        self.asked: list[Request] = []

    @property
    def name(self) -> str:
        """Identify the annotator."""
        return self._name

    def body(self, request: Request) -> dict[str, Any]:
        """Return the text and the parameters."""
        return {"text": request.item.text, "parameters": dict(request.parameters)}

    async def complete(self, request: Request) -> ModelReply:
        """Answer, or fail, as the script says."""
        self.asked.append(request)
        answer = self._answer(request)
        if isinstance(answer, CallFailed):
            raise answer
        if isinstance(answer, str):
            return ModelReply(answer, VERSION, {"content": answer})
        return answer

    async def close(self) -> None:
        """Do nothing, because there are no connections."""


def marking(*spans: dict[str, Any]) -> ScriptedProvider:
    """Return a provider that marks the same quotes in every text."""
    reply = json.dumps({"annotations": list(spans)}, ensure_ascii=False)
    return ScriptedProvider(lambda _: replace(ModelReply(reply, VERSION, {"content": reply})))
