"""People who work at the same time are all answered, everything they were told is true, and every output gets what was promised."""

from collections.abc import Callable

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Assignment
from tests.asynchronous import apart
from tests.simulation.annotators import Ledger, Work
from tests.simulation.load import SHORT, SHORT_SAVES_AT_ONCE, SHORT_SAVES_SECONDS, Load, Outcome, measure, measure_saves
from tests.simulation.study import create_study
from tests.simulation.verification import find_losses
from tests.simulation.visits import Habit

WITH_EACH_DATABASE = pytest.mark.parametrize("kind", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    """A kind of database there is a server for."""
    if request.param == "postgresql":
        request.getfixturevalue("postgresql_server")  # skips where there is none
    return str(request.param)


def assert_sound(outcome: Outcome) -> None:
    assert outcome.measurements.errors == []
    assert outcome.problems == []


@WITH_EACH_DATABASE
def test_saves_without_a_pause_are_all_acknowledged_and_stored(kind: str) -> None:
    outcome = apart(measure_saves, kind, SHORT_SAVES_AT_ONCE, SHORT_SAVES_SECONDS, processes=2)
    assert_sound(outcome)
    assert outcome.saves > 0


@WITH_EACH_DATABASE
def test_a_crowd_in_haste_fills_every_place_once(kind: str) -> None:
    load: Load = SHORT["haste"]
    outcome = apart(measure, kind, load, processes=2)
    assert_sound(outcome)
    assert outcome.people == load.places


@WITH_EACH_DATABASE
def test_people_who_vanish_return_and_double_click_around_a_kill_break_no_promise(kind: str) -> None:
    load: Load = SHORT["troubled"]
    outcome = apart(measure, kind, load, processes=2)
    assert_sound(outcome)
    assert outcome.kills == 1
    assert min(outcome.seen[habit] for habit in Habit) > 0
    assert outcome.people > load.places


def test_the_audit_notices_what_is_not_as_promised(make_sqlite: Callable[[], str]) -> None:
    url = make_sqlite()
    create_study(url, batches=2, per_output=2, items=1)
    nobody = Ledger("nobody", token="a-token", acknowledged={"A text.": Work(1, "draft", ())})
    assert find_losses(url, []) == []
    assert [problem.split(":")[0] for problem in find_losses(url, [nobody])] == ["nobody, A text.…", "nobody"]
    assert len(find_losses(url, [], filled=True)) == 2
    database = Database(url)
    with database.transaction() as session:
        session.delete(session.scalars(select(Assignment).limit(1)).one())
    database.dispose()
    assert [problem.partition(" ")[2] for problem in find_losses(url, [])] == ["1 has 1 places where 2 were promised"]
