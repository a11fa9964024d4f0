"""A crowd that races, vanishes, returns and is replaced leaves every output with exactly the annotators it was promised."""

from spanplat.db import Database
from tests.simulation.crowd import simulate


def test_a_crowd_fills_a_campaign_as_promised(database: Database) -> None:
    # The crowd stops coming when every seat is filled. How many people that takes depends on who wins the races.
    report = simulate(database, workers=400, outputs=30, seed=3)
    assert report.broken == []
    assert (report.outputs, report.seats) == (30, 7 * 4)
    assert min(report.vanished, report.returned, report.withdrew, report.replaced) > 0
    assert report.largest_gap_between_groups <= 1
