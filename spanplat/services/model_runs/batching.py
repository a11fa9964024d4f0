"""Asking through a provider's batch interface: handing questions in, looking after them, and storing the results.

A batch has its row, and its items their claims, before the provider is asked, so that a crash leaves a trace of what may be there.
"""

import asyncio
import itertools
import json
import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select, tuple_, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Unavailable
from spanplat.llm.clock import Clock
from spanplat.llm.provider import BatchProvider, BatchState, CallFailed, Completion, HandedIn, Request, batch_mark
from spanplat.llm.retrying import AskAgain, decide
from spanplat.models import CampaignStatus, ClaimState, ModelBatch, ModelClaim
from spanplat.models import Completion as StoredCompletion
from spanplat.models.statements import rows_changed
from spanplat.services.importing.progress import OnProgress
from spanplat.services.model_runs import questions as waiting
from spanplat.services.model_runs.asking import Prepared, Why, prepare
from spanplat.services.model_runs.plan import RunPlan
from spanplat.services.model_runs.questions import Key
from spanplat.services.model_runs.recording import Call, Outcome, Recorder, read_outcome
from spanplat.services.model_runs.settling import settle

MOST_REQUESTS = 5_000
MOST_BYTES = 50_000_000
"""Requests in one batch, and bytes of them, well below what either provider takes."""
POLL_SECONDS = 60.0
STORED_AT_ONCE = 64
_GONE = (404, 410)
_CANNOT_STOP = (400, 409)  # a batch that has just ended
_NOT_BEGUN = frozenset({"batch_expired", "batch_cancelled", "expired", "canceled"})
ABANDONED_AFTER = timedelta(minutes=15)
"""After this, a batch whose handing in was never confirmed is taken for lost."""
KEPT_FOR = timedelta(days=29)
"""How long the providers keep the results of a batch."""
TOO_LARGE = "more than the provider takes at a time"


@dataclass
class Batching:
    """One run in batch mode.

    Parameters
    ----------
    database
        Where the campaign is.
    plan
        What is run.
    recorder
        Stores the results.
    provider
        Who is asked.
    on_progress
        Told how many items are done, and of how many; when it raises, the run ends, and batches stay with the provider.
    clock
        Lets pauses pass.
    """

    database: Database
    plan: RunPlan
    recorder: Recorder
    provider: BatchProvider
    on_progress: OnProgress

    clock: Clock

    def __post_init__(self) -> None:
        self._since = datetime.now(UTC)
        self._claimed = 0

    async def run(self, *, wait: bool) -> Why:
        """Hand in what is free, store what has ended, and wait for the rest if that is wanted."""
        try:
            await asyncio.to_thread(settle, self.database, self.plan, self.recorder)
            while True:
                for batch in self._open_batches():
                    await self._look_after(batch)
                stop = await self._hand_in()
                self._tell()
                if not self._open_batches():
                    return stop or "done"
                if stop == "paused" or not wait:
                    return "paused" if stop == "paused" else "waiting"
                await self.clock.sleep(POLL_SECONDS)
        finally:
            await self.provider.close()

    async def cancel(self, batches: Collection[int]) -> int:
        """Have the provider stop some batches, and store what it had done; return how many it has not stopped yet."""
        try:
            for batch in self._open_batches(batches):
                await self._look_after(batch, cancel=True)
            return len(self._open_batches(batches))
        finally:
            await self.provider.close()

    def open_batches(self) -> int:
        """Count the batches that the provider still works on."""
        return len(self._open_batches())

    def _open_batches(self, among: Collection[int] | None = None) -> list[ModelBatch]:
        with self.database.reading() as session:
            found = open_batches_of(session, self.plan.campaign.id)
            return [batch for batch in found if among is None or batch.id in among]

    async def _hand_in(self) -> Why | None:
        """Hand in the items that are free, batch by batch; tell why it stopped before all were."""
        while True:
            most = self._most_at_a_time()
            if self.plan.limit is not None:
                most = min(most, self.plan.limit - self._claimed)
            prepared = self._candidates(most)
            if not prepared:
                return None
            key = f"{self.recorder.worker}:{secrets.token_hex(8)}"
            with self.database.transaction() as session:
                status = waiting.lock_campaign(session, self.plan.campaign.id)
                if status != CampaignStatus.OPEN:
                    return "paused"
                batch_id, taken = self._claim(session, key, prepared)
            if batch_id is None:
                return "ceiling"
            requests = {f"{batch_mark(key)}{_name(entry.question.key)}": entry.request for entry in taken}
            self._update(batch_id, external_id=await self._submit(batch_id, key, requests))
            self._claimed += len(taken)
            self._tell()

    async def _submit(self, batch_id: int, key: str, requests: Mapping[str, Request]) -> str:
        """Hand in a batch, again where the provider has too much to do; return its name for it."""
        for attempt in itertools.count(1):
            try:
                return await self.provider.submit_batch(key, requests)
            except CallFailed as failure:
                refused = failure.kind == "status" and (failure.status or 500) < 500
                attempts, jitter = self.plan.settings.attempts, random.random()  # noqa: S311
                decision = decide(failure, attempt, attempts=attempts, jitter=jitter)
                if refused and isinstance(decision, AskAgain):
                    await self.clock.sleep(decision.pause)
                    continue
                if refused:
                    self._end(batch_id, error=str(failure), give_back=True)
                else:  # the provider may have it all the same: see _find
                    self._update(batch_id, error=str(failure))
                raise Unavailable(f"the provider did not take the batch: {failure}") from failure
        raise AssertionError

    def _most_at_a_time(self) -> int:
        """Return how many questions may be handed in now: half of what was too much, and then one batch after the other."""
        with self.database.reading() as session:
            too_large = select(func.min(ModelBatch.requests)).where(
                ModelBatch.campaign_id == self.plan.campaign.id, ModelBatch.error.startswith(TOO_LARGE)
            )
            refused = session.scalar(too_large)
        if refused is None:
            return MOST_REQUESTS
        return 0 if self._open_batches() else max(1, refused // 2)

    def _candidates(self, most: int) -> list[Prepared]:
        if most <= 0:
            return []
        with self.database.reading() as session:
            free = waiting.open_questions(session, self.plan.campaign.id, self._since).free[:most]
            asked = waiting.load_questions(session, self.plan.definition, free) if free else []
        prepared = [prepare(self.plan.dialogue, question, self.plan.reply_tokens) for question in asked]
        sizes = (len(json.dumps(self.provider.body(entry.request), ensure_ascii=False).encode()) for entry in prepared)
        fitting = sum(size <= MOST_BYTES for size in itertools.accumulate(sizes))
        return prepared[: max(1, fitting)]

    def _claim(self, session: Session, key: str, prepared: Sequence[Prepared]) -> tuple[int | None, list[Prepared]]:
        affordable, _ = self.plan.affordable(session, prepared)
        if not affordable:
            return None, []
        wanted = [(entry.question.key, cost) for entry, cost in affordable]
        mine: set[Key] = set()
        for start in range(0, len(wanted), STORED_AT_ONCE):
            part = wanted[start : start + STORED_AT_ONCE]
            mine |= waiting.claim(session, self.plan.campaign.id, self.recorder.worker, part, since=self._since)
        batch = ModelBatch(campaign_id=self.plan.campaign.id, key=key, requests=len(mine))
        session.add(batch)
        session.flush()
        session.execute(
            update(ModelClaim)
            .where(ModelClaim.worker == self.recorder.worker, ModelClaim.state == ClaimState.ASKING)
            .values(state=ClaimState.SUBMITTED, batch_id=batch.id, worker=None, lease_expires_at=None)
        )
        return batch.id, [entry for entry, _ in affordable if entry.question.key in mine]

    async def _look_after(self, batch: ModelBatch, *, cancel: bool = False) -> None:
        """Store the results of a batch if it has ended; else have it stopped if that is wanted."""
        try:
            external = batch.external_id or await self._find(batch)
            if external is None:
                return
            state = await self.provider.batch_state(external)
            if cancel and not (state.ended or state.cancelling):
                await self._stop(external)
                state = await self.provider.batch_state(external)
            if not state.ended:
                self._update(batch.id, done=state.done, error=None)
                return
            await self._store_results(batch, external, state)
        except CallFailed as failure:
            if failure.status in _GONE and batch.created_at < datetime.now(UTC) - KEPT_FOR:
                self._give_up(batch.id, f"the provider no longer keeps the results of the batch ({failure})")
            elif failure.status in _GONE:
                raise Unavailable(
                    f"the provider knows no batch {batch.external_id} ({failure}); "
                    "set the key of the account that handed it in, which may be another one"
                ) from failure
            elif not isinstance(decide(failure, 1, attempts=2, jitter=0.0), AskAgain):
                raise Unavailable(f"the provider says nothing of a batch: {failure}") from failure
            elif batch.external_id is not None:  # without one, an error would say that it was never handed in
                self._update(batch.id, error=str(failure))

    async def _stop(self, external: str) -> None:
        try:
            await self.provider.cancel_batch(external)
        except CallFailed as failure:
            if failure.status not in _CANNOT_STOP:
                raise

    async def _find(self, batch: ModelBatch) -> str | None:
        """Find a batch whose handing in was never confirmed; one that is lost is given up, and its items are free again."""
        worker = batch.key.rpartition(":")[0]
        old = batch.created_at < datetime.now(UTC) - ABANDONED_AFTER
        # Of another run that lives, only the error tells that it does not hand the batch in any more.
        lost = batch.error is not None or old or not waiting.is_alive(worker)
        if worker != self.recorder.worker and not lost:
            return None
        search = await self.provider.find_batch(self._handed_in(batch))
        external = search.batch
        if external is None:
            if search.unclear:
                return None
            self._end(batch.id, error="it was never handed in, as far as is known", give_back=True)
            return None
        self._update(batch.id, external_id=external, error=None)
        return external

    def _handed_in(self, batch: ModelBatch) -> HandedIn:
        with self.database.reading() as session:
            known = session.scalars(select(ModelBatch.external_id).where(ModelBatch.external_id.is_not(None)))
            return HandedIn(batch.key, batch.requests, batch.created_at, frozenset(filter(None, known)))

    async def _store_results(self, batch: ModelBatch, external: str, state: BatchState) -> None:
        results: list[tuple[Key, Completion | CallFailed]] = []
        async for name, result in self.provider.batch_results(external):
            results.append((_key(name), result))
            if len(results) == STORED_AT_ONCE:
                self._store(batch.id, results)
                results = []
        self._store(batch.id, results)
        if state.is_too_large and batch.requests > 1:
            self._end(batch.id, error=f"{TOO_LARGE}: {state.error}", give_back=True)
        elif state.error is not None:
            self._give_up(batch.id, f"the provider refused the batch: {state.error}")
        else:
            self._end(batch.id, give_back=True)

    def _store(self, batch_id: int, results: Sequence[tuple[Key, Completion | CallFailed]]) -> None:
        with self.database.reading() as session:
            held = waiting.held_by(session, batch_id, [key for key, _ in results])
            asked = {
                question.key: question
                for question in waiting.load_questions(session, self.plan.definition, sorted(held))
            }
            tries = _tries(session, self.plan.campaign.id, sorted(held))
        reads = []
        for key, result in results:
            if key not in asked or (isinstance(result, CallFailed) and result.code in _NOT_BEGUN):
                continue
            question = asked[key]
            body = self.provider.body(self.plan.dialogue.request(question.item, question.repeat))
            failed = isinstance(result, CallFailed) and not self._may_be_asked_again(result, tries.get(key, 0) + 1)
            reads.append(
                read_outcome(self.plan.dialogue, Outcome(question, [Call(question, body, result, None)], failed))
            )
        with self.database.transaction() as session:
            waiting.lock_campaign(session, self.plan.campaign.id)
            still = waiting.take_from(
                session, batch_id, [read.outcome.question.key for read in reads], self.recorder.worker
            )
            self.recorder.store(session, [read for read in reads if read.outcome.question.key in still])

    def _may_be_asked_again(self, failure: CallFailed, attempt: int) -> bool:
        """Tell whether the next batch is to hold an item again that failed in this one."""
        return isinstance(decide(failure, attempt, attempts=self.plan.settings.attempts, jitter=0.0), AskAgain)

    def _update(self, batch_id: int, **values: Any) -> None:
        with self.database.transaction() as session:
            session.execute(update(ModelBatch).where(ModelBatch.id == batch_id).values(values))

    def _give_up(self, batch_id: int, error: str) -> None:
        """Mark a batch as ended, and the items it still holds as failed."""
        self.recorder.stored.count_failed("batch", error, self._end(batch_id, error=error, give_back=False))

    def _end(self, batch_id: int, *, error: str | None = None, give_back: bool) -> int:
        """Mark a batch as ended; items it still holds, which cost nothing, are free again, or have failed with the error.

        Returns
        -------
        int
            How many items it still held.
        """
        now = datetime.now(UTC)
        held = update(ModelClaim).where(ModelClaim.batch_id == batch_id, ModelClaim.state == ClaimState.SUBMITTED)
        if give_back:
            freed = held.values(state=ClaimState.ASKING, lease_expires_at=now - timedelta(days=1), reserved=0.0)
        else:
            freed = held.values(state=ClaimState.FAILED, failure="batch", error=error, reserved=0.0, changed_at=now)
        with self.database.transaction() as session:
            held_still = rows_changed(session.execute(freed))
            session.execute(update(ModelBatch).where(ModelBatch.id == batch_id).values(ended_at=now, error=error))
        return held_still

    def _tell(self) -> None:
        stored = self.recorder.stored
        with self.database.reading() as session:
            left = waiting.open_questions(session, self.plan.campaign.id, self._since)
        done = stored.answered + sum(stored.failed.values())
        self.on_progress(done, done + left.busy + len(left.free))


def open_batches_of(session: Session, campaign_id: int) -> Sequence[ModelBatch]:
    """Return the batches of a campaign that the provider has not ended, oldest first."""
    found = select(ModelBatch).where(ModelBatch.campaign_id == campaign_id, ModelBatch.ended_at.is_(None))
    return session.scalars(found.order_by(ModelBatch.id)).all()


def _tries(session: Session, campaign_id: int, keys: Sequence[Key]) -> dict[Key, int]:
    """Count the calls about each of these items so far."""
    rows = session.execute(
        select(StoredCompletion.assignment_id, StoredCompletion.item_id, func.count())
        .where(
            StoredCompletion.campaign_id == campaign_id,
            tuple_(StoredCompletion.assignment_id, StoredCompletion.item_id).in_(keys),
        )
        .group_by(StoredCompletion.assignment_id, StoredCompletion.item_id)
    )
    return {Key(assignment_id, item_id): calls for assignment_id, item_id, calls in rows}


def _name(key: Key) -> str:
    return f"{key.assignment_id}-{key.item_id}"


def _key(name: str) -> Key:
    *_, assignment_id, item_id = name.split("-")
    return Key(int(assignment_id), int(item_id))
