"""Pay of people: the outcome of every visit, bonuses for passed checks, and platform ids in the pay files only."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta

from spanplat.db import Database
from spanplat.models import Annotator, Campaign
from spanplat.platforms.rules import Money
from spanplat.services.campaigns.exports import export_records
from spanplat.services.crowd.pay import bonus_file, list_people, pay_figures, pay_file
from spanplat.services.crowd.reviewing import replace_work
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from tests.services.crowd.test_annotating import NOW, arrive, complete_all
from tests.services.crowd.test_checks import BLATANT, START, checked_position, finish, mark, save, study

Launch = Callable[..., Campaign]


def test_every_visit_stands_in_the_pay_file_and_bonuses_go_to_those_who_passed(
    database: Database, launch: Launch
) -> None:
    platform = {
        "service": "prolific",
        "reward": "£2.00",
        "bonus": "£0.50",
        "codes": {"completed": "GOOD", "no_consent": "BYE"},
    }
    campaign = launch(**study(BLATANT | {"on_fail": "withhold_bonus"}, platform=platform))
    careful, careless, gone = arrive(database, "careful"), arrive(database, "careless"), arrive(database, "gone")
    save(database, careful, checked_position(database, careful), spans=[mark(START, START + 5)])
    finish(database, careful)
    complete_all(database, careless)
    submit_batch(database, careless.participation.token, NOW + timedelta(minutes=20))
    with database.transaction() as session:
        withdraw(session, gone.participation.token)
    with database.reading() as session:
        rows = list(csv.DictReader(io.StringIO(pay_file(session, campaign))))
        assert bonus_file(session, campaign) == "careful,0.50\n"
        figures = pay_figures(campaign, list_people(session, campaign))
        people = list_people(session, campaign)
        exported = "".join(record.model_dump_json() for record in export_records(session, "study"))
    assert [(row["platform_id"], row["outcome"], row["code"], row["bonus"], row["failed_checks"]) for row in rows] == [
        ("careful", "completed", "GOOD", "0.50", ""),
        ("careless", "completed", "GOOD", "", "blatant"),
        ("gone", "withdrawn", "BYE", "", ""),
    ]
    assert (figures.submitted, figures.median_minutes, figures.bonuses) == (2, 10.0, 1)
    assert figures.hourly == Money("£", 12.0)
    assert "care" not in exported
    assert "care" not in str(people)


def test_a_bonus_that_no_check_withholds_is_earned_by_everybody_who_submits_work_that_stands(
    database: Database, launch: Launch
) -> None:
    bonus = {"service": "prolific", "bonus": "£0.50", "codes": {"completed": "GOOD", "failed_attention": "ATT"}}
    asked = {"label": "Choose blue.", "key": "colour", "type": "choice", "options": ["Blue", "Red"], "required": False}
    instructed = {"name": "blue", "type": "instructed", "question": "colour", "answer": "blue"}
    platform = bonus | {"minutes": 4}
    parts = {"annotators": {"per_output": 4}, "questions": [asked], "platform": platform}
    campaign = launch(**study(BLATANT | {"on_fail": "exclude"}, instructed, **parts))
    left_out, inattentive, set_aside = (arrive(database, name) for name in ("left-out", "inattentive", "set-aside"))
    for visit, colour in ((left_out, "blue"), (inattentive, "red"), (set_aside, "blue")):
        for position in range(1, 6):
            save(database, visit, position, answers={"colour": colour})
        submit_batch(database, visit.participation.token, NOW)
    arrive(database, "at-work")
    with database.transaction() as session:
        name = session.get_one(Annotator, set_aside.participation.annotator_id).pseudonym
        replace_work(session, "study", name, "copied from somewhere")
    with database.reading() as session:
        assert bonus_file(session, campaign) == "left-out,0.50\n"
        assert [person.outcome for person in list_people(session, campaign)] == [
            "completed",
            "failed_attention",
            "completed",
            "working",
        ]


def test_without_a_promise_nobody_earns_a_bonus(database: Database, launch: Launch) -> None:
    campaign = launch(**study(BLATANT | {"on_fail": "withhold_bonus"}))
    visit = arrive(database, "careful")
    save(database, visit, checked_position(database, visit), spans=[mark(START, START + 5)])
    finish(database, visit)
    with database.reading() as session:
        assert [person.bonus for person in list_people(session, campaign)] == [False]


def test_mturk_gets_its_own_columns(database: Database, launch: Launch) -> None:
    campaign = launch(**study(BLATANT, title="Errors", platform={"service": "mturk", "bonus": "$1"}))
    visit = arrive(database, "ann")
    finish(database, visit)
    with database.reading() as session:
        header, line = bonus_file(session, campaign).splitlines()
    assert header == "WorkerId,AssignmentId,BonusAmount,Reason"
    assert line.startswith("ann,")
    assert line.endswith(",1.00,Bonus for Errors")


def test_an_id_that_a_spreadsheet_would_run_is_written_so_that_none_does(database: Database, launch: Launch) -> None:
    campaign = launch(**study(BLATANT, platform={"service": "prolific", "bonus": "£1"}))
    arrive(database, "=HYPERLINK(1)")
    with database.reading() as session:
        [row] = csv.DictReader(io.StringIO(pay_file(session, campaign)))
    assert row["platform_id"] == "'=HYPERLINK(1)"
