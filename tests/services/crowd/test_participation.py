"""Entering a campaign: consent, comprehension questions, qualifications, and completion codes only when they are earned."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotAllowed, NotFound
from spanplat.models import Annotation, Assignment, Campaign, CampaignStatus, Participation, Qualification
from spanplat.platforms.platform import Arrival, Departure
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import DefinitionSource
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.amendments import amend
from spanplat.services.campaigns.annotators import find_or_add_annotator
from spanplat.services.campaigns.lifecycle import find_campaign, set_status
from spanplat.services.crowd.claims import NothingLeft
from spanplat.services.crowd.leases import expire_leases
from spanplat.services.crowd.pages import list_items
from spanplat.services.crowd.participation import (
    Stage,
    Visit,
    answer_comprehension,
    enter,
    enter_by_invitation,
    find_visit,
    give_consent,
    invite,
    way_back,
)
from spanplat.services.crowd.saving import save_item
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from tests.services.crowd.test_annotating import LATER, NOW, arrive, complete_all
from tests.services.crowd.test_claims import at_once

Launch = Callable[..., Campaign]
Define = Callable[..., CampaignDefinition]

CODES = {"completed": "DONE123", "screened_out": "OUT123", "failed_attention": "ATT123", "no_consent": "BYE123"}
PROLIFIC = {"service": "prolific", "codes": CODES}
COMPREHENSION = {
    "questions": [
        {"label": "What do you mark?", "options": ["Errors", "Names"], "answer": "errors"},
        {"label": "May marks overlap?", "options": ["Yes", "No"], "answer": "No"},
    ]
}
RIGHT = {"what-do-you-mark": "errors", "may-marks-overlap": "no"}
WRONG = RIGHT | {"may-marks-overlap": "yes"}


def consent(database: Database, visit: Visit, *, agreed: bool) -> Visit:
    with database.transaction() as session:
        return give_consent(session, visit.participation.token, agreed=agreed, now=NOW)


def answer(database: Database, visit: Visit, answers: dict[str, str], *, attempt: int | None = None) -> Visit:
    with database.transaction() as session:
        return answer_comprehension(session, visit.participation.token, answers, NOW, attempt=attempt)


def make(moves: Sequence[Callable[[], Visit]], number: int) -> Visit:
    return moves[number]()


def leave(database: Database, visit: Visit) -> Visit:
    with database.transaction() as session:
        return withdraw(session, visit.participation.token)


def seats_taken(database: Database) -> int:
    with database.reading() as session:
        taken = select(func.count()).select_from(Assignment).where(Assignment.annotator_id.is_not(None))
        return session.scalar(taken) or 0


def test_who_declines_has_ended_without_a_seat_and_stays_so(database: Database, launch: Launch) -> None:
    launch(consent={"text": "We keep your marks."}, platform=PROLIFIC)
    visit = arrive(database, "ann")
    declined = consent(database, visit, agreed=False)
    assert (declined.stage, declined.participation.ended) == (Stage.ENDED, "no_consent")
    assert way_back(declined).code == "BYE123"
    assert consent(database, visit, agreed=True).stage == Stage.ENDED
    assert arrive(database, "ann").stage == Stage.ENDED
    assert seats_taken(database) == 0


def test_consent_then_questions_then_work(database: Database, launch: Launch) -> None:
    launch(consent={"text": "We keep your marks."}, comprehension=COMPREHENSION)
    visit = arrive(database, "ann")
    assert answer(database, visit, RIGHT).stage == Stage.CONSENT
    assert consent(database, visit, agreed=True).stage == Stage.COMPREHENSION
    assert seats_taken(database) == 0
    assert answer(database, visit, RIGHT).stage == Stage.WORK
    assert seats_taken(database) == 1
    with database.reading() as session:
        assert find_visit(session, visit.participation.token).participation.comprehension_passed_at == NOW


def test_the_second_attempt_at_the_questions_counts_and_the_second_failure_ends(
    database: Database, launch: Launch
) -> None:
    launch(comprehension=COMPREHENSION, platform=PROLIFIC)
    slow, lost = arrive(database, "slow"), arrive(database, "lost")
    assert answer(database, slow, WRONG).stage == Stage.COMPREHENSION
    assert answer(database, slow, RIGHT).stage == Stage.WORK
    assert answer(database, lost, {}).stage == Stage.COMPREHENSION
    ended = answer(database, lost, WRONG)
    assert (ended.stage, ended.participation.ended) == (Stage.ENDED, "failed_comprehension")
    assert way_back(ended) == Departure()
    assert answer(database, lost, RIGHT).stage == Stage.ENDED
    assert seats_taken(database) == 1


def test_an_attempt_that_is_sent_twice_counts_once(database: Database, launch: Launch) -> None:
    launch(comprehension=COMPREHENSION, platform=PROLIFIC)
    visit = arrive(database, "ann")
    twice = at_once(2, lambda _: answer(database, visit, WRONG, attempt=1))
    assert [again.stage for again in twice] == [Stage.COMPREHENSION] * 2
    assert answer(database, visit, WRONG, attempt=1).participation.comprehension_attempts == 1
    assert answer(database, visit, RIGHT, attempt=2).stage == Stage.WORK
    assert answer(database, visit, WRONG, attempt=2).stage == Stage.WORK


def test_nobody_agrees_to_a_form_they_did_not_see(database: Database, launch: Launch, define: Define) -> None:
    launch(consent={"version": "1", "text": "We keep your marks."})
    visit = arrive(database, "ann")
    changed = define(consent={"version": "2", "text": "We publish your marks."}).model_dump(mode="json")
    with database.transaction() as session:
        amend(session, "study", DefinitionSource("study.yaml", changed, {}), "the marks are published")
        asked_anew = give_consent(session, visit.participation.token, agreed=True, now=NOW, version="1")
        assert (asked_anew.stage, asked_anew.participation.consented_at) == (Stage.CONSENT, None)
        agreed = give_consent(session, visit.participation.token, agreed=True, now=NOW, version="2")
    assert (agreed.stage, agreed.participation.consent_version) == (Stage.WORK, "2")


@pytest.mark.parametrize("policy", ["leave_out", "delete"])
def test_who_withdraws_after_their_time_ran_out_has_withdrawn_and_their_work_comes_back_in_no_visit(
    database: Database, launch: Launch, policy: str
) -> None:
    launch(annotators={"withdrawn": policy, "max_batches": 2}, platform=PROLIFIC)
    slow = arrive(database, "slow")
    complete_all(database, slow)
    arrive(database, "quick", now=LATER)
    with database.transaction() as session:
        expire_leases(session, slow.campaign.id, LATER)
    left = leave(database, slow)
    assert (left.stage, left.participation.ended, way_back(left).code) == (Stage.ENDED, "withdrawn", "BYE123")
    with database.reading() as session:
        kept = session.scalar(select(func.count()).select_from(Annotation))
    assert kept == (0 if policy == "delete" else 3)
    again = come_again(database, "slow")
    assert again.assignment is not None
    with database.reading() as session:
        assert {state.status for state in list_items(session, again.assignment)} == {"new"}


def test_withdrawing_while_the_work_is_submitted_ends_in_one_of_both(database: Database, launch: Launch) -> None:
    launch(annotators={"per_output": 6}, platform=PROLIFIC)
    for number in range(6):
        visit = arrive(database, f"person {number}")
        complete_all(database, visit)
        moves: list[Callable[[], Visit]] = [
            partial(leave, database, visit),
            partial(submit_batch, database, visit.participation.token, NOW),
        ]
        assert all(isinstance(done, Visit) for done in at_once(2, partial(make, moves)))
        with database.reading() as session:
            after = find_visit(session, visit.participation.token)
        assert after.assignment is not None
        ends = (after.participation.ended, after.assignment.status, way_back(after).code)
        assert ends in {("withdrawn", "returned", "BYE123"), (None, "submitted", "DONE123")}


ASKED = {"consent": {"text": "We keep your marks."}, "comprehension": COMPREHENSION}


def test_nobody_is_asked_anything_where_no_place_is_left_and_who_declines_has_declined(
    database: Database, launch: Launch
) -> None:
    launch(**ASKED, batches={"regular": 12})
    quick, slow, unsure, unwilling = (arrive(database, name) for name in ("quick", "slow", "unsure", "unwilling"))
    for visit in (quick, slow):
        consent(database, visit, agreed=True)
    assert answer(database, quick, RIGHT).stage == Stage.WORK
    refusals: list[Callable[[], Visit]] = [
        lambda: arrive(database, "late"),
        lambda: consent(database, unsure, agreed=True),
        lambda: answer(database, slow, WRONG, attempt=1),
    ]
    for refused in refusals:
        with pytest.raises(NothingLeft, match="all places in this study are taken"):
            refused()
    assert consent(database, unwilling, agreed=False).participation.ended == "no_consent"
    assert arrive(database, "later", now=LATER).stage == Stage.CONSENT, "a place has lapsed"
    leave(database, quick)
    assert answer(database, slow, WRONG, attempt=1).stage == Stage.COMPREHENSION, "no try was lost"


def test_where_further_annotators_are_wanted_there_is_a_place_when_all_are_taken(
    database: Database, launch: Launch
) -> None:
    launch(**ASKED, batches={"regular": 12}, annotators={"when_full": "redundancy", "redundancy": 1})
    for name in ("ann", "bob"):
        visit = consent(database, arrive(database, name), agreed=True)
        assert answer(database, visit, RIGHT).stage == Stage.WORK
    with pytest.raises(NothingLeft):
        arrive(database, "cleo")


@pytest.mark.parametrize("status", [CampaignStatus.PAUSED, CampaignStatus.CLOSED])
def test_a_campaign_that_is_not_open_asks_nobody_for_consent(
    database: Database, launch: Launch, status: CampaignStatus
) -> None:
    launch(**ASKED)
    asked = arrive(database, "ann")
    with database.transaction() as session:
        set_status(session, "study", status)
    with pytest.raises(Conflict, match=f"this study is {status}"):
        arrive(database, "bob")
    with pytest.raises(Conflict, match=f"this study is {status}"):
        consent(database, asked, agreed=True)


def test_only_who_passed_the_qualification_enters(database: Database, launch: Launch) -> None:
    launch(slug="exam")
    launch(qualification_required={"campaign": "exam"})
    with database.transaction() as session:
        exam = find_campaign(session, "exam")
        for person, status in (("ann", "passed"), ("bob", "failed")):
            annotator = find_or_add_annotator(session, "human", "prolific", person)
            session.add(Qualification(campaign_id=exam.id, annotator_id=annotator.id, status=status, score=0.5))
    assert arrive(database, "ann").stage == Stage.WORK
    for person in ("bob", "stranger"):
        with pytest.raises(NotAllowed, match="for people who passed its qualification; please return it"):
            arrive(database, person)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Participation)) == 1


@pytest.mark.parametrize(
    "service", [{"service": "prolific"}, {"service": "mturk"}, {"service": "direct"}, {"service": "other"}]
)
def test_no_code_is_given_before_it_is_earned(database: Database, launch: Launch, service: dict[str, Any]) -> None:
    launch(consent={"text": "We keep your marks."}, comprehension=COMPREHENSION, platform=service | {"codes": CODES})
    visit = arrive(database, "ann")
    assert way_back(visit) == Departure()
    visit = consent(database, visit, agreed=True)
    assert way_back(visit) == Departure()
    visit = answer(database, visit, RIGHT)
    assert way_back(visit) == Departure()
    complete_all(database, visit)
    with database.reading() as session:
        assert way_back(find_visit(session, visit.participation.token)) == Departure()
    assert way_back(submit_batch(database, visit.participation.token, NOW)).code == "DONE123"


def test_after_leaving_a_code_for_completed_work_is_out_of_reach(database: Database, launch: Launch) -> None:
    launch(platform=PROLIFIC)
    visit = arrive(database, "ann")
    complete_all(database, visit)
    with database.transaction() as session:
        withdraw(session, visit.participation.token)
    assert way_back(submit_batch(database, visit.participation.token, NOW)).code == "BYE123"


def test_leaving_after_submitting_changes_nothing(database: Database, launch: Launch) -> None:
    launch(platform=PROLIFIC)
    visit = arrive(database, "ann")
    complete_all(database, visit)
    submit_batch(database, visit.participation.token, NOW)
    with database.transaction() as session:
        assert withdraw(session, visit.participation.token).stage == Stage.DONE


def test_an_unknown_link_says_what_to_do(database: Database) -> None:
    with database.reading() as session, pytest.raises(NotFound, match="go back to where you got it"):
        find_visit(session, "none")
    with pytest.raises(NotFound, match="open the start link again"):
        save_item(database, "none", 1, Submission(revision=0, status="draft"), NOW)


def test_people_of_two_platforms_with_one_id_are_two_people(database: Database, launch: Launch) -> None:
    launch()
    with database.transaction() as session:
        campaign = find_campaign(session, "study")
        visits = [enter(session, campaign, Arrival(source, "ann", source, {}), NOW) for source in ("prolific", "mturk")]
    assert len({visit.participation.annotator_id for visit in visits}) == 2
    assert len({visit.participation.token for visit in visits}) == 2


def come_again(database: Database, person: str) -> Visit:
    return arrive(database, person, session_key=f"another visit of {person}")


def test_failed_questions_stay_failed_in_a_new_visit_and_tries_are_counted_over_visits(
    database: Database, launch: Launch
) -> None:
    launch(comprehension=COMPREHENSION, platform=PROLIFIC)
    lost = arrive(database, "lost")
    answer(database, lost, WRONG)
    half = come_again(database, "lost")
    assert (half.stage, half.participation.comprehension_attempts) == (Stage.COMPREHENSION, 1)
    assert answer(database, half, WRONG).stage == Stage.ENDED
    third = arrive(database, "lost", session_key="a third visit")
    assert (third.stage, third.participation.ended) == (Stage.ENDED, "failed_comprehension")
    assert answer(database, third, RIGHT).stage == Stage.ENDED


def test_visits_open_side_by_side_share_the_tries(database: Database, launch: Launch) -> None:
    launch(comprehension=COMPREHENSION, platform=PROLIFIC)
    first, second = arrive(database, "lost"), come_again(database, "lost")
    answer(database, first, WRONG, attempt=1)
    assert answer(database, second, RIGHT, attempt=1).stage == Stage.COMPREHENSION, "this try was made already"
    assert answer(database, second, WRONG, attempt=2).stage == Stage.ENDED
    assert answer(database, first, RIGHT, attempt=2).stage == Stage.ENDED


def test_who_passed_the_questions_is_not_asked_again(database: Database, launch: Launch) -> None:
    launch(comprehension=COMPREHENSION, annotators={"max_batches": 2})
    answer(database, arrive(database, "ann"), RIGHT)
    assert come_again(database, "ann").stage == Stage.WORK


def test_who_left_may_come_again(database: Database, launch: Launch) -> None:
    launch(consent={"text": "We keep your marks."}, annotators={"max_batches": 2})
    visit = consent(database, arrive(database, "ann"), agreed=True)
    with database.transaction() as session:
        withdraw(session, visit.participation.token)
    again = come_again(database, "ann")
    assert again.stage == Stage.CONSENT, "each visit is agreed to on its own"


def test_a_personal_link_leads_to_one_persons_work(database: Database, launch: Launch) -> None:
    campaign = launch(platform={"personal_links": True})
    with database.transaction() as session:
        ann, again, bob = (invite(session, campaign, name, NOW) for name in ("ann", "ann", "bob"))
    assert ann == again != bob
    assert seats_taken(database) == 0, "nobody holds a place before they come"
    with database.transaction() as session:
        visit = enter_by_invitation(session, campaign, ann, NOW)
        assert (visit.stage, visit.participation.annotator.external_id) == (Stage.WORK, "ann")
    with database.transaction() as session, pytest.raises(NotFound):
        enter_by_invitation(session, campaign, "guessed", NOW)


def test_people_of_a_platform_are_not_invited_by_name(database: Database, launch: Launch) -> None:
    campaign = launch(platform=PROLIFIC)
    with database.transaction() as session, pytest.raises(InvalidInput, match="from a platform"):
        invite(session, campaign, "ann", NOW)
