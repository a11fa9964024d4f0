"""Batches use all items evenly, are balanced over features, and are the same for the same seed."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.models import ItemRole
from spanplat.schemas.assignment import AnnotatorSettings, BatchSettings
from spanplat.services.campaigns.batches import PlannedItem, plan_batches, plan_seats

SYSTEMS = ("alder", "birch", "cedar")


def regular_items(count: int) -> list[PlannedItem]:
    return [
        PlannedItem(number, system=SYSTEMS[number % 3], example=str(number // 3), split="test")
        for number in range(count)
    ]


def checks(role: ItemRole, count: int) -> list[PlannedItem]:
    return [PlannedItem(10_000 + number, role, f"{role}-{number}") for number in range(count)]


def plan(items: int = 12, *, gold_checks: int = 3, **settings: Any) -> list[list[PlannedItem]]:
    return plan_batches(
        regular_items(items),
        checks(ItemRole.ATTENTION, 3),
        checks(ItemRole.GOLD, gold_checks),
        BatchSettings.model_validate(settings),
    )


def regular_numbers(batch: list[PlannedItem]) -> list[int]:
    return [item.number for item in batch if item.role == ItemRole.REGULAR]


SETTINGS = st.fixed_dictionaries(
    {
        "regular": st.integers(1, 15),
        "attention": st.integers(0, 3),
        "gold": st.integers(0, 3),
        "positions": st.sampled_from(["random", "spread", "fixed"]),
        "balance": st.lists(st.sampled_from(["system", "example", "split"]), unique=True),
        "seed": st.integers(0, 1000),
    }
)


@given(items=st.integers(1, 60), settings=SETTINGS)
def test_a_partition_holds_every_item_once_and_every_batch_its_checks(items: int, settings: dict[str, Any]) -> None:
    batches = plan_batches(
        regular_items(items),
        checks(ItemRole.ATTENTION, 3),
        checks(ItemRole.GOLD, 3),
        BatchSettings.model_validate(settings),
    )
    assert sorted(number for batch in batches for number in regular_numbers(batch)) == list(range(items))
    for batch in batches[:-1]:
        assert len(regular_numbers(batch)) == settings["regular"]
    wanted = Counter({ItemRole.ATTENTION: settings["attention"], ItemRole.GOLD: settings["gold"]})
    for batch in batches:
        assert Counter(item.role for item in batch if item.role != ItemRole.REGULAR) == wanted
        assert len({(item.number, item.role) for item in batch}) == len(batch), "no item twice in a batch"


@given(items=st.integers(1, 30), regular=st.integers(1, 12), batches=st.integers(1, 25), seed=st.integers(0, 1000))
def test_sampling_draws_every_item_about_equally_often(items: int, regular: int, batches: int, seed: int) -> None:
    planned = plan(items, regular=regular, sampling="sample", batches=batches, seed=seed)
    assert len(planned) == batches
    times = Counter(number for batch in planned for number in regular_numbers(batch))
    for batch in planned:
        numbers = regular_numbers(batch)
        assert len(numbers) == len(set(numbers)) == min(regular, items)
    counts = [times[number] for number in range(items)]
    assert max(counts) - min(counts) <= 1


@given(seed=st.integers(0, 2**32), sampling=st.sampled_from(["partition", "sample"]))
def test_a_seed_reproduces_the_batches(seed: int, sampling: str) -> None:
    settings: dict[str, Any] = {"regular": 5, "attention": 1, "gold": 1, "sampling": sampling, "batches": 4}
    assert plan(**settings, seed=seed) == plan(**settings, seed=seed)


def test_another_seed_gives_other_batches() -> None:
    assert plan(regular=5, seed=1) != plan(regular=5, seed=2)


def places(batch: list[PlannedItem]) -> list[int]:
    return [position for position, item in enumerate(batch) if item.role != ItemRole.REGULAR]


def test_checks_stand_evenly_apart_or_in_the_same_places_or_anywhere() -> None:
    spread = plan(20, regular=10, attention=2, positions="spread")
    assert [places(batch) for batch in spread] == [[3, 9], [3, 9]]
    fixed = plan(40, regular=10, attention=2, gold=1, positions="fixed")
    assert len({tuple(places(batch)) for batch in fixed}) == 1
    anywhere = plan(200, regular=10, attention=2, positions="random")
    assert len({tuple(places(batch)) for batch in anywhere}) > 5


def test_balancing_puts_every_system_into_every_batch() -> None:
    for batch in plan(30, regular=6, balance=["system"]):
        assert Counter(item.system for item in batch) == dict.fromkeys(SYSTEMS, 2)


def test_a_batch_of_gold_alone() -> None:
    assert [[item.role for item in batch] for batch in plan(0, regular=0, gold=3)] == [[ItemRole.GOLD] * 3]


@pytest.mark.parametrize(("per_output", "seats"), [(1, 10), (3, 30), (1.4, 14), (2.5, 25)])
def test_a_fraction_of_annotators_gives_that_share_of_the_batches_one_more(per_output: float, seats: int) -> None:
    planned = plan_seats(10, AnnotatorSettings(per_output=per_output), [], seed=42)
    assert sum(map(len, planned)) == seats
    assert {len(batch) for batch in planned} <= {int(per_output), int(per_output) + 1}
    assert planned == plan_seats(10, AnnotatorSettings(per_output=per_output), [], seed=42)


def test_every_group_gets_its_own_seats() -> None:
    assert (
        plan_seats(2, AnnotatorSettings(per_output=2), ["calm", "strict"], seed=1)
        == [["calm", "strict", "calm", "strict"]] * 2
    )


def texts(*lengths: int, categories: str = "") -> list[PlannedItem]:
    fields: list[tuple[tuple[str, str], ...]] = [(("source.kind", kind),) for kind in categories] or [()] * len(lengths)
    return [
        PlannedItem(number, length=length, fields=of_item)
        for number, (length, of_item) in enumerate(zip(lengths, fields, strict=True))
    ]


@given(
    lengths=st.lists(st.integers(1, 900), min_size=1, max_size=60), sampling=st.sampled_from(["partition", "sample"])
)
def test_short_and_long_texts_stand_in_batches_of_their_own(lengths: list[int], sampling: str) -> None:
    settings = BatchSettings.model_validate(
        {"regular": 5, "lengths": [200, 600], "sampling": sampling, "batches": 6 if sampling == "sample" else None}
    )
    batches = plan_batches(texts(*lengths), [], [], settings)
    for batch in batches:
        assert len({(item.length >= 200) + (item.length >= 600) for item in batch}) == 1
    if sampling == "partition":
        assert sorted(item.number for batch in batches for item in batch) == list(range(len(lengths)))
    else:
        strata = {(length >= 200) + (length >= 600) for length in lengths}
        assert len(batches) == 6
        assert {(batch[0].length >= 200) + (batch[0].length >= 600) for batch in batches} == strata


def test_batches_are_balanced_over_length_and_over_what_stands_in_the_source() -> None:
    settings = BatchSettings(regular=4, balance=["length", "source.kind"], lengths=[300])
    items = texts(*[100] * 8, *[500] * 8, categories="abababab" * 2)
    for batch in plan_batches(items, [], [], settings):
        assert Counter(item.length for item in batch) == {100: 2, 500: 2}
        assert Counter(item.fields[0][1] for item in batch) == {"a": 2, "b": 2}


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"lengths": [300, 200]}, "positive and rising"),
        ({"balance": ["length"]}, "say what is short and what is long"),
        ({"balance": ["weather"]}, "should match pattern"),
    ],
)
def test_lengths_that_make_no_sense_are_refused(parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        BatchSettings.model_validate(parts)
