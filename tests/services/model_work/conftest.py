"""Fixtures: a model campaign over many outputs, and a stand-in for its provider."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import insert

from spanplat.db import Database
from spanplat.models import Dataset, Example, Output, System
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.text import sha256_of
from tests.campaigns import create_campaign
from tests.standin.script import PRICE_IN, PRICE_OUT
from tests.standin.server import StandIn

KEY = "planted-4f1d9c2b77a0"
OUTPUTS = 60


class QuickClock:
    """The machine's clock, in which pauses pass at once."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


@pytest.fixture
def quick() -> QuickClock:
    return QuickClock()


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """A stand-in that knows one key, which is set in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with StandIn(key=KEY) as server:
        yield server


def store_outputs(database: Database, outputs: int = OUTPUTS) -> None:
    """Store a dataset ``many`` with so many outputs."""
    with database.transaction() as session:
        dataset, system = Dataset(slug="many", name="many"), System(slug="fir", name="Fir")
        session.add_all([dataset, system])
        session.flush()
        examples = [
            Example(dataset_id=dataset.id, split="test", key=str(number), source={"day": number})
            for number in range(outputs)
        ]
        session.add_all(examples)
        session.flush()
        texts = [f"Day {number}: it rains in the valley." for number in range(outputs)]
        session.execute(
            insert(Output),
            [
                {"example_id": example.id, "system_id": system.id, "text": text, "text_sha256": sha256_of(text)}
                for example, text in zip(examples, texts, strict=True)
            ],
        )


def create_study(database: Database, base_url: str, **model: Any) -> None:
    """Create the model campaign ``study`` over the dataset ``many``, asked at an address."""
    settings = {
        "provider": "openai",
        "model": "tiny",
        "base_url": base_url,
        "key_variable": "OPENAI_API_KEY",
        "price": {"input": PRICE_IN, "output": PRICE_OUT},
        "timeout": 120,
    }
    content = {
        "slug": "study",
        "title": "A study",
        "kind": "llm",
        "categories": [{"name": "Wrong"}, {"name": "Unclear"}],
        "data": {"dataset": "many"},
        "batches": {"regular": 10},
        "model": settings | model,
    }
    definition = CampaignDefinition.model_validate(content)
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, definition))


@pytest.fixture
def study(database: Database, standin: StandIn) -> Callable[..., None]:
    """Create the model campaign ``study`` over sixty outputs; keyword arguments replace settings of its model."""
    store_outputs(database)

    def make(**model: Any) -> None:
        if model.get("provider") == "anthropic":
            create_study(database, standin.url, **{"key_variable": "ANTHROPIC_API_KEY"} | model)
        else:
            create_study(database, f"{standin.url}/v1", **model)

    return make
