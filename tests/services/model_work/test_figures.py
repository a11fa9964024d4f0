"""Counts of a model's quotes by placement, on both databases."""

from collections.abc import Callable

from spanplat.db import Database
from spanplat.models import Campaign, Unplaced
from spanplat.services.model_work.figures import count_placements
from spanplat.services.model_work.running import run_campaign


def test_quotes_are_counted_by_rule_and_by_reason(database: Database, launch: Callable[..., Campaign]) -> None:
    campaign = launch(kind="llm", model={"provider": "overlap"})
    with database.reading() as session:
        empty = count_placements(session, campaign)
    assert (empty.quotes, empty.unplaced_percent) == (0, None)
    run = run_campaign(database, "study")
    with database.transaction() as session:
        session.add_all(
            Unplaced(campaign_id=campaign.id, kind=kind, record={}, reason="lost")
            for kind in ("span", "span", "annotation")
        )
    with database.reading() as session:
        found = count_placements(session, campaign)
    assert found.rules == {"exact": run.spans}
    assert found.reasons == {"lost": 2}
    assert found.unplaced_percent == 200 / (run.spans + 2)
