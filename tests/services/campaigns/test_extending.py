"""Running campaigns get more annotators, more outputs and replaced work, and extra seats when all are taken."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Annotator, Assignment, Batch, BatchItem, Campaign, Event, ItemOutput, ItemRole
from spanplat.schemas.submission import Submission
from spanplat.services.agreement.sides import Filters, load_side
from spanplat.services.campaigns.extending import Extension, ExtensionRequest, extend, plan_extension, raise_annotators
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.progress import list_progress
from spanplat.services.crowd.claims import NothingLeft
from spanplat.services.crowd.participation import Stage, Visit
from spanplat.services.crowd.reviewing import replace_work
from spanplat.services.crowd.saving import KeptAsLate, save_item
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from tests.services.crowd.test_annotating import LATER, NOW, arrive, complete_all
from tests.services.crowd.test_claims import at_once, come_in

Launch = Callable[..., Campaign]


def seats(database: Database) -> Counter[int]:
    """Return the number of current seats by batch number."""
    with database.reading() as session:
        rows = session.execute(
            select(Batch.number).join(Assignment).where(Assignment.status.not_in(("returned", "expired", "rejected")))
        )
        return Counter(number for (number,) in rows)


def finish(database: Database, person: str) -> None:
    visit = arrive(database, person)
    complete_all(database, visit)
    assert submit_batch(database, visit.participation.token, NOW).stage == Stage.DONE


def pseudonym(database: Database, person: str) -> str:
    with database.reading() as session:
        return session.scalars(select(Annotator.pseudonym).where(Annotator.external_id == person)).one()


def add_outputs(database: Database, **wish: Any) -> Extension:
    with database.reading() as session:
        plan = plan_extension(session, "study", ExtensionRequest(adds_outputs=True, **wish))
    return extend(database, plan)


@pytest.mark.parametrize(
    ("before", "after", "extra"), [(1, 2, 4), (1, 1.5, 2), (1.25, 1.5, 1), (1.5, 2.25, 3), (1.5, 3, 6)]
)
def test_raising_adds_the_seats_that_are_missing_and_no_others(
    database: Database, launch: Launch, before: float, after: float, extra: int
) -> None:
    launch(annotators={"per_output": before})  # 4 batches
    finish(database, "ann")
    first = seats(database)
    with database.transaction() as session:
        assert raise_annotators(session, "study", after).seats == extra
    second = seats(database)
    assert sum(second.values()) == round(4 * after)
    assert all(second[batch] >= first[batch] for batch in first)
    assert max(second.values()) - min(second.values()) <= 1
    with database.reading() as session:
        campaign = find_campaign(session, "study")
        assert campaign.definition["annotators"]["per_output"] == after
        verbs = session.scalars(select(Event.verb)).all()
    assert "campaign.extended" in verbs


def test_every_group_gets_what_is_added(database: Database, launch: Launch) -> None:
    launch(groups=[{"name": "A"}, {"name": "B"}], batches={"regular": 6})
    with database.transaction() as session:
        raise_annotators(session, "study", 2)
        rows = session.execute(
            select(Assignment.batch_id, Assignment.group, func.count()).group_by("batch_id", "group")
        )
        assert {count for _, _, count in rows} == {2}


def test_annotators_only_become_more(database: Database, launch: Launch) -> None:
    launch(annotators={"per_output": 2})
    with database.transaction() as session, pytest.raises(Conflict, match="promises 2 annotators per output already"):
        raise_annotators(session, "study", 1.5)


def test_new_outputs_get_batches_of_their_own_with_checks(database: Database, launch: Launch) -> None:
    check = {"name": "clean", "type": "must_abstain", "item": {"split": "test", "example": "0", "system": "alder"}}
    launch(data={"dataset": "reports", "systems": ["alder"]}, batches={"regular": 3, "attention": 1}, checks=[check])
    finish(database, "ann")
    added = add_outputs(database, systems=["birch"])
    assert (added.outputs, added.batches, added.seats) == (6, 2, 2)
    with database.reading() as session:
        items = session.execute(
            select(Batch.number, BatchItem.role, ItemOutput.output_id)
            .join(BatchItem, BatchItem.batch_id == Batch.id)
            .join(ItemOutput, ItemOutput.item_id == BatchItem.item_id)
        ).all()
        regular = [output for _, role, output in items if role == ItemRole.REGULAR]
        assert len(regular) == len(set(regular)) == 11
        assert Counter(number for number, role, _ in items if role == ItemRole.ATTENTION) == dict.fromkeys(
            range(1, 5), 1
        )
        assert len({output for _, role, output in items if role == ItemRole.ATTENTION}) == 1
    with pytest.raises(Conflict, match="there is nothing to add"):
        add_outputs(database)


def test_a_higher_limit_draws_further_outputs(database: Database, launch: Launch) -> None:
    launch(data={"dataset": "reports", "limit": 5}, batches={"regular": 5})
    assert add_outputs(database, limit=7).outputs == 2
    with pytest.raises(Conflict, match="raise the limit"):
        add_outputs(database)


def test_replaced_work_is_kept_in_no_figure_and_done_again_by_somebody_else(database: Database, launch: Launch) -> None:
    campaign = launch(batches={"regular": 12})
    finish(database, "careless")
    with database.transaction() as session:
        assert replace_work(session, "study", pseudonym(database, "careless"), "marked nothing at all") == 1
    with pytest.raises(NothingLeft):
        arrive(database, "careless", session_key="another visit")
    finish(database, "careful")
    with database.reading() as session:
        assert Counter(session.scalars(select(Assignment.status))) == {"rejected": 1, "submitted": 1}
        assert len(load_side(session, campaign, ["wrong"], Filters()).works) == 12
        detail = session.scalars(select(Event.detail).where(Event.verb == "work.replaced")).one()
    assert detail is not None
    assert detail["reason"] == "marked nothing at all"


def test_replacing_wants_submitted_work_and_a_reason(database: Database, launch: Launch) -> None:
    launch()
    arrive(database, "ann")
    with database.transaction() as session, pytest.raises(NotFound, match="has no submitted work"):
        replace_work(session, "study", pseudonym(database, "ann"), "because")
    with database.transaction() as session, pytest.raises(InvalidInput, match="say why"):
        replace_work(session, "study", "p-x", " ")


REDUNDANT = {"batches": {"regular": 12}, "annotators": {"when_full": "redundancy", "redundancy": 2}}


def test_who_comes_when_all_is_taken_works_beside_the_others_up_to_the_limit(
    database: Database, launch: Launch
) -> None:
    campaign = launch(**REDUNDANT)
    for person in ("ann", "bob", "cem"):
        finish(database, person)
    with pytest.raises(NothingLeft):
        arrive(database, "dia")
    with database.reading() as session:
        rows = session.execute(select(Assignment.slot, Assignment.extra).order_by(Assignment.slot)).all()
        assert [tuple(row) for row in rows] == [(0, False), (1, True), (2, True)]
        assert len(load_side(session, campaign, ["wrong"], Filters()).works) == 36
        (progress,) = list_progress(session, [campaign], NOW)
    assert (progress.done, progress.promised) == (12, 12), "what was promised is counted, not what came beside it"


@pytest.fixture
def lapsed_extra(database: Database, launch: Launch) -> Callable[[int], Visit]:
    """Let an extra seat lapse and another person take an extra seat; return the visit of the first person."""

    def make(redundancy: int) -> Visit:
        launch(batches={"regular": 12}, annotators={"when_full": "redundancy", "redundancy": redundancy})
        finish(database, "ann")
        slow = arrive(database, "slow")
        quick = arrive(database, "quick", now=LATER)
        assert quick.assignment is not None
        assert quick.assignment.extra
        with database.reading() as session:
            assert Counter(session.scalars(select(Assignment.status))) == {"submitted": 1, "expired": 1, "held": 1}
        return slow

    return make


def test_a_further_seat_that_lapses_is_not_replaced_and_stays_lost_where_no_more_are_wanted(
    database: Database, lapsed_extra: Callable[[int], Visit]
) -> None:
    slow = lapsed_extra(1)
    with pytest.raises(NothingLeft):
        arrive(database, "slow", now=LATER)
    with pytest.raises(KeptAsLate):
        save_item(database, slow.participation.token, 1, Submission(revision=0, status="draft"), LATER)


def test_a_further_seat_that_lapses_can_be_taken_back_where_one_more_is_wanted(
    database: Database, lapsed_extra: Callable[[int], Visit]
) -> None:
    slow = lapsed_extra(2)
    back = arrive(database, "slow", now=LATER)
    assert slow.assignment is not None
    assert back.assignment is not None
    assert (back.assignment.id, back.assignment.status) == (slow.assignment.id, "held")


def test_many_at_once_never_make_more_further_seats_than_wanted(database: Database, launch: Launch) -> None:
    launch(**REDUNDANT)
    at_once(8, lambda number: come_in(database, f"p{number}", f"s{number}", NOW))
    assert seats(database) == {1: 3}


def test_raising_makes_further_seats_promised_ones(database: Database, launch: Launch) -> None:
    launch(**REDUNDANT)
    for person in ("ann", "bob"):
        finish(database, person)
    with database.transaction() as session:
        assert raise_annotators(session, "study", 3).seats == 1
        assert Counter(session.scalars(select(Assignment.extra))) == {False: 3}


def test_groups_fill_at_the_same_pace(database: Database, launch: Launch) -> None:
    launch(groups=[{"name": "A"}, {"name": "B"}], batches={"regular": 2}, annotators={"per_output": 1})
    groups: Counter[Any] = Counter()
    for number in range(12):
        visit = arrive(database, f"p{number}")
        assert visit.assignment is not None
        groups[visit.assignment.group] += 1
        assert max(groups.values()) - min(groups["a"], groups["b"]) <= 1


def test_a_lapsed_seat_is_taken_back_by_the_start_link_as_long_as_nobody_has_it(
    database: Database, launch: Launch
) -> None:
    launch(batches={"regular": 6})
    slow, other = arrive(database, "slow"), arrive(database, "other")
    arrive(database, "third", now=LATER)  # both leases ran out; the first seat goes to the third person
    back, late = arrive(database, "other", now=LATER), LATER + timedelta(minutes=1)
    assert (slow.assignment, other.assignment, back.assignment) != (None, None, None)
    assert back.assignment is not None
    assert other.assignment is not None
    assert back.assignment.id == other.assignment.id
    with pytest.raises(NothingLeft):
        arrive(database, "slow", now=late)


def test_two_who_raise_at_once_are_served_one_after_the_other(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 6})  # 2 batches

    def raise_to(number: int) -> None:
        with database.transaction() as session:
            raise_annotators(session, "study", 2 + number)

    at_once(3, raise_to)
    with database.reading() as session:
        definition = find_campaign(session, "study").definition
    assert definition["annotators"]["per_output"] == 4
    assert seats(database) == {1: 4, 2: 4}


def test_places_can_be_taken_given_back_and_lost_while_annotators_are_added(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 6}, annotators={"per_output": 4})  # 2 batches of 4 seats
    tokens = [arrive(database, f"slow{number}").participation.token for number in range(6)]

    def act(number: int) -> object:
        if number < 2:
            with database.transaction() as session:
                return raise_annotators(session, "study", 5 + number)
        if number < 5:
            with database.transaction() as session:
                return withdraw(session, tokens[number])
        return come_in(database, f"quick{number}", f"quick{number}", LATER)

    results = at_once(8, act)
    assert not [result for result in results if isinstance(result, NothingLeft)]
    assert seats(database) == {1: 6, 2: 6}
