"""What somebody should look at: the list on top of the overview."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.llm.provider import ModelReply, Usage
from spanplat.llm.providers.scripted import ScriptedProvider
from spanplat.models import Campaign, CampaignStatus, ClaimState, Job, JobState, ModelBatch, ModelClaim
from spanplat.services.attention import Attention, CampaignAttention, SilentWork, list_attention
from spanplat.services.background.jobs import STALE_AFTER
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns, set_status
from spanplat.services.campaigns.progress import list_progress
from spanplat.services.model_work.claims import find_open_items, first_free
from spanplat.services.model_work.running import run_campaign

NOW = datetime.now(UTC)
LONG_AGO = NOW - 2 * STALE_AFTER
PRICED = {
    "provider": "openai",
    "model": "tiny",
    "base_url": "http://127.0.0.1:9/v1",
    "price": {"input": 0, "output": 1e6},
    "parameters": {"max_tokens": 3},
    "max_cost": 10,
}


@pytest.fixture
def study(launch: Callable[..., Campaign]) -> None:
    """An open model campaign over twelve outputs; a call costs two dollars, and up to three, and all may cost ten."""
    launch(kind="llm", model=PRICED)


def attention(session: Session) -> list[Attention]:
    return list_attention(session, list_progress(session, list_campaigns(session), NOW), NOW)


def named(database: Database) -> list[str]:
    """Return what there is to look at, by the reason, or the kind of work."""
    with database.reading() as session:
        return [entry.reason if isinstance(entry, CampaignAttention) else entry.kind for entry in attention(session)]


def ask(database: Database, **options: Any) -> None:
    usage = Usage(input_tokens=9, output_tokens=2)
    provider = ScriptedProvider(lambda _: ModelReply('{"annotations": []}', "tiny", {}, usage=usage))
    run_campaign(database, "study", provider=provider, **options)


def give_up(database: Database, items: int) -> None:
    with database.transaction() as session:
        campaign = find_campaign(session, "study")
        for key in find_open_items(session, campaign.id, NOW).free[:items]:
            session.add(ModelClaim(**key._asdict(), campaign_id=campaign.id, state=ClaimState.FAILED, error="odd"))


def add_job(database: Database, kind: str = "run-campaign", key: str = "study", **columns: Any) -> None:
    part = kind.removeprefix("run-")
    with database.transaction() as session:
        session.add(Job(kind=kind, key=f"{kind}:{key}", **{"payload": {part: key}, "created_at": LONG_AGO} | columns))


@pytest.mark.usefixtures("study")
def test_items_that_were_given_up_are_told_until_the_run_goes_on_or_the_campaign_is_closed(database: Database) -> None:
    assert named(database) == []
    give_up(database, 2)
    with database.reading() as session:
        (entry,) = attention(session)
    assert isinstance(entry, CampaignAttention)
    assert (entry.reason, entry.progress.given_up) == ("given_up", 2)
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.CLOSED)
    assert named(database) == []
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.OPEN)
    add_job(database, created_at=NOW)
    assert named(database) == [], "the run goes on"


@pytest.mark.usefixtures("study")
def test_a_run_that_its_ceiling_stopped_is_told(database: Database) -> None:
    ask(database, limit=3)
    assert named(database) == [], "there is money left"
    ask(database)
    with database.reading() as session:
        (entry,) = attention(session)
    assert isinstance(entry, CampaignAttention)
    assert (entry.reason, entry.ceiling) == ("ceiling", 10)
    ask(database, max_cost=100)
    assert named(database) == [], "everything is answered"


@pytest.mark.usefixtures("study")
def test_a_model_that_was_not_run_yet_has_reached_no_ceiling(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(slug="dear", kind="llm", model=PRICED | {"max_cost": 0.001})
    assert named(database) == []


@pytest.mark.usefixtures("study")
def test_the_first_free_item_is_the_one_that_a_run_would_take(database: Database) -> None:
    ask(database, limit=3)
    give_up(database, 1)
    with database.transaction() as session:
        campaign = find_campaign(session, "study")
        busy = find_open_items(session, campaign.id, datetime.now(UTC)).free[1:3]
        for key, until in zip(busy, (NOW + timedelta(hours=1), LONG_AGO), strict=True):
            claim = ModelClaim(**key._asdict(), campaign_id=campaign.id, state=ClaimState.ASKING)
            claim.lease_expires_at = until
            session.add(claim)
    with database.transaction() as session:
        for gone in range(3):
            free = find_open_items(session, campaign.id, datetime.now(UTC)).free
            assert first_free(session, campaign.id) == free[:1], gone
            claimed = session.get(ModelClaim, tuple(free[0])) or ModelClaim(
                **free[0]._asdict(), campaign_id=campaign.id
            )
            claimed.state, claimed.lease_expires_at = ClaimState.ASKING, NOW + timedelta(hours=1)
            session.add(claimed)
            session.flush()


@pytest.mark.usefixtures("study")
def test_a_run_whose_worker_went_silent_is_told_with_the_moment(database: Database) -> None:
    add_job(database, state=JobState.RUNNING, heartbeat=LONG_AGO)
    with database.reading() as session:
        (entry,) = attention(session)
    assert entry == SilentWork("campaign", "study", "A study", 1, LONG_AGO, was_taken=True)


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("run-campaign", "campaign"),
        ("run-study", "study"),
        ("run-generation", "generation"),
        ("import-dataset", "import"),
        ("agreement", "computation"),
    ],
)
def test_work_that_no_worker_takes_is_told_unless_one_is_at_other_work(
    database: Database, kind: str, told: str
) -> None:
    add_job(database, kind)
    assert named(database) == [told]
    add_job(database, "agreement", "busy", state=JobState.RUNNING, heartbeat=NOW)
    assert named(database) == []


def test_work_that_was_just_asked_for_or_has_ended_is_not_told(database: Database) -> None:
    add_job(database, created_at=NOW)
    add_job(database, key="other", state=JobState.DONE)
    add_job(database, key="paused", state=JobState.PAUSED)
    assert named(database) == []


def test_imports_and_computations_are_told_of_together(database: Database) -> None:
    for number in range(3):
        add_job(database, "agreement", str(number), payload={}, created_at=LONG_AGO - timedelta(minutes=number))
    with database.reading() as session:
        (entry,) = attention(session)
    assert isinstance(entry, SilentWork)
    assert (entry.jobs, entry.since) == (3, LONG_AGO - timedelta(minutes=2))


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(("kind", "key"), [("run-campaign", "study"), ("run-study", "stu")])
def test_a_run_that_waits_for_the_providers_batches_is_not_told(database: Database, kind: str, key: str) -> None:
    add_job(database, kind, key, started_at=LONG_AGO)
    assert len(named(database)) == 1
    with database.transaction() as session:
        slug = "study" if kind == "run-campaign" else "stu-a"
        campaign = session.scalars(select(Campaign)).one()
        campaign.slug = slug
        session.add(ModelBatch(campaign_id=campaign.id, key="here:1:0:0", requests=3))
    assert named(database) == []


@pytest.mark.usefixtures("study")
def test_looking_takes_few_statements(database: Database) -> None:
    statements: list[str] = []

    def count(_connection: Any, _cursor: Any, statement: str, *_others: Any) -> None:
        statements.append(statement)

    with database.reading() as session:
        rows = list_progress(session, list_campaigns(session), NOW)
        bind = session.get_bind()
        event.listen(bind, "before_cursor_execute", count)
        try:
            list_attention(session, rows, NOW)
        finally:
            event.remove(bind, "before_cursor_execute", count)
    assert len(statements) == 3, (
        "silent work, studies and generations, where nothing is silent or was stopped by its ceiling"
    )
