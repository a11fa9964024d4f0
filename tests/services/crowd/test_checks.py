"""Checks are scored when their item is completed, and have the consequence that the definition names and no other."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import Gone, UserMessage
from spanplat.formats.native import write_jsonl
from spanplat.llm.providers.scripted import marking
from spanplat.models import Assignment, AssignmentStatus, Campaign, CheckResult
from spanplat.schemas.checks import GoldCheck
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.record import CheckRecord
from spanplat.schemas.span import MarkedSpan
from spanplat.schemas.submission import Submission
from spanplat.services.agreement.sides import Filters, load_side
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.check_report import list_screened_out, report_checks
from spanplat.services.crowd.check_results import screen_out_message
from spanplat.services.crowd.checks import (
    AnsweredItem,
    Completed,
    outcome_of,
    score_item,
    seconds_believed,
)
from spanplat.services.crowd.pages import list_items
from spanplat.services.crowd.participation import Stage, Visit, find_visit, way_back
from spanplat.services.crowd.saving import Saved, save_item
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from spanplat.services.model_work.running import run_campaign
from tests.services.crowd.test_annotating import NOW, arrive, text_of

Launch = Callable[..., Campaign]
Define = Callable[..., CampaignDefinition]

ITEM = {"split": "test", "example": "0", "system": "alder"}
CHECKED = "Alder: A short report."
BLATANT = {"name": "blatant", "type": "must_mark", "item": ITEM, "expected": {"quote": "short", "category": "wrong"}}
CLEAN = {"name": "clean", "type": "must_abstain", "item": ITEM}
START = CHECKED.index("short")


def study(*checks: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {
        "data": {"dataset": "reports", "examples": ["1", "2"]},
        "batches": {"regular": 4, "attention": 1},
        "annotators": {"per_output": 3},
        "checks": list(checks),
        "platform": {
            "service": "prolific",
            "codes": {"completed": "GOOD", "screened_out": "OUT", "failed_attention": "ATT"},
        },
    } | parts


def mark(start: int, end: int, category: str = "wrong") -> dict[str, Any]:
    return {"start": start, "end": end, "category": category, "text": CHECKED[start:end]}


def save(database: Database, visit: Visit, position: int, revision: int = 0, **content: Any) -> Saved:
    submission = Submission.model_validate({"revision": revision, "status": "complete"} | content)
    return save_item(database, visit.participation.token, position, submission, NOW)


def checked_position(database: Database, visit: Visit) -> int:
    return next(p for p in range(1, 6) if text_of(database, visit, p) == CHECKED)


def finish(database: Database, visit: Visit) -> Visit:
    assert visit.assignment is not None
    with database.reading() as session:
        states = list_items(session, visit.assignment)
    for state in states:
        if state.status != "complete":
            save(database, visit, state.position, state.revision)
    return submit_batch(database, visit.participation.token, NOW)


def marked(start: int, end: int, category: str) -> MarkedSpan:
    return MarkedSpan(start, end, category, CHECKED[start:end])


def scored(definition: CampaignDefinition, *spans: MarkedSpan, **answers: Any) -> dict[str, bool]:
    item = AnsweredItem(definition.checks[0].name, CHECKED, spans, answers, 3.0)
    return {outcome.name: outcome.passed for outcome in score_item(definition, item)}


@pytest.mark.parametrize(
    ("span", "parts", "passed"),
    [
        ((START, START + 5, "wrong"), {}, True),
        ((START + 4, START + 9, "wrong"), {}, True),
        ((START, START + 5, "unclear"), {}, False),
        ((START, START + 5, "unclear"), {"requires": "region"}, True),
        ((START, START + 5, "unclear"), {"expected": {"quote": "short"}}, True),
        ((0, 3, "wrong"), {}, False),
        ((0, 3, "wrong"), {"expected": {"category": "wrong"}}, True),
        ((0, START - 2, "wrong"), {}, False),
        ((0, START - 2, "wrong"), {"tolerance": 3}, True),
        ((START + 5, START + 8, "wrong"), {}, False),
        ((0, 3, "wrong"), {"expected": {"start": 2, "end": 5}}, True),
    ],
)
def test_a_must_mark_check_wants_a_span_on_the_region(
    define: Define, span: tuple[int, int, str], parts: dict[str, Any], passed: bool
) -> None:
    definition = define(checks=[BLATANT | parts])
    assert scored(definition, marked(*span)) == {"blatant": passed}
    assert scored(definition) == {"blatant": False}


def test_a_must_abstain_check_wants_nothing_marked(define: Define) -> None:
    definition = define(checks=[CLEAN])
    assert scored(definition) == {"clean": True}
    assert scored(definition, marked(0, 3, "unclear")) == {"clean": False}


def test_questions_and_times_are_checked_on_every_item(define: Define) -> None:
    question = {
        "key": "read",
        "type": "choice",
        "label": "Choose blue to show that you read this",
        "options": ["Red", "Blue"],
    }
    checks = [
        {"name": "obeys", "type": "instructed", "question": "read", "answer": "blue"},
        {"name": "fast", "type": "min_seconds", "seconds": 5},
    ]
    definition = define(checks=checks, questions=[question])
    item = AnsweredItem(None, "A text.", [], {"read": "blue"}, 4.9)
    assert {outcome.name: outcome.passed for outcome in score_item(definition, item)} == {"obeys": True, "fast": False}


@pytest.mark.parametrize(
    ("ticked", "passed"),
    [
        (["red", "blue"], True),
        (["blue", "red"], True),
        (["blue"], False),
        (["red", "green", "blue"], False),
        (None, False),
    ],
)
def test_boxes_to_tick_have_no_order(define: Define, ticked: list[str] | None, passed: bool) -> None:
    options = ["Red", "Green", "Blue"]
    question = {"key": "read", "type": "choices", "label": "Tick blue and red to show that you read this"}
    check = {"name": "obeys", "type": "instructed", "question": "read", "answer": ["blue", "red"]}
    definition = define(checks=[check], questions=[question | {"options": options}])
    item = AnsweredItem(None, "A text.", [], {} if ticked is None else {"read": ticked}, None)
    assert [outcome.passed for outcome in score_item(definition, item)] == [passed]


@pytest.mark.parametrize(
    ("claimed", "believed"),
    [(4.0, 4.0), (30.0, 8.0), (None, 8.0)],
)
def test_items_are_believed_the_time_that_the_seat_was_held_less_that_of_earlier_ones(
    claimed: float | None, believed: float
) -> None:
    item = Completed(NOW + timedelta(seconds=20), claimed)
    others = [Completed(NOW + timedelta(seconds=15), 12.0), Completed(NOW + timedelta(seconds=60), 99.0)]
    assert seconds_believed(NOW, item, others) == believed
    assert seconds_believed(None, item, others) == claimed, "nobody saw when it began"


@pytest.mark.parametrize("measure", ["char", "exact", "partial_credit"])
def test_a_gold_item_is_scored_by_the_measure_its_check_names(define: Define, measure: str) -> None:
    check = {
        "name": "gold",
        "type": "gold",
        "item": ITEM,
        "measure": measure,
        "golds": [[], [{"quote": "short", "category": "wrong"}]],
    }
    definition = define(checks=[check])
    assert isinstance(definition.checks[0], GoldCheck)
    assert scored(definition, marked(START, START + 5, "wrong")) == {"gold": True}
    assert scored(definition) == {"gold": True}
    assert scored(definition, marked(0, 3, "wrong")) == {"gold": False}


@pytest.mark.parametrize("measure", ["char", "exact", "partial_credit"])
def test_a_gold_span_without_a_category_may_have_any(define: Define, measure: str) -> None:
    golds = [[{"quote": "short"}, {"quote": "report"}, {"quote": "Alder", "category": "wrong"}]]
    check = {"name": "gold", "type": "gold", "item": ITEM, "measure": measure, "golds": golds, "minimum": 1}
    definition = define(checks=[check])
    alder, report = marked(0, 5, "wrong"), marked(START + 6, START + 12, "wrong")
    for category in ("wrong", "unclear"):
        assert scored(definition, alder, report, marked(START, START + 5, category)) == {"gold": True}
    # Of two marks on one expected span, only one is expected, and the order of the marks does not matter.
    twice = [marked(START, START + 5, "unclear"), marked(START, START + 2, "wrong")]
    half = define(checks=[check | {"minimum": 0.8}])
    assert (
        scored(definition, alder, report, *twice) == scored(definition, alder, report, *twice[::-1]) == {"gold": False}
    )
    assert scored(half, alder, report, *twice) == scored(half, alder, report, *twice[::-1]) == {"gold": True}
    assert scored(half, marked(0, 5, "unclear"), report, twice[0]) == {"gold": False}, "a named category is required"


@pytest.mark.parametrize(
    ("minutes", "failures", "outcome"),
    [(None, 1, "completed"), (20, 2, "failed_attention"), (4, 1, "failed_attention")],
)
def test_failed_attention_takes_as_many_failures_as_platforms_ask_for(
    define: Define, minutes: float | None, failures: int, outcome: str
) -> None:
    question = {"key": "read", "type": "checkbox", "label": "Tick this box to show that you read it"}
    check = {"name": "obeys", "type": "instructed", "question": "read", "answer": True}
    codes = {"failed_attention": "ATT"}
    definition = define(checks=[check], questions=[question], platform={"minutes": minutes, "codes": codes})
    item = AnsweredItem(None, "A text.", [], {"read": False}, None)
    failed = [outcome for _ in range(failures) for outcome in score_item(definition, item)]
    assert outcome_of(definition, failed) == outcome
    unspoken = define(checks=[check], questions=[question], platform={"minutes": minutes})
    assert outcome_of(unspoken, failed) == "completed", "without a code for it nobody is told that they failed"


def test_a_warning_comes_with_the_save_that_completes_the_item_and_again_when_it_is_repeated(
    database: Database, launch: Launch
) -> None:
    launch(**study(BLATANT | {"on_fail": "warn", "message": "Look at the size."}))
    visit = arrive(database, "ann")
    position = checked_position(database, visit)
    assert save(database, visit, position, status="draft") == Saved(1)
    warned = Saved(2, (UserMessage("Look at the size."),))
    assert [save(database, visit, position, 1) for _ in range(2)] == [warned, warned]
    assert save(database, visit, position, 2, spans=[mark(START, START + 5)]) == Saved(3)
    assert finish(database, visit).stage == Stage.DONE
    with database.reading() as session:
        assert session.scalars(select(CheckResult.passed)).all() == [True], "the last state of the item counts"


def test_a_check_that_screens_out_ends_the_visit_when_its_item_is_completed(database: Database, launch: Launch) -> None:
    launch(**study(BLATANT | {"on_fail": "screen_out", "message": "Thank you, we need another eye."}))
    visit = arrive(database, "ann")
    position = checked_position(database, visit)
    other = 1 if position != 1 else 2
    save(database, visit, other)
    save(database, visit, position, status="draft")
    assert save(database, visit, position, 1) == Saved(2, ended=True)
    assert save(database, visit, position, 1) == Saved(2, ended=True), "a repeat is answered as before"
    with pytest.raises(Gone):
        save(database, visit, other, 1)
    with database.reading() as session:
        ended = find_visit(session, visit.participation.token)
        message = screen_out_message(session, ended.definition, ended.assignment)
    assert (ended.stage, ended.participation.ended, way_back(ended).code) == (Stage.ENDED, "screened_out", "OUT")
    assert message == "Thank you, we need another eye."
    assert submit_batch(database, visit.participation.token, NOW).stage == Stage.ENDED
    with database.reading() as session:
        campaign = find_campaign(session, "study")
        assert sorted(session.scalars(select(Assignment.status))) == ["open", "open", "open", "returned"]
        (out,) = list_screened_out(session, campaign)
        assert out.failed == ["blatant"]
        assert report_checks(session, campaign).screened_out == 1
        assert {record.left_out for record in export_records(session, "study")} == {"returned"}


def test_changing_a_completed_item_screens_nobody_out_before_the_batch_is_submitted(
    database: Database, launch: Launch
) -> None:
    launch(**study(BLATANT | {"on_fail": "screen_out"}))
    visit = arrive(database, "ann")
    position = checked_position(database, visit)
    save(database, visit, position, spans=[mark(START, START + 5)])
    save(database, visit, position, 1)  # on the way to another mark
    with database.reading() as session:
        assert find_visit(session, visit.participation.token).stage == Stage.WORK
    ended = finish(database, visit)
    assert (ended.stage, way_back(ended).code) == (Stage.ENDED, "OUT")


def test_excluded_work_is_in_no_figure_and_the_export_says_so(database: Database, launch: Launch) -> None:
    campaign = launch(**study(BLATANT | {"on_fail": "exclude"}))
    careless, careful = arrive(database, "careless"), arrive(database, "careful")
    save(database, careful, checked_position(database, careful), spans=[mark(START, START + 5)])
    for visit in (careless, careful):
        assert way_back(finish(database, visit)).code == "GOOD", "being left out of analysis costs nobody their pay"
    with database.reading() as session:
        side = load_side(session, campaign, ["wrong", "unclear"], Filters())
        assert {work.annotator_id for work in side.works} == {careful.participation.annotator_id}
        records = list(export_records(session, "study"))
        assert [record.left_out for record in records].count("excluded") == 5
        assert [record.left_out for record in records].count(None) == 5
        assert report_checks(session, campaign).excluded == 1


def test_the_report_tells_marking_category_and_abstaining_apart(database: Database, launch: Launch) -> None:
    clean = CLEAN | {"item": ITEM | {"example": "5"}}
    campaign = launch(**study(BLATANT, clean, batches={"regular": 4, "attention": 2}))
    for person, spans in (("ann", [mark(START, START + 5)]), ("bob", [mark(START, START + 5, "unclear")]), ("cem", [])):
        visit = arrive(database, person)
        position = next(p for p in range(1, 7) if text_of(database, visit, p) == CHECKED)
        save(database, visit, position, spans=spans)
        finish(database, visit)
    with database.reading() as session:
        report = report_checks(session, campaign)
    figures = {check.name: (check.results, check.passed, check.parts) for check in report.checks}
    assert figures == {
        "blatant": (3, 1, {"marked": 2, "region_marked": 2, "category_right": 1}),
        "clean": (3, 3, {"abstained": 3}),
    }
    assert (report.by_group, report.group_differences) == ({}, {})


def test_groups_are_compared_by_how_often_they_passed(database: Database, launch: Launch) -> None:
    groups = [{"key": "a", "name": "A"}, {"key": "b", "name": "B"}]
    campaign = launch(**study(CLEAN, groups=groups, annotators={"per_output": 4}))
    for number in range(8):
        visit = arrive(database, f"p{number}")
        marks = [mark(0, 5)] if visit.participation.group == "a" else []
        save(database, visit, checked_position(database, visit), spans=marks)
    with database.reading() as session:
        report = report_checks(session, campaign)
    assert report.by_group == {"a": {"must_abstain": (4, 0)}, "b": {"must_abstain": (4, 4)}}
    assert report.group_differences == {"must_abstain": pytest.approx(2 / 70)}


def test_what_is_left_out_stays_left_out_when_an_export_is_imported(
    database: Database, launch: Launch, tmp_path: Path
) -> None:
    launch(**study(BLATANT | {"on_fail": "exclude"}))
    careless, careful, gone = arrive(database, "careless"), arrive(database, "careful"), arrive(database, "gone")
    save(database, careful, checked_position(database, careful), spans=[mark(START, START + 5)])
    save(database, gone, 1)
    for visit in (careless, careful):
        finish(database, visit)
    with database.transaction() as session:
        withdraw(session, gone.participation.token)
    file = tmp_path / "study.jsonl"
    with database.reading() as session:
        file.write_text("".join(write_jsonl(export_records(session, "study"))))
    import_campaign(database, file, slug="copy", format="native")
    with database.reading() as session:
        before, after = (
            Counter(
                (record.annotator_kind, record.example, record.left_out) for record in export_records(session, slug)
            )
            for slug in ("study", "copy")
        )
        assert before == after
        copy = find_campaign(session, "copy")
        assert len({work.annotator_id for work in load_side(session, copy, ["wrong"], Filters()).works}) == 1


@pytest.mark.parametrize("is_own_first", [True, False], ids=["own-first", "own-last"])
def test_an_export_names_the_check_that_an_item_carries_and_otherwise_a_failed_one(
    database: Database, launch: Launch, tmp_path: Path, is_own_first: bool
) -> None:
    question = {"key": "read", "type": "checkbox", "label": "Tick this box to show that you read it"}
    checks: list[dict[str, Any]] = [
        BLATANT,
        {"name": "pace", "type": "min_seconds", "seconds": 60},
        {"name": "obeys", "type": "instructed", "question": "read", "answer": True},
    ]
    launch(**study(*(checks if is_own_first else checks[::-1]), questions=[question]))
    visit = arrive(database, "ann")
    own = checked_position(database, visit)
    save(database, visit, own, spans=[mark(START, START + 5)], answers={"read": True}, seconds=1)
    save(database, visit, 1 if own != 1 else 2, answers={"read": True}, seconds=1)
    file = tmp_path / "study.jsonl"
    with database.reading() as session:
        records = list(export_records(session, "study"))
    assert {record.text == CHECKED: record.check for record in records} == {
        True: CheckRecord(kind="must_mark", passed=True),
        False: CheckRecord(kind="min_seconds", passed=False),
    }
    file.write_text("".join(write_jsonl(records)))
    import_campaign(database, file, slug="copy", format="native")
    with database.reading() as session:
        copied = load_side(session, find_campaign(session, "copy"), ["wrong"], Filters())
    assert len(copied.works) == 1, "the item of a check enters no figure"


@pytest.mark.parametrize(
    ("marks", "passed"), [([{"reason": "It is long.", "text": "short", "category": "Wrong"}], True), ([], False)]
)
def test_a_model_stands_under_the_same_checks_but_for_time_floors(
    database: Database, launch: Callable[..., Campaign], marks: list[dict[str, str]], passed: bool
) -> None:
    checks = [BLATANT | {"on_fail": "exclude"}, {"name": "pace", "type": "min_seconds", "seconds": 60}]
    model = {"provider": "openai", "model": "tiny", "price": {"input": 0, "output": 0}}
    campaign = launch(kind="llm", model=model, checks=checks, batches={"regular": 4, "attention": 1})
    run_campaign(database, campaign.slug, provider=marking(*marks))
    with database.reading() as session:
        seats = session.scalars(select(Assignment).where(Assignment.campaign_id == campaign.id)).all()
        results = session.scalars(select(CheckResult)).all()
        report = report_checks(session, campaign)
    assert {(result.name, result.passed) for result in results} == {("blatant", passed)}
    assert len(results) == len(seats) > 1
    assert {(seat.status, seat.excluded) for seat in seats} == {(AssignmentStatus.SUBMITTED, not passed)}
    assert report.excluded == (0 if passed else len(seats))
