"""From the door to the first item: consent, questions about the instructions, qualification, and codes only when earned."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.errors import NotAllowed, NotFound
from spanplat.models import Assignment, Campaign, Participation, Qualification
from spanplat.platforms.arrivals import Arrival
from spanplat.platforms.departures import Departure
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns import find_campaign
from spanplat.services.participation import (
    Stage,
    Visit,
    answer_comprehension,
    enter,
    find_or_add_annotator,
    find_visit,
    give_consent,
    way_back,
    withdraw,
)
from spanplat.services.saving import save_item
from spanplat.services.submitting import submit_batch
from tests.services.test_annotating import NOW, arrive, complete_all

Launch = Callable[..., Campaign]

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


def answer(database: Database, visit: Visit, answers: dict[str, str]) -> Visit:
    with database.transaction() as session:
        return answer_comprehension(session, visit.participation.token, answers, NOW)


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
