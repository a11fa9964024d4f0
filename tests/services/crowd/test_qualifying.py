"""Qualifications are scored against the best-fitting gold, decided, remembered and required; models can take them too."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotAllowed
from spanplat.models import Campaign, Qualification
from spanplat.platforms.platform import Arrival
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.platform import QualificationGiven
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.campaigns.selection import SelectionError
from spanplat.services.crowd.claims import NothingLeft
from spanplat.services.crowd.participation import Stage, Visit, enter, find_visit, try_again, way_back
from spanplat.services.crowd.pools import list_members, remove_from_pool
from spanplat.services.crowd.qualifying import qualification_table, record_decisions
from spanplat.services.crowd.saving import save_item
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.model_work.running import run_campaign
from tests.services.crowd.test_annotating import NOW, text_of

Launch = Callable[..., Campaign]

QUOTE = "short report"
ONE = {"split": "test", "example": "0", "system": "alder"}
"""Alder: A short report."""
OTHER = {"split": "test", "example": "5", "system": "alder"}
"""Alder: 12 °C"""


def gold(name: str, item: Mapping[str, str], *golds: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    return {"name": name, "type": "gold", "item": item, "golds": [list(spans) for spans in golds]}


CHECKS = [gold("one", ONE, [{"category": "wrong", "quote": QUOTE}]), gold("other", OTHER, [])]


def exam(**parts: Any) -> dict[str, Any]:
    given = parts.pop("given", {})
    return {
        "slug": "exam",
        "kind": "qualification",
        "checks": CHECKS,
        "batches": {"regular": 0, "gold": 2},
        "annotators": {"per_output": 20},
        "platform": {"service": "prolific", "codes": {"completed": "DONE"}},
        "qualification_given": {"threshold": 0.5, "pass_code": "PASSED", "fail_code": "FAILED"} | given,
    } | parts


def come(database: Database, slug: str, person: str, now: Any = NOW, visit: str = "1") -> Visit:
    with database.transaction() as session:
        arrival = Arrival("prolific", person, f"{person}-{visit}", {"PROLIFIC_PID": person})
        return enter(session, find_campaign(session, slug), arrival, now)


def take(database: Database, visit: Visit, quote: str, *, category: str = "wrong", now: Any = NOW) -> Visit:
    """Mark the quote in the items that contain it, nothing in the others, and submit."""
    for position in (1, 2):
        text = text_of(database, visit, position)
        start = text.find(quote) if quote else -1
        span = {"start": start, "end": start + len(quote), "category": category, "text": quote}
        content = {"revision": 0, "status": "complete", "spans": [span] if start >= 0 else []}
        save_item(database, visit.participation.token, position, Submission.model_validate(content), now)
    return submit_batch(database, visit.participation.token, now)


def test_who_scores_above_the_threshold_passes_with_the_code_for_it(database: Database, launch: Launch) -> None:
    launch(**exam())
    passed = take(database, come(database, "exam", "ann"), QUOTE)
    failed = take(database, come(database, "exam", "bob"), QUOTE, category="unclear")
    assert (passed.stage, way_back(passed).code) == (Stage.DONE, "PASSED")
    assert (failed.stage, way_back(failed).code) == (Stage.DONE, "FAILED")
    with database.reading() as session:
        stored = session.execute(select(Qualification.status, Qualification.score).order_by(Qualification.id)).all()
    assert [tuple(row) for row in stored] == [("passed", 1.0), ("failed", 0.0)]


def test_the_threshold_itself_does_not_pass(database: Database, launch: Launch) -> None:
    launch(**exam(given={"threshold": 1.0}))
    assert way_back(take(database, come(database, "exam", "ann"), QUOTE)).code == "FAILED"


@pytest.mark.parametrize(("hard", "status"), [(True, "failed"), (False, "passed")])
def test_a_soft_score_ignores_categories(database: Database, launch: Launch, hard: bool, status: str) -> None:
    launch(**exam(given={"hard": hard}))
    visit = take(database, come(database, "exam", "ann"), QUOTE, category="unclear")
    assert visit.standing is not None
    assert visit.standing.status == status


@pytest.mark.parametrize("measure", ["exact", "partial_credit", "char_binary"])
def test_any_measure_can_be_the_score(database: Database, launch: Launch, measure: str) -> None:
    launch(**exam(given={"measure": measure}))
    take(database, come(database, "exam", "ann"), QUOTE)
    with database.reading() as session:
        table = qualification_table(session, "exam")
    assert (table.exam.scorer.name, table.candidates[0].score) == (f"{measure}.hard.f1", 1.0)


@pytest.mark.usefixtures("reports")
def test_an_unknown_measure_is_refused_when_the_campaign_is_made(
    database: Database, define: Callable[..., CampaignDefinition]
) -> None:
    with database.reading() as session, pytest.raises(SelectionError, match="there is no measure 'charm'"):
        plan_campaign(session, define(**exam(given={"measure": "charm"})))


def test_of_several_acceptable_golds_the_one_that_fits_best_counts(database: Database, launch: Launch) -> None:
    alternatives = gold(
        "one", ONE, [{"category": "wrong", "quote": "short"}], [{"category": "unclear", "quote": QUOTE}]
    )
    launch(**exam(checks=[alternatives, CHECKS[1]]))
    take(database, come(database, "exam", "ann"), QUOTE, category="unclear")
    take(database, come(database, "exam", "bob"), "short")
    with database.reading() as session:
        assert [candidate.score for candidate in qualification_table(session, "exam").candidates] == [1.0, 1.0]


def test_what_is_required_is_remembered_until_it_expires(database: Database, launch: Launch) -> None:
    launch(**exam(given={"valid_days": 30, "pool": "good-ones"}))
    launch(slug="by-campaign", qualification_required={"campaign": "exam"}, annotators={"per_output": 9})
    launch(slug="by-pool", qualification_required={"pool": "good-ones"}, annotators={"per_output": 9})
    for person in ("ann", "cem"):
        take(database, come(database, "exam", person), QUOTE)
    take(database, come(database, "exam", "bob"), "")
    for slug in ("by-campaign", "by-pool"):
        assert come(database, slug, "ann").stage == Stage.WORK
        with pytest.raises(NotAllowed, match="for people who passed its qualification"):
            come(database, slug, "bob")
        with pytest.raises(NotAllowed):
            come(database, slug, "cem", NOW + timedelta(days=31))
    with database.transaction() as session:
        (ann, cem) = list_members(session, "good-ones")
        assert (ann.campaign, ann.expires_at) == ("exam", NOW + timedelta(days=30))
        assert remove_from_pool(session, "good-ones", [cem.pseudonym, "p-nobody"]) == 1
    with pytest.raises(NotAllowed):
        come(database, "by-pool", "cem")


def test_who_failed_may_try_again_as_often_as_allowed_and_the_best_score_counts(
    database: Database, launch: Launch
) -> None:
    launch(**exam(given={"attempts": 2}))
    visit = take(database, come(database, "exam", "ann"), "")
    assert visit.may_try_again
    assert way_back(visit).code == "FAILED"
    with database.transaction() as session:
        again = try_again(session, visit.participation.token, NOW)
    assert again.stage == Stage.WORK
    assert again.assignment is not None
    with database.transaction() as session:
        twice = try_again(session, visit.participation.token, NOW)
    assert twice.assignment is not None
    assert twice.assignment.id == again.assignment.id, "a double click takes one seat"
    done = take(database, again, QUOTE)
    assert (done.may_try_again, way_back(done).code) == (False, "PASSED")
    with database.reading() as session:
        (candidate,) = qualification_table(session, "exam").candidates
    assert (candidate.attempts, candidate.score, candidate.passed) == (2, 1.0, True)


def test_after_the_last_try_there_is_no_other_and_no_new_visit_gives_one(database: Database, launch: Launch) -> None:
    launch(**exam())
    visit = take(database, come(database, "exam", "ann"), "")
    assert not visit.may_try_again
    with database.transaction() as session:
        assert try_again(session, visit.participation.token, NOW).stage == Stage.DONE
    with pytest.raises(NothingLeft):
        come(database, "exam", "ann", visit="2")


def test_the_best_so_many_pass_once_that_is_decided(database: Database, launch: Launch) -> None:
    launch(**exam(given={"top": 1, "threshold": 0.1, "pool": "best"}))
    launch(slug="main", qualification_required={"campaign": "exam"})
    for person, quote in (("ann", "short"), ("bob", QUOTE), ("cem", "")):
        visit = take(database, come(database, "exam", person), quote)
        assert visit.standing is not None
        assert visit.standing.status == ("failed" if person == "cem" else "pending")
        with pytest.raises(NotAllowed):
            come(database, "main", person)
    with database.transaction() as session:
        table = qualification_table(session, "exam")
        assert [candidate.passed for candidate in table.candidates] == [True, False, False]
        assert record_decisions(session, table, NOW) == 2
        assert record_decisions(session, table, NOW) == 0
        assert len(list_members(session, "best")) == 1
    assert come(database, "main", "bob").stage == Stage.WORK
    with pytest.raises(NotAllowed):
        come(database, "main", "ann")


def test_a_model_takes_the_same_qualification_and_stands_in_the_same_table(database: Database, launch: Launch) -> None:
    launch(**exam())
    take(database, come(database, "exam", "ann"), QUOTE)
    model = launch(
        slug="model", kind="llm", model={"provider": "overlap"}, batches={"regular": 3}, qualification_taken="exam"
    )
    run_campaign(database, model.slug)
    with database.reading() as session:
        table = qualification_table(session, "exam")
    assert [(candidate.kind, candidate.outputs) for candidate in table.candidates] == [("human", 2), ("llm", 2)]
    assert table.candidates[1].pseudonym.startswith("m-")


def test_people_do_not_take_a_qualification_by_a_definition(define: Callable[..., CampaignDefinition]) -> None:
    with pytest.raises(ValueError, match="people take a qualification by its own link"):
        define(qualification_taken="exam")


def test_another_campaign_can_say_what_is_expected(database: Database, imported: Callable[..., str]) -> None:
    imported("key", expert={0: [(0, 6, "Wrong")], 1: []}, other={0: [(0, 4, "Wrong")], 1: []})
    imported("task", ann={0: [(0, 4, "Wrong")], 1: []}, bob={0: [], 1: [(0, 4, "Wrong")]}, cem={1: []})
    with database.reading() as session:
        table = qualification_table(session, "task", QualificationGiven(reference="key"))
        scores = [(candidate.score, candidate.passed, candidate.outputs) for candidate in table.candidates]
        assert scores == [(1.0, True, 2), (0.0, False, 2), (0.0, False, 1)]
        with pytest.raises(InvalidInput, match="has no qualification_given"):
            qualification_table(session, "task")


def test_nothing_is_scored_where_nothing_is_expected(database: Database, imported: Callable[..., str]) -> None:
    imported("key", expert={0: []})
    imported("task", ann={1: []})
    with database.reading() as session, pytest.raises(InvalidInput, match="nothing is expected of the outputs"):
        qualification_table(session, "task", QualificationGiven(reference="key"))


def test_unsubmitted_work_is_in_no_table(database: Database, launch: Launch) -> None:
    launch(**exam())
    visit = come(database, "exam", "ann")
    with database.reading() as session:
        assert qualification_table(session, "exam").candidates == []
        assert find_visit(session, visit.participation.token).standing is None
