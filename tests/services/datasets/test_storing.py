"""Storing examples and outputs that are stored already, and digests of datasets."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Example, SourceText
from spanplat.schemas.dataset import ExampleRecord
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
