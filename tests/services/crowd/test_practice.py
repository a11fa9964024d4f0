"""Practice shows the expected spans only after the answer, creates no annotations, and is done once per person."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.errors import Conflict, Gone, InvalidInput, NotFound
from spanplat.models import Annotation, Campaign, ItemOutput
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.campaigns.selection import SelectionError
from spanplat.services.crowd.participation import Stage, Visit, find_visit, take_seat
from spanplat.services.crowd.practice import (
    answer_practice,
    expected_of,
    feedback_on,
    go_on,
    practice_number,
    practice_state,
    save_practice,
    show_practice,
)
from spanplat.services.crowd.saving import Saved, StaleRevision, save_item
from spanplat.services.crowd.withdrawing import withdraw
from tests.services.crowd.test_annotating import NOW, arrive

Launch = Callable[..., Campaign]

ITEMS = [{"split": "test", "example": number, "system": "alder"} for number in ("0", "5")]
EXPECTED = {"category": "wrong", "quote": "short"}
PRACTICE = [
    {"item": ITEMS[0], "golds": [[EXPECTED]], "explanation": "It is **not** short."},
    {"item": ITEMS[1], "golds": [[]]},
]
TEXT = "Alder: A short report."


def at(session: Any, visit: Visit) -> Visit:
    return find_visit(session, visit.participation.token)


def save(
    database: Database, visit: Visit, number: int, revision: int = 0, *quotes: str, status: str = "complete"
) -> Saved:
    spans = [
        {"start": TEXT.index(quote), "end": TEXT.index(quote) + len(quote), "category": "wrong", "text": quote}
        for quote in quotes
    ]
    submission = Submission.model_validate({"revision": revision, "status": status, "spans": spans})
    with database.transaction() as session:
        found = at(session, visit)
        return save_practice(session, found.definition, found.participation, number, submission)


def answer(database: Database, visit: Visit, number: int) -> None:
    with database.transaction() as session:
        answer_practice(session, at(session, visit).participation, number)


def leave(database: Database, visit: Visit, number: int) -> Visit:
    with database.transaction() as session:
        found = at(session, visit)
        go_on(session, found.definition, found.participation, number, NOW)
        return take_seat(session, visit.participation.token, NOW)


def test_work_begins_after_the_last_practice_item_on_the_place_held_since_the_first(
    database: Database, launch: Launch
) -> None:
    launch(practice=PRACTICE)
    visit = arrive(database, "ann")
    assert visit.stage == Stage.PRACTICE
    assert visit.assignment is not None
    with pytest.raises(NotFound, match="no batch was taken with it yet"):
        save_item(database, visit.participation.token, 1, Submission(revision=0, status="draft"), NOW)
    for number in (1, 2):
        assert leave(database, visit, number).stage == Stage.PRACTICE, "unanswered items cannot be skipped"
        with database.reading() as session:
            found = at(session, visit)
            assert practice_number(found.definition, found.participation) == number
        save(database, visit, number)
        answer(database, visit, number)
        leave(database, visit, number)
    last = arrive(database, "ann")
    assert last.stage == Stage.WORK
    assert last.assignment is not None
    assert last.assignment.id == visit.assignment.id
    assert last.participation.practised_at == NOW
    with database.reading() as session, pytest.raises(Gone):
        practice_number(last.definition, at(session, visit).participation)


def test_what_is_expected_is_shown_after_the_answer_and_not_before(database: Database, launch: Launch) -> None:
    launch(practice=PRACTICE)
    visit = arrive(database, "ann")
    save(database, visit, 1, 0, "short report")
    with database.reading() as session:
        found = at(session, visit)
        shown = show_practice(session, found.definition, found.participation, 1)
        assert (shown["text"], shown["status"], shown["revision"]) == (TEXT, "complete", 1)
        assert "not** short" not in str(shown)
        with pytest.raises(NotFound, match="not answered yet"):
            feedback_on(session, found.definition, found.participation, 1)
    answer(database, visit, 1)
    with database.reading() as session:
        found = at(session, visit)
        feedback = feedback_on(session, found.definition, found.participation, 1)
    start = TEXT.index("short")
    assert (feedback.expected, feedback.marked) == ([(start, start + 5, 0)], [(start, start + 12, 0)])
    assert feedback.score == pytest.approx(10 / 17)
    assert (feedback.number, feedback.total, feedback.explanation) == (1, 2, "It is **not** short.")
    with pytest.raises(Gone, match="was answered"):
        save(database, visit, 1, 1, "short")


def test_an_expected_span_without_a_category_is_expected_in_the_category_that_was_marked(
    database: Database, launch: Launch
) -> None:
    practice = {"item": ITEMS[0], "golds": [[{"quote": "short"}]]}
    launch(practice=[practice], categories=[{"name": "Unclear"}, {"name": "Wrong"}])
    visit = arrive(database, "ann")
    save(database, visit, 1, 0, "short")
    answer(database, visit, 1)
    with database.reading() as session:
        found = at(session, visit)
        feedback = feedback_on(session, found.definition, found.participation, 1)
        example = expected_of(session, found.definition, 1)
    start = TEXT.index("short")
    assert (feedback.expected, feedback.score) == ([(start, start + 5, 1)], 1)
    assert (example.expected, example.score) == (example.marked, 1), (
        "the preview of a draft shows an answer as expected"
    )


def test_saves_of_practice_keep_the_rules_of_all_saves(database: Database, launch: Launch) -> None:
    launch(practice=PRACTICE)
    visit = arrive(database, "ann")
    assert [save(database, visit, 1, 0, "short", status="draft") for _ in range(2)] == [Saved(1), Saved(1)]
    with pytest.raises(StaleRevision):
        save(database, visit, 1, 0, "report", status="draft")
    with pytest.raises(InvalidInput, match="not complete yet"):
        answer(database, visit, 1)
    with pytest.raises(NotFound):
        save(database, visit, 3)
    with database.reading() as session:
        assert practice_state(at(session, visit).participation, 1).status == "draft"


def test_practice_is_no_work_and_its_texts_are_given_to_nobody_as_work(database: Database, launch: Launch) -> None:
    launch(practice=PRACTICE)
    visit = arrive(database, "ann")
    for number in (1, 2):
        save(database, visit, number)
        answer(database, visit, number)
        leave(database, visit, number)
    with database.reading() as session:
        assert session.scalar(select(func.count(Annotation.id))) == 0
        assert list(export_records(session, "study")) == []
        assert session.scalar(select(func.count()).select_from(ItemOutput)) == 10


def test_who_practised_once_does_not_practise_again_in_another_visit(database: Database, launch: Launch) -> None:
    launch(practice=PRACTICE[:1])
    visit = arrive(database, "ann")
    save(database, visit, 1)
    answer(database, visit, 1)
    leave(database, visit, 1)
    assert arrive(database, "ann", session_key="another").stage == Stage.WORK


def test_leaving_during_practice_ends_the_visit_and_gives_the_place_back(database: Database, launch: Launch) -> None:
    launch(practice=PRACTICE, batches={"regular": 12})
    visit = arrive(database, "ann")
    with database.transaction() as session:
        assert withdraw(session, visit.participation.token).stage == Stage.ENDED
    assert arrive(database, "bob").assignment is not None


@pytest.mark.usefixtures("reports")
def test_practice_that_cannot_be_shown_is_refused_when_the_campaign_is_made(
    database: Database, define: Callable[..., CampaignDefinition]
) -> None:
    lost = {"item": ITEMS[0] | {"example": "99"}, "golds": [[]]}
    misquoted = {"item": ITEMS[0], "golds": [[{"quote": "tall", "category": "wrong"}]]}
    for practice, problem in ((lost, "no output of system"), (misquoted, "does not contain the expected quote")):
        with database.reading() as session, pytest.raises(SelectionError, match=problem) as refused:
            plan_campaign(session, define(practice=[practice]))
        assert refused.value.problems[0].path[:2] == ("practice", 0)
    with pytest.raises(ValueError, match="expects category 'Nonsense'"):
        define(practice=[{"item": ITEMS[0], "golds": [[{"category": "Nonsense"}]]}])


def test_nobody_practises_where_no_place_is_left(database: Database, launch: Launch) -> None:
    launch(practice=PRACTICE[:1], batches={"regular": 12})
    first = arrive(database, "ann")
    with pytest.raises(Conflict, match="all places in this study are taken"):
        arrive(database, "bob")
    save(database, first, 1)
    answer(database, first, 1)
    assert leave(database, first, 1).stage == Stage.WORK
