"""Runs against a stand-in over HTTP: in every case each item ends answered or failed, and nothing is paid for twice."""

import asyncio
import hashlib
import json
import logging
import re
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from spanplat.db import Database
from spanplat.errors import Conflict, Unavailable
from spanplat.models import (
    Annotation,
    Assignment,
    Base,
    Campaign,
    CampaignStatus,
    ClaimState,
    Completion,
    ModelBatch,
    ModelClaim,
    Span,
)
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.lifecycle import set_status
from spanplat.services.model_work import claims
from spanplat.services.model_work.running import RunReport, run_campaign
from tests.services.model_work.conftest import KEY, OUTPUTS, QuickClock, create_study, store_outputs
from tests.standin.script import PRICE_OUT, Answer, Call, Cut, Hang, Hold, Raw, Reply, Trouble, always
from tests.standin.server import StandIn

Study = Callable[..., None]
RAIN = '{"annotations": [{"reason": "It is dry.", "text": "rains", "category": "Wrong"}]}'


def rows(database: Database, table: type[Base]) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def claimed(database: Database) -> int:
    """Count the items that a worker holds now."""
    with database.reading() as session:
        held = (ModelClaim.state == ClaimState.ASKING) & (ModelClaim.lease_expires_at > datetime.now(UTC))
        return session.scalar(select(func.count()).select_from(ModelClaim).where(held)) or 0


def luck(call: Call) -> float:
    """A number from 0 to 1 that belongs to what is asked."""
    return int(hashlib.sha256(call.prompt.encode()).hexdigest()[:8], 16) / 16**8


@pytest.mark.parametrize(
    "model", [{}, {"interface": "responses"}, {"provider": "anthropic"}], ids=["chat", "responses", "messages"]
)
def test_every_output_is_asked_about_once_and_the_account_agrees_with_the_providers(
    database: Database, standin: StandIn, study: Study, model: dict[str, Any]
) -> None:
    study(**model)
    standin.script = always(Reply(RAIN, reasoning="Let me see.", tokens=(100, 30, 20)))
    report = run_campaign(database, "study", concurrency=16)
    assert (report.asked, report.left, report.spans, report.failed) == (OUTPUTS, 0, OUTPUTS, {})
    ledger = standin.ledger
    assert ledger.billed == len(ledger.calls) == report.calls == OUTPUTS
    assert (report.input_tokens, report.output_tokens) == (ledger.input_tokens, ledger.output_tokens)
    assert report.reasoning_tokens == OUTPUTS * 20
    assert report.cost == pytest.approx(ledger.cost)
    assert report.cost_per_1000 == pytest.approx(ledger.cost / OUTPUTS * 1000)
    assert standin.most_active <= 16
    with database.reading() as session:
        completion = session.scalars(select(Completion).limit(1)).one()
        annotation = session.scalars(select(Annotation).limit(1)).one()
        assert completion.request["model"] == "tiny"
        assert completion.response is not None
        assert completion.response["content"] == RAIN
        assert (completion.model_version, completion.finish_reason) == ("tiny-2026-01-01", "stop")
        assert annotation.extra is not None
        assert annotation.extra["reasoning"] == "Let me see."
        assert {span.text for span in session.scalars(select(Span))} == {"rains"}


@pytest.mark.slow
def test_with_every_kind_of_trouble_each_output_is_annotated_or_failed_with_its_reason(
    database: Database, standin: StandIn, study: Study, quick: QuickClock
) -> None:
    study(attempts=2)

    def trouble(call: Call) -> Answer:
        if call.attempt == 1 and luck(call) < 0.15:
            return Trouble(429, "slow down", "rate_limit", {"retry-after-ms": "20"})
        if call.attempt == 1 and luck(call) < 0.25:
            return Trouble(500)
        if 0.25 <= luck(call) < 0.4:
            return Trouble(400, "the text is too odd", "invalid_request")
        if 0.4 <= luck(call) < 0.5:
            return Reply("Sure! I would love to help.")
        return Reply(RAIN)

    standin.script = trouble
    report = run_campaign(database, "study", concurrency=8, clock=quick)
    lucks = [luck(call) for call in standin.ledger.calls if call.attempt == 1]
    refused, garbage = sum(0.25 <= number < 0.4 for number in lucks), sum(0.4 <= number < 0.5 for number in lucks)
    tried_again = sum(number < 0.25 for number in lucks)
    assert len(lucks) == OUTPUTS
    assert sum(report.failed.values()) == report.left == refused + garbage
    assert report.failed["the server answers 400: the text is too odd"] == refused
    assert report.failed["the reply holds no JSON with a list of spans"] == garbage
    assert rows(database, Annotation) == OUTPUTS - report.left
    assert len(standin.ledger.calls) == report.calls == OUTPUTS + tried_again
    assert max(standin.ledger.answered.values()) == 1
    assert (report.input_tokens, report.output_tokens) == (standin.ledger.input_tokens, standin.ledger.output_tokens)
    assert report.cost == pytest.approx(standin.ledger.cost)
    assert report.maybe_billed == 0
    with database.reading() as session:
        failures = Counter(session.scalars(select(ModelClaim.failure).where(ModelClaim.state == ClaimState.FAILED)))
    assert failures == Counter({"status 400": refused, "no answer": garbage})
    standin.script = always(Reply(RAIN))
    again = run_campaign(database, "study", clock=quick)
    assert (again.asked, again.left, again.failed) == (report.left, 0, {})


@pytest.mark.slow
def test_what_is_not_answered_in_time_is_asked_again_and_may_have_been_billed_each_time(
    database: Database, standin: StandIn, study: Study, quick: QuickClock
) -> None:
    study(timeout=1, attempts=2)
    standin.script = lambda call: Hang() if luck(call) < 0.1 else Reply(RAIN)
    report = run_campaign(database, "study", concurrency=30, clock=quick)
    standin.release()
    unanswered = Counter(call.prompt for call in standin.ledger.calls if luck(call) < 0.1)
    assert set(unanswered.values()) == {2}
    assert report.left == len(unanswered)
    # A slow machine may not read one of the answers in time either, and asks for it again.
    assert report.maybe_billed >= 2 * len(unanswered)
    assert report.calls == len(standin.ledger.calls)
    with database.reading() as session:
        failures = Counter(session.scalars(select(ModelClaim.failure).where(ModelClaim.state == ClaimState.FAILED)))
    assert failures == Counter({"timeout": len(unanswered)})


def test_a_date_in_retry_after_is_waited_for_by_all(database: Database, standin: StandIn, study: Study) -> None:
    study()
    waits: list[float] = []

    class Leaping(QuickClock):
        def now(self) -> float:
            return super().now() + sum(waits)

        async def sleep(self, seconds: float) -> None:
            waits.append(seconds)
            await asyncio.sleep(0)

    def busy_at_first(call: Call) -> Answer:
        later = format_datetime(datetime.now(UTC) + timedelta(seconds=400), usegmt=True)
        return Trouble(429, "slow down", "rate_limit", {"retry-after": later}) if call.number <= 2 else Reply(RAIN)

    standin.script = busy_at_first
    report = run_campaign(database, "study", concurrency=2, clock=Leaping())
    assert (report.left, report.calls, standin.ledger.billed) == (0, OUTPUTS + 2, OUTPUTS)
    assert max(waits) > 300
    assert standin.most_active <= 2


def test_two_workers_share_a_campaign_and_ask_about_nothing_twice(
    database: Database,
    standin: StandIn,
    study: Study,
    quick: QuickClock,
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    study()
    standin.script = always(Hold(Reply(RAIN)))
    reports: list[RunReport] = []

    def work() -> None:
        other = Database(database.url)
        reports.append(run_campaign(other, "study", concurrency=4, clock=quick))
        other.dispose()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: standin.active == 8)
    standin.release()
    for thread in threads:
        thread.join(180)
    assert sum(report.asked for report in reports) == OUTPUTS
    assert min(report.asked for report in reports) > 0
    assert len(standin.ledger.calls) == rows(database, Annotation) == OUTPUTS
    with database.reading() as session:
        assert set(session.scalars(select(Assignment.status))) == {"submitted"}


def test_items_that_a_dead_worker_had_claimed_are_asked_about_when_its_lease_is_over(
    sqlite_database: Database, standin: StandIn, quick: QuickClock
) -> None:
    store_outputs(sqlite_database)
    create_study(sqlite_database, f"{standin.url}/v1")
    with sqlite_database.transaction() as session:
        held = claims.find_open_items(session, 1, datetime.now(UTC)).free[:5]
        asked = [(key, 0.0) for key in held]
        since = datetime.now(UTC)
        assert claims.claim(session, 1, "elsewhere:1:abc", asked, since=since) == set(held)
        assert claims.claim(session, 1, "another:1:abc", asked, since=since) == set()
        session.execute(update(ModelClaim).values(lease_expires_at=datetime.now(UTC) + timedelta(seconds=1)))
    report = run_campaign(sqlite_database, "study", clock=quick)
    assert (report.asked, report.left) == (OUTPUTS, 0)


def test_a_pause_of_the_campaign_takes_effect_within_one_request_and_the_replies_under_way_are_kept(
    database: Database, standin: StandIn, study: Study, wait_until: Callable[[Callable[[], bool]], None]
) -> None:
    study()
    standin.script = always(Hold(Reply(RAIN)))
    reports: list[RunReport] = []
    thread = threading.Thread(target=lambda: reports.append(run_campaign(database, "study", concurrency=3)))
    thread.start()
    wait_until(lambda: standin.active == 3)
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.PAUSED)
    standin.script = always(Reply(RAIN))
    wait_until(lambda: claimed(database) == 3)  # those claimed ahead are given back
    standin.release()
    thread.join(180)
    assert (reports[0].asked, reports[0].left, reports[0].stopped) == (3, OUTPUTS - 3, "paused")
    assert len(standin.ledger.calls) == rows(database, Annotation) == 3
    with pytest.raises(Conflict):
        run_campaign(database, "study")
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.OPEN)
    rest = run_campaign(database, "study")
    assert (rest.asked, rest.left, len(standin.ledger.calls)) == (OUTPUTS - 3, 0, OUTPUTS)


def test_when_told_to_stop_the_calls_under_way_are_stored_and_the_rest_is_free_for_the_next(
    database: Database, standin: StandIn, study: Study
) -> None:
    study()
    standin.script = always(Reply(RAIN, delay=0.05))

    class Enough(Exception):
        pass

    def stop_soon(done: int, total: int | None) -> None:
        assert total == OUTPUTS
        if done > 5:
            raise Enough

    with pytest.raises(Enough):
        run_campaign(database, "study", concurrency=4, on_progress=stop_soon)
    asked = len(standin.ledger.calls)
    assert 5 < asked < OUTPUTS
    assert rows(database, Annotation) == asked
    standin.script = always(Reply(RAIN))
    assert run_campaign(database, "study").asked == OUTPUTS - asked
    assert len(standin.ledger.calls) == OUTPUTS


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Trouble(401, "Incorrect API key provided"), "the key is not valid"),
        (Trouble(404, "no such model"), "there is no such model or address"),
        (Trouble(429, "You exceeded your quota", "insufficient_quota"), "the account has no credit left"),
        (Trouble(400, "temperature is not supported"), "the first 10 items were all refused"),
    ],
)
def test_what_every_item_would_meet_ends_the_run_soon_and_says_why(
    sqlite_database: Database, standin: StandIn, answer: Trouble, why: str
) -> None:
    store_outputs(sqlite_database)
    create_study(sqlite_database, f"{standin.url}/v1")
    standin.script = always(answer)
    with pytest.raises(Unavailable, match=re.escape(why)):
        run_campaign(sqlite_database, "study", concurrency=4)
    assert len(standin.ledger.calls) <= 16
    standin.script = always(Reply(RAIN))
    assert run_campaign(sqlite_database, "study").left == 0


def test_a_ceiling_is_kept_by_two_workers_together(database: Database, standin: StandIn, study: Study) -> None:
    study(parameters={"max_tokens": 100}, max_cost=0.02)
    standin.script = always(Reply(RAIN, tokens=(50, 90, 0), delay=0.02))
    threads = [
        threading.Thread(target=run_campaign, args=(database, "study"), kwargs={"concurrency": 4}) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    most = (50 * 2.0 + 90 * 8.0) / 1e6
    assert 0.02 - 4 * most < standin.ledger.cost <= 0.02
    assert rows(database, Annotation) == standin.ledger.billed < OUTPUTS


def test_beside_a_run_that_claims_rows_that_refer_to_its_campaign_can_be_added(
    postgresql_url: str, standin: StandIn
) -> None:
    database = Database(postgresql_url)
    store_outputs(database)
    create_study(database, f"{standin.url}/v1")
    with database.transaction() as claiming:
        campaign_id = claiming.scalars(select(Campaign.id)).one()
        claims.lock_campaign(claiming, campaign_id)
        with database.transaction() as beside:
            beside.execute(text("SET LOCAL lock_timeout = '5s'"))
            beside.add(ModelBatch(campaign_id=campaign_id, key="beside", requests=1))
    assert rows(database, ModelBatch) == 1
    database.dispose()


def test_calls_of_unknown_cost_count_against_the_ceiling_also_those_tried_again(
    database: Database, standin: StandIn, study: Study, quick: QuickClock
) -> None:
    study(parameters={"max_tokens": 100}, max_cost=0.02, attempts=4)
    standin.script = lambda call: Cut() if call.attempt <= 2 else Reply(RAIN, tokens=(50, 90, 0))
    report = run_campaign(database, "study", concurrency=4, clock=quick)
    assert report.stopped == "ceiling"
    cut = len(standin.ledger.calls) - standin.ledger.billed
    assert cut == report.maybe_billed > 0
    assert standin.ledger.cost + cut * 100 * PRICE_OUT / 1e6 <= 0.02


def test_a_server_that_is_not_there_ends_the_run_soon_and_says_what_to_look_at(
    database: Database, quick: QuickClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    store_outputs(database)
    create_study(database, "http://127.0.0.1:9/v1", attempts=2)
    with pytest.raises(Unavailable, match=r"the first 3 items brought no reply .* check model\.base_url"):
        run_campaign(database, "study", concurrency=1, clock=quick)
    assert 6 <= rows(database, Completion) <= 10
    with database.reading() as session:
        assert set(session.scalars(select(Completion.cost))) == {0.0}, "who was not reached bills nothing"


def test_a_server_that_goes_away_ends_the_run_and_what_was_answered_is_kept(
    database: Database, standin: StandIn, study: Study, quick: QuickClock
) -> None:
    study(attempts=1)
    standin.script = lambda call: Reply(RAIN) if call.number <= 20 else Cut()
    with pytest.raises(Unavailable, match="the last 10 items brought no reply"):
        run_campaign(database, "study", concurrency=1, clock=quick)
    assert (rows(database, Annotation), len(standin.ledger.calls)) == (20, 30)
    standin.script = always(Reply(RAIN))
    assert run_campaign(database, "study").left == 0
    assert standin.ledger.billed == OUTPUTS


def test_a_reply_without_a_count_of_tokens_costs_nobody_knows_what(sqlite_database: Database, standin: StandIn) -> None:
    store_outputs(sqlite_database, 1)
    create_study(sqlite_database, f"{standin.url}/v1")
    message = {"role": "assistant", "content": RAIN}
    standin.script = always(Raw(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})))
    report = run_campaign(sqlite_database, "study")
    assert (report.left, report.spans, report.cost) == (0, 1, None)


def test_a_dry_run_estimates_tokens_and_money_without_a_key_and_asks_nothing(
    database: Database, standin: StandIn, study: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    study()
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.chdir(tmp_path)
    first = run_campaign(database, "study", dry_run=True).estimate
    assert first is not None
    assert (first.items, first.output_from, standin.ledger.calls) == (OUTPUTS, "the lengths of the texts", [])
    assert first.cost == pytest.approx((first.input_tokens * 2 + first.output_tokens * 8) / 1e6)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    standin.script = always(Reply(RAIN, tokens=(400, 44, 0)))
    run_campaign(database, "study", limit=20)
    second = run_campaign(database, "study", dry_run=True).estimate
    assert second is not None
    assert (second.items, second.output_tokens) == (40, 40 * 44)
    assert second.output_from == "earlier replies"


def test_no_key_is_in_the_database_the_exports_the_log_or_an_error(
    database: Database, standin: StandIn, study: Study, quick: QuickClock, caplog: pytest.LogCaptureFixture
) -> None:
    study(attempts=2)
    spoken = f"your key {KEY} is at its limit"
    standin.script = lambda call: Trouble(500, spoken) if luck(call) < 0.3 else Reply(RAIN)
    with caplog.at_level(logging.DEBUG):
        report = run_campaign(database, "study", clock=quick)
    assert report.failed
    assert KEY not in str(report)
    assert "[key hidden]" in str(report)
    assert KEY not in caplog.text
    with database.reading() as session:
        for table in Base.metadata.sorted_tables:
            found = session.execute(select(table)).all()
            assert KEY not in str(found), table.name
        assert KEY not in "".join(record.model_dump_json() for record in export_records(session, "study"))


def test_requests_per_minute_are_kept(database: Database, standin: StandIn, study: Study) -> None:
    study(requests_per_minute=7)
    stopped = threading.Event()

    def stop_later(done: int, total: int | None) -> None:
        del total
        if done >= 7:
            stopped.set()
            raise Conflict("enough")

    with pytest.raises(Conflict, match="enough"):
        run_campaign(database, "study", on_progress=stop_later)
    assert stopped.is_set()
    assert len(standin.ledger.calls) == 7


def test_repeats_are_asked_with_seeds_of_their_own(database: Database, standin: StandIn, study: Study) -> None:
    study(repeats=2, parameters={"seed": 42})
    assert run_campaign(database, "study").asked == 2 * OUTPUTS
    seeds = Counter(call.body["seed"] for call in standin.ledger.calls)
    assert seeds == {42: OUTPUTS, 43: OUTPUTS}
