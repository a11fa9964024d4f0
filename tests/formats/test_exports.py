"""Export formats: the promises of each format hold for all records (property tests)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanplat.errors import NotFound
from spanplat.formats.exports import EXPORT_FORMATS, ExportFormat, find_export_format
from spanplat.formats.native import read_records
from spanplat.schemas.record import AnnotationRecord
from tests.formats.test_native import record, records


def written(tmp_path: Path, entry: ExportFormat, annotations: list[AnnotationRecord]) -> Path:
    path = tmp_path / f"export.{entry.extension}"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(entry.write(annotations))
    return path


@pytest.mark.parametrize("entry", [entry for entry in EXPORT_FORMATS if not entry.lost], ids=lambda entry: entry.name)
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(annotations=st.lists(records, max_size=3))
def test_a_format_that_loses_nothing_is_imported_again_as_it_was(
    tmp_path: Path, entry: ExportFormat, annotations: list[AnnotationRecord]
) -> None:
    assert list(read_records(written(tmp_path, entry, annotations))) == annotations


@pytest.mark.parametrize("entry", EXPORT_FORMATS, ids=lambda entry: entry.name)
def test_a_format_writes_annotations_as_they_come(entry: ExportFormat) -> None:
    """A campaign may be larger than memory, so a format must not wait for the last annotation."""
    asked = 0

    def annotations() -> Iterator[AnnotationRecord]:
        nonlocal asked
        while True:
            asked += 1
            yield record(example=str(asked))

    pieces = entry.write(annotations())
    assert all(next(pieces) for _ in range(10))
    assert asked <= 10


def test_no_two_formats_have_a_name_in_common() -> None:
    names = [entry.name for entry in EXPORT_FORMATS]
    assert len(set(names)) == len(names)


def test_an_unknown_format_is_answered_with_those_there_are() -> None:
    with pytest.raises(NotFound, match="no export as 'exe' here; choose one of jsonl, csv"):
        find_export_format("exe")
