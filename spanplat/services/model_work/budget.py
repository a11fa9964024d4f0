"""Ceiling of cost: the money that calls have cost or may cost, and the further calls that the ceiling allows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.llm.prices import cost_of
from spanplat.llm.provider import Usage
from spanplat.models import ClaimState, Completion, GenerationCall, ModelCall, ModelClaim
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.model_work.calls import K, PendingRequest


@dataclass(frozen=True)
class Spending:
    """Money that calls have cost, and may cost."""

    known: float
    """US dollars of the calls with a known cost."""
    unknown: int
    """Number of calls of unknown cost: without a reply, or without a count of tokens."""
    reserved: float = 0.0
    """US dollars that calls under way may cost."""

    @property
    def committed(self) -> float:
        """US dollars spent or reserved, as far as known."""
        return self.known + self.reserved


@dataclass(frozen=True)
class Budget:
    """Decide which calls may be made, so that all calls together cost no more than a ceiling.

    A decision and its reservation happen in one transaction, under the lock of the target. The reservation ends in the transaction
    that stores the call and its cost.

    Parameters
    ----------
    settings
        Settings of the model, for its price.
    ceiling
        US dollars. None for no limit.
    spending
        Function that returns the spending so far.
    """

    settings: ModelSettings
    ceiling: float | None
    spending: Callable[[Session], Spending]

    def affordable(
        self, session: Session, wanted: Sequence[PendingRequest[K]]
    ) -> tuple[list[tuple[PendingRequest[K], float]], bool]:
        """Return the first requests that the ceiling allows.

        Returns
        -------
        list of tuple of request and float
            Each request with the US dollars to reserve for it.
        bool
            Whether money is reserved for calls under way. Some of it may come free.
        """
        if self.ceiling is None or not wanted:
            return [(request, 0.0) for request in wanted], False
        spending = self.spending(session)
        costs = [cost_of(self.settings, Usage(one.input_tokens, one.reply_tokens)) or 0.0 for one in wanted]
        # Calls of unknown cost count like the most expensive request at hand: the ceiling holds even if all of them were billed.
        left = self.ceiling - spending.committed - spending.unknown * max(costs)
        affordable = []
        for request, cost in zip(wanted, costs, strict=True):
            if cost > left:  # look for no cheaper request: the runner takes as many from the front of its queue
                break
            left -= cost
            affordable.append((request, cost))
        return affordable, spending.reserved > 0

    def stops(self, session: Session, wanted: Sequence[PendingRequest[K]]) -> bool:
        """Return whether the first request might cost more than is left, and no reserved money can come free."""
        affordable, is_reserved = self.affordable(session, wanted)
        return bool(wanted) and not affordable and not is_reserved


def make_budget(settings: ModelSettings, max_cost: float | None, spending: Callable[[Session], Spending]) -> Budget:
    """Return the budget of a model's settings.

    Parameters
    ----------
    settings
        Settings of the model, with its ceiling.
    max_cost
        US dollars, instead of that ceiling.
    spending
        Function that returns the spending so far.

    Raises
    ------
    InvalidInput
        If there is a ceiling and the model's price is not known.
    """
    # Compared with None, because 0 is a ceiling too.
    ceiling = settings.max_cost if max_cost is None else max_cost
    if ceiling is not None and cost_of(settings, Usage(1, 1)) is None:
        raise InvalidInput(
            f"the price of {settings.model!r} is not known, so a ceiling of cost cannot be kept; "
            "give model.price {input, output} in US dollars for a million tokens, or no ceiling"
        )
    return Budget(settings, ceiling, spending)


def campaign_spending(session: Session, campaign_id: int) -> Spending:
    """Return the cost of a campaign's calls, and the reservations of those under way."""
    known, unknown = _spent(session, Completion, Completion.campaign_id == campaign_id)
    # Claims with an expired lease count too, until somebody takes or releases them: their calls may be under way all the same.
    under_way = ModelClaim.state.in_((ClaimState.ASKING, ClaimState.SUBMITTED))
    reserved = select(func.sum(ModelClaim.reserved)).where(ModelClaim.campaign_id == campaign_id, under_way)
    return Spending(known, unknown, session.scalar(reserved) or 0.0)


def generation_spending(session: Session, generation_id: int) -> Spending:
    """Return the cost of a generation's calls. Only their run knows the reservations of calls under way."""
    return Spending(*_spent(session, GenerationCall, GenerationCall.generation_id == generation_id))


def _spent(session: Session, table: type[ModelCall], own: ColumnElement[bool]) -> tuple[float, int]:
    sums = select(func.sum(table.cost), func.count(case((table.cost.is_(None), 1)))).where(own)
    known, unknown = session.execute(sums).one()
    return known or 0.0, unknown
