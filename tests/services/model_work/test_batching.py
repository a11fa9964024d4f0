"""Runs in batch mode: submitted once, polled by the next run, stored once, at half the price."""

import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from spanplat.db import Database
from spanplat.errors import Unavailable
from spanplat.models import Annotation, CampaignStatus, ClaimState, Completion, JobState, ModelBatch, ModelClaim, Span
from spanplat.services.background import jobs
from spanplat.services.campaigns.lifecycle import find_campaign, set_status
from spanplat.services.model_work import batching
from spanplat.services.model_work.figures import run_figures
from spanplat.services.model_work.running import cancel_batches, run_campaign
from spanplat.worker.handlers import HANDLERS
from spanplat.worker.performing import Performer
from tests.services.model_work.conftest import KEY, OUTPUTS, QuickClock, create_study, store_outputs
from tests.standin.script import PRICE_IN, PRICE_OUT, Call, Reply, Trouble, always
from tests.standin.server import StandIn

Study = Callable[..., None]
RAIN = '{"annotations": [{"reason": "It is dry.", "text": "rains", "category": "Wrong"}]}'
INTERFACES = pytest.mark.parametrize(
    "model", [{}, {"interface": "responses"}, {"provider": "anthropic"}], ids=["chat", "responses", "messages"]
)


def rows(database: Database, table: type) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def open_batches(database: Database) -> list[int]:
    with database.reading() as session:
        return list(session.scalars(select(ModelBatch.id).where(ModelBatch.ended_at.is_(None))))


def states(database: Database) -> set[str]:
    with database.reading() as session:
        return set(session.scalars(select(ModelClaim.state)))


@pytest.mark.slow
@INTERFACES
def test_all_is_handed_in_once_and_stored_when_the_provider_has_ended(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    standin.script = always(Reply(RAIN, tokens=(100, 30, 0)))
    first = run_campaign(database, "study", wait=False)
    assert (first.stopped, first.asked, first.left, first.batches) == ("waiting", 0, OUTPUTS, 1)
    assert states(database) == {ClaimState.SUBMITTED}
    again = run_campaign(database, "study", wait=False)
    assert (again.stopped, len(standin.batches.batches)) == ("waiting", 1)
    standin.batches.finish()
    last = run_campaign(database, "study", wait=False)
    assert (last.stopped, last.asked, last.left, last.spans, last.batches) == ("done", OUTPUTS, 0, OUTPUTS, 0)
    assert (last.input_tokens, last.output_tokens) == (standin.ledger.input_tokens, standin.ledger.output_tokens)
    assert rows(database, Annotation) == rows(database, Completion) == OUTPUTS
    after = run_campaign(database, "study", wait=False)
    assert (after.asked, after.stopped, len(standin.batches.batches)) == (0, "done", 1)


@INTERFACES
def test_a_batch_is_estimated_and_paid_at_half_the_price(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    guess = run_campaign(database, "study", dry_run=True).estimate
    assert guess is not None
    assert guess.cost == pytest.approx((guess.input_tokens * PRICE_IN + guess.output_tokens * PRICE_OUT) / 2e6)
    standin.script = always(Reply(RAIN, tokens=(100, 30, 0)))
    run_campaign(database, "study", wait=False)
    standin.batches.finish()
    paid = run_campaign(database, "study", wait=False).cost
    assert paid == pytest.approx(standin.ledger.cost)
    assert paid == pytest.approx(OUTPUTS * (100 * PRICE_IN + 30 * PRICE_OUT) / 2e6)


def test_what_fails_in_a_batch_is_told_and_handed_in_again_by_the_next_run(
    database: Database, standin: StandIn, study: Study
) -> None:
    study(mode="batch")

    def script(call: Call) -> Reply | Trouble:
        return Trouble(400, "too long", "invalid_request") if "Day 7:" in call.prompt else Reply(RAIN)

    standin.script = script
    run_campaign(database, "study", wait=False)
    standin.batches.finish()
    report = run_campaign(database, "study", wait=False)
    assert (report.left, report.failed) == (1, {"in the batch: too long": 1})
    standin.script = always(Reply(RAIN))
    assert run_campaign(database, "study", wait=False).stopped == "waiting"
    standin.batches.finish()
    assert run_campaign(database, "study", wait=False).left == 0
    assert [len(batch.requests) for batch in standin.batches.batches.values()] == [OUTPUTS, 1]


def test_waiting_means_looking_again_until_the_provider_has_ended(
    sqlite_database: Database, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_outputs(sqlite_database)
    create_study(sqlite_database, f"{standin.url}/v1", mode="batch")
    monkeypatch.setattr(batching, "POLL_SECONDS", 60)
    slept: list[float] = []

    class Clock:
        def now(self) -> float:
            return 0.0

        async def sleep(self, seconds: float) -> None:
            slept.append(seconds)
            if len(slept) == 3:
                standin.batches.finish()

    report = run_campaign(sqlite_database, "study", clock=Clock())
    assert (report.stopped, report.left, slept) == ("done", 0, [60, 60, 60])


@INTERFACES
def test_a_cancelled_batch_gives_what_it_had_done_and_the_rest_can_be_asked_again(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    standin.script = always(Reply(RAIN, tokens=(100, 30, 0)))
    run_campaign(database, "study", wait=False)
    batches = open_batches(database)
    assert cancel_batches(database, "study", batches) == 1, "the provider stops when it can"
    assert cancel_batches(database, "study", batches) == 1
    standin.batches.finish(7)
    assert cancel_batches(database, "study", batches) == 0
    assert rows(database, Annotation) == rows(database, Completion) == standin.ledger.billed == 7
    report = run_campaign(database, "study", wait=False)
    assert (report.stopped, report.left, report.failed) == ("waiting", OUTPUTS - 7, {})
    assert cancel_batches(database, "study", batches) == 0, "a batch of a later run is not cancelled"
    standin.batches.finish()
    assert run_campaign(database, "study", wait=False).left == 0
    assert [len(batch.requests) for batch in standin.batches.batches.values()] == [OUTPUTS, OUTPUTS - 7]


def test_a_batch_of_a_closed_campaign_can_be_cancelled(database: Database, standin: StandIn, study: Study) -> None:
    study(mode="batch")
    run_campaign(database, "study", wait=False)
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.CLOSED)
    assert cancel_batches(database, "study", open_batches(database)) == 1
    assert next(iter(standin.batches.batches.values())).cancelled


@INTERFACES
def test_what_an_expired_batch_did_not_do_is_handed_in_again(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    standin.script = always(Reply(RAIN, tokens=(100, 30, 0)))
    run_campaign(database, "study", wait=False)
    standin.batches.finish(5, expired=True)
    report = run_campaign(database, "study", wait=False)
    assert (report.stopped, report.asked, report.failed, report.left) == ("waiting", 5, {}, OUTPUTS - 5)
    standin.batches.finish()
    last = run_campaign(database, "study", wait=False)
    assert (last.left, standin.ledger.billed, rows(database, Completion)) == (0, OUTPUTS, OUTPUTS)


@INTERFACES
def test_passing_trouble_in_a_batch_is_tried_again_as_often_as_the_definition_says(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", attempts=3, **model)
    code = "api_error" if model.get("provider") == "anthropic" else "server_error"
    standin.script = lambda call: Trouble(500, "oops", code) if "Day 7:" in call.prompt else Reply(RAIN)
    for _ in range(3):
        assert run_campaign(database, "study", wait=False).stopped == "waiting"
        standin.batches.finish()
    last = run_campaign(database, "study", wait=False)
    assert (last.stopped, last.left, last.failed) == ("done", 1, {"in the batch: oops": 1})
    assert [len(batch.requests) for batch in standin.batches.batches.values()] == [OUTPUTS, 1, 1]


@INTERFACES
def test_results_that_break_off_are_fetched_again_and_stored_once(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    standin.script = always(Reply(RAIN.replace("dry", "dry\u2028in\u0085fact"), tokens=(100, 30, 0)))
    run_campaign(database, "study", wait=False)
    standin.batches.finish()
    standin.batches.cuts = 1
    assert run_campaign(database, "study", wait=False).stopped == "waiting"
    assert run_campaign(database, "study", wait=False).left == 0
    assert rows(database, Annotation) == rows(database, Completion) == OUTPUTS
    with database.reading() as session:
        assert {span.reason for span in session.scalars(select(Span))} == {"It is dry\u2028in\u0085fact."}


def test_a_batch_larger_than_the_account_allows_is_handed_in_by_parts(
    database: Database, standin: StandIn, study: Study
) -> None:
    study(mode="batch")
    standin.script = always(Reply(RAIN))
    standin.batches.most_requests = 20

    def waits() -> bool:
        standin.batches.finish()
        return run_campaign(database, "study", wait=False).stopped == "waiting"

    while waits():
        pass
    assert rows(database, Annotation) == standin.ledger.billed == OUTPUTS
    assert [len(batch.requests) for batch in standin.batches.batches.values()] == [60, 30, 15, 15, 15, 15]


def test_a_batch_that_the_provider_refuses_as_a_whole_says_why(sqlite_database: Database, standin: StandIn) -> None:
    store_outputs(sqlite_database, 2)
    create_study(sqlite_database, f"{standin.url}/v1", mode="batch")
    run_campaign(sqlite_database, "study", wait=False)
    for batch in standin.batches.batches.values():
        batch.ended, batch.refused = True, {"code": "invalid_json_line", "message": "line 1 is no JSON"}
    report = run_campaign(sqlite_database, "study", wait=False)
    assert report.failed == {"the provider refused the batch: line 1 is no JSON": 2}
    assert (report.failures, report.stopped, report.left) == ({"batch": 2}, "done", 2)


@INTERFACES
def test_a_provider_with_too_much_to_do_is_asked_again_to_take_the_batch(
    database: Database, standin: StandIn, study: Study, quick: QuickClock, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    standin.batches.troubles = [Trouble(429, "slow down", "rate_limit", {"retry-after": "3"})] * 2
    assert run_campaign(database, "study", wait=False, clock=quick).batches == 1
    assert [len(batch.requests) for batch in standin.batches.batches.values()] == [OUTPUTS]


@INTERFACES
def test_a_batch_taken_with_an_error_for_an_answer_is_found_and_not_handed_in_twice(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    standin.script = always(Reply(RAIN))
    standin.batches.troubles = [Trouble(502, "bad gateway")]
    with pytest.raises(Unavailable, match="did not take the batch: the server answers 502"):
        run_campaign(database, "study", wait=False)
    assert run_campaign(database, "study", wait=False).stopped == "waiting"
    standin.batches.finish()
    assert run_campaign(database, "study", wait=False).left == 0
    assert [len(batch.requests) for batch in standin.batches.batches.values()] == [OUTPUTS]


@INTERFACES
def test_a_batch_whose_results_are_no_longer_kept_frees_its_items_after_a_month_and_not_before(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    run_campaign(database, "study", wait=False)
    standin.batches.batches.clear()
    with pytest.raises(Unavailable, match="set the key of the account that submitted it"):
        run_campaign(database, "study", wait=False)
    with database.transaction() as session:
        session.execute(update(ModelBatch).values(created_at=datetime.now(UTC) - timedelta(days=30)))
    report = run_campaign(database, "study", wait=False)
    assert (report.stopped, report.failures, len(standin.batches.batches)) == ("done", {"batch": OUTPUTS}, 0)
    assert run_campaign(database, "study", wait=False).batches == 1, "asking again is a decision"


def test_a_batch_holds_no_more_bytes_than_the_provider_takes(
    sqlite_database: Database, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_outputs(sqlite_database, 5)
    create_study(sqlite_database, f"{standin.url}/v1", mode="batch")
    monkeypatch.setattr(batching, "MOST_BYTES", 10)
    assert run_campaign(sqlite_database, "study", wait=False).batches == 5


def test_a_paused_campaign_hands_nothing_in_but_a_batch_under_way_is_not_lost(
    database: Database, standin: StandIn, study: Study
) -> None:
    study(mode="batch")
    run_campaign(database, "study", wait=False)
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.PAUSED)
    standin.batches.finish()
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.OPEN)
    assert run_campaign(database, "study", wait=False).left == 0


@INTERFACES
def test_a_batch_handed_in_just_before_a_crash_is_found_again_and_not_paid_twice(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    standin.script = always(Reply(RAIN, tokens=(100, 30, 0)))
    run_campaign(database, "study", wait=False)
    with database.transaction() as session:  # as if a process that is gone had died before it stored the answer
        worker = f"{socket.gethostname()}:{2**22 + 1}:0a1b"
        mark = session.scalars(select(ModelBatch.key)).one().rpartition(":")[2]
        session.execute(update(ModelBatch).values(external_id=None, key=f"{worker}:{mark}"))
    for batch in standin.batches.batches.values():
        batch.metadata = {"spanplat_batch": f"{worker}:{mark}"} if batch.metadata else {}
    assert run_campaign(database, "study", wait=False).stopped == "waiting"
    standin.batches.finish()
    last = run_campaign(database, "study", wait=False)
    assert (last.left, len(standin.batches.batches)) == (0, 1)
    assert last.cost == pytest.approx(standin.ledger.cost)
    assert rows(database, Completion) == OUTPUTS


@INTERFACES
def test_a_batch_that_never_arrived_is_handed_in_again(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(mode="batch", **model)
    run_campaign(database, "study", wait=False)
    with database.transaction() as session:
        session.execute(update(ModelBatch).values(external_id=None, key=f"{socket.gethostname()}:{2**22 + 1}:0a:ff"))
    standin.batches.batches.clear()
    run_campaign(database, "study", wait=False)
    standin.batches.finish()
    assert run_campaign(database, "study", wait=False).left == 0
    assert [len(batch.requests) for batch in standin.batches.batches.values()] == [OUTPUTS]


def test_the_ceiling_counts_what_batches_may_cost(database: Database, standin: StandIn, study: Study) -> None:
    study(mode="batch", parameters={"max_tokens": 100}, max_cost=0.02)
    standin.script = always(Reply(RAIN, tokens=(50, 90, 0)))
    report = run_campaign(database, "study", wait=False)
    assert report.stopped == "waiting", "what is handed in is to be fetched, also where no more can be"
    standin.batches.finish()
    while (report := run_campaign(database, "study", wait=False)).stopped == "waiting":
        standin.batches.finish()
    assert report.stopped == "ceiling"
    assert 0 < standin.ledger.cost <= 0.02
    assert 0 < rows(database, Annotation) < OUTPUTS


def test_a_provider_that_refuses_a_batch_ends_the_run_and_the_items_are_free_again(
    sqlite_database: Database, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_outputs(sqlite_database)
    create_study(sqlite_database, f"{standin.url}/v1", mode="batch")
    monkeypatch.setenv("OPENAI_API_KEY", "mistyped-0123456789")
    with pytest.raises(Unavailable, match="the provider did not take the batch: the server answers 401"):
        run_campaign(sqlite_database, "study", wait=False)
    monkeypatch.setenv("OPENAI_API_KEY", "planted-4f1d9c2b77a0")
    assert run_campaign(sqlite_database, "study", wait=False).batches == 1


def test_the_worker_waits_for_a_batch_without_holding_a_thread_and_can_cancel_it(
    database: Database, standin: StandIn, study: Study
) -> None:
    study(mode="batch")
    standin.script = always(Reply(RAIN))
    performer = Performer(database, HANDLERS, "tester")

    def perform(kind: str, **payload: Any) -> str:
        with database.transaction() as session:
            job = jobs.enqueue(session, kind, f"{kind}:study", {"campaign": "study"} | payload)
        performer.perform(job.id)
        with database.reading() as session:
            return jobs.find_job(session, job.id).state

    assert perform("run-campaign") == JobState.QUEUED
    batches = open_batches(database)
    assert perform("cancel-batches", batches=batches) == JobState.QUEUED
    standin.batches.finish(9)
    assert perform("cancel-batches", batches=batches) == JobState.DONE
    assert rows(database, Annotation) == 9, "what had been done is paid for, and stored"
    assert perform("run-campaign") == JobState.QUEUED, "what the cancelled batch did not do is handed in again"
    standin.batches.finish()
    assert perform("run-campaign") == JobState.DONE
    assert rows(database, Annotation) == OUTPUTS


@pytest.mark.usefixtures("standin")
def test_a_provider_that_says_nothing_of_a_batch_is_noted_until_it_answers(sqlite_database: Database) -> None:
    store_outputs(sqlite_database)
    with StandIn(key=KEY) as first:
        create_study(sqlite_database, f"{first.url}/v1", mode="batch", attempts=1)
        assert run_campaign(sqlite_database, "study", wait=False).stopped == "waiting"
    assert cancel_batches(sqlite_database, "study", open_batches(sqlite_database)) == 1
    assert "cannot be reached" in silence(sqlite_database)
    again = StandIn(key=KEY)
    again.port, again.batches = first.port, first.batches
    with again:
        assert run_campaign(sqlite_database, "study", wait=False).stopped == "waiting"
    assert silence(sqlite_database) == ""


def silence(database: Database) -> str:
    """Return what the campaign's page says of a provider that does not answer."""
    with database.reading() as session:
        return run_figures(session, find_campaign(session, "study"), datetime.now(UTC)).silence or ""
