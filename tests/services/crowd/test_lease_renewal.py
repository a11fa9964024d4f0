"""A lease lasts the full time after the last save, although not every save renews it."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import event, select
from sqlalchemy.exc import OperationalError

from spanplat.db import Database
from spanplat.models import Assignment, Campaign
from spanplat.schemas.submission import Submission
from spanplat.services.crowd.leases import GRACE
from spanplat.services.crowd.saving import save_item
from spanplat.services.crowd.submitting import submit_batch
from tests.services.crowd.test_annotating import NOW, arrive, complete_all

LEASE = timedelta(minutes=60)


def lease_of(database: Database) -> datetime:
    with database.reading() as session:
        lease = session.scalars(select(Assignment.lease_expires_at).where(Assignment.status == "held")).one()
    assert lease is not None
    return lease


def save(database: Database, token: str, revision: int, now: datetime) -> None:
    save_item(database, token, 1, Submission(revision=revision, status="draft"), now)


@pytest.mark.parametrize("gap", [0, 1, 7, 29, 30, 31, 59 * 60])
def test_after_every_save_the_seat_is_held_at_least_as_long_as_the_campaign_says(
    database: Database, launch: Callable[..., Campaign], gap: int
) -> None:
    launch(batches={"regular": 12})
    token = arrive(database, "ann").participation.token
    for number in range(6):
        now = NOW + number * timedelta(seconds=gap)
        save(database, token, number, now)
        assert LEASE <= lease_of(database) - now <= LEASE + GRACE


def test_saves_that_follow_soon_leave_the_lease_as_it_is(database: Database, launch: Callable[..., Campaign]) -> None:
    launch(batches={"regular": 12})
    token = arrive(database, "ann").participation.token
    save(database, token, 0, NOW + timedelta(seconds=1))
    renewed = lease_of(database)
    written: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *told: written.append(str(told[2])))
    save(database, token, 1, NOW + timedelta(seconds=20))
    assert any("UPDATE annotation" in statement for statement in written)
    assert not any(statement.startswith("UPDATE assignment") for statement in written)
    assert lease_of(database) == renewed
    save(database, token, 2, NOW + timedelta(seconds=40))
    assert lease_of(database) > renewed


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_whoever_submits_waits_for_a_save_that_leaves_the_lease_as_it_is(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    """Otherwise the scored work could differ from the stored work. (SQLite has only one writer at a time.)"""
    launch(batches={"regular": 12})
    visit = arrive(database, "ann")
    assert visit.assignment is not None
    token = visit.participation.token
    to_submit = select(Assignment.id).where(Assignment.id == visit.assignment.id).with_for_update(nowait=True)
    complete_all(database, visit)
    met: list[str] = []

    def try_to_submit(*told: object) -> None:
        if "DELETE FROM span" in str(told[2]):  # after the annotation was stored, before the save commits
            with (
                database.engine.connect() as other,
                pytest.raises(OperationalError, match="could not obtain lock") as refused,
            ):
                other.execute(to_submit)
            met.append(str(refused.value))

    event.listen(database.engine, "before_cursor_execute", try_to_submit)
    save_item(database, token, 1, Submission(revision=1, status="complete"), NOW + timedelta(seconds=5))
    event.remove(database.engine, "before_cursor_execute", try_to_submit)
    assert len(met) == 1
    assert submit_batch(database, token, NOW + timedelta(seconds=6)).stage == "done"
