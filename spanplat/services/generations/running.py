"""Running a generation: asking for every output that is not there yet, and storing each with the call that made it."""

import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, or_, select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, Unavailable
from spanplat.llm.clock import Clock, RealClock
from spanplat.llm.limiter import Limiter
from spanplat.llm.prices import cost_of
from spanplat.llm.provider import CallFailed, Usage
from spanplat.llm.providers.choice import make_language_model
from spanplat.llm.replies.storable import storable
from spanplat.llm.tokens import estimate_messages, estimate_tokens
from spanplat.models import Dataset, Example, Generation, GenerationCall, Output, System
from spanplat.models.statements import insert_absent, rows_changed
from spanplat.schemas.generation import GenerationDefinition
from spanplat.services.coroutines import to_the_end
from spanplat.services.generations.defining import examples_of, find_generation, generation_definition
from spanplat.services.generations.reporting import GenerationFigures, generation_figures, spent
from spanplat.services.generations.writing import Written, ask_for, read_text
from spanplat.services.importing.progress import OnProgress, ignore_progress
from spanplat.services.importing.storing import seal_dataset
from spanplat.services.model_runs.asking import Asker, Next, Prepared, Why
from spanplat.services.model_runs.estimates import Estimate, History, longest_reply
from spanplat.services.model_runs.questions import LEASE, Key, Question, is_alive, worker_name
from spanplat.services.model_runs.recording import NOBODY_KNOWS, Call, Outcome, response_record
from spanplat.text import sha256_of

RENEW_SECONDS = 10.0
TELL_SECONDS = 0.25
ESTIMATED_FROM = 500
"""Sources whose prompts are looked at for an estimate."""
_USUAL_OUTPUT = 300
"""Tokens of an output where the dataset has none to go by."""


@dataclass
class GenerationReport:
    """What a run of a generation did, or what it would need."""

    generation: str
    stopped: Why = "done"
    estimate: Estimate | None = None
    """Of a dry run."""
    figures: GenerationFigures | None = None
    """Of all runs together, after this one."""
    problems: dict[str, int] = field(default_factory=dict)
    """Examples of this run without an output, by reason."""


def run_generation(
    database: Database,
    slug: str,
    *,
    limit: int | None = None,
    concurrency: int | None = None,
    dry_run: bool = False,
    max_cost: float | None = None,
    on_progress: OnProgress = ignore_progress,
    clock: Clock | None = None,
) -> GenerationReport:
    """Have the model write every output that is not there yet; an interrupted run is resumed by running again.

    Parameters
    ----------
    database
        Where the dataset is.
    slug
        The generation.
    limit
        At most this many outputs.
    concurrency
        Questions at a time, in place of the definition's.
    dry_run
        Only estimate what it would take.
    max_cost
        US dollars that all calls of the generation may cost, in place of the definition's.
    on_progress
        Told how many outputs are written, and of how many; when it raises, calls under way end and are stored, and the run ends with
        what it raised.
    clock
        Lets pauses pass.

    Raises
    ------
    NotFound, InvalidInput
        If there is no such generation, a key is missing, or a ceiling is set without a known price.
    Conflict
        If somebody else runs it.
    Unavailable
        If the provider refuses to go on, with what it said; outputs up to then are stored.
    """
    with database.reading() as session:
        generation = find_generation(session, slug)
        definition = generation_definition(generation)
        waiting = _without_output(session, definition)[:limit]
        ceiling = max_cost if max_cost is not None else definition.model.max_cost
        if ceiling is not None and cost_of(definition.model, Usage(1, 1)) is None:
            raise InvalidInput(
                f"the price of {definition.model.model!r} is not known, so a ceiling of cost cannot be kept; "
                "give model.price {input, output} in US dollars for a million tokens, or no ceiling"
            )
        if dry_run:
            guess = _estimate(session, definition, waiting)
            return GenerationReport(slug, estimate=guess, figures=generation_figures(session, generation))
    provider = make_language_model(definition.model)
    run = _Run(database, generation, definition, ceiling=ceiling, waiting=deque(waiting), on_progress=on_progress)
    run.begin()
    try:
        limiter = Limiter(
            concurrency or definition.model.concurrency,
            requests_per_minute=definition.model.requests_per_minute,
            tokens_per_minute=definition.model.tokens_per_minute,
            clock=clock or RealClock(),
        )
        asker = Asker(provider, definition.model, limiter, run.step, clock or RealClock(), run.afford)

        async def go() -> Why:
            try:
                return await asker.run(concurrency or definition.model.concurrency)
            finally:
                await provider.close()

        why = to_the_end(go())
    finally:
        run.end()
        seal_dataset(database, definition.dataset)
    if run.raised is not None:
        raise run.raised
    if asker.hopeless is not None:
        raise Unavailable(f"the generation {slug} stopped, what was written is kept: {asker.hopeless}")
    with database.reading() as session:
        figures = generation_figures(session, find_generation(session, slug))
    return GenerationReport(slug, why, figures=figures, problems=run.problems)


def generation_stops_at_ceiling(session: Session, generation: Generation) -> bool:
    """Tell whether the next call might cost more than is left under the generation's ceiling, so that a run would ask nothing."""
    definition = generation_definition(generation)
    ceiling = definition.model.max_cost
    if ceiling is None:
        return False
    waiting = _without_output(session, definition)[:1]
    for example in session.scalars(select(Example).where(Example.id.in_(waiting))):
        tokens = estimate_messages(ask_for(definition, example).messages)
        cost = cost_of(definition.model, Usage(tokens, longest_reply(definition.model, History()))) or 0.0
        known, unknown = spent(session, generation)
        return cost > ceiling - known - unknown * cost
    return False


class _Run:
    """One run; there is never more than one of a generation, because it holds its lease."""

    def __init__(
        self,
        database: Database,
        generation: Generation,
        definition: GenerationDefinition,
        *,
        ceiling: float | None,
        waiting: deque[int],
        on_progress: OnProgress,
    ) -> None:
        self.raised: BaseException | None = None
        self.problems: dict[str, int] = {}
        self._database, self._generation, self._definition = database, generation, definition
        self._ceiling, self._waiting, self._on_progress = ceiling, waiting, on_progress
        self._worker = worker_name()
        self._total, self._done, self._told, self._renewed = len(waiting), 0, 0.0, 0.0
        self._reserved: dict[int, float] = {}
        self._counting = threading.Lock()
        self._reply_tokens = longest_reply(definition.model, History())

    def begin(self) -> None:
        """Take the lease; that of a process of this machine which is gone holds nobody up."""
        now = datetime.now(UTC)
        with self._database.transaction() as session:
            holder = session.scalars(select(Generation.worker).where(Generation.id == self._generation.id)).one()
            free = or_(Generation.worker.is_(None), Generation.lease_expires_at < now)
            if holder and not is_alive(holder):
                free = or_(free, Generation.worker == holder)
            mine = update(Generation).where(Generation.id == self._generation.id, free)
            values = {"worker": self._worker, "lease_expires_at": now + LEASE}
            if not rows_changed(session.execute(mine.values(values))):
                raise Conflict(
                    f"generation {self._generation.slug!r} is being run already; wait until that run has ended"
                )
            self._system_id = session.scalars(select(System.id).where(System.slug == self._definition.system)).one()

    def end(self) -> None:
        """Give the lease back."""
        with self._database.transaction() as session:
            mine = update(Generation).where(Generation.id == self._generation.id, Generation.worker == self._worker)
            session.execute(mine.values(worker=None, lease_expires_at=None))

    def step(self, outcomes: Sequence[Outcome], room: int) -> Next:
        """Store what came, and prepare more; the asker calls it."""
        written = [self._read(outcome) for outcome in outcomes]
        now = time.monotonic()
        if outcomes or now - self._renewed > RENEW_SECONDS:
            with self._database.transaction() as session:
                self._renew(session)
                self._store(session, outcomes, written)
            with self._counting:  # what they cost is stored by now
                for outcome in outcomes:
                    self._reserved.pop(outcome.question.key.item_id, None)
            self._renewed = now
        self._tell(now)
        if self.raised is not None:
            return Next(stop="stopped")
        prepared = self._prepare(room)
        if room and not prepared and self._waiting:
            return Next(waiting=True) if self._reserved else Next(stop="ceiling")
        return Next(prepared)

    def _read(self, outcome: Outcome) -> Written:
        if outcome.completion is not None:
            return read_text(self._definition, outcome.completion)
        last = outcome.calls[-1].result if outcome.calls else None
        return Written(problem=str(last) if outcome.failed and isinstance(last, CallFailed) else None)

    def _renew(self, session: Session) -> None:
        mine = update(Generation).where(Generation.id == self._generation.id, Generation.worker == self._worker)
        until = datetime.now(UTC) + LEASE
        if not rows_changed(session.execute(mine.values(lease_expires_at=until))):
            raise Conflict(f"generation {self._generation.slug!r} was taken over by another run")

    def _store(self, session: Session, outcomes: Sequence[Outcome], written: Sequence[Written]) -> None:
        outputs, calls = list[dict[str, Any]](), list[dict[str, Any]]()
        for outcome, read in zip(outcomes, written, strict=True):
            example = outcome.question.key.item_id
            if read.text:
                digest = sha256_of(read.text)
                outputs.append(
                    {"example_id": example, "system_id": self._system_id, "text": read.text, "text_sha256": digest}
                )
                self._done += 1
            elif read.problem:
                self.problems[read.problem] = self.problems.get(read.problem, 0) + 1
            calls.extend(self._row(call, read) for call in outcome.calls)
        insert_absent(session, Output, outputs)
        if calls:
            session.execute(insert(GenerationCall), calls)

    def afford(self, prepared: Prepared) -> bool:
        """Reserve the money for another call about an example; the asker calls it after one that may have been billed."""
        if self._ceiling is None:
            return True
        with self._counting, self._database.reading() as session:
            cost = self._most_it_may_cost(prepared)
            if cost > self._free_money(session, cost):
                return False
            self._reserved[prepared.question.key.item_id] += cost
            return True

    def _most_it_may_cost(self, prepared: Prepared) -> float:
        return cost_of(self._definition.model, Usage(prepared.input_tokens, self._reply_tokens)) or 0.0

    def _free_money(self, session: Session, dearest: float) -> float:
        """Return the US dollars not spent or reserved; a call of which nobody knows what it cost counts as the dearest."""
        known, unknown = spent(session, self._generation)
        return (self._ceiling or 0.0) - known - unknown * dearest - sum(self._reserved.values())

    def _row(self, call: Call, read: Written) -> dict[str, Any]:
        result = call.result
        row: dict[str, Any] = {
            "generation_id": self._generation.id,
            "example_id": call.question.key.item_id,
            "request_sha256": hashlib.sha256(json.dumps(call.body, sort_keys=True).encode()).hexdigest(),
            "request": storable(dict(call.body)),
            "latency": call.latency,
        }
        if isinstance(result, CallFailed):
            nothing = dict.fromkeys(("response", "model_version", "finish_reason", "text_sha256"))
            tokens = dict.fromkeys(("input_tokens", "output_tokens", "reasoning_tokens"), 0)
            cost = None if result.kind in NOBODY_KNOWS else 0.0
            return row | nothing | tokens | {"cost": cost, "error": str(result)}
        return row | {
            "response": response_record(result),
            "model_version": result.model_version,
            "finish_reason": result.finish_reason,
            "text_sha256": sha256_of(read.text) if read.text else None,
            "input_tokens": result.usage.input_tokens,
            "output_tokens": result.usage.output_tokens,
            "reasoning_tokens": result.usage.reasoning_tokens,
            "cost": cost_of(self._definition.model, result.usage, result.model_version),
            "error": read.problem,
        }

    def _prepare(self, room: int) -> list[Prepared]:
        """Make the requests for as many examples as there is room and money for."""
        wanted = [self._waiting[place] for place in range(min(room, len(self._waiting)))]
        if not wanted:
            return []
        with self._database.reading() as session:
            found = {entry.id: entry for entry in session.scalars(select(Example).where(Example.id.in_(wanted)))}
        prepared = [self._prepared(found[example]) for example in wanted]
        if self._ceiling is not None:
            prepared = self._affordable(prepared)
        for _ in prepared:
            self._waiting.popleft()
        return prepared

    def _prepared(self, example: Example) -> Prepared:
        request = ask_for(self._definition, example)
        tokens = estimate_messages(request.messages)
        # The asker knows questions by seat and item; here the generation is the seat, and the example the item.
        question = Question(Key(self._generation.id, example.id), 0, request.item)
        return Prepared(question, request, tokens, tokens + self._reply_tokens)

    def _affordable(self, wanted: Sequence[Prepared]) -> list[Prepared]:
        """Return the first examples that the ceiling allows, with the money for them reserved."""
        costs = [self._most_it_may_cost(prepared) for prepared in wanted]
        affordable = []
        with self._counting, self._database.reading() as session:
            free = self._free_money(session, max(costs))
            for prepared, cost in zip(wanted, costs, strict=True):
                if cost > free:
                    break
                free -= cost
                self._reserved[prepared.question.key.item_id] = cost
                affordable.append(prepared)
        return affordable

    def _tell(self, now: float) -> None:
        if now - self._told < TELL_SECONDS or self.raised is not None:
            return
        self._told = now
        try:
            self._on_progress(self._done + sum(self.problems.values()), self._total)
        except BaseException as raised:  # noqa: BLE001 (whatever it is, it is raised again once calls under way are stored)
            self.raised = raised


def _without_output(session: Session, definition: GenerationDefinition) -> list[int]:
    written = (
        select(Output.example_id).join(System, System.id == Output.system_id).where(System.slug == definition.system)
    )
    done = set(session.scalars(written))
    return [
        example
        for example in session.scalars(examples_of(definition).with_only_columns(Example.id))
        if example not in done
    ]


def _estimate(session: Session, definition: GenerationDefinition, waiting: Sequence[int]) -> Estimate:
    """Estimate tokens and cost: outputs are taken to be as long as those the dataset has."""
    found = session.scalars(select(Example).where(Example.id.in_(waiting[:ESTIMATED_FROM]))).all()
    inputs = [estimate_messages(ask_for(definition, example).messages) for example in found]
    texts = session.scalars(
        select(Output.text)
        .join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .where(Dataset.slug == definition.dataset)
        .limit(200)
    ).all()
    usual = sum(estimate_tokens(text) for text in texts) / len(texts) if texts else _USUAL_OUTPUT
    each = min(usual, longest_reply(definition.model, History()))
    tokens = Usage(round(sum(inputs) * len(waiting) / len(inputs)) if inputs else 0, round(each * len(waiting)))
    cost = cost_of(definition.model, tokens)
    return Estimate(len(waiting), tokens.input_tokens, tokens.output_tokens, cost, "the lengths of the texts")
