"""Edge cases of seats: leases that end during a submission, clocks that jump, closed campaigns, groups after screen-outs."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import Conflict, Gone
from spanplat.models import Annotation, Assignment, AssignmentStatus, Campaign, CampaignStatus
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.lifecycle import set_status
from spanplat.services.crowd.claims import NothingLeft
from spanplat.services.crowd.participation import Stage, Visit, enter_by_invitation, find_visit, give_consent, try_again
from spanplat.services.crowd.saving import save_item
from spanplat.services.crowd.submitting import submit_batch
from tests.services.crowd.test_annotating import NOW, arrive, complete_all, marking, text_of
from tests.services.crowd.test_checks import CLEAN, checked_position, mark, save, study
from tests.services.crowd.test_claims import at_once
from tests.services.crowd.test_qualifying import QUOTE, come, exam, take

Launch = Callable[..., Campaign]

LEASE = timedelta(minutes=30)
ONE_SEAT: dict[str, Any] = {"batches": {"regular": 12}, "annotators": {"lease_minutes": 30}}
INSTANT = timedelta(microseconds=1)


def statuses(database: Database) -> Counter[str]:
    with database.reading() as session:
        return Counter(session.scalars(select(Assignment.status)))


def visit_of(database: Database, visit: Visit) -> Visit:
    with database.reading() as session:
        return find_visit(session, visit.participation.token)


def test_at_the_very_instant_a_lease_ends_its_seat_is_still_held(database: Database, launch: Launch) -> None:
    launch(**ONE_SEAT)
    ann = arrive(database, "ann")
    complete_all(database, ann)
    with pytest.raises(NothingLeft):
        arrive(database, "bob", now=NOW + LEASE)
    assert submit_batch(database, ann.participation.token, NOW + LEASE).stage == Stage.DONE


def test_after_that_instant_it_is_who_needs_it_and_the_work_submitted_too_late_is_kept(
    database: Database, launch: Launch
) -> None:
    launch(**ONE_SEAT)
    ann = arrive(database, "ann")
    complete_all(database, ann)
    bob = arrive(database, "bob", now=NOW + LEASE + INSTANT)
    with pytest.raises(Conflict, match="the place on this batch is gone"):
        submit_batch(database, ann.participation.token, NOW + LEASE + INSTANT)
    assert visit_of(database, ann).stage == Stage.LAPSED
    assert bob.stage == Stage.WORK
    with database.reading() as session:
        assert ann.assignment is not None
        kept = session.scalars(select(Annotation.status).where(Annotation.assignment_id == ann.assignment.id)).all()
    assert kept == ["complete"] * 12


@pytest.mark.parametrize("attempt", range(3))
def test_submitting_a_lapsed_batch_while_somebody_comes_for_it_leaves_it_to_one_of_both(
    database: Database, launch: Launch, attempt: int
) -> None:
    del attempt
    launch(**ONE_SEAT)
    ann = arrive(database, "ann")
    complete_all(database, ann)
    late = NOW + 2 * LEASE
    acts: tuple[Callable[[], Visit], ...] = (
        lambda: submit_batch(database, ann.participation.token, late),
        lambda: arrive(database, "bob", now=late),
    )
    submitted, came = at_once(2, lambda number: acts[number]())
    if isinstance(came, NothingLeft):
        assert submitted.stage == Stage.DONE
        assert statuses(database) == {"submitted": 1}
    else:
        assert isinstance(submitted, Conflict) or submitted.stage == Stage.LAPSED
        assert statuses(database) == {"expired": 1, "held": 1}


def test_a_try_begun_by_a_clock_that_runs_behind_is_the_one_at_hand(database: Database, launch: Launch) -> None:
    launch(**exam(given={"attempts": 2}))
    failed = take(database, come(database, "exam", "ann"), "")
    behind = NOW - timedelta(hours=1)
    with database.transaction() as session:
        again = try_again(session, failed.participation.token, behind)
    assert again.stage == Stage.WORK
    passed = take(database, again, QUOTE, now=behind)
    assert passed.standing is not None
    assert (passed.standing.status, passed.standing.attempts) == ("passed", 2)


def test_a_clock_that_jumps_ahead_and_back_costs_nobody_their_work(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 6}, annotators={"lease_minutes": 30})
    ann = arrive(database, "ann")
    save_item(database, ann.participation.token, 1, marking(text_of(database, ann, 1)), NOW)
    arrive(database, "bob", now=NOW + timedelta(days=1))  # returns the seat of ann, and takes the other batch or hers
    with database.transaction() as session:
        back = enter_by_invitation(session, ann.campaign, ann.participation.token, NOW + INSTANT)
    assert back.stage == Stage.WORK
    with database.reading() as session:
        assert session.scalars(select(Annotation.status)).all() == ["complete"]
    assert statuses(database)["held"] == 2


@pytest.mark.parametrize("status", [CampaignStatus.PAUSED, CampaignStatus.CLOSED])
def test_who_has_begun_goes_on_and_finishes_whatever_becomes_of_the_campaign(
    database: Database, launch: Launch, status: CampaignStatus
) -> None:
    launch(batches={"regular": 6}, annotators={"lease_minutes": 30})
    at_work, away = arrive(database, "at-work"), arrive(database, "away")
    with database.transaction() as session:
        set_status(session, "study", status)
    assert arrive(database, "at-work").assignment is not None, "a reload finds the seat"
    complete_all(database, at_work)
    assert submit_batch(database, at_work.participation.token, NOW).stage == Stage.DONE
    later = NOW + 3 * LEASE
    assert arrive(database, "away", now=later).stage == Stage.WORK, "who was away comes back to a place nobody has"
    complete_all(database, away, now=later)
    assert submit_batch(database, away.participation.token, later).stage == Stage.DONE
    with pytest.raises(Conflict, match=f"this study is {status}"):
        arrive(database, "new", now=later)


def test_no_further_try_is_offered_once_a_campaign_is_closed(database: Database, launch: Launch) -> None:
    launch(**exam(given={"attempts": 2}))
    failed = take(database, come(database, "exam", "ann"), "")
    assert failed.may_try_again
    with database.transaction() as session:
        set_status(session, "exam", CampaignStatus.CLOSED)
    with database.transaction() as session:
        again = try_again(session, failed.participation.token, NOW)
    assert (again.stage, again.may_try_again) == (Stage.DONE, False)


def test_groups_are_even_again_after_people_were_screened_out_of_one(database: Database, launch: Launch) -> None:
    groups = [{"key": "a", "name": "A"}, {"key": "b", "name": "B"}]
    stops = CLEAN | {"on_fail": "screen_out"}
    launch(**study(stops, groups=groups, annotators={"per_output": 6}))
    visits = [arrive(database, f"p{number}") for number in range(4)]
    of_a = [visit for visit in visits if visit.participation.group == "a"]
    assert len(of_a) == 2
    for visit in of_a:
        assert save(database, visit, checked_position(database, visit), spans=[mark(0, 5)]).ended
    came = [arrive(database, f"q{number}").participation.group for number in range(4)]
    assert Counter(came) == {"a": 3, "b": 1}


def test_a_further_seat_that_lapsed_is_a_place_for_whoever_is_asked_for_consent(
    database: Database, launch: Launch
) -> None:
    launch(
        batches={"regular": 12},
        annotators={"when_full": "redundancy", "redundancy": 1, "lease_minutes": 30},
        consent={"text": "What, who, how long."},
    )

    def agree(person: str, now: Any) -> Visit:
        token = arrive(database, person, now=now).participation.token
        with database.transaction() as session:
            return give_consent(session, token, agreed=True, now=now)

    done = agree("done", NOW)
    complete_all(database, done)
    submit_batch(database, done.participation.token, NOW)
    assert agree("slow", NOW).stage == Stage.WORK
    with pytest.raises(NothingLeft):
        arrive(database, "early", now=NOW + LEASE)
    assert agree("quick", NOW + 2 * LEASE).stage == Stage.WORK
    assert statuses(database) == {"submitted": 1, "expired": 1, "held": 1}


def test_a_page_whose_work_went_on_elsewhere_takes_no_save_and_can_have_it_back(
    database: Database, launch: Launch
) -> None:
    launch(annotators={"max_batches": 2})
    first = arrive(database, "ann", session_key="one")
    save_item(database, first.participation.token, 1, marking(text_of(database, first, 1)), NOW)
    second = arrive(database, "ann", session_key="two")
    assert first.assignment is not None
    assert second.assignment is not None
    assert second.assignment.id == first.assignment.id
    with pytest.raises(Gone, match="in another tab or by another link"):
        save_item(database, first.participation.token, 2, Submission(revision=0, status="complete"), NOW)
    with database.transaction() as session:
        back = enter_by_invitation(session, first.campaign, first.participation.token, NOW)
    assert back.assignment is not None
    assert back.assignment.id == first.assignment.id
    assert save_item(database, first.participation.token, 2, Submission(revision=0, status="complete"), NOW).revision


def test_who_is_screened_out_is_so_in_every_visit_that_had_not_begun(database: Database, launch: Launch) -> None:
    consent = {"text": "What, who, how long."}
    launch(**study(CLEAN | {"on_fail": "screen_out"}, consent=consent, annotators={"per_output": 3, "max_batches": 2}))
    begun, idle = (arrive(database, "ann", session_key=key) for key in ("one", "two"))
    bystander = arrive(database, "bob")
    with database.transaction() as session:
        begun = give_consent(session, begun.participation.token, agreed=True, now=NOW)
    assert save(database, begun, checked_position(database, begun), spans=[mark(0, 5)]).ended
    assert visit_of(database, idle).participation.ended == "screened_out"
    assert visit_of(database, bystander).stage == Stage.CONSENT
    assert statuses(database)[AssignmentStatus.RETURNED] == 1
