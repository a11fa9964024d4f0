"""Estimates of the tokens and the money that a run needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.llm.prices import cost_of
from spanplat.llm.provider import Request, Usage
from spanplat.llm.tokens import estimate_messages, estimate_tokens
from spanplat.models import Completion
from spanplat.schemas.model_settings import ModelSettings

CAUTIOUS_REPLY = 4096
"""Tokens assumed for the longest reply if there is no limit and there are no earlier replies."""
_FEW = 5
"""Number of earlier replies from which on their lengths are used."""
_SHORTEST_REPLY = 60


@dataclass(frozen=True)
class History:
    """Lengths of the campaign's replies so far."""

    replies: int = 0
    mean_output: float = 0.0
    longest_output: int = 0


@dataclass(frozen=True)
class Estimate:
    """Tokens and money that a run needs."""

    items: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars. None if the model's price is not known."""
    output_from: Literal["earlier replies", "the lengths of the texts"]
    """Basis of the number of output tokens."""


def history_of(session: Session, campaign_id: int) -> History:
    """Return the lengths of the campaign's stored replies."""
    replies, mean, longest = session.execute(
        select(func.count(), func.avg(Completion.output_tokens), func.max(Completion.output_tokens)).where(
            Completion.campaign_id == campaign_id, Completion.output_tokens > 0
        )
    ).one()
    return History(replies, float(mean or 0.0), longest or 0)


def longest_reply(settings: ModelSettings, history: History) -> int:
    """Return an upper limit of a reply's tokens: the limit that is sent, else a cautious guess from the longest reply so far."""
    if settings.reply_limit is not None:
        return settings.reply_limit
    if settings.profile.reply_limit is not None:
        return settings.profile.reply_limit
    # Without a limit, twice the longest so far: the budget reserves this much, so a low guess could break the ceiling.
    if history.replies >= _FEW:
        return max(_SHORTEST_REPLY, 2 * history.longest_output)
    return CAUTIOUS_REPLY


def estimate(settings: ModelSettings, requests: Sequence[Request], items: int, history: History) -> Estimate:
    """Estimate the tokens and the money for a number of items, from the requests for some of them."""
    counts = [(estimate_messages(request.messages), _reply(settings, request, history)) for request in requests]
    # The requests are a sample, so their sums are scaled up to all items.
    share = items / len(counts) if counts else 0.0
    inputs = round(sum(count[0] for count in counts) * share)
    outputs = round(sum(count[1] for count in counts) * share)
    known = history.replies >= _FEW
    return Estimate(
        items,
        inputs,
        outputs,
        cost_of(settings, Usage(inputs, outputs)),
        "earlier replies" if known else "the lengths of the texts",
    )


def _reply(settings: ModelSettings, request: Request, history: History) -> float:
    if history.replies >= _FEW:
        return history.mean_output
    # Without earlier replies, assume that a reply is about as long as the text, after the reasoning.
    thoughts = (settings.reasoning.budget or 0) if settings.reasoning else 0
    return min(longest_reply(settings, history), thoughts + _SHORTEST_REPLY + estimate_tokens(request.item.text))
