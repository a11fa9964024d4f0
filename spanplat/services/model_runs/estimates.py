"""What a run would need: tokens, and money."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.llm.dialogue import Dialogue
from spanplat.llm.interfaces.messages import MAX_TOKENS
from spanplat.llm.prices import cost_of
from spanplat.llm.provider import Usage
from spanplat.llm.tokens import estimate_messages, estimate_tokens
from spanplat.models import Completion
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.model_runs.questions import Question

CAUTIOUS_REPLY = 4096
"""Tokens a reply may have where nothing limits it and nothing is known of earlier ones."""
_FEW = 5
_SHORTEST_REPLY = 60


@dataclass(frozen=True)
class History:
    """What the campaign's replies have been like so far."""

    replies: int = 0
    mean_output: float = 0.0
    longest_output: int = 0


@dataclass(frozen=True)
class Estimate:
    """What a run would need."""

    items: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; None where the model's price is not known."""
    output_from: Literal["earlier replies", "the lengths of the texts"]
    """What the number of output tokens was guessed from."""


def history_of(session: Session, campaign_id: int) -> History:
    """Return what the campaign's stored replies were like."""
    replies, mean, longest = session.execute(
        select(func.count(), func.avg(Completion.output_tokens), func.max(Completion.output_tokens)).where(
            Completion.campaign_id == campaign_id, Completion.output_tokens > 0
        )
    ).one()
    return History(replies, float(mean or 0.0), longest or 0)


def longest_reply(settings: ModelSettings, history: History) -> int:
    """Return the tokens that a reply will not exceed: by its limit, else, cautiously, by the longest so far."""
    if settings.reply_limit is not None:
        return settings.reply_limit
    if settings.provider == "anthropic":
        return MAX_TOKENS
    if history.replies >= _FEW:
        return max(_SHORTEST_REPLY, 2 * history.longest_output)
    return CAUTIOUS_REPLY


def most_it_may_cost(settings: ModelSettings, input_tokens: int, output_tokens: int) -> float | None:
    """Return the US dollars that one call may cost; the price list decides, None where it does not have the model."""
    return cost_of(settings, Usage(input_tokens, output_tokens))


def estimate(
    settings: ModelSettings, dialogue: Dialogue, questions: list[Question], items: int, history: History
) -> Estimate:
    """Estimate what asking about so many items needs, from some of them."""
    counts = [
        (
            estimate_messages(dialogue.request(question.item, question.repeat).messages),
            _reply(settings, question, history),
        )
        for question in questions
    ]
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


def _reply(settings: ModelSettings, question: Question, history: History) -> float:
    if history.replies >= _FEW:
        return history.mean_output
    thoughts = (settings.reasoning.budget or 0) if settings.reasoning else 0
    return min(longest_reply(settings, history), thoughts + _SHORTEST_REPLY + estimate_tokens(question.item.text))
