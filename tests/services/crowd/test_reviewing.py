"""Review files for platforms: work that stands is approved, and only enough failed attention checks are a reason to reject."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.models import Annotator, Campaign
from spanplat.platforms.arrivals import read_arrival
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.participation import Stage, Visit, enter, try_again
from spanplat.services.crowd.pay import list_people
from spanplat.services.crowd.reviewing import approvals_file, rejections_file, replace_work
from spanplat.services.crowd.saving import save_item
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from tests.services.crowd.test_annotating import NOW, text_of
from tests.services.crowd.test_checks import BLATANT, CHECKED, CLEAN, study
from tests.services.crowd.test_qualifying import come as enter_exam
from tests.services.crowd.test_qualifying import exam, take

Launch = Callable[..., Campaign]

COLOUR = {"key": "colour", "type": "choice", "label": "Choose blue.", "options": ["Blue", "Red"], "required": False}
BLUE = {"name": "blue", "type": "instructed", "question": "colour", "answer": "blue"}
CODES = {"completed": "GOOD", "screened_out": "OUT", "failed_attention": "ATT", "no_consent": "BYE"}
LINKS: Mapping[str, Callable[[str], dict[str, str]]] = {
    "prolific": lambda who: {"PROLIFIC_PID": who, "STUDY_ID": "study", "SESSION_ID": f"sub-{who}"},
    "mturk": lambda who: {"workerId": who, "hitId": "HIT", "assignmentId": f"sub-{who}", "turkSubmitTo": ""},
    "other": lambda who: {"participant": who, "study": "study", "session": f"sub-{who}"},
}


def come(database: Database, service: str, who: str) -> Visit:
    with database.transaction() as session:
        campaign = find_campaign(session, "study")
        return enter(session, campaign, read_arrival(definition_of(campaign).platform, LINKS[service](who)), NOW)


def work(database: Database, visit: Visit, *, red: int = 0, marks_clean: bool = False) -> None:
    """Complete and submit the batch with wrong answers to some instructed questions."""
    token = visit.participation.token
    for position in range(1, 6):
        text = text_of(database, visit, position)
        spans = (
            [{"start": 0, "end": 5, "category": "wrong", "text": text[:5]}] if marks_clean and text == CHECKED else []
        )
        answers = {"colour": "red" if position <= red else "blue"}
        content = {"revision": 0, "status": "complete", "spans": spans, "answers": answers}
        if save_item(database, token, position, Submission.model_validate(content), NOW).ended:
            return
    submit_batch(database, token, NOW)


def crowd(database: Database, launch: Launch, service: str, minutes: float = 10) -> Campaign:
    """Let six people come: careful, inattentive once and twice, screened out, replaced, and one who withdrew."""
    platform = {"service": service, "minutes": minutes, "codes": CODES}
    screen = CLEAN | {"on_fail": "screen_out"}
    parts = {"annotators": {"per_output": 9}, "questions": [COLOUR], "platform": platform}
    campaign = launch(**study(screen, BLUE, **parts))
    work(database, come(database, service, "careful"))
    work(database, come(database, service, "once"), red=1)
    work(database, come(database, service, "twice"), red=2)
    work(database, come(database, service, "screened"), marks_clean=True)
    aside = come(database, service, "aside")
    work(database, aside)
    gone = come(database, service, "gone")
    come(database, service, "working")
    with database.transaction() as session:
        withdraw(session, gone.participation.token)
        replace_work(session, "study", session.get_one(Annotator, aside.participation.annotator_id).pseudonym, "copied")
    return campaign


def rows_of(content: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(content)))


@pytest.mark.parametrize("service", ["prolific", "other"])
def test_approvals_are_ids_one_a_line_of_those_whose_submitted_work_stands(
    database: Database, launch: Launch, service: str
) -> None:
    campaign = crowd(database, launch, service)
    with database.reading() as session:
        assert approvals_file(session, campaign) == "careful\nonce\n"


def test_rejections_are_those_who_failed_as_many_attention_checks_as_the_rules_ask_for_with_the_reason(
    database: Database, launch: Launch
) -> None:
    campaign = crowd(database, launch, "prolific")
    with database.reading() as session:
        [row] = rows_of(rejections_file(session, campaign))
    assert (row["platform_id"], row["submission"]) == ("twice", "sub-twice")
    assert row["reason"].startswith("2 answers were another than the one that the question itself asked to choose.")
    assert "a study of 5 minutes or more, 2 such answers" in row["reason"]
    assert len(row["reason"]) >= 100


def test_one_failed_attention_check_is_a_reason_in_a_short_study_alone(database: Database, launch: Launch) -> None:
    campaign = crowd(database, launch, "prolific", minutes=4)
    with database.reading() as session:
        rows = rows_of(rejections_file(session, campaign))
        assert approvals_file(session, campaign) == "careful\n"
    assert [row["platform_id"] for row in rows] == ["once", "twice"]
    assert "1 answer was" in rows[0]["reason"]
    assert "less than 5 minutes, 1 such answer is" in rows[0]["reason"]


def test_mturk_takes_reviewed_results_and_pays_those_whom_a_check_screened_out(
    database: Database, launch: Launch
) -> None:
    campaign = crowd(database, launch, "mturk")
    with database.reading() as session:
        approvals, rejections = approvals_file(session, campaign), rejections_file(session, campaign)
    assert approvals.splitlines() == [
        "HITId,AssignmentId,WorkerId,Approve,Reject",
        "HIT,sub-careful,careful,X,",
        "HIT,sub-once,once,X,",
        "HIT,sub-screened,screened,X,",
    ]
    [row] = rows_of(rejections)
    assert (row["AssignmentId"], row["Approve"]) == ("sub-twice", "")
    assert row["Reject"].startswith("2 answers were another")


def test_missing_a_hidden_error_is_approved_and_never_a_reason_to_reject(database: Database, launch: Launch) -> None:
    hidden, fast = BLATANT | {"on_fail": "exclude"}, {"name": "fast", "type": "min_seconds", "seconds": 60}
    campaign = launch(**study(hidden, fast, questions=[COLOUR], platform={"service": "prolific", "codes": CODES}))
    work(database, come(database, "prolific", "careless"))
    with database.reading() as session:
        assert approvals_file(session, campaign) == "careless\n"
        assert rows_of(rejections_file(session, campaign)) == []


def test_who_began_another_try_is_still_paid_for_the_one_that_was_submitted(database: Database, launch: Launch) -> None:
    campaign = launch(**exam(given={"attempts": 2}))
    failed = take(database, enter_exam(database, "exam", "ann"), "")
    with database.transaction() as session:
        assert try_again(session, failed.participation.token, NOW).stage == Stage.WORK
    with database.reading() as session:
        [person] = list_people(session, campaign)
        assert (person.outcome, person.stands) == ("completed", True)
        assert approvals_file(session, campaign) == "ann\n"


def test_without_a_platform_there_is_nothing_to_approve(database: Database, launch: Launch) -> None:
    campaign = launch(**study(BLATANT, platform={"service": "direct"}))
    with database.reading() as session:
        for write in (approvals_file, rejections_file):
            with pytest.raises(InvalidInput, match="direct links"):
                write(session, campaign)
