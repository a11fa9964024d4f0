"""Running a generation: request every missing output, and store it with its call."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Update, insert, or_, select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict
from spanplat.llm.clock import Clock, RealClock
from spanplat.llm.prices import cost_of
from spanplat.llm.provider import CallFailed, Usage
from spanplat.llm.providers.choice import make_language_model
from spanplat.llm.tokens import estimate_messages, estimate_tokens
from spanplat.models import Dataset, Example, Generation, GenerationCall, Output, System
from spanplat.models.statements import insert_absent, rows_changed
from spanplat.schemas.generation import GenerationDefinition
from spanplat.services.background import OnProgress, ignore_progress
from spanplat.services.datasets import seal_dataset
from spanplat.services.model_work.budget import Spending, generation_spending, make_budget
from spanplat.services.model_work.calls import Call, Outcome, PendingRequest, call_row
from spanplat.services.model_work.estimates import Estimate, History, longest_reply
from spanplat.services.model_work.generations.defining import examples_of, find_generation, generation_definition
from spanplat.services.model_work.generations.reporting import GenerationFigures, generation_figures
from spanplat.services.model_work.generations.writing import GeneratedText, ask_for, read_text
from spanplat.services.model_work.runner import OpenWork, Runner
from spanplat.services.model_work.sending import StopReason
from spanplat.services.model_work.workers import LEASE, is_alive, worker_name
from spanplat.text import sha256_of

ESTIMATED_FROM = 500
"""Most examples whose prompts are rendered for an estimate."""
_USUAL_OUTPUT = 300
"""Tokens of an output, assumed if the dataset has no outputs."""


@dataclass
class GenerationReport:
    """Report of a run of a generation, or its estimate."""

    generation: str
    stopped: StopReason = "done"
    estimate: Estimate | None = None
    """Only in the report of a dry run."""
    figures: GenerationFigures | None = None
    """Figures of all runs together, after this one."""
    problems: dict[str, int] = field(default_factory=dict)
    """Number of examples of this run without an output, by reason."""


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
    """Let the model write every missing output. Run again to resume an interrupted run.

    Parameters
    ----------
    database
        Database with the dataset.
    slug
        The generation.
    limit
        Most outputs in this run.
    concurrency
        Calls at a time, instead of the number in the definition.
    dry_run
        Only estimate tokens and cost; send nothing.
    max_cost
        Ceiling in US dollars for all calls of the generation, instead of the one in the definition.
    on_progress
        Called with the number of outputs written and the total. When it raises, the calls under way finish and are stored. Then the
        run raises the same.
    clock
        Clock that the pauses wait on.

    Raises
    ------
    NotFound, InvalidInput
        If there is no such generation, a key is missing, or a ceiling is set without a known price.
    Conflict
        If somebody else runs it.
    Unavailable
        If the provider refuses to go on. The message says why. The outputs so far are stored.
    """
    with database.reading() as session:
        generation = find_generation(session, slug)
        target = GenerationTarget(database, generation, max_cost=max_cost)
        wanted = _without_output(session, target.definition)[:limit]
        if dry_run:
            guess = _estimate(session, target.definition, wanted)
            return GenerationReport(slug, estimate=guess, figures=generation_figures(session, generation))

    def report_progress(left: int) -> None:
        del left
        on_progress(target.done + sum(target.problems.values()), len(wanted))

    provider = make_language_model(target.settings)
    reason = Runner(
        database, target, provider, report_progress, clock or RealClock(), concurrency=concurrency, limit=limit
    ).run()
    if target.is_taken_over:
        raise Conflict(f"generation {slug!r} was taken over by another run")
    with database.reading() as session:
        figures = generation_figures(session, find_generation(session, slug))
    return GenerationReport(slug, reason, figures=figures, problems=target.problems)


def generation_stops_at_ceiling(session: Session, generation: Generation) -> bool:
    """Return whether the next call might cost more than the generation's ceiling leaves, so that a run would ask nothing."""
    definition = generation_definition(generation)
    spending = partial(generation_spending, generation_id=generation.id)
    budget = make_budget(definition.model, None, spending)
    if budget.ceiling is None:
        return False
    return budget.stops(session, _requests(session, definition, _without_output(session, definition)[:1]))


@dataclass(frozen=True)
class OutputResult:
    """Result of one output in a run."""

    example_id: int
    calls: Sequence[Call]
    made: GeneratedText


class GenerationTarget:
    """The outputs of a generation as the target of one run. A lease on the whole generation keeps other runs away.

    Parameters
    ----------
    database
        Database with the dataset.
    generation
        The generation to run.
    max_cost
        US dollars, instead of the ceiling in the definition.

    Raises
    ------
    InvalidInput
        If there is a ceiling, and the model's price is not known.
    """

    def __init__(self, database: Database, generation: Generation, *, max_cost: float | None) -> None:
        self.definition = generation_definition(generation)
        self.settings = self.definition.model
        self.budget = make_budget(self.settings, max_cost, self._spending)
        self.stop_message = f"the generation {generation.slug} stopped; the outputs so far are stored: "
        self.done = 0
        self.problems: dict[str, int] = {}
        """Number of examples given up, by reason."""
        self.is_taken_over = False
        self._database, self._generation = database, generation
        self._worker = worker_name()
        # Only this run makes calls, so its reservations can stay in memory. The lock of the target guards them.
        self._reserved: dict[int, float] = {}
        # Outputs have no rows of claims, so the run itself remembers which examples it gave up.
        self._given_up: set[int] = set()
        self._system_id = 0

    def begin(self) -> None:
        """Take the lease. The lease of a dead run on this machine does not count.

        Raises
        ------
        Conflict
            If another run has it.
        """
        now = datetime.now(UTC)
        with self._database.transaction() as session:
            holder = session.scalars(select(Generation.worker).where(Generation.id == self._generation.id)).one()
            free = or_(Generation.worker.is_(None), Generation.lease_expires_at < now)
            # Named again in the update, so that of two runs that find the same dead holder only one gets the lease.
            if holder and not is_alive(holder):
                free = or_(free, Generation.worker == holder)
            mine = update(Generation).where(Generation.id == self._generation.id, free)
            values = {"worker": self._worker, "lease_expires_at": now + LEASE}
            if not rows_changed(session.execute(mine.values(values))):
                raise Conflict(
                    f"generation {self._generation.slug!r} is being run already; wait until that run has ended"
                )
            self._system_id = session.scalars(select(System.id).where(System.slug == self.definition.system)).one()

    def find_open(self) -> OpenWork[int]:
        """Return the examples without an output."""
        with self._database.reading() as session:
            examples = _without_output(session, self.definition)
        busy = set(self._reserved)
        free = [example for example in examples if example not in busy and example not in self._given_up]
        return OpenWork(free, len(busy), len(self._given_up))

    def requests(self, keys: Sequence[int]) -> list[PendingRequest[int]]:
        """Return the requests for examples."""
        with self._database.reading() as session:
            return _requests(session, self.definition, keys)

    def lock(self, session: Session) -> bool:
        """Lock the generation. Return whether this run still has the lease."""
        # As for campaigns, this lock lets others add rows that refer to the generation.
        held = select(Generation.worker).where(Generation.id == self._generation.id).with_for_update(key_share=True)
        # After the lease has lapsed, for example while this machine slept, another run may have it.
        self.is_taken_over = session.scalars(held).one() != self._worker
        return not self.is_taken_over

    def claim(self, session: Session, wanted: Sequence[tuple[int, float]]) -> set[int]:
        """Reserve the money for examples. No claim is needed, because this run has the lease."""
        del session
        self._reserved.update(wanted)
        return {example for example, _ in wanted}

    def reserve(self, session: Session, key: int, cost: float) -> None:
        """Reserve more US dollars for an example."""
        del session
        self._reserved[key] += cost

    def renew(self, session: Session) -> None:
        """Prolong the lease."""
        session.execute(self._own().values(lease_expires_at=datetime.now(UTC) + LEASE))

    def read(self, outcome: Outcome[int]) -> OutputResult:
        """Return the text of a reply, or the reason why there is none."""
        if outcome.reply is not None:
            made = read_text(self.definition, outcome.reply)
        else:
            last = outcome.calls[-1].result if outcome.calls else None
            made = GeneratedText(problem=str(last) if outcome.failed and isinstance(last, CallFailed) else None)
        return OutputResult(outcome.pending.key, outcome.calls, made)

    def store(self, session: Session, results: Sequence[OutputResult]) -> None:
        """Store outputs and calls."""
        outputs, calls = list[dict[str, Any]](), list[dict[str, Any]]()
        for one in results:
            if one.made.text:
                outputs.append(
                    {
                        "example_id": one.example_id,
                        "system_id": self._system_id,
                        "text": one.made.text,
                        "text_sha256": sha256_of(one.made.text),
                    }
                )
            elif one.made.problem:  # without text and problem, the run stopped first, and the example stays open
                self.problems[one.made.problem] = self.problems.get(one.made.problem, 0) + 1
                self._given_up.add(one.example_id)
            calls.extend(self._call(call, one) for call in one.calls)
        # After a takeover, another run may have stored the same output already. Its text stays, and our call is stored with ours.
        insert_absent(session, Output, outputs)
        if calls:
            session.execute(insert(GenerationCall), calls)
        self.done += len(outputs)
        for one in results:
            del self._reserved[one.example_id]

    def release(self) -> None:
        """Give the lease back, and seal the dataset with its present outputs."""
        with self._database.transaction() as session:
            session.execute(self._own().values(worker=None, lease_expires_at=None))
        seal_dataset(self._database, self.definition.dataset)

    def _own(self) -> Update:
        # Changes nothing once another run has the lease.
        return update(Generation).where(Generation.id == self._generation.id, Generation.worker == self._worker)

    def _spending(self, session: Session) -> Spending:
        spent = generation_spending(session, self._generation.id)
        return replace(spent, reserved=sum(self._reserved.values()))

    def _call(self, call: Call, result: OutputResult) -> dict[str, Any]:
        row: dict[str, Any] = {"generation_id": self._generation.id, "example_id": result.example_id}
        row |= {"text_sha256": None} | call_row(self.settings, call)
        if not isinstance(call.result, CallFailed):
            row["error"] = result.made.problem
            row["text_sha256"] = sha256_of(result.made.text) if result.made.text else None
        return row


def _requests(session: Session, definition: GenerationDefinition, examples: Sequence[int]) -> list[PendingRequest[int]]:
    found = {entry.id: entry for entry in session.scalars(select(Example).where(Example.id.in_(examples)))}
    reply_tokens = longest_reply(definition.model, History())
    return [PendingRequest(example, ask_for(definition, found[example]), reply_tokens) for example in examples]


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


def _estimate(session: Session, definition: GenerationDefinition, examples: Sequence[int]) -> Estimate:
    """Estimate tokens and cost. Outputs are assumed to be as long as those that the dataset has."""
    found = session.scalars(select(Example).where(Example.id.in_(examples[:ESTIMATED_FROM]))).all()
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
    # Scaled up from the prompts that were rendered to all examples.
    tokens = Usage(round(sum(inputs) * len(examples) / len(inputs)) if inputs else 0, round(each * len(examples)))
    cost = cost_of(definition.model, tokens)
    return Estimate(len(examples), tokens.input_tokens, tokens.output_tokens, cost, "the lengths of the texts")
