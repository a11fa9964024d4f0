"""Requests through a provider's batch interface: submit a batch, poll its state, and store its results.

The row of a batch and the claims of its items are stored before the provider is asked. After a crash, they show which batch may exist
at the provider.
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
from spanplat.llm.provider import BatchProvider, BatchState, CallFailed, ModelReply, Request, SubmittedBatch, batch_mark
from spanplat.llm.retrying import Retry, decide
from spanplat.models import ClaimState, Completion, ModelBatch, ModelClaim
from spanplat.models.statements import rows_changed
from spanplat.services.background import OnProgress
from spanplat.services.datasets import chunked
from spanplat.services.model_work import claims
from spanplat.services.model_work.calls import Call, Outcome, PendingRequest
from spanplat.services.model_work.campaign_target import CampaignTarget
from spanplat.services.model_work.claims import SeatItem
from spanplat.services.model_work.sending import StopReason
from spanplat.services.model_work.workers import is_alive

MOST_REQUESTS = 5_000
MOST_BYTES = 50_000_000
"""Most requests in one batch, and most bytes: well below the limits of both providers."""
POLL_SECONDS = 60.0
STORED_AT_ONCE = 64
"""Results stored, or items claimed, in one statement or transaction."""
_GONE = (404, 410)
# These say that the batch has just ended.
_CANNOT_STOP = (400, 409)
# The first two are codes of OpenAI, the others are kinds of results of Anthropic.
_NOT_BEGUN = frozenset({"batch_expired", "batch_cancelled", "expired", "canceled"})
ABANDONED_AFTER = timedelta(minutes=15)
"""Age at which a batch that the provider never confirmed counts as lost."""
KEPT_FOR = timedelta(days=29)
"""Time for which the providers keep the results of a batch."""
TOO_LARGE = "more than the provider takes at a time"


@dataclass
class Batching:
    """One run in batch mode.

    Parameters
    ----------
    database
        Database with the campaign.
    target
        The campaign, which stores the results.
    provider
        Provider to ask.
    on_progress
        Called with the number of items done and the total. When it raises, the run ends, and batches stay with the provider.
    clock
        Clock that the pauses wait on.
    """

    database: Database
    target: CampaignTarget
    provider: BatchProvider
    on_progress: OnProgress
    clock: Clock
    _claimed: int = 0

    @property
    def _campaign_id(self) -> int:
        return self.target.plan.campaign.id

    async def run(self, *, wait: bool) -> StopReason:
        """Submit the free items, store the results of ended batches, and wait for the rest if ``wait`` is set."""
        try:
            await asyncio.to_thread(self.target.begin)
            while True:
                # Ended batches first: what failed in them and may be asked again is then free for the next batch.
                for batch in self._open_batches():
                    await self._look_after(batch)
                stop = await self._hand_in()
                self._report()
                if not self._open_batches():
                    return stop or "done"
                # A paused run does not wait. The results of its batches are fetched when the campaign is open again.
                if stop == "paused" or not wait:
                    return "paused" if stop == "paused" else "waiting"
                await self.clock.sleep(POLL_SECONDS)
        finally:
            await self.provider.close()

    async def cancel(self, batches: Collection[int]) -> int:
        """Ask the provider to stop some batches, and store their results. Return the number of batches not stopped yet."""
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
            found = open_batches_of(session, self._campaign_id)
            return [batch for batch in found if among is None or batch.id in among]

    async def _hand_in(self) -> StopReason | None:
        """Submit the free items batch by batch. Return why some are left, or None if all are submitted."""
        while True:
            most = self._most_at_a_time()
            if self.target.plan.limit is not None:
                most = min(most, self.target.plan.limit - self._claimed)
            wanted = self._next_requests(most)
            if not wanted:
                return None
            key = f"{self.target.worker}:{secrets.token_hex(8)}"
            # The row and the claims are committed before the provider is asked, so that a crash leaves a trace of the
            # batch.
            with self.database.transaction() as session:
                if not self.target.lock(session):
                    return "paused"
                batch_id, taken = self._claim(session, key, wanted)
            if batch_id is None:
                return "ceiling"
            # The names begin with the mark of the batch, by which _find recognises a batch whose submission was not confirmed.
            requests = {f"{batch_mark(key)}{_name(pending.key)}": pending.request for pending in taken}
            self._update(batch_id, external_id=await self._submit(batch_id, key, requests))
            self._claimed += len(taken)
            self._report()

    async def _submit(self, batch_id: int, key: str, requests: Mapping[str, Request]) -> str:
        """Submit a batch, with retries if the provider is busy. Return the provider's name for the batch."""
        for attempt in itertools.count(1):
            try:
                return await self.provider.submit_batch(key, requests)
            except CallFailed as failure:
                # Only a 4xx says for sure that there is no batch. After anything else a retry could create it a second time.
                refused = failure.kind == "status" and (failure.status or 500) < 500
                attempts, jitter = self.target.settings.attempts, random.random()  # noqa: S311
                decision = decide(failure, attempt, attempts=attempts, jitter=jitter)
                if refused and isinstance(decision, Retry):
                    await self.clock.sleep(decision.pause)
                    continue
                if refused:
                    self._end(batch_id, error=str(failure), give_back=True)
                else:  # the provider may have it all the same: see _find
                    self._update(batch_id, error=str(failure))
                raise Unavailable(f"the provider did not take the batch: {failure}") from failure
        raise AssertionError

    def _most_at_a_time(self) -> int:
        """Return how many requests may be submitted now.

        After a batch was too large for the provider, submit half as many, and one batch at a time.
        """
        with self.database.reading() as session:
            too_large = select(func.min(ModelBatch.requests)).where(
                ModelBatch.campaign_id == self._campaign_id, ModelBatch.error.startswith(TOO_LARGE)
            )
            refused = session.scalar(too_large)
        if refused is None:
            return MOST_REQUESTS
        return 0 if self._open_batches() else max(1, refused // 2)

    def _next_requests(self, most: int) -> list[PendingRequest[SeatItem]]:
        if most <= 0:
            return []
        wanted = self.target.requests(self.target.find_open().free[:most])
        sizes = (len(json.dumps(self.provider.body(one.request), ensure_ascii=False).encode()) for one in wanted)
        fitting = sum(size <= MOST_BYTES for size in itertools.accumulate(sizes))
        # At least one: a single request above the limit is left for the provider to refuse.
        return wanted[: max(1, fitting)]

    def _claim(
        self, session: Session, key: str, wanted: Sequence[PendingRequest[SeatItem]]
    ) -> tuple[int | None, list[PendingRequest[SeatItem]]]:
        affordable, _ = self.target.budget.affordable(session, wanted)
        if not affordable:
            return None, []
        # In parts, because an insertion has a parameter for every column of every row, and databases limit their
        # number.
        own: set[SeatItem] = set()
        for part in chunked(((pending.key, cost) for pending, cost in affordable), STORED_AT_ONCE):
            own |= self.target.claim(session, part)
        batch = ModelBatch(campaign_id=self._campaign_id, key=key, requests=len(own))
        session.add(batch)
        session.flush()
        # This run claims items only here, so all that it is asking about belongs to this batch.
        session.execute(
            update(ModelClaim)
            .where(ModelClaim.worker == self.target.worker, ModelClaim.state == ClaimState.ASKING)
            .values(state=ClaimState.SUBMITTED, batch_id=batch.id, worker=None, lease_expires_at=None)
        )
        return batch.id, [pending for pending, _ in affordable if pending.key in own]

    async def _look_after(self, batch: ModelBatch, *, cancel: bool = False) -> None:
        """Store the results of a batch if it has ended. If not, ask the provider to stop it if ``cancel`` is set."""
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
            # Unknown before its time: more likely the key belongs to another account.
            elif failure.status in _GONE:
                raise Unavailable(
                    f"the provider knows no batch {batch.external_id} ({failure}); "
                    "set the key of the account that submitted it, which may be another one"
                ) from failure
            # Only a temporary failure may be waited for. With two attempts, `decide` never gives up because of their number.
            elif not isinstance(decide(failure, 1, attempts=2, jitter=0.0), Retry):
                raise Unavailable(f"the provider did not report the state of a batch: {failure}") from failure
            elif batch.external_id is not None:  # without one, _find takes an error for "not submitted"
                self._update(batch.id, error=str(failure))

    async def _stop(self, external: str) -> None:
        try:
            await self.provider.cancel_batch(external)
        except CallFailed as failure:
            if failure.status not in _CANNOT_STOP:
                raise

    async def _find(self, batch: ModelBatch) -> str | None:
        """Find a batch whose submission was never confirmed. If it is lost, end it and free its items."""
        worker = batch.key.rpartition(":")[0]
        old = batch.created_at < datetime.now(UTC) - ABANDONED_AFTER
        # While another run is alive, it may be submitting the batch at this moment. Only an error shows that it has stopped.
        lost = batch.error is not None or old or not is_alive(worker)
        if worker != self.target.worker and not lost:
            return None
        search = await self.provider.find_batch(self._submitted(batch))
        external = search.batch
        if external is None:
            if search.unclear:
                return None
            self._end(batch.id, error="as far as is known, it was never submitted", give_back=True)
            return None
        self._update(batch.id, external_id=external, error=None)
        return external

    def _submitted(self, batch: ModelBatch) -> SubmittedBatch:
        with self.database.reading() as session:
            known = session.scalars(select(ModelBatch.external_id).where(ModelBatch.external_id.is_not(None)))
            return SubmittedBatch(batch.key, batch.requests, batch.created_at, frozenset(filter(None, known)))

    async def _store_results(self, batch: ModelBatch, external: str, state: BatchState) -> None:
        results: list[tuple[SeatItem, ModelReply | CallFailed]] = []
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

    def _store(self, batch_id: int, results: Sequence[tuple[SeatItem, ModelReply | CallFailed]]) -> None:
        with self.database.reading() as session:
            held = sorted(claims.held_by(session, batch_id, [key for key, _ in results]))
            tries = _tries(session, self._campaign_id, held)
        # The request is rendered again for the record of the call; the batch's row does not keep its requests.
        pending = {one.key: one for one in self.target.requests(held)}
        read = []
        for key, result in results:
            # A request that the batch never began costs nothing and is no attempt; _end frees its item.
            if key not in pending or (isinstance(result, CallFailed) and result.code in _NOT_BEGUN):
                continue
            call = Call(self.provider.body(pending[key].request), result, None)
            failed = isinstance(result, CallFailed) and not self._may_be_asked_again(result, tries.get(key, 0) + 1)
            read.append(self.target.read(Outcome(pending[key], [call], failed)))
        with self.database.transaction() as session:
            self.target.lock(session)
            # Another run may have stored the same results in the meantime: store only what the batch still holds.
            still = claims.take_from(session, batch_id, [one.key for one in read], self.target.worker)
            self.target.store(session, [one for one in read if one.key in still])

    def _may_be_asked_again(self, failure: CallFailed, attempt: int) -> bool:
        """Return whether an item that failed in this batch belongs in the next one again."""
        return isinstance(decide(failure, attempt, attempts=self.target.settings.attempts, jitter=0.0), Retry)

    def _update(self, batch_id: int, **values: Any) -> None:
        with self.database.transaction() as session:
            session.execute(update(ModelBatch).where(ModelBatch.id == batch_id).values(values))

    def _give_up(self, batch_id: int, error: str) -> None:
        """Mark a batch as ended, and the items that it still holds as failed."""
        self.target.counts.count_failed("batch", error, self._end(batch_id, error=error, give_back=False))

    def _end(self, batch_id: int, *, error: str | None = None, give_back: bool) -> int:
        """Mark a batch as ended. The items that it still holds cost nothing. They are free again, or failed with the error.

        Returns
        -------
        int
            Number of items that it still held.
        """
        now = datetime.now(UTC)
        held = update(ModelClaim).where(ModelClaim.batch_id == batch_id, ModelClaim.state == ClaimState.SUBMITTED)
        if give_back:
            # A claim whose lease has lapsed is free for every run, as in `claims.release`.
            freed = held.values(state=ClaimState.ASKING, lease_expires_at=now - timedelta(days=1), reserved=0.0)
        else:
            freed = held.values(state=ClaimState.FAILED, failure="batch", error=error, reserved=0.0, changed_at=now)
        with self.database.transaction() as session:
            held_still = rows_changed(session.execute(freed))
            session.execute(update(ModelBatch).where(ModelBatch.id == batch_id).values(ended_at=now, error=error))
        return held_still

    def _report(self) -> None:
        done, left = self.target.counts.done, self.target.find_open()
        self.on_progress(done, done + left.busy + len(left.free))


def open_batches_of(session: Session, campaign_id: int) -> Sequence[ModelBatch]:
    """Return the batches of a campaign that the provider has not ended, oldest first."""
    found = select(ModelBatch).where(ModelBatch.campaign_id == campaign_id, ModelBatch.ended_at.is_(None))
    return session.scalars(found.order_by(ModelBatch.id)).all()


def _tries(session: Session, campaign_id: int, keys: Sequence[SeatItem]) -> dict[SeatItem, int]:
    """Count the calls about each of these items so far."""
    rows = session.execute(
        select(Completion.assignment_id, Completion.item_id, func.count())
        .where(
            Completion.campaign_id == campaign_id,
            tuple_(Completion.assignment_id, Completion.item_id).in_(keys),
        )
        .group_by(Completion.assignment_id, Completion.item_id)
    )
    return {SeatItem(assignment_id, item_id): calls for assignment_id, item_id, calls in rows}


def _name(key: SeatItem) -> str:
    return f"{key.assignment_id}-{key.item_id}"


def _key(name: str) -> SeatItem:
    # The mark of the batch comes before these two numbers.
    *_, assignment_id, item_id = name.split("-")
    return SeatItem(int(assignment_id), int(item_id))
