"""Building batches: which items stand together, where the checks go, and how many annotators each batch gets."""

import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import cycle, islice
from typing import NamedTuple

from spanplat.models import ItemRole
from spanplat.schemas.assignment import AnnotatorSettings, BatchSettings


class PlannedItem(NamedTuple):
    """An item that can be put into batches; ``number`` counts the campaign's items."""

    number: int
    role: str = ItemRole.REGULAR
    check: str | None = None
    system: str = ""
    example: str = ""
    split: str = ""
    length: int = 0
    """Characters of the longest output."""
    fields: tuple[tuple[str, str], ...] = ()
    """What stands in the fields of the source that batches are balanced over, by ``source.<field>``."""

    def feature(self, name: str, lengths: Sequence[int]) -> Hashable:
        """Return the stratum this item belongs to by one feature."""
        if name == "length":
            return bisect_right(lengths, self.length)
        if name.startswith("source."):
            return dict(self.fields).get(name, "")
        return str(getattr(self, name))


def plan_batches(
    regular: Sequence[PlannedItem],
    attention: Sequence[PlannedItem],
    gold: Sequence[PlannedItem],
    settings: BatchSettings,
) -> list[list[PlannedItem]]:
    """Put items into batches, reproducibly from the settings' seed.

    Parameters
    ----------
    regular, attention, gold
        Items by role.
    settings
        Sizes, sampling, positions of checks, balance and seed.

    Returns
    -------
    list of list of PlannedItem
        The batches, each in the order shown.
    """
    rng = random.Random(settings.seed)  # noqa: S311
    batches = [batch for items, count in _apart(regular, settings) for batch in _draw(items, count, settings, rng)]
    attention_supply, gold_supply = _supply(attention, rng), _supply(gold, rng)
    planned = []
    for batch in batches:
        checks = [*islice(attention_supply, settings.attention), *islice(gold_supply, settings.gold)]
        planned.append(_mix(batch, checks, settings.positions, rng))
    return planned


def plan_seats(batches: int, settings: AnnotatorSettings, groups: Sequence[str], seed: int) -> list[list[str | None]]:
    """Decide the seats of every batch.

    Parameters
    ----------
    batches
        Number of batches.
    settings
        Annotators per output; a fraction gives that share of the batches, drawn at random, one more.
    groups
        Keys of the groups; each gets its own seats on every batch.
    seed
        For the draw.

    Returns
    -------
    list of list of (str or None)
        For each batch the group of each seat, in the order of slot numbers.
    """
    rng = random.Random(seed)  # noqa: S311
    whole = int(settings.per_output)
    more = set(rng.sample(range(batches), round((settings.per_output - whole) * batches)))
    return [
        [group for _ in range(whole + (number in more)) for group in (groups or [None])]  # type: ignore[list-item]
        for number in range(batches)
    ]


def _apart(items: Sequence[PlannedItem], settings: BatchSettings) -> list[tuple[list[PlannedItem], int]]:
    """Put items that must not share a batch apart, each part with the number of batches to sample from it.

    Shares are by size, at least one batch each; the largest parts make up for what rounding takes or gives.
    """
    parts: dict[Hashable, list[PlannedItem]] = defaultdict(list)
    if not settings.lengths or "length" in settings.balance:
        parts[0] = list(items)
    else:
        for item in items:
            parts[item.feature("length", settings.lengths)].append(item)
    ordered = [parts[stratum] for stratum in sorted(parts, key=repr)] or [[]]
    wanted = settings.batches or 1
    counts = [max(1, round(wanted * len(part) / max(1, len(items)))) for part in ordered]
    largest = max(range(len(ordered)), key=lambda position: len(ordered[position]))
    counts[largest] = max(1, counts[largest] + wanted - sum(counts))
    return list(zip(ordered, counts, strict=True))


def _draw(
    items: Sequence[PlannedItem], count: int, settings: BatchSettings, rng: random.Random
) -> list[list[PlannedItem]]:
    return _sample(items, count, settings, rng) if settings.sampling == "sample" else _partition(items, settings, rng)


def _partition(items: Sequence[PlannedItem], settings: BatchSettings, rng: random.Random) -> list[list[PlannedItem]]:
    if settings.regular == 0 or not items:
        return [[]]
    ordered = _balanced(items, settings, rng)
    return [ordered[first : first + settings.regular] for first in range(0, len(ordered), settings.regular)]


def _sample(
    items: Sequence[PlannedItem], count: int, settings: BatchSettings, rng: random.Random
) -> list[list[PlannedItem]]:
    """Draw each batch without repeats inside it, going through all items before any comes again."""
    size = min(settings.regular, len(items))
    pool: list[PlannedItem] = []
    batches = []
    for _ in range(count):
        batch, pool = pool[:size], pool[size:]
        if len(batch) < size:
            fresh = _balanced(items, settings, rng)
            more = [item for item in fresh if item not in batch][: size - len(batch)]
            batch += more
            pool = [item for item in fresh if item not in more]
        batches.append(batch)
    return batches


def _balanced(items: Sequence[PlannedItem], settings: BatchSettings, rng: random.Random) -> list[PlannedItem]:
    """Shuffle, then deal the strata out in turn so that any stretch holds about as many of each."""
    shuffled = rng.sample(items, len(items))
    if not settings.balance:
        return shuffled
    strata: dict[Hashable, list[PlannedItem]] = defaultdict(list)
    for item in shuffled:
        strata[tuple(item.feature(name, settings.lengths) for name in settings.balance)].append(item)
    # The j-th of a stratum's n items belongs at (j + 1/2) / n of the way through.
    placed = [
        ((position + 0.5) / len(stratum), order, item)
        for order, stratum in enumerate(strata.values())
        for position, item in enumerate(stratum)
    ]
    return [item for _, _, item in sorted(placed, key=lambda entry: entry[:2])]


def _supply(checks: Sequence[PlannedItem], rng: random.Random) -> "cycle[PlannedItem]":
    """Hand the checks out in turn, so that each is used about equally often and none twice in a batch."""
    return cycle(rng.sample(checks, len(checks)))


def _mix(
    items: Sequence[PlannedItem], checks: Sequence[PlannedItem], positions: str, rng: random.Random
) -> list[PlannedItem]:
    """Put checks among items: at random places, evenly apart, or in the same places in every batch."""
    total = len(items) + len(checks)
    match positions:
        case "random":
            places = sorted(rng.sample(range(total), len(checks)))
        case "spread":
            places = [int((number + 0.5) * total / len(checks)) for number in range(len(checks))]
        case _:
            fixed = random.Random(total)  # noqa: S311
            places = sorted(fixed.sample(range(total), len(checks)))
    mixed = list(items)
    for place, check in zip(places, checks, strict=True):
        mixed.insert(place, check)  # in rising order, so that each stays where it is put
    return mixed
