"""What one run did."""

from dataclasses import dataclass, field

from spanplat.services.model_runs.asking import Why
from spanplat.services.model_runs.estimates import Estimate
from spanplat.services.model_runs.recording import Stored


@dataclass
class RunReport:
    """What a run did."""

    campaign: str
    asked: int = 0
    left: int = 0
    """Items still without an answer."""
    spans: int = 0
    unplaced: int = 0
    placed: dict[str, int] = field(default_factory=dict)
    """Spans, by the rule that placed them."""
    failures: dict[str, int] = field(default_factory=dict)
    """Items without an annotation, by kind: ``refusal``, ``cut off``, ``status 400``, …"""
    failed: dict[str, int] = field(default_factory=dict)
    """Items without an annotation, by reason."""
    calls: int = 0
    """Requests sent, with those tried again."""
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None where the model's price is not known."""
    maybe_billed: int = 0
    """Calls without a reply that the provider may have billed; they are not in the cost."""
    seconds: float = 0.0
    cost_per_1000: float | None = None
    """US dollars for 1,000 outputs."""
    seconds_per_1000: float | None = None
    """How long 1,000 outputs take at this run's speed."""
    batches: int = 0
    """Batches that the provider still works on."""
    stopped: Why = "done"
    """Why it ended: ``done``, ``ceiling`` (of cost), ``paused`` (the campaign was paused or closed), ``waiting`` (for batches)."""
    dry_run: bool = False
    estimate: Estimate | None = None
    """Of a dry run."""


def report_of(slug: str, stored: Stored, seconds: float, why: Why = "done") -> RunReport:
    """Make the report of a run from what it stored."""
    cost = None if stored.unpriced else stored.cost
    per_1000 = 1000 / stored.answered if stored.answered else None
    return RunReport(
        slug,
        asked=stored.asked,
        spans=stored.spans,
        unplaced=stored.unplaced,
        placed=dict(sorted(stored.rules.items(), key=lambda entry: -entry[1])),
        failures=dict(stored.failures),
        failed=dict(stored.failed),
        calls=stored.calls,
        input_tokens=stored.input_tokens,
        output_tokens=stored.output_tokens,
        reasoning_tokens=stored.reasoning_tokens,
        cost=cost,
        maybe_billed=stored.maybe_billed,
        seconds=seconds,
        cost_per_1000=None if cost is None or per_1000 is None else cost * per_1000,
        seconds_per_1000=None if per_1000 is None else seconds * per_1000,
        stopped=why,
    )
