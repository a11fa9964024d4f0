"""Calls of a model: requests, their outcomes, their rows, and sums of tokens, money and time."""

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from spanplat.llm.prices import cost_of
from spanplat.llm.provider import CallFailed, ModelReply, Request, Usage
from spanplat.llm.tokens import estimate_messages
from spanplat.models import ModelCall
from spanplat.schemas.model_settings import ModelSettings
from spanplat.text.storable import make_storable

K = TypeVar("K", bound=Hashable)
"""Key of one piece of work: an item of a seat, or an example."""

MAYBE_BILLED = frozenset({"timeout", "connection", "unintelligible"})
"""Kinds of failure after which the provider may still have billed the call."""


@dataclass(frozen=True)
class PendingRequest(Generic[K]):
    """Request to send, with retries, until there is a reply."""

    key: K
    request: Request
    reply_tokens: int
    """Likely upper limit of the reply's tokens."""

    @cached_property
    def input_tokens(self) -> int:
        """Estimated tokens of the request."""
        return estimate_messages(self.request.messages)

    @property
    def tokens(self) -> int:
        """Estimated tokens of request and reply together."""
        return self.input_tokens + self.reply_tokens


@dataclass(frozen=True)
class Call:
    """One call: the request body and its result."""

    body: Mapping[str, Any]
    result: ModelReply | CallFailed
    latency: float | None
    """Seconds. None in a batch, where it is not known."""


@dataclass(frozen=True)
class Outcome(Generic[K]):
    """Outcome of a request in a run."""

    pending: PendingRequest[K]
    calls: Sequence[Call] = ()
    failed: bool = False
    """Whether the request was given up. Without a reply and not given up means that the run stopped first."""

    @property
    def reply(self) -> ModelReply | None:
        """The reply, if one came."""
        result = self.calls[-1].result if self.calls else None
        return result if isinstance(result, ModelReply) else None


def call_row(settings: ModelSettings, call: Call) -> dict[str, Any]:
    """Return the columns that all tables of calls share (`spanplat.models.ModelCall`).

    Parameters
    ----------
    settings
        Settings of the model, for its price.
    call
        The call. If it has a reply, ``error`` is None. The caller sets it if the reply cannot be read.
    """
    result = call.result
    # The digest is of what was really sent. PostgreSQL refuses NUL and lone surrogates, so the stored body may differ from it.
    row: dict[str, Any] = {
        "request_sha256": hashlib.sha256(json.dumps(call.body, sort_keys=True).encode()).hexdigest(),
        "request": make_storable(dict(call.body)),
        "latency": call.latency,
    }
    if isinstance(result, CallFailed):
        nothing = dict.fromkeys(("response", "model_version", "finish_reason"))
        tokens = dict.fromkeys(("input_tokens", "output_tokens", "reasoning_tokens"), 0)
        # None, not 0: the budget counts calls of unknown cost against the ceiling.
        cost = None if result.kind in MAYBE_BILLED else 0.0
        return row | nothing | tokens | {"cost": cost, "error": str(result)}
    return row | {
        "response": response_record(result),
        "model_version": result.model_version,
        "finish_reason": result.finish_reason,
        "input_tokens": result.usage.input_tokens,
        "output_tokens": result.usage.output_tokens,
        "reasoning_tokens": result.usage.reasoning_tokens,
        "cost": _cost_of_reply(settings, result),
        "error": None,
    }


def response_record(reply: ModelReply) -> dict[str, Any]:
    """Return the stored form of a reply: its text, which can be parsed again, and the whole response."""
    record: dict[str, Any] = {"content": reply.text}
    if reply.reasoning:
        record["reasoning"] = reply.reasoning
    if reply.answers:
        record["answers"] = dict(reply.answers)
    # Offline annotators receive nothing besides their own text, which need not be stored twice.
    if reply.response != {"content": reply.text}:
        record["received"] = dict(reply.response)
    storable: dict[str, Any] = make_storable(record)
    return storable


def _cost_of_reply(settings: ModelSettings, result: ModelReply) -> float | None:
    """Return US dollars. Return None if the price is not known, or if the server did not count tokens that have a price."""
    # Some local servers report no usage. Their tokens are free only if the model has a price of 0.
    if result.usage == Usage():
        return 0.0 if cost_of(settings, Usage(1, 1)) == 0 else None
    return cost_of(settings, result.usage, result.model_version)


@dataclass(frozen=True)
class CallSums:
    """Sums over calls."""

    calls: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: float | None
    """US dollars. None if the price of any reply is not known."""
    maybe_billed: int
    """Calls without a reply that the provider may have billed."""
    seconds_per_output: float | None
    """Mean seconds from request to reply."""


def sum_calls(session: Session, table: type[ModelCall], which: ColumnElement[bool]) -> CallSums:
    """Add up the calls of a table that meet a condition."""
    replied = table.response.is_not(None)
    # SUM ignores NULL, so calls of unknown cost are counted separately.
    calls, inputs, outputs, reasoning, cost, unpriced, unanswered, seconds = session.execute(
        select(
            func.count(),
            func.coalesce(func.sum(table.input_tokens), 0),
            func.coalesce(func.sum(table.output_tokens), 0),
            func.coalesce(func.sum(table.reasoning_tokens), 0),
            func.coalesce(func.sum(table.cost), 0.0),
            func.count(case((replied & table.cost.is_(None), 1))),
            func.count(case((~replied & table.cost.is_(None), 1))),
            func.avg(case((replied, table.latency))),
        ).where(which)
    ).one()
    return CallSums(calls, inputs, outputs, reasoning, None if unpriced else cost, unanswered, seconds)


def count_calls(session: Session, table: type[ModelCall], *which: ColumnElement[bool]) -> int:
    """Count the calls of a table that meet all conditions."""
    return session.scalar(select(func.count()).select_from(table).where(*which)) or 0
