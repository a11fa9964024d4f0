"""A generation over HTTP: the model writes each output of a new system once, and its call is stored."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound, Unavailable
from spanplat.models import Dataset, Example, Generation, GenerationCall, Output, System
from spanplat.schemas.generation import GenerationDefinition
from spanplat.services.attention import Attention, SpentMoney, list_attention
from spanplat.services.model_work.generations.defining import (
    check_generation,
    create_generation,
    find_generation,
    prompt_digest,
)
from spanplat.services.model_work.generations.reporting import generation_figures, provenance_of
from spanplat.services.model_work.generations.running import run_generation
from spanplat.services.model_work.workers import worker_name
from spanplat.text import sha256_of
from tests.services.model_work.conftest import KEY, QuickClock, store_outputs
from tests.standin.script import PRICE_IN, PRICE_OUT, Answer, Call, Cut, Raw, Reply, Trouble, always
from tests.standin.server import StandIn

OUTPUTS = 12
Make = Callable[..., GenerationDefinition]


@pytest.fixture
def make(database: Database, standin: StandIn) -> Make:
    """Create the generation ``drafts`` over twelve examples; keyword arguments replace parts of it."""
    store_outputs(database, OUTPUTS)

    def create(model: dict[str, Any] | None = None, **parts: Any) -> GenerationDefinition:
        settings = {
            "provider": "openai",
            "model": "tiny",
            "base_url": f"{standin.url}/v1",
            "key_variable": "OPENAI_API_KEY",
            "prompt": "Write a sentence about day {{ source.day }}.",
            "parameters": {"temperature": 0, "seed": 42, "max_tokens": 40},
            "price": {"input": PRICE_IN, "output": PRICE_OUT},
        }
        content = {"slug": "drafts", "system": "oak", "dataset": "many", "model": settings | (model or {})}
        definition = GenerationDefinition.model_validate(content | parts)
        with database.reading() as session:
            check_generation(session, definition)
        with database.transaction() as session:
            create_generation(session, definition)
        return definition

    return create


def writes(call: Call) -> Answer:
    return Reply(f"On day {call.prompt.rsplit(' ', 1)[-1]} it snows.\n", tokens=(30, 8, 0))


def texts(database: Database) -> dict[str, str]:
    with database.reading() as session:
        rows = session.execute(
            select(Example.key, Output.text)
            .join(Output, Output.example_id == Example.id)
            .join(System, System.id == Output.system_id)
            .where(System.slug == "oak")
        )
        return {key: text for key, text in rows}


def test_every_source_gets_an_output_with_the_call_that_made_it(
    database: Database, standin: StandIn, make: Make
) -> None:
    definition = make()
    standin.script = writes
    with database.reading() as session:
        before = session.scalars(select(Dataset.sha256)).one()
    report = run_generation(database, "drafts")
    assert report.figures is not None
    assert (report.figures.done, report.figures.left, report.problems) == (OUTPUTS, 0, {})
    assert report.figures.cost == pytest.approx(standin.ledger.cost)
    assert texts(database)["7"] == "On day 7. it snows.\n"  # as it was written, not trimmed
    body = standin.ledger.calls[0].body
    assert (body["seed"], body["temperature"], "response_format" in body) == (42, 0, False)
    with database.reading() as session:
        calls = list(session.scalars(select(GenerationCall)))
        outputs = {entry.example_id: entry for entry in session.scalars(select(Output)) if entry.text.startswith("On")}
        found = find_generation(session, "drafts")
        assert session.scalars(select(Dataset.sha256)).one() != before
    assert len(calls) == OUTPUTS
    for call in calls:
        assert call.text_sha256 == outputs[call.example_id].text_sha256 == sha256_of(outputs[call.example_id].text)
        assert call.request["messages"][-1]["content"].startswith("Write a sentence about day")
        assert (call.model_version, call.finish_reason, call.error) == ("tiny-2026-01-01", "stop", None)
    assert found.prompt_sha256 == prompt_digest(definition)
    assert KEY not in str([vars(call) for call in calls])


def test_it_can_be_told_of_every_output_what_wrote_it(database: Database, standin: StandIn, make: Make) -> None:
    definition = make()
    standin.script = writes
    run_generation(database, "drafts")
    with database.reading() as session:
        written = select(Output.id).join(System, System.id == Output.system_id).where(System.slug == "oak")
        ids = session.scalars(written.order_by(Output.id)).all()
        found = provenance_of(session, session.scalars(written.where(Output.example_id == 1)).one())
        call = session.scalars(select(GenerationCall).where(GenerationCall.example_id == 1)).one()
        others = session.scalars(select(Output.id).where(Output.id.not_in(ids))).all()
        assert [provenance_of(session, other) for other in others] == [None] * OUTPUTS
    assert found is not None
    assert (found.generation, found.model, found.model_version) == ("drafts", "tiny", "tiny-2026-01-01")
    assert (found.seed, found.prompt_sha256) == (42, prompt_digest(definition))
    assert (found.request_sha256, found.cost) == (call.request_sha256, call.cost)
    assert found.cost == pytest.approx((30 * PRICE_IN + 8 * PRICE_OUT) / 1e6)
    assert found.written_at == call.created_at


def test_the_price_comes_first_and_the_ceiling_holds(database: Database, standin: StandIn, make: Make) -> None:
    make()
    standin.script = writes
    dry = run_generation(database, "drafts", dry_run=True)
    assert dry.estimate is not None
    assert (dry.estimate.items, standin.ledger.calls) == (OUTPUTS, [])
    assert dry.estimate.cost
    ceiling = 5 * (30 * PRICE_IN + 8 * PRICE_OUT) / 1e6
    report = run_generation(database, "drafts", max_cost=ceiling, concurrency=1)
    assert report.stopped == "ceiling"
    assert 0 < len(texts(database)) <= 5
    assert standin.ledger.cost <= ceiling


def test_a_generation_that_its_ceiling_stopped_needs_attention(
    database: Database, standin: StandIn, make: Make
) -> None:
    def told() -> list[Attention]:
        with database.reading() as session:
            return list_attention(session, [], datetime.now(UTC))

    def change(**values: Any) -> None:
        with database.transaction() as session:
            for name, value in values.items():
                setattr(find_generation(session, "drafts"), name, value)

    ceiling = 5 * (30 * PRICE_IN + 8 * PRICE_OUT) / 1e6
    make({"max_cost": ceiling})
    standin.script = writes
    assert told() == [], "it was not run yet"
    run_generation(database, "drafts", limit=1)
    assert told() == [], "there is money left"
    assert run_generation(database, "drafts", concurrency=1).stopped == "ceiling"
    assert told() == [SpentMoney("generation", "drafts", "drafts", ceiling)]
    change(worker=worker_name(), lease_expires_at=datetime.now(UTC) + timedelta(minutes=1))
    assert told() == [], "somebody runs it with another ceiling"
    change(worker=None, lease_expires_at=None)
    run_generation(database, "drafts", max_cost=1)
    assert told() == [], "everything is written"


def test_the_ceiling_holds_though_calls_of_unknown_cost_are_tried_again(
    database: Database, standin: StandIn, make: Make, quick: QuickClock
) -> None:
    make({"attempts": 4})
    standin.script = lambda call: Cut() if call.attempt <= 2 else writes(call)
    ceiling = 12 * (10 * PRICE_IN + 40 * PRICE_OUT) / 1e6
    report = run_generation(database, "drafts", max_cost=ceiling, concurrency=4, clock=quick)
    assert report.stopped == "ceiling"
    cut = len(standin.ledger.calls) - standin.ledger.billed
    assert cut > 0
    assert standin.ledger.cost + cut * 40 * PRICE_OUT / 1e6 <= ceiling


def test_what_is_written_is_never_asked_again(
    database: Database, standin: StandIn, make: Make, quick: QuickClock
) -> None:
    make()
    standin.script = lambda call: Trouble(400, "too odd") if call.number > 5 else writes(call)
    first = run_generation(database, "drafts", limit=8, concurrency=1, clock=quick)
    assert first.figures is not None
    assert first.figures.done == 5
    assert sum(first.figures.failures.values()) == 3
    assert "too odd" in next(iter(first.figures.failures))
    standin.script = writes
    done = run_generation(database, "drafts", clock=quick).figures
    assert done is not None
    assert (done.left, done.failures) == (0, {})
    run_generation(database, "drafts", clock=quick)
    assert max(standin.ledger.answered.values()) == 1
    assert standin.ledger.billed == OUTPUTS


def test_a_forced_beginning_is_sent_as_the_models_own_and_is_part_of_the_output(
    database: Database, standin: StandIn, make: Make
) -> None:
    make(beginning="Forecast:", model={"system_message": "You write forecasts."})
    standin.script = lambda call: Reply(" snow." if "day 3." in call.prompt else "Forecast: sun.")
    run_generation(database, "drafts")
    sent = standin.ledger.calls[0].body["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant"]
    assert sent[-1]["content"] == "Forecast:"
    assert (texts(database)["3"], texts(database)["4"]) == ("Forecast: snow.", "Forecast: sun.")


def test_reasoning_refusals_and_empty_or_cut_replies_are_told_apart(
    database: Database, standin: StandIn, make: Make
) -> None:
    make()
    replies = {
        "0.": Reply("<think>Cold?</think>It snows."),
        "1.": Reply("I cannot.", finish="refusal"),
        "2.": Reply("  \n"),
        "3.": Reply("It sn", finish="length"),
    }
    standin.script = lambda call: replies.get(call.prompt.rsplit(" ", 1)[-1], Reply("Sun."))
    figures = run_generation(database, "drafts").figures
    assert figures is not None
    written = texts(database)
    assert (written["0"], written["3"]) == ("It snows.", "It sn")
    assert written.keys().isdisjoint({"1", "2"})
    assert figures.cut == 1
    assert figures.failures == {"refused: I cannot.": 1, "the reply is empty": 1}


def test_one_run_at_a_time_and_a_dead_one_holds_nobody_up(database: Database, standin: StandIn, make: Make) -> None:
    make()
    standin.script = always(Reply("Snow."))

    def held_by(worker: str) -> None:
        with database.transaction() as session:
            generation = session.scalars(select(Generation)).one()
            generation.worker, generation.lease_expires_at = worker, datetime.now(UTC) + timedelta(days=1)

    held_by(worker_name())
    with pytest.raises(Conflict, match="is being run already"):
        run_generation(database, "drafts")
    host = worker_name().rsplit(":", 2)[0]
    held_by(f"{host}:999999999:abcd")
    run_generation(database, "drafts")
    assert len(texts(database)) == OUTPUTS


def test_a_run_whose_lease_another_takes_stores_what_is_paid_for_and_ends(
    database: Database, standin: StandIn, make: Make
) -> None:
    make()
    other = worker_name()

    def taking_over(call: Call) -> Answer:
        with database.transaction() as session:
            find_generation(session, "drafts").worker = other
        return writes(call)

    standin.script = taking_over
    with pytest.raises(Conflict, match="was taken over by another run"):
        run_generation(database, "drafts", concurrency=1)
    with database.reading() as session:
        assert find_generation(session, "drafts").worker == other
        figures = generation_figures(session, find_generation(session, "drafts"))
    assert 0 < standin.ledger.billed < OUTPUTS
    assert (figures.calls, figures.done) == (standin.ledger.billed, standin.ledger.billed)
    assert figures.cost == pytest.approx(standin.ledger.cost)


def test_an_example_that_its_ceiling_stopped_between_two_calls_is_asked_about_in_the_next_run(
    database: Database, standin: StandIn, make: Make, quick: QuickClock
) -> None:
    make({"attempts": 4})
    standin.script = lambda call: Cut() if call.number == 1 else writes(call)
    ceiling = 1.5 * (10 * PRICE_IN + 40 * PRICE_OUT) / 1e6
    report = run_generation(database, "drafts", limit=1, max_cost=ceiling, clock=quick)
    assert (report.stopped, report.problems, len(standin.ledger.calls)) == ("done", {}, 1)
    report = run_generation(database, "drafts", max_cost=ceiling, clock=quick)
    assert (report.stopped, len(standin.ledger.calls)) == ("ceiling", 1)
    run_generation(database, "drafts", clock=quick)
    assert len(texts(database)) == OUTPUTS


def test_a_reply_without_a_count_of_tokens_has_no_known_cost(database: Database, standin: StandIn, make: Make) -> None:
    make()
    choices = [{"message": {"role": "assistant", "content": "Snow."}, "finish_reason": "stop"}]
    standin.script = always(Raw(json.dumps({"choices": choices})))
    figures = run_generation(database, "drafts", limit=1).figures
    assert figures is not None
    assert (figures.done, figures.cost) == (1, None)


def test_a_run_that_is_stopped_stores_what_it_had_asked(database: Database, standin: StandIn, make: Make) -> None:
    make()
    standin.script = lambda _: Reply("Snow.", delay=0.1)  # so that the run is still under way when it is told to stop

    class Stopped(Exception):
        pass

    def stop(done: int, total: int | None) -> None:
        if done and total:
            raise Stopped

    with pytest.raises(Stopped):
        run_generation(database, "drafts", concurrency=1, on_progress=stop)
    assert len(texts(database)) == standin.ledger.billed
    standin.script = lambda _: Trouble(401, "bad key")
    with pytest.raises(Unavailable, match="the outputs so far are stored"):
        run_generation(database, "drafts")
    with database.reading() as session:
        assert find_generation(session, "drafts").worker is None
        assert generation_figures(session, find_generation(session, "drafts")).done == standin.ledger.billed


def test_what_cannot_be_generated_is_told(database: Database, make: Make) -> None:
    make()
    with pytest.raises(Conflict, match="a generation 'drafts' already"):
        make()
    with pytest.raises(Conflict, match="system 'fir' has outputs in dataset 'many' already"):
        make(slug="more", system="fir")
    with pytest.raises(Conflict, match="another generation writes them"):
        make(slug="more")
    with pytest.raises(NotFound, match="there is no dataset 'few'"):
        make(slug="more", dataset="few")
    with pytest.raises(InvalidInput, match="no example in the splits chosen"):
        make(slug="more", system="ash", splits=["train"])
    with pytest.raises(InvalidInput, match=r"model\.prompt, line 1: 'sauce' is undefined"):
        make(slug="more", system="ash", model={"prompt": "{{ sauce }}"})
    with pytest.raises(ValidationError, match=r"model\.prompt is missing"):
        make(slug="more", system="ash", model={"prompt": None})
    with pytest.raises(ValidationError, match="writes no texts"):
        make(slug="more", system="ash", model={"provider": "overlap"})
    del database
