"""Splitting examples into parts so that nothing of one part can be learnt by heart from another."""

import hashlib
from collections.abc import Hashable, Sequence

from spanplat.errors import InvalidInput


def split_apart(keys: Sequence[Sequence[Hashable]], shares: Sequence[float], *, seed: int = 42) -> list[int]:
    """Assign each example to a part; examples that have any key in common are in the same part.

    Parameters
    ----------
    keys
        Of each example: whatever must not stand in two parts, such as its source and its text.
    shares
        How large the parts are to be, in any unit; they come as near to it as the groups allow.
    seed
        Of the order in which groups are dealt out; it depends on nothing else but the keys.

    Returns
    -------
    list of int
        The part of each example.

    Raises
    ------
    InvalidInput
        If no share is above 0, or one is below.

    Examples
    --------
    >>> split_apart([["a"], ["b"], ["a", "c"], ["c"]], [1])
    [0, 0, 0, 0]
    """
    if not shares or min(shares) < 0 or sum(shares) <= 0:
        raise InvalidInput("shares are how large the parts are to be, such as 80 10 10; at least one is above 0")
    groups = _linked(keys)
    members: dict[int, list[int]] = {}
    for example, group in enumerate(groups):
        members.setdefault(group, []).append(example)
    wanted = [share / sum(shares) * len(keys) for share in shares]
    filled = [0] * len(shares)
    parts = [0] * len(keys)
    for together in sorted(members.values(), key=lambda own: _lot(keys, own, seed)):
        part = max(
            range(len(shares)), key=lambda place: wanted[place] - filled[place] if wanted[place] else float("-inf")
        )
        filled[part] += len(together)
        for example in together:
            parts[example] = part
    return parts


def _linked(keys: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return, for each example, the first one that it is linked with by keys, over however many others."""
    parents = list(range(len(keys)))

    def root(example: int) -> int:
        while parents[example] != example:
            parents[example] = parents[parents[example]]
            example = parents[example]
        return example

    first: dict[Hashable, int] = {}
    for example, own in enumerate(keys):
        for key in own:
            one, other = sorted((root(first.setdefault(key, example)), root(example)))
            parents[other] = one
    return [root(example) for example in range(len(keys))]


def _lot(keys: Sequence[Sequence[Hashable]], members: Sequence[int], seed: int) -> str:
    """Return what a group draws: the same for the same keys and seed, whatever else there is."""
    lots = (hashlib.sha256(f"{seed}:{key!r}".encode()).hexdigest() for member in members for key in keys[member])
    return min(lots, default="")
