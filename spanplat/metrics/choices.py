"""Pairwise choices between systems and best-worst scaling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spanplat.errors import InvalidInput


class Choice(NamedTuple):
    """One judgement on two systems' outputs of one example: the shown systems, and the winner (``None`` for a tie)."""

    example: str
    first: str
    second: str
    winner: str | None


@dataclass(frozen=True, slots=True)
class WinRate:
    """Wins, ties and losses of a system. A tie counts as half a win."""

    wins: int
    ties: int
    losses: int

    @property
    def rate(self) -> float:
        """Win rate: (wins + ties / 2) / comparisons."""
        return (self.wins + self.ties / 2) / (self.wins + self.ties + self.losses)


def win_rates(choices: Sequence[Choice]) -> dict[str, WinRate]:
    """Count wins, ties and losses of every system.

    Parameters
    ----------
    choices : sequence of Choice
        Judgements (or majority votes, see `majority_votes`).

    Returns
    -------
    dict of str to WinRate
        The systems are in the order of their first choice.

    Raises
    ------
    InvalidInput
        If a winner is not one of the shown systems.

    Examples
    --------
    >>> rates = win_rates([Choice("1", "a", "b", "a"), Choice("2", "b", "a", None)])
    >>> rates["a"].rate, rates["b"].rate
    (0.75, 0.25)
    """
    tallies: dict[str, list[int]] = {}
    for choice in choices:
        if choice.winner not in (None, choice.first, choice.second):
            raise InvalidInput(
                f"On example {choice.example!r} the winner {choice.winner!r} is neither {choice.first!r} nor {choice.second!r}."
            )
        for system in (choice.first, choice.second):
            tally = tallies.setdefault(system, [0, 0, 0])
            tally[0 if choice.winner == system else 1 if choice.winner is None else 2] += 1
    return {system: WinRate(*tally) for system, tally in tallies.items()}


def majority_votes(choices: Sequence[Choice]) -> list[Choice]:
    """Merge several judgements on the same example and systems into one. Without a strict majority it is a tie.

    Parameters
    ----------
    choices : sequence of Choice
        Judgements. The order in which the two systems were shown does not matter.

    Returns
    -------
    list of Choice
        One per example and pair of systems.

    Examples
    --------
    >>> majority_votes([Choice("1", "a", "b", "a"), Choice("1", "b", "a", "a"), Choice("1", "a", "b", "b")])[0].winner
    'a'
    """
    votes: dict[tuple[str, str, str], list[str | None]] = {}
    for choice in choices:
        first, second = sorted((choice.first, choice.second))
        votes.setdefault((choice.example, first, second), []).append(choice.winner)
    merged = []
    for (example, first, second), winners in votes.items():
        for_first, for_second = winners.count(first), winners.count(second)
        winner = first if 2 * for_first > len(winners) else second if 2 * for_second > len(winners) else None
        merged.append(Choice(example, first, second, winner))
    return merged


class BestWorst(NamedTuple):
    """One judgement of best-worst scaling: the shown systems, the best and the worst of them."""

    shown: tuple[str, ...]
    best: str
    worst: str


def best_worst_scores(judgements: Sequence[BestWorst]) -> dict[str, float]:
    """Score every system by 100 (times best - times worst) / times shown (Louviere & Woodworth 1991).

    Parameters
    ----------
    judgements : sequence of BestWorst
        The systems shown together, the best and the worst.

    Returns
    -------
    dict of str to float
        From -100 to 100.

    Raises
    ------
    InvalidInput
        If best or worst were not shown, or if they are the same.

    Examples
    --------
    >>> best_worst_scores([BestWorst(("a", "b", "c"), "a", "c"), BestWorst(("a", "b", "c"), "b", "c")])
    {'a': 50.0, 'b': 50.0, 'c': -100.0}
    """
    shown: dict[str, int] = {}
    balance: dict[str, int] = {}
    for judgement in judgements:
        if judgement.best == judgement.worst or not {judgement.best, judgement.worst} <= set(judgement.shown):
            raise InvalidInput(
                f"Best {judgement.best!r} and worst {judgement.worst!r} must be two of {judgement.shown}."
            )
        for system in judgement.shown:
            shown[system] = shown.get(system, 0) + 1
            balance.setdefault(system, 0)
        balance[judgement.best] += 1
        balance[judgement.worst] -= 1
    return {system: 100 * balance[system] / times for system, times in shown.items()}
