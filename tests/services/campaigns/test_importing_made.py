"""Imports of artificial campaigns with records that cannot be placed or read, and with interruptions."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.formats.native import write_jsonl
from spanplat.models import Annotation, BatchItem, Campaign, Output, Span, Unplaced
from spanplat.schemas.record import CheckRecord
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns
from spanplat.services.datasets.importing import import_dataset
from spanplat.text import sha256_of

TEXT = "The café opens at 8. It rains 🌧️ in the café."


def factgenie_record(**parts: Any) -> dict[str, Any]:
    record = {"dataset": "d", "split": "test", "setup_id": "m1", "example_idx": 0, "annotations": []}
    return record | {"annotator_group": 0} | parts


def factgenie_folder(folder: Path, lines: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(
        "annotation_span_categories:\n- {name: Wrong, color: 'rgb(214, 39, 40)'}\n- {name: Unclear}\n"
    )
    (folder / "annotations.jsonl").write_text("".join(line + "\n" for line in lines), "utf-8")
    return folder


def outputs_folder(folder: Path) -> Path:
    file = folder / "outputs" / "m1" / "d-m1-test.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"example_idx": index, "setup_id": "m1", "output": TEXT} for index in (0, 1)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder / "outputs"


def import_records(
    database: Database, folder: Path, *records: dict[str, Any] | str, slug: str = "made", **options: Any
) -> Any:
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    return import_campaign(
        database,
        factgenie_folder(folder / "campaign", lines),
        slug=slug,
        format="factgenie",
        outputs=outputs_folder(folder),
        **options,
    )


def test_what_has_no_place_is_kept_with_its_reason(database: Database, tmp_path: Path) -> None:
    spans = [
        {"type": 0, "text": "opens", "start": 9},
        {"type": 7, "text": "opens", "start": 9},
        {"type": 1, "text": "CAFÉ", "start": 4},
        {"type": 1, "text": "snow", "start": 4},
        {"type": 1, "text": "snow"},
    ]
    report = import_records(
        database,
        tmp_path,
        factgenie_record(annotations=spans),
        factgenie_record(example_idx=99),
        '{"dataset": "d", "split',
        "[]",
        factgenie_record(example_idx=1, start_timestamp=1.7e15),
    )
    assert (report.annotations, report.spans, report.unreadable_records) == (1, 3, 2)
    assert (dict(report.differences), report.spans_not_in_text) == ({"case": 1}, 1)
    assert dict(report.unplaced_spans) == {
        "its category is not one of the campaign's": 1,
        "it has no offset, and its text is not in the output": 1,
    }
    assert dict(report.unplaced_annotations) == {
        "the dataset has no such output": 1,
        "its times are not seconds since 1970": 1,
    }
    with database.reading() as session:
        kept = session.scalars(select(Unplaced).order_by(Unplaced.id)).all()
        stored = session.scalars(select(Span).order_by(Span.position)).all()
        assert [entry.kind for entry in kept] == ["span", "span", *["annotation"] * 4]
        assert kept[0].record == spans[1]
        assert kept[2].reason == "the dataset has no such output: d/test/99/m1"
        broken = next(entry for entry in kept if entry.record.get("raw", "").startswith('{"dataset": "d", "split'))
        assert broken.record["line"] == 3
        assert [(span.text, span.start_offset, span.end_offset) for span in stored] == [
            ("opens", 9, 14),
            ("CAFÉ", 4, 8),
            ("snow", 4, 8),
        ]
        assert stored[1].origin == {"differs_in": ["case"], "rule": "at-offset"}
        assert stored[2].origin is not None
        assert "does not occur" in stored[2].origin["not_in_text"]


def test_a_second_annotation_of_an_output_by_one_annotator_is_a_repeat(database: Database, tmp_path: Path) -> None:
    first = factgenie_record(annotations=[{"type": 0, "text": "The", "start": 0}])
    report = import_records(database, tmp_path, first, factgenie_record(), factgenie_record(annotator_group=1))
    assert (report.annotations, report.repeats, report.annotators, report.outputs) == (3, 1, 2, 1)
    with database.reading() as session:
        seats = [
            (annotation.assignment.slot, annotation.assignment.repeat)
            for annotation in session.scalars(select(Annotation).order_by(Annotation.id))
        ]
    assert seats == [(0, 0), (0, 1), (1, 0)]


def test_a_second_run_adds_nothing_and_another_file_under_the_name_is_refused(
    database: Database, tmp_path: Path
) -> None:
    assert not import_records(database, tmp_path, factgenie_record()).already_imported
    assert import_records(database, tmp_path, factgenie_record()).already_imported
    with pytest.raises(Conflict, match="already, with other content; choose another --slug"):
        import_records(database, tmp_path, factgenie_record(example_idx=1))
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Annotation)) == 1


class Interrupted(BaseException):
    """Error that stands for Ctrl-C."""


@pytest.mark.slow
def test_an_interrupted_import_is_invisible_and_can_be_repeated(database: Database, tmp_path: Path) -> None:
    records = [factgenie_record(annotator_group=group, example_idx=group % 2) for group in range(450)]

    def interrupt(done: int, total: int | None) -> None:
        del total
        if done >= 400:
            raise Interrupted

    with pytest.raises(Interrupted):
        import_records(database, tmp_path, *records, on_progress=interrupt)
    with database.reading() as session:
        assert list_campaigns(session) == []
        with pytest.raises(NotFound):
            find_campaign(session, "made")
        assert session.scalars(select(Campaign.status)).all() == ["importing"]
    assert import_records(database, tmp_path, *records).annotations == 450
    with database.reading() as session:
        assert find_campaign(session, "made").status == "closed"
        assert session.scalar(select(func.count()).select_from(Annotation)) == 450


def test_progress_is_told_in_records(sqlite_database: Database, tmp_path: Path) -> None:
    told: list[int] = []
    records = [factgenie_record(annotator_group=group) for group in range(250)]

    def tell(done: int, total: int | None) -> None:
        assert total is None
        told.append(done)

    import_records(sqlite_database, tmp_path, *records, on_progress=tell)
    assert len(told) > 1
    assert told == sorted(set(told))
    assert told[-1] == 250


def test_instructions_become_markdown_and_are_kept_as_they_were_received(
    sqlite_database: Database, tmp_path: Path
) -> None:
    told = 'Mark:\n<p>\n- <span style="color: rgb(214, 39, 40)"><b>A</b></span>: wrong.\n</p>'
    folder = factgenie_folder(tmp_path / "campaign", [json.dumps(factgenie_record())])
    (folder / "config.yaml").write_text(
        json.dumps({"annotation_span_categories": [{"name": "A"}], "annotator_instructions": told})
    )
    import_campaign(sqlite_database, folder, slug="told", format="factgenie")
    with sqlite_database.reading() as session:
        campaign = find_campaign(session, "told")
        assert campaign.imported_from is not None
        assert definition_of(campaign).guidelines == "Mark:\n\n- **A**: wrong."
        assert campaign.imported_from["config"]["annotator_instructions"] == told


@pytest.mark.parametrize(
    ("slug", "config", "message"),
    [
        ("Bad Name", "annotation_span_categories: [{name: A}]", r"slug: 'Bad Name' must be lower-case letters"),
        (
            "good",
            "annotation_span_categories: [{name: A}, {name: a}]",
            r"categories.1.name: two categories have the name 'a'",
        ),
    ],
)
def test_a_campaign_that_cannot_be_defined_is_refused_in_words(
    sqlite_database: Database, tmp_path: Path, slug: str, config: str, message: str
) -> None:
    folder = factgenie_folder(tmp_path / "campaign", [json.dumps(factgenie_record())])
    (folder / "config.yaml").write_text(config)
    with pytest.raises(InvalidInput, match=message):
        import_campaign(sqlite_database, folder, slug=slug, format="factgenie")


def test_a_path_or_format_that_is_none_is_named(sqlite_database: Database, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is nothing at"):
        import_campaign(sqlite_database, tmp_path / "none", slug="x", format="factgenie")
    with pytest.raises(InvalidInput, match=r"'xml' is not a format .*native"):
        import_campaign(sqlite_database, tmp_path, slug="x", format="xml")


def native_record(**parts: Any) -> dict[str, Any]:
    record = {
        "campaign": "made",
        "kind": "human",
        "dataset": "d",
        "split": "test",
        "example": "0",
        "system": "m1",
        "text": TEXT,
        "text_sha256": sha256_of(TEXT),
        "annotator": "ann",
        "annotator_kind": "human",
    }
    return record | parts


def import_native(database: Database, folder: Path, *records: dict[str, Any], slug: str = "made") -> Any:
    path = folder / f"{slug}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return import_campaign(database, path, slug=slug, format="native")


def test_a_native_campaign_exported_and_imported_again_is_the_same(database: Database, tmp_path: Path) -> None:
    rain = TEXT.index("🌧️")
    span = {
        "start": rain,
        "end": rain + 2,
        "text": "🌧️",
        "category": "Wrong",
        "severity": None,
        "reason": "no rain",
        "attributes": {"sure": True},
        "origin": {"rule": "exact"},
    }
    records = [
        native_record(
            spans=[span, span | {"category": "Unclear", "start": 0, "end": 3, "text": "The"}],
            answers={"rating": 3},
            group="b",
            started_at="2026-05-04T12:00:00Z",
            completed_at="2026-05-04T12:01:30.500000Z",
            seconds=90.5,
        ),
        native_record(annotator="bob", status="draft"),
        native_record(annotator="cem", check={"kind": "must_abstain", "passed": True}),
    ]
    import_native(database, tmp_path, *records)
    with database.reading() as session:
        exported = list(export_records(session, "made"))
    (tmp_path / "again.jsonl").write_text("".join(write_jsonl(exported)), "utf-8")
    import_campaign(database, tmp_path / "again.jsonl", slug="again", format="native")
    with database.reading() as session:
        again = list(export_records(session, "again"))
        attention = session.scalars(select(BatchItem.role).where(BatchItem.role != "regular")).all()

    changing = {"campaign", "annotator", "kind"}
    assert [r.model_dump(exclude=changing) for r in again] == [r.model_dump(exclude=changing) for r in exported]
    assert [record.status for record in again] == ["complete", "draft", "complete"]
    assert again[0].spans[0].model_dump(exclude={"subcategory", "side", "output"}) == span
    assert again[0].completed_at == "2026-05-04T12:01:30.500000Z"
    assert attention == ["attention", "attention"]
    assert again[2].check == exported[2].check == CheckRecord(kind="must_abstain", passed=True)
    assert not {record.annotator for record in exported} & {"ann", "bob", "cem"}


def test_a_native_record_with_a_time_that_is_none_is_kept_apart(sqlite_database: Database, tmp_path: Path) -> None:
    report = import_native(
        sqlite_database, tmp_path, native_record(started_at="yesterday"), native_record(started_at="2026-01-31T12:00")
    )
    assert (report.annotations, report.unreadable_records) == (1, 1)
    with sqlite_database.reading() as session:
        assert session.scalars(select(Unplaced.reason)).all() == [
            "started_at: 'yesterday' is not a time (write it like 2026-01-31T12:00:00Z)"
        ]
        (started,) = session.scalars(select(Annotation.started_at)).all()
    assert started is not None
    assert started.isoformat() == "2026-01-31T12:00:00+00:00"


def test_a_record_that_carries_another_text_than_the_stored_one_is_reported(
    sqlite_database: Database, tmp_path: Path
) -> None:
    import_native(sqlite_database, tmp_path, native_record(), slug="first")
    changed = native_record(text="Another text.", text_sha256=sha256_of("Another text."))
    report = import_native(sqlite_database, tmp_path, changed, slug="second")
    assert report.text_problems == ["d/test/0/m1 is stored with another text, which stays"]


def test_importing_a_dataset_again_adds_nothing_and_changed_texts_are_listed(
    database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("key,system,text\n1,a,One text.\n1,b,Another text.\n2,a,A third.\n", "utf-8")
    first = import_dataset(database, [path], name="Made data").datasets["made-data"]
    assert (first.examples, first.outputs) == (2, 3)
    second = import_dataset(database, [path], name="Made data").datasets["made-data"]
    assert (second.examples, second.outputs, second.unchanged) == (0, 0, 3)
    path.write_text("key,system,text\n1,a,One text, changed.\n".replace("text, c", "text c"), "utf-8")
    third = import_dataset(database, [path], name="Made data")
    assert third.differing == [("made-data", "all", "1", "a")]


def test_a_dataset_without_a_name_or_without_rows_is_refused(sqlite_database: Database, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("key,system,text\n1,a,One.\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"x\.csv, line 2 names no dataset; give one with --name"):
        import_dataset(sqlite_database, [path])
    with pytest.raises(InvalidInput, match="'xml' is not a format of datasets; use auto, jsonl"):
        import_dataset(sqlite_database, [path], name="x", format="xml")


def test_after_a_large_import_the_database_knows_how_much_it_holds(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    lines = (json.dumps({"system": "fir", "example": str(number), "text": f"Day {number}."}) for number in range(1_000))
    file.write_text("\n".join(lines), "utf-8")
    import_dataset(database, [file], name="many")
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Output)) == 1_000
        if not database.is_sqlite:
            counted = text("SELECT reltuples FROM pg_class WHERE relname = 'output'")
            assert session.scalar(counted) == 1_000
