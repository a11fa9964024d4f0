"""Fixtures: each provider, and the stand-in that it sends to."""

from collections.abc import Iterator

import pytest

from tests.llm.providers.asking import INTERFACES, KEY, Make, provider_of
from tests.standin.server import StandIn


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn(key=KEY) as server:
        yield server


@pytest.fixture(params=INTERFACES)
def make(request: pytest.FixtureRequest, standin: StandIn) -> Make:
    """Make a provider that asks the stand-in; the test runs once on each interface."""
    return lambda **parts: provider_of(request.param, standin, **parts)
