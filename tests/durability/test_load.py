"""People who save at the same time are all answered, and everything they were told is true."""

import pytest

from bench.save_load import Load, measure


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("think", [(0.0, 0.0), (0.05, 0.2)], ids=["without-pause", "thinking"])
def test_all_saves_under_load_are_acknowledged_and_stored(
    kind: str, think: tuple[float, float], request: pytest.FixtureRequest
) -> None:
    if kind == "postgresql":
        request.getfixturevalue("postgresql_server")  # skips where there is none
    outcome = measure(kind, Load(annotators=6, think=think, seconds=4), processes=2)
    assert outcome.measurements.errors == []
    assert outcome.problems == []
    assert len(outcome.measurements.seconds["save"]) > 0
