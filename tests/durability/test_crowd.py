"""A crowd that races, vanishes, returns and is replaced leaves every output with exactly the annotators it was promised."""

from spanplat.db import Database
from tests.simulation.crowd import simulate


def test_a_crowd_fills_a_campaign_as_promised(database: Database) -> None:
    report = simulate(database, workers=110, outputs=30, seed=3)
    assert report.broken == []
    assert (report.outputs, report.seats) == (30, 7 * 4)
    assert min(report.vanished, report.returned, report.withdrew, report.replaced) > 0
    assert report.largest_gap_between_groups <= 1
