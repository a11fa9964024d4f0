"""An ensemble campaign combines several campaigns, and is stored as the work of one annotator."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.llm.providers.scripted import ScriptedProvider
from spanplat.models import Annotation, Campaign, Event, Span
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.record import AnnotationRecord, SpanRecord
from spanplat.services.agreement.comparison import AgreementOptions, compute_agreement
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.datasets.importing import import_dataset
from spanplat.services.model_work.ensembles.combining import EnsembleSettings, combine
from spanplat.services.model_work.ensembles.filling import fill_ensemble
from spanplat.services.model_work.ensembles.members import ItemKey, Judgement
from spanplat.services.model_work.reparsing import reparse_campaign
from spanplat.services.model_work.running import run_campaign
from tests.campaigns import create_campaign

Spans = Sequence[tuple[int, int, str, str]]
Judge = Callable[..., None]
TEXTS = [f"Report {number}: it rains all day and nobody knows why." for number in range(3)]


@pytest.fixture
def judge(database: Database, tmp_path: Path) -> Judge:
    """Import a campaign of one model: by output (0 to 2) the score and the spans ``(start, end, category, severity)``."""
    data = tmp_path / "made.jsonl"
    lines = [{"split": "test", "example": str(n), "system": "alder", "output": text} for n, text in enumerate(TEXTS)]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_dataset(database, [data], name="made")

    def make(slug: str, work: Mapping[int, tuple[float, Spans]], **parts: Any) -> None:
        definition = {
            "slug": slug,
            "title": slug,
            "kind": "external",
            "categories": [{"name": "Wrong"}, {"name": "Unclear"}],
            "severities": [{"name": "Minor"}, {"name": "Major"}],
            "questions": [
                {"key": "quality", "type": "likert", "label": "Quality"},
                {"key": "no-errors", "type": "no_errors", "label": "Nothing"},
            ],
        }
        path = tmp_path / f"{slug}.jsonl"
        path.write_text("".join(record(slug, output, *said).model_dump_json() + "\n" for output, said in work.items()))
        import_campaign(
            database, path, slug=slug, format="native", definition=CampaignDefinition.model_validate(definition | parts)
        )

    return make


def record(slug: str, output: int, score: float, spans: Spans) -> AnnotationRecord:
    text, reason = TEXTS[output], f"{slug} says so"
    return AnnotationRecord(
        campaign=slug,
        kind="external",
        dataset="made",
        split="test",
        example=str(output),
        system="alder",
        text=text,
        text_sha256="0" * 64,
        annotator="m",
        annotator_kind="llm",
        answers={"quality": score},
        spans=[
            SpanRecord(start=start, end=end, text=text[start:end], category=category, severity=severity, reason=reason)
            for start, end, category, severity in spans
        ],
    )


RAIN: Spans = [(10, 18, "Wrong", "minor")]
RAINS: Spans = [(13, 18, "Wrong", "major")]
NOBODY: Spans = [(31, 37, "Unclear", "minor")]


def test_scores_are_averaged_and_errors_merged_with_who_found_them(database: Database, judge: Judge) -> None:
    judge("one", {0: (4, RAIN), 1: (5, [])})
    judge("two", {0: (3, [*RAINS, *NOBODY]), 1: (4, [])})
    told: list[int] = []
    report = fill_ensemble(database, "both", ["one", "two"], on_progress=lambda done, _total: told.append(done))
    assert (report.items, report.incomplete, report.spans, report.withheld, report.written) == (2, 0, 2, 0, True)
    assert told == [2]
    with database.reading() as session:
        stored = session.scalars(select(Annotation).order_by(Annotation.id))
        mine = [entry for entry in stored if entry.extra and "scores" in entry.extra]
        spans = session.scalars(select(Span).where(Span.annotation_id == mine[0].id).order_by(Span.position)).all()
        assert [entry.answers for entry in mine] == [
            {"quality": 3.5, "no-errors": False},
            {"quality": 4.5, "no-errors": True},
        ]
        assert mine[0].extra is not None
        assert mine[0].extra["scores"] == {"one": 4, "two": 3}
        assert [(span.text, span.severity, (span.origin or {})["found_by"]) for span in spans] == [
            ("it rains", "major", ["one", "two"]),
            ("nobody", "minor", ["two"]),
        ]
        assert spans[0].reason == "one says so\ntwo says so"
        assert session.scalars(select(Event.verb).where(Event.subject == "both")).all() == ["campaign.combined"]


def test_an_ensemble_can_be_compared_exported_and_made_of_any_subset(database: Database, judge: Judge) -> None:
    judge("one", {0: (4, RAIN)})
    judge("two", {0: (3, RAIN)})
    judge("three", {0: (3, NOBODY)})
    fill_ensemble(database, "all", ["one", "two", "three"])
    fill_ensemble(database, "pair", ["one", "two"])
    with database.reading() as session:
        records = list(export_records(session, "all"))
    agreement = compute_agreement(database, "one", "pair", AgreementOptions(samples=2)).as_json()
    assert agreement["char"]["hard"]["f1"] == 1
    assert [len(entry.spans) for entry in records] == [2]
    assert records[0].annotator_kind == "llm"


def test_the_errors_of_an_outlier_are_withheld_and_its_score_counts(database: Database, judge: Judge) -> None:
    for name in ("one", "two", "three", "four"):
        judge(name, {0: (5, []), 1: (5, RAIN)})
    judge("five", {0: (1, NOBODY), 1: (5, RAIN)})
    report = fill_ensemble(database, "all", ["one", "two", "three", "four", "five"])
    assert report.outlier_shares == {"one": 0, "two": 0, "three": 0, "four": 0, "five": 0.5}
    assert report.outlier_shares_by_dataset == {"made": report.outlier_shares}
    assert report.withheld == 1
    with database.reading() as session:
        records = {entry.example: entry for entry in export_records(session, "all")}
    assert records["0"].spans == []
    assert records["0"].answers == {"quality": 4.2, "no-errors": True}
    assert [span.text for span in records["1"].spans] == ["it rains"]


def test_agreement_of_every_two_and_figures_against_size_are_reported(database: Database, judge: Judge) -> None:
    judge("one", {0: (1, []), 1: (2, []), 2: (3, [])})
    judge("two", {0: (1, []), 1: (2, []), 2: (4, [])})
    judge("people", {0: (1, []), 1: (3, []), 2: (5, [])})
    report = fill_ensemble(database, "both", ["one", "two"], reference="people", dry_run=True)
    (pair,) = report.pairs
    assert (pair["first"], pair["second"], pair["items"], pair["spearman"]) == ("one", "two", 3, 1.0)
    assert [(size["size"], size["subsets"], size["mean"]) for size in report.by_size] == [(1, 2, 1.0), (2, 1, 1.0)]
    assert report.written is False
    with database.reading() as session:
        assert session.scalars(select(Campaign.slug).order_by(Campaign.id)).all() == ["one", "two", "people"]


def test_other_aggregations_and_votes_can_be_asked_for(database: Database, judge: Judge) -> None:
    judge("one", {0: (5, RAIN)})
    judge("two", {0: (5, RAIN)})
    judge("three", {0: (2, NOBODY)})
    settings = EnsembleSettings(aggregation="minimum", least_votes=2)
    fill_ensemble(database, "strict", ["one", "two", "three"], settings=settings)
    with database.reading() as session:
        (entry,) = export_records(session, "strict")
        kept = find_campaign(session, "strict").imported_from or {}
    assert (entry.answers["quality"], [span.text for span in entry.spans]) == (2, ["it rains"])
    assert kept["settings"]["aggregation"] == "minimum"
    assert set(kept["members"]) == {"one", "two", "three"}


def test_campaigns_that_do_not_fit_together_are_refused(database: Database, judge: Judge) -> None:
    judge("one", {0: (5, [])})
    judge("other", {0: (5, [])}, categories=[{"name": "Blue"}])
    with pytest.raises(InvalidInput, match="at least two annotators, and one have 1; name more campaigns with --of"):
        fill_ensemble(database, "new", ["one", "one"])
    with pytest.raises(InvalidInput, match="'one' and 'other' have different categories: wrong, unclear; blue"):
        fill_ensemble(database, "new", ["one", "other"])
    with pytest.raises(Conflict, match="there is a campaign 'other' already"):
        fill_ensemble(database, "other", ["one", "other"])
    judge("two", {0: (5, [])})
    with pytest.raises(InvalidInput, match="there is no question 'beauty' on a scale"):
        fill_ensemble(database, "new", ["one", "two"], settings=EnsembleSettings(question="beauty"))


def preferences(*answers: tuple[tuple[int, int], str]) -> list[Judgement]:
    return [Judgement(number, outputs, {"better": answer}, []) for number, (outputs, answer) in enumerate(answers)]


def test_votes_on_pairs_count_by_text_whatever_the_order_shown() -> None:
    definition = CampaignDefinition.model_validate(
        {
            "slug": "x",
            "title": "x",
            "kind": "external",
            "questions": [{"key": "better", "type": "preference", "label": "Better?"}],
        }
    )
    key = ItemKey((1, 2), None)
    votes = preferences(((2, 1), "first"), ((1, 2), "second"), ((1, 2), "first"))
    combined = combine(key, votes, definition, EnsembleSettings())
    assert (combined.outputs, combined.answers) == ((2, 1), {"better": "first"})


def test_a_split_vote_is_no_answer_unless_a_tie_is_offered() -> None:
    key = ItemKey((1, 2), None)
    split = preferences(((1, 2), "first"), ((2, 1), "first"))
    question = {"key": "better", "type": "preference", "label": "Better?"}
    content = {"slug": "x", "title": "x", "kind": "external"}
    without, offered = (
        CampaignDefinition.model_validate(content | {"questions": [question | {"tie": tie}]}) for tie in (False, True)
    )
    combined = combine(key, split, without, EnsembleSettings())
    assert (combined.answers, combined.undecided) == ({}, {"better": "no majority: first 1, second 1"})
    combined = combine(key, split, offered, EnsembleSettings())
    assert (combined.answers, combined.undecided) == ({"better": "tie"}, {})


def test_votes_without_a_majority_are_kept_with_their_reason_and_counted(
    database: Database, judge: Judge, tmp_path: Path
) -> None:
    options = [{"key": "yes", "label": "Yes"}, {"key": "no", "label": "No"}]
    question = {"key": "fine", "type": "choice", "label": "Fine?", "options": options}
    judge("seed", {0: (5, [])})
    for name, answers in (("one", ("yes", "yes")), ("two", ("no", "yes"))):
        path = tmp_path / f"{name}-votes.jsonl"
        entries = [
            record(name, output, 0, []).model_copy(update={"answers": {"fine": answer}})
            for output, answer in enumerate(answers)
        ]
        path.write_text("".join(entry.model_dump_json() + "\n" for entry in entries))
        content = {"slug": name, "title": name, "kind": "external", "questions": [question]}
        import_campaign(
            database, path, slug=name, format="native", definition=CampaignDefinition.model_validate(content)
        )
    report = fill_ensemble(database, "both", ["one", "two"])
    assert report.undecided == {"fine": 1}
    with database.reading() as session:
        records = {entry.example: entry.answers for entry in export_records(session, "both")}
        extra = [entry for entry in session.scalars(select(Annotation.extra)) if entry and "undecided" in entry]
    assert records == {"0": {}, "1": {"fine": "yes"}}
    assert [entry["undecided"] for entry in extra] == [{"fine": "no majority: yes 1, no 1"}]


def test_repeats_of_one_campaign_are_an_ensemble_too_and_their_spread_is_told(
    database: Database, judge: Judge, tmp_path: Path
) -> None:
    judge("one", {0: (4, RAIN), 1: (5, [])})
    path = tmp_path / "repeats.jsonl"
    again = [record("repeats", 0, 4, RAIN), record("repeats", 0, 2, RAINS), record("repeats", 1, 5, [])]
    path.write_text("".join(entry.model_dump_json() + "\n" for entry in again))
    with database.reading() as session:
        definition = definition_of(find_campaign(session, "one")).model_copy(update={"slug": "repeats"})
    import_campaign(database, path, slug="repeats", format="native", definition=definition)
    part = fill_ensemble(database, "part", ["repeats#2", "one"], reference="one", dry_run=True)
    assert part.annotators == ["repeats#2", "one"]
    (pair,) = part.pairs
    assert (pair["first"], pair["second"]) == ("repeats#2", "one")
    assert [size["size"] for size in part.by_size] == [1, 2]
    assert fill_ensemble(database, "all", ["repeats#1", "repeats"], dry_run=True).annotators == [
        "repeats#1",
        "repeats#2",
    ]
    with pytest.raises(
        InvalidInput, match="there is no repeats#3: 'repeats' has the finished annotations of 2 annotators"
    ):
        fill_ensemble(database, "new", ["repeats#3", "one"])
    with pytest.raises(InvalidInput, match="'repeats#last' names no annotator; write repeats#1"):
        fill_ensemble(database, "new", ["repeats#last", "one"])
    report = fill_ensemble(database, "merged", ["repeats"])
    assert report.annotators == ["repeats#1", "repeats#2"]
    assert (report.items, report.incomplete, report.spans, report.score_spread) == (2, 1, 1, 1.0)
    assert report.spans_by_annotator == {"repeats#1": 0.5, "repeats#2": 1.0}


def test_a_consolidator_is_told_the_errors_of_all_but_outliers_and_answers_with_the_mean(
    database: Database, judge: Judge
) -> None:
    for name in ("one", "two", "three", "four"):
        judge(name, {0: (5, RAIN), 1: (5, [])})
    judge("five", {0: (1, NOBODY), 1: (5, RAINS)})
    members = ["one", "two", "three", "four", "five"]
    consolidate(database, members)
    block = "Error 1:\nLocation: it rains\nCategory: Wrong\nExplanation: All say so.\nSeverity: Major"
    provider = ScriptedProvider(lambda request: block if "Report 0" in request.item.text else "No Error")
    report = run_campaign(database, "list", provider=provider)
    assert (report.left, report.spans, report.failed) == (0, 1, {})
    prompts = {request.item.text[:8]: request.messages[-1].content for request in provider.asked}
    assert prompts["Report 0"].count('"it rains"') == 4
    assert "nobody" not in prompts["Report 0"].split("What the reviewers found")[1]
    assert '- Reviewer 5, Wrong, Major: "rains": five says so' in prompts["Report 1"]
    with database.reading() as session:
        records = {entry.example: entry for entry in export_records(session, "list")}
        extra = session.scalars(select(Annotation.extra).order_by(Annotation.id.desc())).all()
    assert records["0"].answers == {"quality": 4.2, "no-errors": False}
    assert [(span.text, span.severity) for span in records["0"].spans] == [("it rains", "major")]
    assert records["1"].answers == {"quality": 5, "no-errors": True}
    assert ["five"] in [(entry or {}).get("remarks", {}).get("errors_withheld") for entry in extra]
    assert reparse_campaign(database, "list").unchanged == 2


def test_where_no_member_reports_an_error_there_is_nothing_to_consolidate_and_nobody_is_asked(
    database: Database, judge: Judge
) -> None:
    for name in ("one", "two", "three", "four"):
        judge(name, {0: (5, []), 1: (5, RAIN), 2: (4, [])})
    judge("five", {0: (5, []), 1: (5, RAIN), 2: (1, NOBODY)})  # out of line on the last, so its errors are withheld
    consolidate(database, ["one", "two", "three", "four", "five"], examples=["0", "1", "2"])
    dry = run_campaign(database, "list", dry_run=True)
    assert dry.estimate is not None
    assert dry.estimate.items == 1
    provider = ScriptedProvider(lambda _: "Error 1:\nLocation: it rains\nCategory: Wrong\nSeverity: Major")
    report = run_campaign(database, "list", provider=provider)
    assert [request.item.text[:8] for request in provider.asked] == ["Report 1"]
    assert (report.left, report.spans, report.calls) == (0, 1, 1)
    with database.reading() as session:
        records = {entry.example: entry for entry in export_records(session, "list")}
        extra = session.scalars(select(Annotation.extra)).all()
    assert records["0"].answers == {"quality": 5, "no-errors": True}
    assert (records["2"].answers, records["2"].spans) == ({"quality": 3.4, "no-errors": True}, [])
    remarks = [entry["remarks"] for entry in extra if entry and "remarks" in entry]
    assert [entry.get("not_asked") for entry in remarks].count("no member reports an error") == 2
    assert ["five"] in [entry.get("errors_withheld") for entry in remarks]


def test_a_consolidator_may_be_told_of_one_annotator_of_a_campaign_alone(
    database: Database, judge: Judge, tmp_path: Path
) -> None:
    judge("one", {0: (4, [])})
    path = tmp_path / "repeats.jsonl"
    again = [record("repeats", 0, 4, RAIN), record("repeats", 0, 2, NOBODY)]
    path.write_text("".join(entry.model_dump_json() + "\n" for entry in again))
    with database.reading() as session:
        definition = definition_of(find_campaign(session, "one")).model_copy(update={"slug": "repeats"})
    import_campaign(database, path, slug="repeats", format="native", definition=definition)
    consolidate(database, ["one", "repeats#2"], examples=["0"])
    provider = ScriptedProvider(lambda _: "Error 1:\nLocation: nobody\nCategory: Unclear\nSeverity: Minor")
    run_campaign(database, "list", provider=provider)
    (request,) = provider.asked
    told = request.messages[-1].content.split("What the reviewers found")[1]
    assert "nobody" in told
    assert "it rains" not in told
    with database.reading() as session:
        (entry,) = export_records(session, "list")
    assert entry.answers["quality"] == 3


def test_a_consolidator_is_not_asked_about_what_no_member_judged(database: Database, judge: Judge) -> None:
    judge("one", {0: (5, RAIN)})
    judge("two", {0: (5, RAIN)})
    consolidate(database, ["one", "two"], examples=["0", "1"])
    with pytest.raises(InvalidInput, match="none of one, two has judged an item that 'list' asks about"):
        run_campaign(database, "list", provider=ScriptedProvider(lambda _: "No Error"))


def consolidate(database: Database, members: Sequence[str], examples: Sequence[str] = ("0", "1")) -> None:
    with database.transaction() as session:
        content = definition_of(find_campaign(session, members[0])).model_dump(mode="json")
        model = {"provider": "openai", "model": "some-model", "preset": "consolidate", "consolidates": members}
        data = {"dataset": "made", "examples": list(examples)}
        content |= {"slug": "list", "kind": "llm", "data": data, "model": model}
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(content)))
