"""Requests of a campaign in its repeats."""

from typing import Any

import pytest

from spanplat.llm.dialogue import Dialogue
from spanplat.llm.item import AskedItem
from spanplat.schemas.model_settings import ModelSettings
from tests.llm.replies.asking import defined


@pytest.mark.parametrize(
    ("seed", "sent"), [(42, [42, 43, 44]), ([42, 1738, 1234], [42, 1738, 1234]), (None, [None] * 3)]
)
def test_each_repeat_has_a_seed_of_its_own(seed: Any, sent: list[int | None]) -> None:
    parameters = {"temperature": 0.001} if seed is None else {"temperature": 0.001, "seed": seed}
    settings = ModelSettings(provider="openai", model="some-model", repeats=3, parameters=parameters)
    dialogue = Dialogue(defined().model_copy(update={"model": settings}))
    requests = [dialogue.request(AskedItem(["A text."]), repeat) for repeat in range(3)]
    assert [request.parameters.get("seed") for request in requests] == sent
    assert {request.parameters["temperature"] for request in requests} == {0.001}
    assert len({request.messages[0].content for request in requests}) == 1
