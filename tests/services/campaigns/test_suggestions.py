"""Suggestions are copied once from another campaign, decided on one by one, and stored with their origin."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.formats.native import read_csv, write_csv, write_jsonl
from spanplat.models import Annotation, Campaign, CampaignStatus, Span
from spanplat.platforms.platform import Arrival
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.extending import Extension, ExtensionRequest, plan_extension
from spanplat.services.campaigns.extending import extend as extend_campaign
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.campaigns.launching import open_campaign
from spanplat.services.campaigns.lifecycle import find_campaign, set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.campaigns.suggestions import explain_suggestions
from spanplat.services.crowd.pages import show_item
from spanplat.services.crowd.participation import Visit, enter
from spanplat.services.crowd.previews import preview_seat
from spanplat.services.crowd.saving import save_item
from tests.campaigns import create_campaign

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ONE_OUTPUT = {"data": {"dataset": "reports", "systems": ["alder"], "examples": ["1"]}, "batches": {"regular": 1}}
TEXT = "Alder: It rains 🌧️ all day."
RAINS = {"start": 10, "end": 15, "category": "wrong", "text": "rains"}
DAY = {"start": 23, "end": 26, "category": "unclear", "text": "day", "reason": "Which one?"}

Launch = Callable[..., Campaign]


def arrive(database: Database, slug: str, person: str) -> Visit:
    with database.transaction() as session:
        return enter(
            session, find_campaign(session, slug), Arrival("direct", person, f"direct:{slug}:{person}", {}), NOW
        )


def save(database: Database, visit: Visit, *spans: dict[str, Any], revision: int = 0, **more: Any) -> None:
    body = {"revision": revision, "status": "complete", "spans": spans, **more}
    save_item(database, visit.participation.token, 1, Submission.model_validate(body), NOW)


def extend(database: Database, slug: str, system: str) -> Extension:
    with database.reading() as session:
        plan = plan_extension(session, slug, ExtensionRequest(adds_outputs=True, systems=[system]))
    return extend_campaign(database, plan)


def shown(database: Database, visit: Visit) -> dict[str, Any]:
    assert visit.assignment is not None
    with database.reading() as session:
        return show_item(session, visit.definition, visit.assignment, 1)


@pytest.fixture
def post_editing(database: Database, launch: Launch) -> Callable[..., Visit]:
    """Let one person mark ``rains`` and ``day``, a second one nothing, and a third one enter a campaign with these as suggestions."""

    def make(marked: Sequence[dict[str, Any]] = (RAINS, DAY), **parts: Any) -> Visit:
        launch(slug="model", annotators={"per_output": 2}, spans={"reason": "optional"}, **ONE_OUTPUT)
        save(database, arrive(database, "model", "first"), *marked)
        save(database, arrive(database, "model", "second"))
        settings = {"suggestions_from": "model", "reason": "optional"} | parts.pop("spans", {})
        launch(spans=settings, **(ONE_OUTPUT | parts))
        return arrive(database, "study", "editor")

    return make


def test_the_first_annotators_spans_are_suggested_and_are_nobodys_spans_yet(
    database: Database, post_editing: Callable[..., Visit]
) -> None:
    item = shown(database, post_editing())
    assert item["text"] == TEXT
    assert item["spans"] == []
    assert item["suggestions"] == [
        {"number": 1, "side": "output", "output": 0} | RAINS,
        {"number": 2, "side": "output", "output": 0} | DAY,
    ]


def test_nothing_else_of_the_other_campaign_reaches_the_page(
    database: Database, post_editing: Callable[..., Visit], launch: Launch
) -> None:
    visit = post_editing()
    told = repr(shown(database, visit))
    with database.reading() as session:
        pseudonyms = session.scalars(select(Annotation)).all()
        names = {
            annotation.assignment.annotator.pseudonym for annotation in pseudonyms if annotation.assignment.annotator
        }
    assert names
    assert not any(name in told for name in names)
    assert "model" not in told
    launch(slug="plain", **ONE_OUTPUT)
    assert shown(database, arrive(database, "plain", "somebody"))["suggestions"] == []


def test_a_check_carries_no_suggestion(post_editing: Callable[..., Visit]) -> None:
    item = {"split": "test", "example": "1", "system": "alder"}
    check = {"type": "must_mark", "name": "rain", "item": item, "expected": {"quote": "rains"}}
    everything = {"data": {"dataset": "reports", "systems": ["alder"]}, "batches": {"regular": 10, "attention": 1}}
    with pytest.raises(Conflict, match="no finished spans to suggest"):  # the one text they marked serves as a check
        post_editing(checks=[check], **everything)


def test_every_decision_is_stored_with_what_was_suggested_and_survives_a_reload(
    database: Database, post_editing: Callable[..., Visit]
) -> None:
    third = {"start": 0, "end": 5, "category": "wrong", "text": "Alder"}
    visit = post_editing((third, RAINS, DAY))
    own = {"start": 7, "end": 9, "category": "wrong", "text": "It"}
    changed = {"start": 10, "end": 18, "category": "wrong", "text": TEXT[10:18], "suggestion": 2}
    save(database, visit, third | {"suggestion": 1}, changed, own, dismissed=[3])
    item = shown(database, visit)
    assert [span.get("suggestion") for span in item["spans"]] == [1, 2, None]
    assert item["dismissed"] == [3]
    with database.reading() as session:
        records = list(export_records(session, "study"))
    [record] = records
    first, second, mine = (span.origin for span in record.spans)
    assert first is not None
    assert first["decision"] == "accepted"
    assert first["suggestion"] | third == first["suggestion"]
    assert first["suggestion"]["campaign"] == "model"
    assert second is not None
    assert second["decision"] == "changed"
    assert (second["suggestion"]["start"], second["suggestion"]["end"]) == (10, 15)
    assert mine is None
    assert [entry["text"] for entry in record.dismissed] == ["day"]


def test_filling_in_what_the_suggestion_left_open_is_no_change(
    database: Database, post_editing: Callable[..., Visit]
) -> None:
    visit = post_editing(severities=[{"name": "Minor"}, {"name": "Major"}])
    save(
        database,
        visit,
        RAINS | {"suggestion": 1, "severity": "minor"},
        DAY | {"suggestion": 2, "severity": "major", "reason": "Another one."},
    )
    with database.reading() as session:
        spans = session.scalars(select(Span).where(Span.origin.is_not(None)).order_by(Span.position)).all()
        decisions = [span.origin["decision"] for span in spans if span.origin]
    assert decisions == ["accepted", "changed"]


def test_provenance_goes_out_in_jsonl_and_csv_and_comes_back(
    database: Database, post_editing: Callable[..., Visit], tmp_path: Path
) -> None:
    save(database, post_editing(), RAINS | {"suggestion": 1}, dismissed=[2])
    with database.reading() as session:
        records = list(export_records(session, "study"))
    (tmp_path / "out.csv").write_text("".join(write_csv(records)), encoding="utf-8", newline="")
    assert list(read_csv(tmp_path / "out.csv")) == records
    (tmp_path / "out.jsonl").write_text("".join(write_jsonl(records)), encoding="utf-8")
    for name in ("csv", "jsonl"):
        import_campaign(database, tmp_path / f"out.{name}", slug=f"back-{name}", format="native")
        with database.reading() as session:
            [again] = export_records(session, f"back-{name}")
        assert [span.origin for span in again.spans] == [span.origin for span in records[0].spans]
        assert again.dismissed == records[0].dismissed


@pytest.mark.parametrize(
    ("spans", "dismissed", "reason"),
    [
        ([RAINS | {"suggestion": 3}], [], "there is no suggestion 3 on this item, which has 2"),
        ([], [7], "there is no suggestion 7"),
        ([RAINS | {"suggestion": 1}], [1], "suggestion 1 is decided on twice"),
        ([RAINS | {"suggestion": 1}, DAY | {"suggestion": 1}], [], "suggestion 1 is decided on twice"),
    ],
)
def test_a_decision_on_no_suggestion_or_a_second_one_is_refused(
    database: Database,
    post_editing: Callable[..., Visit],
    spans: list[dict[str, Any]],
    dismissed: list[int],
    reason: str,
) -> None:
    visit = post_editing()
    with pytest.raises(InvalidInput, match=reason):
        save(database, visit, *spans, dismissed=dismissed)


def test_a_campaign_may_demand_a_decision_on_each(database: Database, post_editing: Callable[..., Visit]) -> None:
    visit = post_editing(spans={"suggestions": "required"})
    with pytest.raises(InvalidInput, match="accept, change or dismiss suggestion 2 \\(“day”\\)"):
        save(database, visit, RAINS | {"suggestion": 1})
    save(database, visit, RAINS | {"suggestion": 1}, dismissed=[2])


def test_what_happens_in_the_other_campaign_later_changes_no_suggestion(
    database: Database, post_editing: Callable[..., Visit]
) -> None:
    visit = post_editing()
    before = shown(database, visit)["suggestions"]
    save(database, arrive(database, "model", "first"), revision=1)
    assert shown(database, visit)["suggestions"] == before


def test_a_campaign_without_anything_to_suggest_does_not_open(
    database: Database, launch: Launch, define: Callable[..., CampaignDefinition]
) -> None:
    launch(slug="model", **ONE_OUTPUT)
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, define(spans={"suggestions_from": "model"}, **ONE_OUTPUT)))
    with pytest.raises(Conflict, match="'model' has no finished spans to suggest"):
        open_campaign(database, "study")
    with database.transaction() as session, pytest.raises(Conflict, match="'model' has no finished spans to suggest"):
        set_status(session, "study", CampaignStatus.OPEN)


def test_what_cannot_be_suggested_is_said(database: Database, post_editing: Callable[..., Visit]) -> None:
    visit = post_editing(categories=[{"name": "Unclear"}, {"name": "Other"}])
    assert [entry["text"] for entry in shown(database, visit)["suggestions"]] == ["day"]
    with database.reading() as session:
        [said] = explain_suggestions(session, find_campaign(session, "study"))
    assert said.startswith(
        "spans of 'model' that are not suggested, because this campaign does not have their category “Wrong”: 1 ("
    )


def test_before_the_campaign_opens_a_preview_shows_what_it_would_take_over(
    database: Database, launch: Launch, define: Callable[..., CampaignDefinition]
) -> None:
    launch(slug="model", annotators={"per_output": 2}, **ONE_OUTPUT)
    visit = arrive(database, "model", "first")
    definition = define(spans={"suggestions_from": "model"}, **ONE_OUTPUT)
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, definition))

    def previewed() -> list[str]:
        with database.reading() as session:
            seat = preview_seat(session, find_campaign(session, "study"), 1)
            return [entry["text"] for entry in show_item(session, definition, seat, 1)["suggestions"]]

    assert previewed() == []
    save(database, visit, RAINS)
    assert previewed() == ["rains"]


def test_texts_without_an_annotation_are_counted(database: Database, launch: Launch) -> None:
    launch(slug="model", **ONE_OUTPUT)
    save(database, arrive(database, "model", "first"), RAINS)
    launch(spans={"suggestions_from": "model"}, data={"dataset": "reports", "systems": ["alder"]})
    with database.reading() as session:
        [said] = explain_suggestions(session, find_campaign(session, "study"))
    assert said == "items without suggestions, because 'model' has no finished annotation on them: 5 of 6"


def test_an_imported_quote_is_suggested_where_it_stands_and_not_where_it_does_not(
    database: Database, imported: Callable[..., str], define: Callable[..., CampaignDefinition]
) -> None:
    imported("theirs", ann={0: [(0, 6, "Wrong"), (7, 8, "Unclear")]})
    with database.transaction() as session:
        first, second = session.scalars(select(Span).order_by(Span.id)).all()
        first.start_offset, first.end_offset, first.resolved_start, first.resolved_end = 3, 9, 0, 6
        second.text = "not there"
    definition = define(
        spans={"suggestions_from": "theirs"}, data={"dataset": "made", "systems": ["alder"], "examples": ["0"]}
    )
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, definition))
    campaign = open_campaign(database, "study")
    with database.reading() as session:
        said = explain_suggestions(session, campaign)
    assert [
        (entry["start"], entry["text"]) for entry in shown(database, arrive(database, "study", "x"))["suggestions"]
    ] == [(0, "Report")]
    assert said[-1].startswith("spans of 'theirs' that are not suggested, because their quote is not at its place")
    assert said[-1].endswith(": 1")


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"spans": {"suggestions": "required"}}, "does not name a campaign"),
        ({"spans": {"suggestions_from": "study"}}, "names this campaign itself"),
        ({"spans": {"suggestions_from": "other"}, "kind": "llm", "model": {"provider": "overlap"}}, "shown to people"),
        (
            {
                "spans": {"suggestions_from": "other"},
                "kind": "qualification",
                "qualification_given": {"reference": "other"},
            },
            "would show the answers",
        ),
    ],
)
def test_a_definition_that_cannot_suggest_is_refused(
    define: Callable[..., CampaignDefinition], parts: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        define(**parts)


def test_outputs_added_later_come_with_what_the_other_campaign_has_by_then(
    database: Database, post_editing: Callable[..., Visit]
) -> None:
    editor = post_editing()
    before = shown(database, editor)["suggestions"]
    with pytest.raises(Conflict, match="'model' has no finished annotation on any of the 1 items to be added"):
        extend(database, "study", "birch")
    extend(database, "model", "birch")
    save(database, arrive(database, "model", "third"), RAINS)
    save(database, arrive(database, "model", "first"), revision=1)
    assert extend(database, "study", "birch") == Extension(outputs=1, batches=1, seats=1, without_suggestions=0)
    newcomer = shown(database, arrive(database, "study", "newcomer"))
    assert newcomer["text"] == TEXT.replace("Alder", "Birch")
    assert [entry["text"] for entry in newcomer["suggestions"]] == ["rains"]
    assert shown(database, editor)["suggestions"] == before


def test_outputs_added_to_a_campaign_that_has_not_opened_get_suggestions_when_it_opens(
    database: Database, post_editing: Callable[..., Visit], define: Callable[..., CampaignDefinition]
) -> None:
    post_editing()
    with database.transaction() as session:
        definition = define(slug="draft", spans={"suggestions_from": "model"}, **ONE_OUTPUT)
        create_campaign(session, plan_campaign(session, definition))
    assert extend(database, "draft", "birch").outputs == 1
    open_campaign(database, "draft")
    texts = [shown(database, arrive(database, "draft", person)) for person in ("ann", "bob")]
    assert [len(item["suggestions"]) for item in texts] == [2, 0]
