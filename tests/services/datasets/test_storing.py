"""Storing examples and outputs that are stored already, and digests of datasets."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import event, select

from spanplat.db import Database
from spanplat.models import Dataset, Example, SourceText
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from spanplat.services.datasets.storing import store_records

FIRST, SECOND = {"title": "Rain"}, {"title": "Sun", "place": "Brno"}


@pytest.mark.parametrize(
    "imports", [[[FIRST], [SECOND]], [[FIRST, SECOND]], [[None], [FIRST], [SECOND]], [[None, FIRST]]]
)
def test_the_first_source_of_an_example_stays_with_its_texts(
    database: Database, imports: Sequence[Sequence[Any]]
) -> None:
    for sources in imports:
        store_records(database, [("made", ExampleRecord(split="test", key="1", source=source)) for source in sources])
    with database.reading() as session:
        assert session.execute(select(Example.source, Example.source_plain)).all() == [(FIRST, "Rain")]
        assert session.execute(select(SourceText.field, SourceText.text)).all() == [("title", "Rain")]


def test_two_imports_at_once_leave_the_digest_of_all_outputs(database: Database) -> None:
    alder, birch = (OutputRecord(split="test", key="1", system=name, text="Rain.") for name in ("alder", "birch"))
    waiting = [("twice", birch)]

    def import_the_other(*told: object) -> None:
        # The outputs are read, and their digest is not stored yet.
        if waiting and "ORDER BY example.split" in str(told[2]):
            store_records(database, [waiting.pop()])

    event.listen(database.engine, "after_cursor_execute", import_the_other)
    store_records(database, [("twice", alder)])
    event.remove(database.engine, "after_cursor_execute", import_the_other)
    assert not waiting
    store_records(database, [("once", alder), ("once", birch)])
    with database.reading() as session:
        digests = session.scalars(select(Dataset.sha256)).all()
    assert digests[0] == digests[1]
