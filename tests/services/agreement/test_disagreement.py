"""Outputs sorted by disagreement, with filters by type, pair of categories and text."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotFound
from spanplat.metrics import char
from spanplat.metrics.disagreement import ClusterType
from spanplat.models import (
    Annotation,
    Annotator,
    Assignment,
    AssignmentStatus,
    BatchItem,
    Campaign,
    Category,
    ItemOutput,
    Output,
    Span,
)
from spanplat.services.agreement.comparison import AgreementOptions, compute_agreement
from spanplat.services.agreement.disagreement import NO_PARTNER, DisagreementFilter, choose, find_disagreements
from spanplat.services.agreement.disagreement_outputs import list_lines, show_output
from spanplat.services.agreement.sides import Filters
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.campaigns.lifecycle import find_campaign

Marks = Mapping[str, Sequence[tuple[str, str]]]
"""By text, the quotes marked in it and the keys of their categories."""

RAIN = "Alder: It rains 🌧️ all day."
ARABIC = "Birch: درجة الحرارة 21 مئوية."
SHORT = "Alder: A short report."
DEGREES = "Birch: 12 °C"

PEOPLE: Marks = {
    SHORT: [("short", "wrong"), ("report", "unclear")],
    RAIN: [("🌧️ all day", "wrong")],
    ARABIC: [("الحرارة", "wrong")],
    DEGREES: [("12", "wrong")],
}
MODEL: Marks = {
    SHORT: [("short", "wrong"), ("report", "wrong")],
    RAIN: [("all day", "wrong")],
    DEGREES: [("12", "wrong")],
    "Birch: Line one\nline two.": [("one\nline", "unclear")],
}


@pytest.fixture
def annotate(database: Database) -> Callable[..., None]:
    """Let one annotator complete a seat of every batch of a campaign."""

    def make(slug: str, marks: Marks, *, slot: int = 0) -> None:
        with database.transaction() as session:
            campaign = find_campaign(session, slug)
            name = f"{slug}-{slot}"
            annotator = Annotator(kind="human", source="test", external_id=name, pseudonym=name)
            session.add(annotator)
            session.flush()
            categories = {c.key: c.id for c in session.scalars(select(Category).filter_by(campaign_id=campaign.id))}
            for assignment in session.scalars(select(Assignment).filter_by(campaign_id=campaign.id, slot=slot)):
                assignment.annotator_id, assignment.status = annotator.id, AssignmentStatus.SUBMITTED
                items = session.execute(
                    select(BatchItem.item_id, Output.text)
                    .join(ItemOutput, ItemOutput.item_id == BatchItem.item_id)
                    .join(Output, Output.id == ItemOutput.output_id)
                    .where(BatchItem.batch_id == assignment.batch_id)
                ).all()
                for item_id, text in items:
                    annotation = Annotation(assignment_id=assignment.id, item_id=item_id, status="complete")
                    session.add(annotation)
                    session.flush()
                    for position, (quote, category) in enumerate(marks.get(text, [])):
                        start = text.index(quote)
                        session.add(
                            Span(
                                annotation_id=annotation.id,
                                position=position,
                                category_id=categories[category],
                                start_offset=start,
                                end_offset=start + len(quote),
                                text=quote,
                                reason=f"because of {quote}",
                            )
                        )

    return make


@pytest.fixture
def two_sides(launch: Callable[..., Campaign], annotate: Callable[..., None]) -> None:
    """People and a model who marked the same twelve texts."""
    for slug, marks in (("people", PEOPLE), ("model", MODEL)):
        launch(slug=slug)
        annotate(slug, marks)


def texts(database: Database, choice: DisagreementFilter, **parts: Any) -> list[str]:
    with database.reading() as session:
        found = find_disagreements(session, "people", "model", AgreementOptions(**parts))
        lines = list_lines(session, found, choose(session, found, choice).rows.tolist())
    return [line.excerpt for line in lines]


def output_id_of(database: Database, text: str) -> int:
    with database.reading() as session:
        return session.scalars(select(Output.id).where(Output.text == text)).one()


@pytest.mark.usefixtures("two_sides")
def test_the_greatest_disagreement_stands_first(database: Database) -> None:
    listed = texts(database, DisagreementFilter())

    assert len(listed) == 12
    assert listed[:2] == [ARABIC, "Birch: Line one\nline two."]
    assert listed[2:4] == [SHORT, RAIN]


@pytest.mark.usefixtures("two_sides")
@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (DisagreementFilter(kind=ClusterType.MISSING), [ARABIC]),
        (DisagreementFilter(kind=ClusterType.EXTRA), ["Birch: Line one\nline two."]),
        (DisagreementFilter(kind=ClusterType.BOUNDARY), [RAIN]),
        (DisagreementFilter(kind=ClusterType.CATEGORY), [SHORT]),
        (DisagreementFilter(kind=ClusterType.SPLIT_MERGE), []),
        (DisagreementFilter(reference_category="unclear", hypothesis_category="Wrong"), [SHORT]),
        (DisagreementFilter(reference_category="wrong", hypothesis_category=NO_PARTNER), [ARABIC]),
        (DisagreementFilter(reference_category=NO_PARTNER), ["Birch: Line one\nline two."]),
        (DisagreementFilter(kind=ClusterType.EXTRA, reference_category="wrong"), []),
        (DisagreementFilter(text="RAINS 🌧️"), [RAIN, RAIN.replace("Alder", "Birch")]),
        (DisagreementFilter(text="الحرارة"), [ARABIC, ARABIC.replace("Birch", "Alder")]),
        (DisagreementFilter(kind=ClusterType.AGREEMENT, text="birch"), [DEGREES]),
        (DisagreementFilter(text="snow"), []),
    ],
)
def test_a_choice_finds_the_outputs_it_describes(
    database: Database, choice: DisagreementFilter, expected: list[str]
) -> None:
    assert texts(database, choice) == expected


@pytest.mark.usefixtures("two_sides")
def test_a_search_gives_the_same_again_and_after_many_others(database: Database) -> None:
    with database.reading() as session:
        found = find_disagreements(session, "people", "model")
        first = choose(session, found, DisagreementFilter(text="Report")).rows.tolist()
        narrowed = choose(session, found, DisagreementFilter(kind=ClusterType.EXTRA, text="report")).rows.tolist()
        for number in range(20):
            choose(session, found, DisagreementFilter(text=f"nothing {number}"))
        again = choose(session, found, DisagreementFilter(text="REPORT")).rows.tolist()

    assert first == again
    assert first
    assert set(narrowed) < set(first)


@pytest.mark.usefixtures("two_sides")
def test_types_are_counted_whatever_type_is_chosen(database: Database) -> None:
    with database.reading() as session:
        found = find_disagreements(session, "people", "model")
        counted = [
            choose(session, found, DisagreementFilter(kind=kind)).by_type for kind in (None, ClusterType.MISSING)
        ]

    assert counted[0] == counted[1]
    assert {str(kind): number for kind, number in counted[0].items() if number} == {
        "agreement": 2,
        "missing": 1,
        "extra": 1,
        "category": 1,
        "boundary": 1,
    }


@pytest.mark.usefixtures("two_sides")
def test_filters_of_the_comparison_hold_here_too(database: Database) -> None:
    assert len(texts(database, DisagreementFilter(), filters=Filters(systems=("alder",)))) == 6
    assert texts(database, DisagreementFilter(kind=ClusterType.MISSING), filters=Filters(systems=("alder",))) == []
    assert texts(database, DisagreementFilter(kind=ClusterType.EXTRA), filters=Filters(categories=("wrong",))) == [
        SHORT
    ]


@pytest.mark.usefixtures("two_sides")
def test_every_cell_of_the_confusion_matrix_is_found_with_its_number(database: Database) -> None:
    confusion = compute_agreement(database, "people", "model", AgreementOptions(samples=3)).as_json()["confusion"]
    names = ["wrong", "unclear", NO_PARTNER]

    with database.reading() as session:
        found = find_disagreements(session, "people", "model")
        pairs = [
            [choose(session, found, DisagreementFilter(None, row, column)).pairs for column in names] for row in names
        ]

    assert pairs == confusion["matrix"]


@pytest.mark.usefixtures("two_sides")
def test_an_output_is_shown_with_the_spans_of_both_sides_in_clusters(database: Database) -> None:
    with database.reading() as session:
        found = find_disagreements(session, "people", "model")
        selection = choose(session, found, DisagreementFilter(kind=ClusterType.CATEGORY))
        output = show_output(session, found, selection, output_id_of(database, SHORT))

    assert (output.text, output.source, output.comparisons) == (SHORT, {"number": 0}, 1)
    assert output.annotators == {"reference": "people-0", "hypothesis": "model-0"}
    assert [(cluster.kind, cluster.is_wanted) for cluster in output.clusters] == [
        (ClusterType.AGREEMENT, False),
        (ClusterType.CATEGORY, True),
    ]
    marked = [
        (who, span.category, output.text[span.start : span.end], span.reason)
        for cluster in output.clusters
        for who, spans in cluster.spans.items()
        for span in spans
    ]
    assert marked == [
        ("reference", "wrong", "short", "because of short"),
        ("hypothesis", "wrong", "short", "because of short"),
        ("reference", "unclear", "report", "because of report"),
        ("hypothesis", "wrong", "report", "because of report"),
    ]


@pytest.mark.usefixtures("two_sides")
def test_a_new_annotation_changes_what_is_found(database: Database) -> None:
    assert texts(database, DisagreementFilter(kind=ClusterType.MISSING)) == [ARABIC]

    with database.transaction() as session:
        annotation = session.scalars(
            select(Annotation)
            .join(Assignment, Assignment.id == Annotation.assignment_id)
            .join(Campaign, Campaign.id == Assignment.campaign_id)
            .join(ItemOutput, ItemOutput.item_id == Annotation.item_id)
            .where(Campaign.slug == "model", ItemOutput.output_id == output_id_of(database, SHORT))
        ).one()
        for span in annotation.spans:
            session.delete(span)
        annotation.revision += 1

    assert set(texts(database, DisagreementFilter(kind=ClusterType.MISSING))) == {ARABIC, SHORT}


def test_annotators_of_one_campaign_are_compared_pair_by_pair(
    database: Database, launch: Callable[..., Campaign], annotate: Callable[..., None]
) -> None:
    launch(slug="people", annotators={"per_output": 3})
    for slot, marks in enumerate((PEOPLE, MODEL, PEOPLE)):
        annotate("people", marks, slot=slot)

    with database.reading() as session:
        found = find_disagreements(session, "people", "people", AgreementOptions("pairs", "pairs"))
        output_id = output_id_of(database, ARABIC)
        everything = choose(session, found, DisagreementFilter())
        shown = [show_output(session, found, everything, output_id, number) for number in (1, 2, 3)]

        assert (len(found.reference), found.n_outputs) == (36, 12)
        assert [output.clusters[0].kind for output in shown] == ["missing", "agreement", "extra"]
        with pytest.raises(NotFound, match=r"not compared .* a 4th time"):
            show_output(session, found, everything, output_id, 4)


@pytest.mark.usefixtures("two_sides")
def test_what_cannot_be_compared_is_said(database: Database, launch: Callable[..., Campaign]) -> None:
    launch(slug="waiting")
    with database.reading() as session:
        with pytest.raises(NotFound, match="no campaign 'nobody'"):
            find_disagreements(session, "people", "nobody")
        with pytest.raises(InvalidInput, match="share no completed output"):
            find_disagreements(session, "people", "waiting")
        with pytest.raises(InvalidInput, match="neither campaign has a category 'late'"):
            find_disagreements(session, "people", "model", AgreementOptions(filters=Filters(categories=("late",))))
        found = find_disagreements(session, "people", "model")
        with pytest.raises(InvalidInput, match="neither campaign has a category 'late'"):
            choose(session, found, DisagreementFilter(reference_category="late"))
        with pytest.raises(NotFound, match="not compared"):
            show_output(session, found, choose(session, found, DisagreementFilter()), 10**6)


@pytest.mark.data
def test_people_and_a_model_on_the_published_data(sqlite_database: Database, research_data: Path) -> None:
    folder = research_data / "d2t-eval"
    for slug, path in (("people", "human/test"), ("model", "model/test/o3-mini")):
        import_campaign(
            sqlite_database,
            folder / "annotations" / path,
            slug=slug,
            format="factgenie",
            outputs=folder / "outputs",
            inputs=folder / "inputs",
        )

    with sqlite_database.reading() as session:
        found = find_disagreements(session, "people", "model")
        everything = choose(session, found, DisagreementFilter())
        confused = choose(session, found, DisagreementFilter(None, "Contradictory", "Misleading"))
        shown = show_output(session, found, confused, found.reference[int(confused.rows[0])].output_id)

    figures = char(found.pair)
    assert found.n_outputs == len(everything.rows) == 1200
    assert (figures.precision, figures.recall) == pytest.approx((0.351, 0.250), abs=0.0005)
    assert sum(everything.by_type.values()) == len(found.clusters)
    assert everything.by_type[ClusterType.SEVERITY] == 0
    assert confused.pairs == 23
    wanted = [cluster for cluster in shown.clusters if cluster.is_wanted]
    assert wanted
    for cluster in wanted:
        assert {"contradictory", "misleading"} <= {span.category for spans in cluster.spans.values() for span in spans}
