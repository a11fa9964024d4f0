"""Scores of a hypothesis that was made worse on purpose."""

from collections.abc import Callable

import pytest

from spanplat.db import Database
from spanplat.services.agreement.sentinels import DROPS, SERIES, WIDENINGS, compute_sentinels


@pytest.fixture
def pair(imported: Callable[..., str]) -> tuple[str, str]:
    """People, and a model that marks the beginning of what they mark, once at the very end of a text."""
    spans = {0: [(10, 18, "Wrong"), (20, 29, "Wrong")], 1: [(30, 45, "Wrong")], 2: [(40, 50, "Wrong")]}
    model = {output: [(start, start + 4, name) for start, _, name in marked] for output, marked in spans.items()}
    return imported("people", ann=spans), imported("model", one=model)


def values(points: list[dict[str, object]], series: str) -> list[float]:
    return [float(str(point["y"])) for point in points if point["series"] == series]


def test_the_unchanged_hypothesis_comes_first_in_every_series(database: Database, pair: tuple[str, str]) -> None:
    result = compute_sentinels(database, *pair).as_json()
    for row in result["removed"]:
        assert values(result["wider"], row["series"])[0] == values(result["fewer"], row["series"])[0] == row["before"]
    assert len(result["wider"]) == len(WIDENINGS) * len(SERIES)
    assert len(result["fewer"]) == len(DROPS) * len(SERIES)


def test_leaving_spans_out_never_raises_a_micro_average_here(database: Database, pair: tuple[str, str]) -> None:
    result = compute_sentinels(database, *pair).as_json()
    for series in ("partial_credit, micro", "partial, micro", "char, micro"):
        falling = values(result["fewer"], series)
        assert falling == sorted(falling, reverse=True)
    assert all(row["after"] < row["before"] for row in result["removed"] if row["series"].endswith("micro"))


def test_a_computed_result_is_kept(database: Database, pair: tuple[str, str]) -> None:
    assert compute_sentinels(database, *pair).as_json() == compute_sentinels(database, *pair).as_json()
