"""What a reader must know before trusting a comparison."""

from collections.abc import Callable

from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Campaign, CampaignStatus
from spanplat.services.campaigns import set_status
from spanplat.services.cautions import Cautions, find_cautions
from spanplat.services.sides import Filters

Import = Callable[..., str]
SPAN = [(0, 6, "Wrong")]


def cautions(database: Database, *slugs: str, filters: Filters | None = None) -> Cautions:
    with database.reading() as session:
        campaigns = {campaign.slug: campaign for campaign in session.scalars(select(Campaign))}
        return find_cautions(session, [campaigns[slug] for slug in slugs], filters)


def test_finished_campaigns_with_the_same_categories_need_no_caution(database: Database, imported: Import) -> None:
    imported("people", one={0: SPAN})
    imported("model", one={0: SPAN, 1: []})
    assert cautions(database, "people", "model") == Cautions()
    assert cautions(database, "people", "people") == Cautions()


def test_categories_of_one_side_only_are_named_with_those_that_both_have(database: Database, imported: Import) -> None:
    imported("people", one={0: SPAN})
    imported("model", ["Wrong", "Odd"], one={0: SPAN})
    found = cautions(database, "people", "model")
    assert {own.campaign: own.categories for own in found.own_categories} == {"people": ("Unclear",), "model": ("Odd",)}
    assert found.shared_categories == {"wrong": "Wrong"}
    assert cautions(database, "people", "model", filters=Filters(categories=("wrong",))) == Cautions()


def test_campaigns_without_a_common_category_have_none_to_choose(database: Database, imported: Import) -> None:
    imported("people", ["Wrong"], one={0: SPAN})
    imported("model", ["Odd"], one={0: [(0, 6, "Odd")]})
    found = cautions(database, "people", "model")
    assert len(found.own_categories) == 2
    assert found.shared_categories == {}


def test_an_open_campaign_tells_how_many_of_its_outputs_are_done(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(slug="study")
    (unfinished,) = cautions(database, "study").unfinished
    assert (unfinished.campaign, unfinished.done, unfinished.outputs) == ("study", 0, 12)
    with database.transaction() as session:
        set_status(session, "study", CampaignStatus.CLOSED)
    assert cautions(database, "study").unfinished == ()
