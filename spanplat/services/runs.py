"""Running a model campaign: asking for every item that has no stored answer, and storing each answer as an annotation."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, Unavailable
from spanplat.llm.clock import Clock, RealClock
from spanplat.llm.dialogue import Dialogue
from spanplat.llm.limiter import Limiter
from spanplat.llm.provider import BatchProvider, Provider
from spanplat.llm.providers.choice import make_provider
from spanplat.models import Campaign, CampaignStatus
from spanplat.services.campaigns import find_campaign
from spanplat.services.coroutines import to_the_end
from spanplat.services.definitions import category_ids, definition_of
from spanplat.services.importing.progress import OnProgress, ignore_progress
from spanplat.services.model_runs import questions as waiting
from spanplat.services.model_runs.asking import Asker, Next, Prepared, Why, prepare
from spanplat.services.model_runs.batching import Batching
from spanplat.services.model_runs.estimates import (
    Estimate,
    estimate,
    history_of,
    longest_reply,
    most_it_may_cost,
)
from spanplat.services.model_runs.plan import RunPlan
from spanplat.services.model_runs.questions import Key
from spanplat.services.model_runs.recording import Outcome, Recorder, Stored, read_outcome
from spanplat.services.model_runs.report import RunReport, report_of
from spanplat.services.model_runs.seats import submit_full_seats, take_seats
from spanplat.services.model_runs.settling import settle, unsettled
from spanplat.services.prompts import load_prompt_inputs

RENEW_SECONDS = 10.0
REPORT_SECONDS = 0.25

ESTIMATED_FROM = 500
"""Items whose prompts are looked at for an estimate."""

__all__ = ["KEPT", "RunReport", "cancel_batches", "estimate_run", "run_campaign", "stops_at_ceiling"]

KEPT = "stopped, what was answered is kept: "
"""What stands before the reason in the message of a run that the provider ended."""


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
    """Ask the campaign's model about every item that has no answer yet; an interrupted run is resumed by running again.

    Several workers may run the same campaign; each asks about other items, and ends when nothing is left.

    Parameters
    ----------
    database
        Where the campaign is.
    slug
        The campaign.
    limit
        At most this many items.
    concurrency
        Questions at a time, in place of the definition's.
    dry_run
        Only estimate what it would take.
    max_cost
        US dollars that the campaign's calls may cost in all, in place of the definition's.
    provider
        Who is asked, in place of the definition's.
    on_progress
        Told how many items are done, and of how many; when it raises, calls under way end and are stored, and the run ends with
        what it raised.
    on_report
        Told what the run has done so far.
    wait
        Whether to wait for batches that the provider works on, in ``mode: batch``; else the report says ``waiting``, and running again
        stores their results when they have ended.
    clock
        Lets pauses pass.

    Raises
    ------
    NotFound, InvalidInput
        If there is no such campaign, it is not one that a model fills, a key is missing, or a ceiling is set without a known price.
    Conflict
        If the campaign is paused or closed.
    Unavailable
        If the provider refuses to go on, with what it said; answers up to then are stored.
    """
    with database.reading() as session:
        plan = _plan(session, slug, limit=limit, max_cost=max_cost)
        if dry_run:
            return _dry_run(session, plan)
    provider = provider or make_provider(plan.definition)
    take_seats(database, plan.campaign, plan.settings, provider)
    if plan.settings.mode == "batch" and isinstance(provider, BatchProvider):
        return _run_batches(database, plan, provider, on_progress, clock or RealClock(), wait=wait)
    run = _Run(database, plan, on_progress, on_report)
    try:
        why = to_the_end(run.go(provider, concurrency or plan.settings.concurrency, clock or RealClock()))
    finally:
        with database.transaction() as session:
            waiting.release(session, run.worker)
    submit_full_seats(database, plan.campaign)
    return run.end(why)


def cancel_batches(database: Database, slug: str, batches: Collection[int]) -> int:
    """Have the provider stop batches of a campaign, store what it had done, and return how many it has not stopped yet.

    Parameters
    ----------
    database
        Where the campaign is.
    slug
        The campaign, whether it is open or not.
    batches
        Ids of the rows of the batches: what is handed in later is none of them.

    Raises
    ------
    NotFound, InvalidInput, Unavailable
        If there is no such campaign, its key is missing, or the provider does not do it.
    """
    with database.reading() as session:
        plan = _plan(session, slug, may_be_closed=True)
    provider = make_provider(plan.definition)
    if not isinstance(provider, BatchProvider):
        return 0
    batching = _batching(database, plan, provider, ignore_progress, RealClock())
    left = to_the_end(batching.cancel(batches))
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
    ceiling = max_cost if max_cost is not None else definition.model.max_cost
    if ceiling is not None and most_it_may_cost(definition.model, 1, 1) is None:
        raise InvalidInput(
            f"the price of {definition.model.model!r} is not known, so a ceiling of cost cannot be kept; "
            "give model.price {input, output} in US dollars for a million tokens, or no ceiling"
        )
    categories = category_ids(session, campaign.id, campaign.definition_sha256)
    dialogue = Dialogue(definition, load_prompt_inputs(session, campaign))
    reply_tokens = longest_reply(definition.model, history_of(session, campaign.id))
    return RunPlan(campaign, definition, definition.model, categories, dialogue, ceiling, limit, reply_tokens)


def _run_batches(
    database: Database, plan: RunPlan, provider: BatchProvider, on_progress: OnProgress, clock: Clock, *, wait: bool
) -> RunReport:
    started, since = time.monotonic(), datetime.now(UTC)
    batching = _batching(database, plan, provider, on_progress, clock)
    why = to_the_end(batching.run(wait=wait))
    submit_full_seats(database, plan.campaign)
    report = report_of(plan.campaign.slug, batching.recorder.stored, time.monotonic() - started, why)
    report.seconds_per_1000, report.batches = None, batching.open_batches()
    with database.reading() as session:
        report.left = waiting.open_questions(session, plan.campaign.id, since).all
    return report


def _batching(
    database: Database, plan: RunPlan, provider: BatchProvider, on_progress: OnProgress, clock: Clock
) -> Batching:
    recorder = Recorder(plan.campaign.id, plan.settings, plan.categories, waiting.worker_name(), Stored())
    return Batching(database, plan, recorder, provider, on_progress, clock)


def estimate_run(session: Session, campaign: Campaign, *, looked_at: int = 40) -> Estimate:
    """Estimate what asking about everything that has no answer yet takes, from the prompts about some of it.

    Raises
    ------
    InvalidInput, Conflict
        If the campaign could not be run.
    """
    return _estimate(session, _plan(session, campaign.slug), looked_at)


def stops_at_ceiling(session: Session, campaign: Campaign, max_cost: float | None = None) -> bool:
    """Tell whether the next call might cost more than is left under the campaign's ceiling, so that a run would ask nothing.

    ``max_cost`` takes the place of the ceiling that the definition names.

    Raises
    ------
    InvalidInput, Conflict
        If the campaign could not be run.
    """
    plan = _plan(session, campaign.slug, max_cost=max_cost)
    if plan.ceiling is None:
        return False
    asked = waiting.load_questions(session, plan.definition, waiting.first_free(session, campaign.id))
    wanted = [prepare(plan.dialogue, question, plan.reply_tokens) for question in asked]
    affordable, reserved = plan.affordable(session, wanted)
    return bool(wanted) and not affordable and not reserved


def _dry_run(session: Session, plan: RunPlan) -> RunReport:
    left = waiting.open_questions(session, plan.campaign.id, datetime.now(UTC)).all
    # Only looking tells which items a consolidator need not be asked about.
    guess = _estimate(session, plan, left if plan.settings.consolidates else ESTIMATED_FROM)
    return RunReport(plan.campaign.slug, left=left, cost=None, dry_run=True, estimate=guess)


def _estimate(session: Session, plan: RunPlan, looked_at: int) -> Estimate:
    keys = waiting.open_questions(session, plan.campaign.id, datetime.now(UTC)).free[: plan.limit]
    chosen = keys[:: max(1, -(-len(keys) // max(1, looked_at)))]
    asked = unsettled(plan, waiting.load_questions(session, plan.definition, chosen))
    items = round(len(keys) * len(asked) / len(chosen)) if chosen else 0
    return estimate(plan.settings, plan.dialogue, asked, items, history_of(session, plan.campaign.id))


class _Run:
    """One run of one worker."""

    def __init__(
        self,
        database: Database,
        plan: RunPlan,
        on_progress: OnProgress,
        on_report: Callable[[RunReport], None],
    ) -> None:
        self.worker = waiting.worker_name()
        self._database = database
        self._plan = plan
        self._since = datetime.now(UTC)
        self._started = time.monotonic()
        self._stored = Stored()
        self._recorder = Recorder(plan.campaign.id, plan.settings, plan.categories, self.worker, self._stored)
        self._free: deque[Key] = deque()
        self._claimed = 0
        self._under_way = 0
        self._renewed = self._reported = 0.0
        self._on_progress = on_progress
        self._on_report = on_report
        self._raised: BaseException | None = None
        self._hopeless: str | None = None

    async def go(self, provider: Provider, concurrency: int, clock: Clock) -> Why:
        """Ask until nothing is left or the run is to stop."""
        settings = self._plan.settings
        limiter = Limiter(
            concurrency,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
            clock=clock,
        )
        asker = Asker(provider, settings, limiter, self._step, clock, self._afford)
        try:
            await asyncio.to_thread(settle, self._database, self._plan, self._recorder)
            why = await asker.run(concurrency)
        finally:
            await provider.close()
        self._hopeless = asker.hopeless
        return why

    def end(self, why: Why) -> RunReport:
        """Tell what the run did, or raise what ended it."""
        if self._raised is not None:
            raise self._raised
        if self._hopeless is not None:
            raise Unavailable(f"the run of {self._plan.campaign.slug} {KEPT}{self._hopeless}")
        with self._database.reading() as session:
            left = waiting.open_questions(session, self._plan.campaign.id, self._since).all
        report = self._report(why)
        report.left = left
        self._on_progress(self._done, self._done)
        self._on_report(report)
        return report

    @property
    def _done(self) -> int:
        return self._stored.answered + sum(self._stored.failed.values())

    def _report(self, why: Why = "done") -> RunReport:
        report = report_of(self._plan.campaign.slug, self._stored, time.monotonic() - self._started, why)
        report.left = len(self._free) + self._under_way
        return report

    def _step(self, outcomes: Sequence[Outcome], room: int) -> Next:
        """Store outcomes and claim up to so many more items, in one short transaction."""
        reads = [read_outcome(self._plan.dialogue, outcome) for outcome in outcomes]
        wanted = self._candidates(room)
        following = Next()
        now = time.monotonic()
        if reads or wanted or now - self._renewed > RENEW_SECONDS or now - self._reported > REPORT_SECONDS:
            with self._database.transaction() as session:
                status = waiting.lock_campaign(session, self._plan.campaign.id)
                self._recorder.store(session, reads)
                self._under_way -= len(reads)
                if now - self._renewed > RENEW_SECONDS:
                    waiting.renew(session, self.worker)
                    self._renewed = now
                may_ask = status == CampaignStatus.OPEN
                following = self._claim(session, wanted) if may_ask else Next(stop="paused")
        self._tell(now)
        if self._raised is not None:
            return Next(stop="stopped")
        if room and not wanted and not following.stop:
            following.waiting = self._others_ask()
        return following

    def _candidates(self, room: int) -> list[Prepared]:
        """Take up to so many items from those nobody had claimed, and make the requests about them."""
        if self._plan.limit is not None:
            room = min(room, self._plan.limit - self._claimed)
        if room <= 0:
            return []
        with self._database.reading() as session:
            if not self._free:
                self._free.extend(waiting.open_questions(session, self._plan.campaign.id, self._since).free)
            keys = [self._free.popleft() for _ in range(min(room, len(self._free)))]
            asked = waiting.load_questions(session, self._plan.definition, keys) if keys else []
        return [prepare(self._plan.dialogue, question, self._plan.reply_tokens) for question in asked]

    def _claim(self, session: Session, wanted: Sequence[Prepared]) -> Next:
        affordable, reserved = self._plan.affordable(session, wanted)
        self._free.extendleft(prepared.question.key for prepared in reversed(wanted[len(affordable) :]))
        mine = waiting.claim(
            session,
            self._plan.campaign.id,
            self.worker,
            [(prepared.question.key, cost) for prepared, cost in affordable],
            since=self._since,
        )
        claimed = [prepared for prepared, _ in affordable if prepared.question.key in mine]
        self._claimed += len(claimed)
        self._under_way += len(claimed)
        if wanted and not affordable:
            return Next(waiting=True) if reserved else Next(stop="ceiling")
        return Next(claimed, waiting=len(claimed) < len(wanted))

    def _afford(self, prepared: Prepared) -> bool:
        """Reserve the money for another call about an item."""
        if self._plan.ceiling is None:
            return True
        with self._database.transaction() as session:
            waiting.lock_campaign(session, self._plan.campaign.id)
            affordable, _ = self._plan.affordable(session, [prepared])
            for entry, cost in affordable:
                waiting.reserve(session, self.worker, entry.question.key, cost)
        return bool(affordable)

    def _others_ask(self) -> bool:
        """Tell whether items may come free that others have claimed; on this machine, those of dead workers do at once."""
        if self._plan.limit is not None and self._claimed >= self._plan.limit:
            return False
        with self._database.transaction() as session:
            waiting.release_dead(session, self._plan.campaign.id)
            now = waiting.open_questions(session, self._plan.campaign.id, self._since)
        self._free = deque(now.free)
        return bool(now.free) or now.busy > self._under_way

    def _tell(self, now: float) -> None:
        if now - self._reported < REPORT_SECONDS or self._raised is not None:
            return
        self._reported = now
        try:
            self._on_progress(self._done, self._done + self._under_way + len(self._free))
            self._on_report(self._report())
        except BaseException as raised:  # noqa: BLE001 (whatever it is, it is raised again once calls under way are stored)
            self._raised = raised
