"""Building batches: the items of each batch, the positions of checks, and the number of annotators."""

import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import cycle, islice
from typing import NamedTuple

from spanplat.models import ItemRole
from spanplat.schemas.assignment import AnnotatorSettings, BatchSettings


class PlannedItem(NamedTuple):
    """Item to be put into a batch; ``number`` is its position among the campaign's items."""

    number: int
    role: str = ItemRole.REGULAR
    check: str | None = None
    system: str = ""
    example: str = ""
    split: str = ""
    length: int = 0
    """Length of the longest output in characters."""
    fields: tuple[tuple[str, str], ...] = ()
    """Names (``source.<field>``) and values of the source fields over which batches are balanced."""

    def feature(self, name: str, lengths: Sequence[int]) -> Hashable:
        """Return the stratum of this item by one feature."""
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
    """Divide items into batches; the same seed gives the same batches.

    Parameters
    ----------
    regular, attention, gold
        Items by role.
    settings
        Sizes, sampling, positions of checks, balance and seed.

    Returns
    -------
    list of list of PlannedItem
        The batches, each in the order in which the annotator sees the items.
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
    """Decide the number of seats and their groups for every batch.

    Parameters
    ----------
    batches
        Number of batches.
    settings
        Annotators per output; a fraction gives that share of the batches, drawn at random, one annotator more.
    groups
        Keys of the groups; each gets its own seats on every batch.
    seed
        Seed of the random draw.

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
    """Separate items that must not share a batch; return each part with the number of batches to sample from it.

    The number of batches is proportional to the size of the part, but at least one. The largest part absorbs rounding errors.
    """
    parts: dict[Hashable, list[PlannedItem]] = defaultdict(list)
    # To balance over length means to mix the lengths in each batch, which is the opposite of separating them.
    if not settings.lengths or "length" in settings.balance:
        parts[0] = list(items)
    else:
        for item in items:
            parts[item.feature("length", settings.lengths)].append(item)
    # A fixed order of the parts, so that the same seed gives the same batches.
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
    # One empty batch, because a qualification may consist of gold items only.
    if settings.regular == 0 or not items:
        return [[]]
    ordered = _balanced(items, settings, rng)
    return [ordered[first : first + settings.regular] for first in range(0, len(ordered), settings.regular)]


def _sample(
    items: Sequence[PlannedItem], count: int, settings: BatchSettings, rng: random.Random
) -> list[list[PlannedItem]]:
    """Draw batches without repeats inside a batch; every item is drawn once before any is drawn again."""
    size = min(settings.regular, len(items))
    pool: list[PlannedItem] = []
    batches = []
    for _ in range(count):
        batch, pool = pool[:size], pool[size:]
        if len(batch) < size:
            # The round of items ends within this batch: fill up from a new round, without the items that the batch already has.
            fresh = _balanced(items, settings, rng)
            more = [item for item in fresh if item not in batch][: size - len(batch)]
            batch += more
            pool = [item for item in fresh if item not in more]
        batches.append(batch)
    return batches


def _balanced(items: Sequence[PlannedItem], settings: BatchSettings, rng: random.Random) -> list[PlannedItem]:
    """Shuffle the items and spread the strata evenly, so that every part of the order has about the same share of each."""
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
    """Yield the checks in turn, so that each is used about equally often and none comes twice in a batch."""
    # A batch never has the same check twice, because a definition may not ask for more checks in a batch than exist.
    return cycle(rng.sample(checks, len(checks)))


def _mix(
    items: Sequence[PlannedItem], checks: Sequence[PlannedItem], positions: str, rng: random.Random
) -> list[PlannedItem]:
    """Insert checks among items: at random positions, evenly spread, or at the same positions in every batch."""
    total = len(items) + len(checks)
    match positions:
        case "random":
            places = sorted(rng.sample(range(total), len(checks)))
        case "spread":
            places = [int((number + 0.5) * total / len(checks)) for number in range(len(checks))]
        case _:
            # Seeded with the size of the batch, so that all batches of one size have their checks at the same positions.
            fixed = random.Random(total)  # noqa: S311
            places = sorted(fixed.sample(range(total), len(checks)))
    mixed = list(items)
    for place, check in zip(places, checks, strict=True):
        # In rising order, so that later insertions do not shift earlier ones.
        mixed.insert(place, check)
    return mixed
