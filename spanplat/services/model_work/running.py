"""Running a model campaign, from the first request to the report."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.llm.clock import Clock, RealClock
from spanplat.llm.dialogue import Dialogue
from spanplat.llm.provider import BatchProvider, Provider
from spanplat.llm.providers.choice import make_provider
from spanplat.models import Campaign, CampaignStatus
from spanplat.services.background import OnProgress, ignore_progress
from spanplat.services.campaigns import category_ids, definition_of, find_campaign
from spanplat.services.model_work.batching import Batching
from spanplat.services.model_work.budget import campaign_spending, make_budget
from spanplat.services.model_work.campaign_target import CampaignTarget, RunPlan
from spanplat.services.model_work.claims import find_open_items, first_free, load_pending
from spanplat.services.model_work.estimates import Estimate, estimate, history_of, longest_reply
from spanplat.services.model_work.prompts import load_prompt_inputs
from spanplat.services.model_work.recording import RunCounts
from spanplat.services.model_work.runner import Runner, run_coroutine
from spanplat.services.model_work.seats import submit_full_seats, take_seats
from spanplat.services.model_work.sending import StopReason

ESTIMATED_FROM = 500
"""Most items whose prompts are rendered for an estimate."""


@dataclass
class RunReport:
    """Report of one run."""

    campaign: str
    asked: int = 0
    left: int = 0
    """Number of items still without an answer."""
    spans: int = 0
    unplaced: int = 0
    placed: dict[str, int] = field(default_factory=dict)
    """Number of spans, by the rule that placed them."""
    failures: dict[str, int] = field(default_factory=dict)
    """Number of items without an annotation, by kind: ``refusal``, ``cut off``, ``status 400``, …"""
    failed: dict[str, int] = field(default_factory=dict)
    """Number of items without an annotation, by reason."""
    calls: int = 0
    """Number of requests sent, retries included."""
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = 0.0
    """US dollars. None if the model's price is not known."""
    maybe_billed: int = 0
    """Number of calls without a reply that the provider may have billed. They are not in the cost."""
    seconds: float = 0.0
    cost_per_1000: float | None = None
    """US dollars for 1,000 outputs."""
    seconds_per_1000: float | None = None
    """Seconds for 1,000 outputs at this run's speed."""
    batches: int = 0
    """Number of batches that the provider still works on."""
    stopped: StopReason = "done"
    """Reason for the end: ``done``, ``ceiling`` (of cost), ``paused`` (campaign paused or closed), ``waiting`` (for batches)."""
    dry_run: bool = False
    estimate: Estimate | None = None
    """Only in the report of a dry run."""


def run_campaign(
    database: Database,
    slug: str,
    *,
    limit: int | None = None,
    concurrency: int | None = None,
    dry_run: bool = False,
    max_cost: float | None = None,
    provider: Provider | None = None,
    on_progress: OnProgress = ignore_progress,
    on_report: Callable[[RunReport], None] = lambda _: None,
    wait: bool = True,
    clock: Clock | None = None,
) -> RunReport:
    """Ask the campaign's model about every item that has no answer yet. Run again to resume an interrupted run.

    Several workers may run the same campaign at once. Each asks about other items, and ends when nothing is left.

    Parameters
    ----------
    database
        Database with the campaign.
    slug
        The campaign.
    limit
        Most items in this run.
    concurrency
        Calls at a time, instead of the number in the definition.
    dry_run
        Only estimate tokens and cost; send nothing.
    max_cost
        Ceiling in US dollars for all calls of the campaign, instead of the one in the definition.
    provider
        Provider to ask, instead of the one in the definition.
    on_progress
        Called with the number of items done and the total. When it raises, the calls under way finish and are stored. Then the run
        raises the same.
    on_report
        Called with the report of the run so far.
    wait
        Whether to wait for batches, in ``mode: batch``. If not, the report says ``waiting``, and a later run stores the results of the
        batches that have ended.
    clock
        Clock that the pauses wait on.

    Raises
    ------
    NotFound, InvalidInput
        If there is no such campaign, it is not one that a model fills, a key is missing, or a ceiling is set without a known price.
    Conflict
        If the campaign is paused or closed.
    Unavailable
        If the provider refuses to go on. The message says why. The answers so far are stored.
    """
    with database.reading() as session:
        plan = _plan(session, slug, limit=limit, max_cost=max_cost)
        if dry_run:
            return _dry_run(session, plan)
    # Only now, because an estimate needs no key.
    provider, clock = provider or make_provider(plan.definition), clock or RealClock()
    take_seats(database, plan.campaign, plan.settings, provider)
    target, started = CampaignTarget(database, plan), time.monotonic()

    def report(reason: StopReason = "done") -> RunReport:
        return _report_of(slug, target.counts, time.monotonic() - started, reason)

    def report_progress(left: int) -> None:
        on_progress(target.counts.done, target.counts.done + left)
        on_report(replace(report(), left=left))

    if plan.settings.mode == "batch" and isinstance(provider, BatchProvider):
        batching = Batching(database, target, provider, on_progress, clock)
        reason = run_coroutine(batching.run(wait=wait))
        # The runner releases its target at the end, which does this. A batch run has no runner.
        submit_full_seats(database, plan.campaign)
        # Without seconds_per_1000: the time of a batch run is mostly waiting.
        return replace(
            report(reason), left=target.find_open().all, seconds_per_1000=None, batches=batching.open_batches()
        )
    reason = Runner(database, target, provider, report_progress, clock, concurrency=concurrency, limit=plan.limit).run()
    finished = replace(report(reason), left=target.find_open().all)
    on_progress(target.counts.done, target.counts.done)
    on_report(finished)
    return finished


def cancel_batches(database: Database, slug: str, batches: Collection[int]) -> int:
    """Ask the provider to stop batches of a campaign, and store their results. Return the number of batches not stopped yet.

    Parameters
    ----------
    database
        Database with the campaign.
    slug
        The campaign, open or not.
    batches
        Ids of the rows of the batches. Batches submitted later are not among them.

    Raises
    ------
    NotFound, InvalidInput, Unavailable
        If there is no such campaign, its key is missing, or the provider refuses.
    """
    with database.reading() as session:
        plan = _plan(session, slug, may_be_closed=True)
    provider = make_provider(plan.definition)
    if not isinstance(provider, BatchProvider):
        return 0
    batching = Batching(database, CampaignTarget(database, plan), provider, ignore_progress, RealClock())
    left = run_coroutine(batching.cancel(batches))
    submit_full_seats(database, plan.campaign)
    return left


def _plan(
    session: Session,
    slug: str,
    *,
    limit: int | None = None,
    max_cost: float | None = None,
    may_be_closed: bool = False,
) -> RunPlan:
    campaign = find_campaign(session, slug)
    definition = definition_of(campaign)
    if campaign.kind != "llm" or definition.model is None:
        raise InvalidInput(f"campaign {slug!r} is filled by people, not by a model; people come through its links")
    if campaign.status != CampaignStatus.OPEN and not may_be_closed:
        raise Conflict(f"campaign {slug!r} is {campaign.status}; open it first: spanplat campaign open {slug}")
    budget = make_budget(definition.model, max_cost, partial(campaign_spending, campaign_id=campaign.id))
    categories = category_ids(session, campaign.id, campaign.definition_sha256)
    dialogue = Dialogue(definition, load_prompt_inputs(session, campaign))
    reply_tokens = longest_reply(definition.model, history_of(session, campaign.id))
    return RunPlan(campaign, definition, definition.model, categories, dialogue, budget, limit, reply_tokens)


def estimate_run(session: Session, campaign: Campaign, *, looked_at: int = 40) -> Estimate:
    """Estimate tokens and cost of the items without an answer, from the prompts about some of them.

    Raises
    ------
    InvalidInput, Conflict
        If the campaign could not be run.
    """
    return _estimate(session, _plan(session, campaign.slug), looked_at)


def stops_at_ceiling(session: Session, campaign: Campaign, max_cost: float | None = None) -> bool:
    """Return whether the next call might cost more than the campaign's ceiling leaves, so that a run would ask nothing.

    ``max_cost`` replaces the ceiling of the definition.

    Raises
    ------
    InvalidInput, Conflict
        If the campaign could not be run.
    """
    plan = _plan(session, campaign.slug, max_cost=max_cost)
    if plan.budget.ceiling is None:
        return False
    pending = load_pending(session, plan.definition, first_free(session, campaign.id))
    return plan.budget.stops(session, [plan.request(one) for one in pending])


def _dry_run(session: Session, plan: RunPlan) -> RunReport:
    left = find_open_items(session, plan.campaign.id, datetime.now(UTC)).all
    # A consolidator is not asked about every item. Only the loaded items show which ones, so here all of them are loaded.
    guess = _estimate(session, plan, left if plan.settings.consolidates else ESTIMATED_FROM)
    return RunReport(plan.campaign.slug, left=left, cost=None, dry_run=True, estimate=guess)


def _estimate(session: Session, plan: RunPlan, looked_at: int) -> Estimate:
    keys = find_open_items(session, plan.campaign.id, datetime.now(UTC)).free[: plan.limit]
    # Every n-th item, so that the estimate does not rest on the first texts alone. The double minus rounds up.
    chosen = keys[:: max(1, -(-len(keys) // max(1, looked_at)))]
    asked = plan.needing_request(load_pending(session, plan.definition, chosen))
    items = round(len(keys) * len(asked) / len(chosen)) if chosen else 0
    requests = [plan.request(pending).request for pending in asked]
    return estimate(plan.settings, requests, items, history_of(session, plan.campaign.id))


def _report_of(slug: str, counts: RunCounts, seconds: float, why: StopReason = "done") -> RunReport:
    """Return the report of a run, made from its counts."""
    cost = None if counts.unpriced else counts.cost
    per_1000 = 1000 / counts.answered if counts.answered else None
    return RunReport(
        slug,
        asked=counts.asked,
        spans=counts.spans,
        unplaced=counts.unplaced,
        placed=dict(sorted(counts.rules.items(), key=lambda entry: -entry[1])),
        failures=dict(counts.failures),
        failed=dict(counts.failed),
        calls=counts.calls,
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        reasoning_tokens=counts.reasoning_tokens,
        cost=cost,
        maybe_billed=counts.maybe_billed,
        seconds=seconds,
        cost_per_1000=None if cost is None or per_1000 is None else cost * per_1000,
        seconds_per_1000=None if per_1000 is None else seconds * per_1000,
        stopped=why,
    )
