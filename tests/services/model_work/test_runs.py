"""A run of a model campaign asks about every item once, and stores every reply, readable or not."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.llm.provider import ModelReply, Usage
from spanplat.llm.providers.scripted import ScriptedProvider, marking
from spanplat.models import Annotation, Assignment, Campaign, CampaignStatus, Completion, Span, Unplaced
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.lifecycle import set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.demo import MODEL, PEOPLE, load_demo
from spanplat.services.model_work.running import run_campaign
from tests.asynchronous import run
from tests.campaigns import create_campaign

Define = Callable[..., CampaignDefinition]
Create = Callable[..., None]


@pytest.fixture
def create(database: Database, reports: None, define: Define) -> Create:
    """Create the model campaign ``study``; keyword arguments replace parts of its definition."""
    del reports

    def make(**parts: Any) -> None:
        with database.transaction() as session:
            model = {"kind": "llm", "model": {"provider": "overlap"}}
            create_campaign(session, plan_campaign(session, define(**(model | parts))))

    return make


def texts(provider: ScriptedProvider) -> list[str]:
    return [asked.item.text for asked in provider.asked]


def count(database: Database, table: type) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_a_run_annotates_every_output_and_another_asks_nothing(database: Database, create: Create) -> None:
    create()
    provider = marking({"text": ":", "category": "Wrong", "reason": "a colon"})
    told: list[tuple[int, int | None]] = []

    def tell(done: int, total: int | None) -> None:
        told.append((done, total))

    report = run_campaign(database, "study", provider=provider, on_progress=tell)
    assert (report.asked, report.left, report.spans, report.unplaced, report.cost) == (12, 0, 12, 0, 0.0)
    assert told[-1] == (12, 12)
    assert len(texts(provider)) == len(set(texts(provider))) == 12
    again = run_campaign(database, "study", provider=provider)
    assert (again.asked, again.left, len(provider.asked)) == (0, 0, 12)
    with database.reading() as session:
        spans = session.scalars(select(Span)).all()
        assert all(
            span.annotation.item.outputs[0].output.text[span.start_offset : span.end_offset] == ":" for span in spans
        )
        assert set(session.scalars(select(Assignment.status)).all()) == {"submitted"}
        assert all(completion.error is None for completion in session.scalars(select(Completion)))


def test_a_run_can_be_started_where_an_event_loop_runs_already(database: Database, create: Create) -> None:
    create()

    async def in_a_notebook() -> int:
        return run_campaign(database, "study", provider=marking()).asked

    assert run(in_a_notebook()) == 12


def test_a_limited_run_is_resumed_by_running_again(database: Database, create: Create) -> None:
    create()
    provider = marking()
    first = run_campaign(database, "study", limit=5, provider=provider)
    assert (first.asked, first.left) == (5, 7)
    rest = run_campaign(database, "study", provider=provider)
    assert (rest.asked, rest.left) == (7, 0)
    assert len(set(texts(provider))) == len(provider.asked) == 12
    assert count(database, Annotation) == 12


def test_a_dry_run_asks_and_writes_nothing(database: Database, create: Create) -> None:
    create()
    provider = marking()
    report = run_campaign(database, "study", dry_run=True, provider=provider)
    assert (report.dry_run, report.left, report.asked, provider.asked) == (True, 12, 0, [])
    assert count(database, Completion) == 0
    with database.reading() as session:
        assert set(session.scalars(select(Assignment.status)).all()) == {"open"}


def test_a_reply_that_cannot_be_read_is_kept_and_its_item_asked_again(database: Database, create: Create) -> None:
    create()
    broken = ScriptedProvider(lambda asked: "Sure! Here is" if "rains" in asked.item.text else '{"annotations": []}')
    report = run_campaign(database, "study", provider=broken)
    assert (report.asked, report.left, sum(report.failed.values())) == (12, 2, 2)
    assert all(reason == "the reply holds no JSON with a list of spans" for reason in report.failed)
    with database.reading() as session:
        failed = session.scalars(select(Completion).where(Completion.error.is_not(None))).all()
        assert [completion.response for completion in failed] == [{"content": "Sure! Here is"}] * 2
    second = marking()
    assert run_campaign(database, "study", provider=second).left == 0
    assert all("rains" in text for text in texts(second))
    assert (len(second.asked), count(database, Annotation), count(database, Completion)) == (2, 12, 14)


def test_what_cannot_be_placed_is_kept_with_its_reason(database: Database, create: Create) -> None:
    create(data={"dataset": "reports", "examples": ["0"]})
    provider = marking(
        {"text": "absent", "category": "Wrong"},
        {"text": ":", "category": "Blue"},
        {"text": "REPORT", "category": "unclear"},
    )
    report = run_campaign(database, "study", provider=provider)
    assert (report.spans, report.unplaced) == (2, 4)
    with database.reading() as session:
        kept = {(entry.reason, entry.record["text"]) for entry in session.scalars(select(Unplaced))}
        spans = [(span.text, span.origin) for span in session.scalars(select(Span))]
    assert kept == {("the quote does not occur in the text", "absent"), ("unknown category 'Blue'", ":")}
    assert spans == [("report", {"rule": "ignoring-case", "quote": "REPORT"})] * 2


PRICED = {
    "provider": "openai",
    "model": "tiny",
    "price": {"input": 0, "output": 1_000_000},
    "parameters": {"max_tokens": 3},
}


def test_a_run_stops_before_its_ceiling_is_crossed_and_goes_on_with_a_higher_one(
    database: Database, create: Create
) -> None:
    create(model=PRICED)
    provider = ScriptedProvider(
        lambda _: ModelReply('{"annotations": []}', "tiny-1", {}, usage=Usage(input_tokens=9, output_tokens=2))
    )
    report = run_campaign(database, "study", provider=provider, max_cost=10)
    assert (report.asked, report.cost, report.left, report.stopped) == (4, 8.0, 8, "ceiling")
    again = run_campaign(database, "study", provider=provider, max_cost=10)
    assert (again.asked, again.stopped) == (0, "ceiling")
    rest = run_campaign(database, "study", provider=provider)
    assert (rest.asked, rest.cost, rest.left, rest.stopped) == (8, 16.0, 0, "done")


def test_a_ceiling_without_a_known_price_is_refused(database: Database, create: Create) -> None:
    create(model={"provider": "openai", "model": "my-own", "base_url": "http://127.0.0.1:9/v1", "max_cost": 5})
    with pytest.raises(InvalidInput, match="the price of 'my-own' is not known"):
        run_campaign(database, "study", provider=marking())


def test_repeats_are_annotators_of_their_own(database: Database, create: Create) -> None:
    create(model={"provider": "overlap", "repeats": 2})
    assert run_campaign(database, "study").asked == 24
    with database.reading() as session:
        assert session.scalar(select(func.count(Assignment.annotator_id.distinct()))) == 2


def test_a_campaign_that_is_paused_or_filled_by_people_is_not_run(
    database: Database, create: Create, launch: Callable[..., Campaign]
) -> None:
    create()
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.PAUSED)
    with pytest.raises(Conflict, match="campaign 'study' is paused; open it first: spanplat campaign open study"):
        run_campaign(database, "study")
    launch(slug="people")
    with pytest.raises(InvalidInput, match="filled by people, not by a model"):
        run_campaign(database, "people")


def test_the_demo_is_loaded_once_and_loading_it_again_changes_nothing(database: Database) -> None:
    assert load_demo(database).run.asked == 36
    with database.reading() as session:
        first = [record.model_dump() for record in export_records(session, MODEL)]
    again = load_demo(database)
    assert (again.run.asked, again.run.left) == (0, 0)
    with database.reading() as session:
        assert [record.model_dump() for record in export_records(session, MODEL)] == first
        slugs = session.scalars(select(Campaign.slug).order_by(Campaign.slug)).all()
        status = session.scalar(select(Campaign.status).where(Campaign.slug == PEOPLE))
    assert slugs == ["demo-overlap", "demo-people", "demo-sample-a", "demo-sample-b"]
    assert status == "open"
    assert all(record["annotator"].startswith("m-") for record in first)
