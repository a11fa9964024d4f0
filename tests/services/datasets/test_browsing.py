"""Search for outputs by their annotations, and the view of one output with all its layers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import NotFound
from spanplat.models import Annotation, Annotator, Assignment, CheckResult
from spanplat.services.datasets.browsing import (
    BrowseFilter,
    annotators_of,
    browse_output,
    describe_outputs,
    find_outputs,
)


@pytest.fixture
def campaigns(imported: Callable[..., str]) -> None:
    """Annotations of people (two on output 0, one on 1 and 2) and of a model (outputs 0 to 3)."""
    imported(
        "people",
        ada={0: [(0, 6, "Wrong")], 1: [(0, 6, "Unclear")], 2: []},
        bob={0: []},
    )
    imported("model", m={0: [(0, 6, "Wrong"), (10, 12, "Wrong")], 1: [], 2: [], 3: [(0, 6, "Unclear")]})


def keys(database: Database, wanted: BrowseFilter) -> list[tuple[str, str]]:
    with database.reading() as session:
        found = describe_outputs(session, wanted, find_outputs(session, wanted))
    return [(row.key, row.system) for row in found]


ALL = [("0", "alder"), ("0", "birch"), ("1", "alder"), ("1", "birch"), ("2", "alder"), ("2", "birch")]


@pytest.mark.usefixtures("campaigns")
@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        (BrowseFilter(), [0, 1, 2, 3, 4, 5]),
        (BrowseFilter(campaigns=("people",)), [0, 1, 2]),
        (BrowseFilter(campaigns=("people", "model")), [0, 1, 2, 3]),
        (BrowseFilter(systems=("birch",)), [1, 3, 5]),
        (BrowseFilter(category="unclear"), [1, 3]),
        (BrowseFilter(campaigns=("model",), category="unclear"), [3]),
        (BrowseFilter(category="wrong", marked="all"), [0]),
        (BrowseFilter(category="wrong", search="report 1"), []),
        (BrowseFilter(category="never"), []),
        (BrowseFilter(marked="none"), [2]),
        (BrowseFilter(marked="some"), [0, 1]),
        (BrowseFilter(marked="all"), [3]),
        (BrowseFilter(campaigns=("people",), marked="some"), [0]),
        (BrowseFilter(campaigns=("model",), marked="all"), [0, 3]),
        (BrowseFilter(search="REPORT 4"), [4]),
        (BrowseFilter(search="100%"), []),
        (BrowseFilter(datasets=("other",)), []),
        (BrowseFilter(splits=("test",), search="report 1"), [1]),
    ],
)
def test_outputs_are_found_by_what_they_are_and_what_was_marked(
    database: Database, wanted: BrowseFilter, places: list[int]
) -> None:
    assert keys(database, wanted) == [ALL[place] for place in places]


@pytest.mark.usefixtures("campaigns")
def test_a_row_counts_the_annotations_and_spans_that_fit(database: Database) -> None:
    with database.reading() as session:
        row = describe_outputs(session, BrowseFilter(), find_outputs(session, BrowseFilter()))[0]
        only_people = BrowseFilter(campaigns=("people",))
        people = describe_outputs(session, only_people, find_outputs(session, only_people)[:1])[0]
    assert (row.annotations, row.spans) == (3, 3)
    assert (people.annotations, people.spans) == (2, 1)


@pytest.mark.usefixtures("campaigns")
def test_a_row_counts_what_fits_the_campaign_the_category_and_the_annotator(database: Database) -> None:
    def counted(**wanted: Any) -> list[tuple[int, int]]:
        chosen = BrowseFilter(**wanted)
        rows = describe_outputs(session, chosen, find_outputs(session, chosen))
        return [(row.annotations, row.spans) for row in rows]

    with database.reading() as session:
        names = {one.external_id: one.pseudonym for one in session.scalars(select(Annotator))}
        (ada,) = (pseudonym for name, pseudonym in names.items() if "ada" in name)
        assert counted(campaigns=("people",)) == [(2, 1), (1, 1), (1, 0)]
        assert counted(category="wrong") == [(2, 3)]
        assert counted(campaigns=("model",), category="wrong") == [(1, 2)]
        assert counted(annotator=ada) == [(1, 1), (1, 1), (1, 0)]
        assert counted(annotator=ada, category="unclear") == [(1, 1)]
        assert counted(annotator=ada, campaigns=("model",)) == []


@pytest.mark.usefixtures("campaigns")
def test_an_output_comes_with_its_layers_and_its_neighbours_in_the_list(database: Database) -> None:
    wanted = BrowseFilter(campaigns=("people", "model"))
    with database.reading() as session:
        ids = find_outputs(session, wanted)
        first, second, last = (browse_output(session, wanted, ids[place]) for place in (0, 1, -1))
        assert [(layer.campaign, len(layer.spans)) for layer in first.layers] == [
            ("people", 1),
            ("people", 0),
            ("model", 2),
        ]
        assert (first.number, first.previous, first.next) == (1, None, ids[1])
        assert (second.previous, second.next) == (ids[0], ids[2])
        assert (last.number, last.next) == (4, None)
        assert first.text.startswith("Report 0")
        outside = browse_output(session, replace(wanted, systems=("birch",)), ids[0])
        assert (outside.number, outside.next) == (0, ids[1])
        with pytest.raises(NotFound, match="no output number"):
            browse_output(session, wanted, 10_000)


@pytest.mark.usefixtures("campaigns")
def test_one_annotator_is_looked_at_alone(database: Database) -> None:
    with database.reading() as session:
        names = annotators_of(session, ["people"], 10)
        assert len(names) == 2
        assert annotators_of(session, [], 10) == sorted({*names, *annotators_of(session, ["model"], 10)})
    counts = sorted(len(keys(database, BrowseFilter(annotator=name))) for name in names)
    assert counts == [1, 3]


@pytest.mark.usefixtures("campaigns")
def test_outputs_are_found_by_the_outcome_of_checks(database: Database) -> None:
    with database.transaction() as session:
        annotation = session.scalars(
            select(Annotation).join(Assignment).join(Annotator).order_by(Annotation.id).limit(1)
        ).one()
        session.add(
            CheckResult(
                assignment_id=annotation.assignment_id,
                item_id=annotation.item_id,
                name="c",
                kind="must_mark",
                passed=False,
            )
        )
    assert keys(database, BrowseFilter(check="failed")) == ALL[:1]
    assert keys(database, BrowseFilter(check="passed")) == []
