"""Creating and opening campaigns in short transactions: others see nothing before the end, and a killed process leaves nothing."""

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from spanplat.db import Database
from spanplat.errors import Conflict, NotFound
from spanplat.models import (
    Assignment,
    Batch,
    BatchItem,
    Campaign,
    CampaignStatus,
    Category,
    Item,
    ItemOutput,
    Suggestion,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns import drafts, extending, launching, lifecycle, suggestions
from spanplat.services.campaigns.extending import (
    ExtensionPlan,
    ExtensionRequest,
    extend,
    plan_extension,
    raise_annotators,
)
from spanplat.services.campaigns.launching import open_campaign, remove_abandoned, store_campaign
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns
from spanplat.services.campaigns.planning import CampaignPlan, plan_campaign
from spanplat.services.crowd.saving import save_item

from .interruptions import Interrupted, Killed, KilledError, rows_written
from .test_suggestions import DAY, NOW, RAINS, arrive

TABLES = (Campaign, Category, Item, ItemOutput, Batch, BatchItem, Assignment, Suggestion)
MOST_ROWS = 8
"""That a transaction of these tests may write: the campaigns are small, and so are the chunks."""

RECORDS = 7
"""Amendments and lines of the audit log that an extension adds, however large it is."""


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the number of rows per transaction, so that a few rows need several."""
    monkeypatch.setattr(extending, "ROWS_AT_ONCE", MOST_ROWS)
    monkeypatch.setattr(lifecycle, "ROWS_AT_ONCE", MOST_ROWS)
    monkeypatch.setattr(lifecycle, "ITEMS_AT_ONCE", MOST_ROWS // 4)
    monkeypatch.setattr(suggestions, "SUGGESTIONS_AT_ONCE", 2)


@pytest.fixture
def plan(database: Database, reports: None, define: Callable[..., CampaignDefinition]) -> CampaignPlan:
    """A study over twelve outputs in six batches, each for three people."""
    del reports
    with database.reading() as session:
        return plan_campaign(session, define(batches={"regular": 2}, annotators={"per_output": 3}))


@pytest.fixture
def post_edited(database: Database, launch: Callable[..., Campaign], define: Callable[..., CampaignDefinition]) -> str:
    """A draft that copies three spans as suggestions when it opens."""
    one_output = {"data": {"dataset": "reports", "systems": ["alder"], "examples": ["1"]}, "batches": {"regular": 1}}
    launch(slug="model", **one_output)
    third = RAINS | {"start": 7, "end": 9, "text": "It"}
    body: dict[str, Any] = {"revision": 0, "status": "complete", "spans": [RAINS, DAY, third]}
    save_item(database, arrive(database, "model", "first").participation.token, 1, Submission.model_validate(body), NOW)
    with database.reading() as session:
        plan = plan_campaign(session, define(slug="edited", spans={"suggestions_from": "model"}, **one_output))
    return store_campaign(database, plan).slug


def counts(database: Database) -> dict[str, int]:
    """Count the rows of the tables."""
    with database.reading() as session:
        return {table.__name__: session.scalars(select(func.count()).select_from(table)).one() for table in TABLES}


def test_no_transaction_of_a_creation_writes_many_rows(database: Database, plan: CampaignPlan) -> None:
    with rows_written(database) as written:
        store_campaign(database, plan)
    assert max(written) <= MOST_ROWS
    assert counts(database) == {
        "Campaign": 1,
        "Category": 2,
        "Item": 12,
        "ItemOutput": 12,
        "Batch": 6,
        "BatchItem": 12,
        "Assignment": 18,
        "Suggestion": 0,
    }


def test_no_transaction_of_an_opening_writes_many_rows(database: Database, post_edited: str) -> None:
    with rows_written(database) as written:
        open_campaign(database, post_edited)
    assert max(written) <= MOST_ROWS
    assert counts(database)["Suggestion"] == 3


@pytest.mark.slow
def test_a_creation_killed_anywhere_shows_nothing_and_can_be_repeated(
    database: Database, database_url: str, plan: CampaignPlan
) -> None:
    whole = None
    seen: list[str] = []
    transactions = 0
    while whole is None:
        dying = Killed(database_url, transactions)
        with contextlib.suppress(KilledError):
            store_campaign(dying, plan)
            whole = counts(database)
        dying.dispose()
        with database.reading() as session:
            seen = [campaign.slug for campaign in list_campaigns(session)]
            if whole is None:
                assert seen == []
                with pytest.raises(NotFound):
                    find_campaign(session, "study")
                plan_campaign(session, plan.definition)  # the name is free
        transactions += 1
    assert transactions > 10
    assert seen == ["study"]
    assert whole["Assignment"] == 18


def test_the_worker_removes_what_a_kill_left(database: Database, database_url: str, plan: CampaignPlan) -> None:
    before = counts(database)
    dying = Killed(database_url, 12)
    with pytest.raises(KilledError):
        store_campaign(dying, plan)
    dying.dispose()
    assert counts(database)["Item"] > 0
    assert remove_abandoned(database) == [], "it may still be under way"
    with database.transaction() as session:
        long_ago = datetime.now(UTC) - launching.ABANDONED_AFTER - timedelta(seconds=1)
        session.execute(update(Campaign).values(created_at=long_ago))
    assert remove_abandoned(database) == ["study"]
    assert counts(database) == before


def test_of_two_who_create_the_same_campaign_one_is_told(
    database: Database, database_url: str, plan: CampaignPlan
) -> None:
    def create_too() -> None:
        store_campaign(database, plan)

    first = Interrupted(database_url, 5, create_too)
    with pytest.raises(Conflict, match="somebody else creates 'study' too"):
        store_campaign(first, plan)
    first.dispose()
    assert counts(database)["Assignment"] == 18
    with database.reading() as session:
        assert find_campaign(session, "study").status == CampaignStatus.DRAFT
    with pytest.raises(Conflict, match="there is a campaign 'study' already"):
        store_campaign(database, plan)


def test_a_draft_that_is_changed_while_its_campaign_is_made_makes_none(
    database: Database, database_url: str, plan: CampaignPlan
) -> None:
    before = counts(database)
    text = plan.definition.model_dump_json(exclude_none=True, exclude_defaults=True)
    with database.transaction() as session:
        draft = drafts.create_draft(session, text, None)

    def change() -> None:
        with database.transaction() as session:
            drafts.save_text(session, draft.token, text + "\n", revision=draft.revision, editor="")

    changed = Interrupted(database_url, 5, change)
    with pytest.raises(Conflict, match="this draft was changed"):
        drafts.make_campaign(changed, draft.token)
    changed.dispose()
    assert counts(database) == before
    assert drafts.make_campaign(database, draft.token).slug == "study"


def test_an_opening_killed_anywhere_lets_nobody_in_and_can_be_repeated(
    database: Database, database_url: str, post_edited: str
) -> None:
    transactions = 0
    is_open = False
    while not is_open:
        dying = Killed(database_url, transactions)
        with contextlib.suppress(KilledError):
            is_open = open_campaign(dying, post_edited).status == CampaignStatus.OPEN
        dying.dispose()
        with database.reading() as session:
            campaign = find_campaign(session, post_edited)
            assert campaign.status == (CampaignStatus.OPEN if is_open else CampaignStatus.DRAFT)
        transactions += 1
    assert transactions > 2
    assert counts(database)["Suggestion"] == 3


@pytest.fixture
def widening(database: Database, launch: Callable[..., Campaign]) -> ExtensionPlan:
    """Plan of adding six outputs of a second system to an open study, with more annotators for all."""
    launch(data={"dataset": "reports", "systems": ["alder"]}, batches={"regular": 2})
    with database.reading() as session:
        return plan_extension(session, "study", ExtensionRequest(per_output=2, adds_outputs=True, systems=["birch"]))


def test_no_transaction_of_an_extension_inserts_many_rows(database: Database, widening: ExtensionPlan) -> None:
    with rows_written(database, only="INSERT") as written:
        assert extend(database, widening) == widening.extension
    assert max(written) <= MOST_ROWS + RECORDS
    with database.reading() as session:
        assert [campaign.slug for campaign in list_campaigns(session)] == ["study"]
    assert counts(database) == {
        "Campaign": 1,
        "Category": 2,
        "Item": 12,
        "ItemOutput": 12,
        "Batch": 6,
        "BatchItem": 12,
        "Assignment": 12,
        "Suggestion": 0,
    }


@pytest.mark.slow
def test_an_extension_killed_anywhere_shows_nothing_and_can_be_repeated(
    database: Database, database_url: str, widening: ExtensionPlan
) -> None:
    transactions = 0
    made = None
    while made is None:
        dying = Killed(database_url, transactions)
        with contextlib.suppress(KilledError):
            made = extend(dying, widening)
        dying.dispose()
        with database.reading() as session:
            campaign = find_campaign(session, "study")
            seats = select(func.count(Assignment.id)).where(Assignment.campaign_id == campaign.id)
            assert session.scalars(seats).one() == (3 if made is None else 12)
            assert campaign.amendment == (0 if made is None else 2)
            assert [seen.slug for seen in list_campaigns(session)] == ["study"]
        transactions += 1
    assert transactions > 10
    assert made == widening.extension
    assert counts(database)["Campaign"] == 1


def test_an_extension_of_a_campaign_that_was_changed_meanwhile_adds_nothing(
    database: Database, database_url: str, widening: ExtensionPlan
) -> None:
    def raise_too() -> None:
        with database.transaction() as session:
            raise_annotators(session, "study", 3)

    first = Interrupted(database_url, 6, raise_too)
    with pytest.raises(Conflict, match="'study' was changed in the meantime, so nothing was added"):
        extend(first, widening)
    first.dispose()
    assert counts(database)["Item"] == 6
    assert counts(database)["Assignment"] == 9
