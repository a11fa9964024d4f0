"""Reparsing of stored replies: changes are reported first, applied whole, and recorded in the audit log."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select, update

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.models import (
    Annotation,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Campaign,
    Category,
    CheckResult,
    Completion,
    Event,
    Item,
    JudgedSpan,
    Span,
    Unplaced,
)
from spanplat.services.campaigns.annotators import find_or_add_annotator
from spanplat.services.model_work.reparsing import reparse_campaign
from spanplat.services.model_work.running import run_campaign
from spanplat.services.model_work.seats import submit_full_seats

Launch = Callable[..., Campaign]
Stored = Callable[..., None]
TEXT = "Alder: A short report."


@pytest.fixture
def replied(database: Database, launch: Launch) -> Stored:
    """Store a model campaign on ``Alder: A short report.`` with replies, and annotations as an older reader left them."""

    def store(*contents: str, annotations: Sequence[Sequence[dict[str, Any]] | None], **parts: Any) -> None:
        data = parts.pop("data", {"dataset": "reports", "examples": ["0"], "systems": ["alder"]})
        model = {"provider": "openai", "model": "some-model", "repeats": len(contents), **parts.pop("model", {})}
        launch(kind="llm", data=data, model=model, **parts)
        with database.transaction() as session:
            annotator = find_or_add_annotator(session, "llm", "model", "some-model")
            session.execute(update(Assignment).values(status=AssignmentStatus.HELD, annotator_id=annotator.id))
            seats = session.scalars(select(Assignment).order_by(Assignment.repeat)).all()
            for seat, content, spans in zip(seats, contents, annotations, strict=True):
                _store(session, seat, content, spans)

    return store


def _store(session: Any, seat: Assignment, content: str, spans: Sequence[dict[str, Any]] | None) -> None:
    items = (
        select(BatchItem.item_id).where(BatchItem.batch_id == seat.batch_id).order_by(BatchItem.check_name.is_(None))
    )
    item_id = session.scalars(items.limit(1)).one()
    session.add(
        Completion(
            campaign_id=seat.campaign_id,
            assignment_id=seat.id,
            item_id=item_id,
            request_sha256="0" * 64,
            request={},
            response={"content": content},
            finish_reason="stop",
            latency=1.5,
            error="unreadable" if spans is None else None,
        )
    )
    if spans is None:
        return
    annotation = Annotation(
        assignment_id=seat.id, item_id=item_id, status="complete", revision=1, completed_at=datetime.now(UTC)
    )
    session.add(annotation)
    session.flush()
    category_id = session.scalars(select(Category.id).where(Category.key == "wrong")).one()
    for position, span in enumerate(spans):
        if "unplaced" in span:
            session.add(
                Unplaced(
                    campaign_id=seat.campaign_id,
                    annotation_id=annotation.id,
                    kind="span",
                    record={},
                    reason=span["unplaced"],
                )
            )
        else:
            session.add(Span(annotation_id=annotation.id, category_id=category_id, position=position, **span))


def span(start: int, text: str, **more: Any) -> dict[str, Any]:
    return {"start_offset": start, "end_offset": start + len(text), "text": text, "origin": {"rule": "exact"}, **more}


def reply(*spans: tuple[str, str]) -> str:
    return json.dumps(
        {"annotations": [{"reason": "r", "text": text, "category": category} for text, category in spans]}
    )


def stored_spans(database: Database) -> list[tuple[int, int, str, int]]:
    with database.reading() as session:
        rows = session.scalars(select(Span).order_by(Span.annotation_id, Span.position))
        return [(row.annotation_id, row.start_offset, row.text, row.position) for row in rows]


def events(database: Database) -> list[dict[str, Any]]:
    with database.reading() as session:
        return [event.detail or {} for event in session.scalars(select(Event).where(Event.verb == "campaign.reparsed"))]


def test_what_reads_the_same_stays_as_it_is(database: Database, replied: Stored) -> None:
    replied(reply(("short", "Wrong")), annotations=[[span(9, "short", reason="r")]])
    report = reparse_campaign(database, "study")
    assert (report.replies, report.unchanged, report.changed, report.examples) == (1, 1, 0, [])
    assert events(database) == []


def test_a_dry_run_tells_what_would_change_and_writes_nothing(database: Database, replied: Stored) -> None:
    before = [span(9, "short", reason="r"), span(15, "report", reason="r"), {"unplaced": "lost"}]
    replied(reply(("SHORT", "Wrong"), ("A", "Wrong"), ("snow", "Wrong")), annotations=[before])
    stored = stored_spans(database)
    report = reparse_campaign(database, "study", dry_run=True)
    assert (report.applied, report.changed) == (False, 1)
    assert (report.spans_added, report.spans_removed, report.spans_changed, report.spans_moved) == (1, 1, 1, 0)
    assert report.unplaced_before == {"lost": 1}
    assert report.unplaced_after == {"the quote does not occur in the text": 1}
    assert stored_spans(database) == stored
    assert events(database) == []


def test_applying_does_what_the_dry_run_told_and_the_log_keeps_what_was_said_before(
    database: Database, replied: Stored
) -> None:
    before = [span(9, "short", reason="r"), span(15, "report", reason="r")]
    replied(reply(("A", "Wrong"), ("short", "Wrong"), ("snow", "Wrong")), annotations=[before])
    expected = reparse_campaign(database, "study", dry_run=True)
    report = reparse_campaign(database, "study")
    assert report.examples == expected.examples
    assert [row[1:] for row in stored_spans(database)] == [(0, "A", 0), (9, "short", 1)]
    with database.reading() as session:
        annotation = session.scalars(select(Annotation)).one()
        assert (annotation.revision, annotation.answers) == (2, {})
        assert [entry.reason for entry in session.scalars(select(Unplaced))] == ["the quote does not occur in the text"]
    (event,) = events(database)
    assert [entry["text"] for entry in event["changes"][0]["removed"]] == ["report"]
    assert [entry["text"] for entry in event["changes"][0]["added"]] == ["A"]
    again = reparse_campaign(database, "study")
    assert (again.unchanged, again.changed) == (1, 0)
    assert len(events(database)) == 1


def test_a_span_that_moves_keeps_its_row(database: Database, replied: Stored) -> None:
    replied(reply(("r", "Wrong"), ("r", "Wrong")), annotations=[[span(4, "r", reason="r"), span(4, "r", reason="r")]])
    with database.reading() as session:
        ids = set(session.scalars(select(Span.id)))
    report = reparse_campaign(database, "study")
    assert (report.spans_moved, report.spans_added, report.spans_removed) == (1, 0, 0)
    with database.reading() as session:
        assert set(session.scalars(select(Span.id))) == ids
    assert len({row[1] for row in stored_spans(database)}) == 2


def test_a_reply_that_was_unreadable_becomes_an_annotation(database: Database, replied: Stored) -> None:
    fenced = f"Sure!\n```json\n{reply(('short', 'Wrong'))}\n```"
    replied(fenced, "I cannot help with that.", annotations=[None, None])
    report = reparse_campaign(database, "study")
    assert (report.newly_read, report.unreadable) == (1, {"the model refused: I cannot help with that.": 1})
    assert [row[1:] for row in stored_spans(database)] == [(9, "short", 0)]
    with database.reading() as session:
        annotation = session.scalars(select(Annotation)).one()
        assert (annotation.status, annotation.seconds, annotation.revision) == ("complete", 1.5, 1)
        assert session.get_one(Assignment, annotation.assignment_id).status == AssignmentStatus.SUBMITTED


def test_a_reply_that_is_no_longer_readable_keeps_its_annotation(database: Database, replied: Stored) -> None:
    replied("nothing of use", annotations=[[span(9, "short")]])
    stored = stored_spans(database)
    report = reparse_campaign(database, "study")
    assert (report.no_longer_readable, report.changed) == (1, 0)
    assert stored_spans(database) == stored


def test_the_last_good_reply_counts(database: Database, replied: Stored) -> None:
    replied(reply(("short", "Wrong")), annotations=[[span(9, "short", reason="r")]])
    with database.transaction() as session:
        seat = session.scalars(select(Assignment)).one()
        _store(session, seat, "garbage", None)
    assert reparse_campaign(database, "study").unchanged == 1


def test_spans_that_another_campaign_judges_are_not_changed(database: Database, replied: Stored) -> None:
    replied(reply(("short", "Wrong")), annotations=[[span(15, "report", reason="r")]])
    with database.transaction() as session:
        campaign = session.scalars(select(Campaign)).one()
        item = Item(campaign_id=campaign.id, kind="span")
        session.add(item)
        session.flush()
        session.add(JudgedSpan(item_id=item.id, span_id=session.scalars(select(Span.id)).one()))
    with pytest.raises(
        Conflict,
        match="campaign 'study' judges spans that reading the replies again would change",
    ):
        reparse_campaign(database, "study")
    assert [row[2] for row in stored_spans(database)] == ["report"]


def test_checks_are_scored_again_with_what_is_read_now(database: Database, replied: Stored) -> None:
    check = {
        "type": "must_mark",
        "name": "short",
        "item": {"split": "test", "example": "0", "system": "alder"},
        "on_fail": "exclude",
    }
    check |= {"expected": {"quote": "short", "category": "Wrong"}}
    replied(
        reply(("short", "Wrong")),
        reply(("report", "Wrong")),
        annotations=[[span(15, "report", reason="r")], [span(9, "short", reason="r")]],
        checks=[check],
        batches={"regular": 3, "attention": 1},
        data={"dataset": "reports", "examples": ["0"], "systems": ["alder", "birch"]},
    )
    with database.transaction() as session:
        campaign = session.scalars(select(Campaign)).one()
        other = session.scalars(select(BatchItem.item_id).where(BatchItem.check_name.is_(None))).one()
        for seat in session.scalars(select(Assignment)).all():
            done = {"status": "complete", "revision": 1, "completed_at": datetime.now(UTC)}
            session.add(Annotation(assignment_id=seat.id, item_id=other, **done))
    submit_full_seats(database, campaign)

    def results() -> list[tuple[bool, bool]]:
        with database.reading() as session:
            rows = select(CheckResult.passed, Assignment.excluded).join(
                Assignment, Assignment.id == CheckResult.assignment_id
            )
            return [(passed, excluded) for passed, excluded in session.execute(rows.order_by(Assignment.repeat))]

    assert results() == [(False, True), (True, False)]
    dry = reparse_campaign(database, "study", dry_run=True)
    assert [(change.check, change.before, change.after) for change in dry.checks] == [
        ("short", False, True),
        ("short", True, False),
    ]
    assert (dry.seats_left_out, dry.seats_taken_in) == (1, 1)
    assert results() == [(False, True), (True, False)]
    assert reparse_campaign(database, "study").checks == dry.checks
    assert results() == [(True, False), (False, True)]
    assert [change["after"] for change in events(database)[0]["checks"]] == [True, False]
    assert reparse_campaign(database, "study").checks == []


def test_a_campaign_that_people_fill_has_no_replies(database: Database, launch: Launch) -> None:
    launch()
    with pytest.raises(InvalidInput, match="'study' is not filled by a model"):
        reparse_campaign(database, "study")


def test_a_run_of_this_version_reads_the_same_again(database: Database, launch: Launch) -> None:
    launch(kind="llm", model={"provider": "overlap", "category": "unclear"})
    run = run_campaign(database, "study")
    report = reparse_campaign(database, "study")
    assert run.spans > 0
    assert (report.replies, report.unchanged, report.changed) == (run.asked, run.asked, 0)
