"""What an extension of a campaign would add and cost, before anybody makes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from spanplat.platforms.rules import Money, read_money
from spanplat.services.campaigns import find_campaign
from spanplat.services.definitions import definition_of
from spanplat.services.extending import Extension, add_outputs, raise_annotators


@dataclass(frozen=True)
class Wish:
    """What is to be added."""

    per_output: float | None = None
    """Annotators per output from now on; None leaves them as they are."""
    adds_outputs: bool = False
    splits: Sequence[str] = ()
    systems: Sequence[str] = ()
    limit: int | None = None
    """See `spanplat.services.extending.add_outputs`."""


@dataclass(frozen=True)
class Forecast:
    """What an extension adds, and what that takes."""

    extension: Extension
    max_batches: int
    """Batches one person may do: with 1, every seat takes one person more."""
    reward: Money | None
    """For all seats added, without the platform's fees; None where the definition names no amount."""
    bonus: Money | None
    """On top, if everybody earns it; None where there is none."""


def extend(session: Session, slug: str, wish: Wish) -> Extension:
    """Extend a campaign as wished; needs a writing transaction.

    Raises
    ------
    Conflict, SelectionError
        As `spanplat.services.extending.raise_annotators` and `add_outputs`.
    """
    seats, outputs = 0, Extension()
    if wish.per_output is not None:
        seats = raise_annotators(session, slug, wish.per_output).seats
    if wish.adds_outputs:
        outputs = add_outputs(session, slug, splits=wish.splits, systems=wish.systems, limit=wish.limit)
    return Extension(outputs.outputs, outputs.batches, seats + outputs.seats, outputs.without_suggestions)


def forecast_of(session: Session, slug: str, extension: Extension) -> Forecast:
    """Tell what an extension takes in people and money.

    Raises
    ------
    NotFound
        If there is no such campaign.
    """
    definition = definition_of(find_campaign(session, slug))
    platform = definition.platform
    return Forecast(
        extension,
        definition.annotators.max_batches,
        _times(extension.seats, platform.reward),
        _times(extension.seats, platform.bonus),
    )


def _times(seats: int, amount: str) -> Money | None:
    money = read_money(amount)
    return None if money is None else Money(money.currency, round(money.amount * seats, 2))
