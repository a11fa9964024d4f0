"""What the calls of a model have come to: tokens, money and time."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from spanplat.models import Completion, GenerationCall


@dataclass(frozen=True)
class CallSums:
    """Sums over calls."""

    calls: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: float | None
    """US dollars; None where the price of a reply is not known."""
    maybe_billed: int
    """Calls without a reply that the provider may have billed."""
    seconds_per_output: float | None
    """Mean time from question to reply."""


def sum_calls(session: Session, table: type[Completion] | type[GenerationCall], which: ColumnElement[bool]) -> CallSums:
    """Add up the calls of one of the tables of calls that meet a condition."""
    replied = table.response.is_not(None)
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


def count_calls(session: Session, table: type[Completion] | type[GenerationCall], *which: ColumnElement[bool]) -> int:
    """Count the calls that meet all conditions."""
    return session.scalar(select(func.count()).select_from(table).where(*which)) or 0
