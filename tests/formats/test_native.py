"""The native record survives JSON lines and CSV exactly, and bad lines are reported in their place."""

import csv
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanplat.errors import InvalidInput
from spanplat.formats.native import CSV_COLUMNS, read_csv, read_jsonl, write_csv, write_jsonl
from spanplat.formats.problem import Problem
from spanplat.formats.rows import MOST_CELL, Row
from spanplat.formats.table_formats import find_table_format, read_rows
from spanplat.schemas.record import AnnotationRecord, CheckRecord, ItemRecord, SpanRecord

# Whatever may be stored (no NUL, no lone surrogate), with a preference for what breaks CSV files.
characters = st.one_of(
    st.sampled_from("=+-@\t\r\n'\",;|%＝é漢😀\u2028\x85\x1c "),
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
)
words = st.text(characters, max_size=12)
perhaps = st.none() | words
numbers = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
mappings = st.dictionaries(words, values, max_size=3)
spans = st.builds(
    SpanRecord,
    start=st.integers(0, 10**6), end=st.integers(0, 10**6), text=words, category=words, subcategory=perhaps, severity=perhaps,
    reason=perhaps, side=st.sampled_from(["output", "source"]), output=st.integers(-1, 3), attributes=mappings,
    origin=st.none() | mappings,
)  # fmt: skip
records = st.builds(
    AnnotationRecord,
    campaign=words, kind=words, dataset=words, split=words, example=words, system=words, text=words, text_sha256=words,
    annotator=words, annotator_kind=st.sampled_from(["human", "llm"]), group=perhaps, batch=st.none() | st.integers(-5, 99),
    status=st.sampled_from(["draft", "complete"]), started_at=perhaps, completed_at=perhaps, seconds=st.none() | numbers,
    item=st.builds(
        ItemRecord, kind=st.sampled_from(["output", "pair", "aspect", "span"]), outputs=st.lists(words, max_size=2), aspect=perhaps
    ),
    spans=st.lists(spans, max_size=3), dismissed=st.lists(mappings, max_size=2), answers=mappings,
    check=st.none() | st.builds(CheckRecord, kind=words, passed=st.booleans()),
)  # fmt: skip

Write = Callable[[Iterable[AnnotationRecord]], Iterator[str]]
Read = Callable[[Path], Iterator[AnnotationRecord | Problem]]
FORMATS = [pytest.param(write_jsonl, read_jsonl, id="jsonl"), pytest.param(write_csv, read_csv, id="csv")]


def record(**changes: Any) -> AnnotationRecord:
    fields: dict[str, Any] = {
        "campaign": "c", "kind": "human", "dataset": "d", "split": "test", "example": "0", "system": "s", "text": "A text.",
        "text_sha256": "0" * 64, "annotator": "a1", "annotator_kind": "human",
    }  # fmt: skip
    return AnnotationRecord(**{**fields, **changes})


def there_and_back(written: list[AnnotationRecord], write: Write, read: Read) -> list[AnnotationRecord | Problem]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(write(written))
        return list(read(path))


@pytest.mark.parametrize(("write", "read"), FORMATS)
@given(written=st.lists(records, max_size=3))
def test_records_come_back_exactly(write: Write, read: Read, written: list[AnnotationRecord]) -> None:
    assert there_and_back(written, write, read) == written


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_two_equal_annotations_stay_two(write: Write, read: Read) -> None:
    twins = [record(), record(), record(spans=[SpanRecord(start=0, end=1, text="A", category="x")] * 2)] * 2
    assert there_and_back(twins, write, read) == twins


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_a_text_of_a_megabyte_comes_back(write: Write, read: Read) -> None:
    long = [record(text="ü😀 \r\n,\"'" * 150_000)]
    assert there_and_back(long, write, read) == long


def test_a_long_text_is_read_while_a_dataset_is_read(tmp_path: Path) -> None:
    native, table = tmp_path / "native.csv", tmp_path / "table.csv"
    written = [record(), record(), record(text="a" * (MOST_CELL + 1))]
    native.write_text("".join(write_csv(written)), encoding="utf-8", newline="")
    table.write_text("k,t\n1,a\n", encoding="utf-8")
    records, rows = read_csv(native), read_rows(table, find_table_format("csv"))
    assert next(records) == written[0]
    assert next(rows) == Row(2, {"k": "1", "t": "a"})
    assert [len(entry.text) for entry in records if isinstance(entry, AnnotationRecord)] == [7, MOST_CELL + 1]


def test_an_annotation_without_spans_has_one_row_with_empty_span_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("".join(write_csv([record()])), newline="", encoding="utf-8")
    with path.open(newline="", encoding="utf-8") as lines:
        (row,) = csv.DictReader(lines)
    assert tuple(row) == CSV_COLUMNS
    assert {row[column] for column in CSV_COLUMNS if column.startswith("span_")} == {""}


@settings(max_examples=settings().max_examples // 3)
@given(st.lists(records, min_size=1, max_size=2))
def test_no_cell_is_a_formula(written: list[AnnotationRecord]) -> None:
    for row in csv.reader(write_csv(written)):
        assert not [cell for cell in row if cell[:1] in set("=+-@\t\r") and cell]


def test_csv_without_numbers_groups_rows_that_share_the_annotation(tmp_path: Path) -> None:
    columns = "campaign,kind,dataset,split,example,system,text,text_sha256,annotator,annotator_kind"
    rows = [
        "c,human,d,test,0,s,ab,h,a1,human,0,1,a,x",
        "c,human,d,test,0,s,ab,h,a1,human,1,2,b,x",
        "c,human,d,test,0,s,ab,h,a2,human,,,,",
    ]
    path = tmp_path / "a.csv"
    path.write_text(
        "\ufeff" + "\n".join([f"{columns},span_start,span_end,span_text,span_category", *rows]) + "\n", encoding="utf-8"
    )
    first, second = read_csv(path)
    assert isinstance(first, AnnotationRecord)
    assert isinstance(second, AnnotationRecord)
    assert [span.text for span in first.spans] == ["a", "b"]
    assert (second.annotator, second.spans) == ("a2", [])


def test_bad_json_lines_are_reported_in_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = next(write_jsonl([record()])).encode()
    path.write_bytes(
        good + b'{"campaign": \n' + b"\xff\xfe\n" + b'{"campaign": "c"}\n' + b'["\\ud83d"]\n' + b"\n" + good
    )
    entries = list(read_jsonl(path))
    assert [entry.line if isinstance(entry, Problem) else "record" for entry in entries] == [
        "record",
        2,
        3,
        4,
        5,
        "record",
    ]
    problems = [entry for entry in entries if isinstance(entry, Problem)]
    assert problems[0].raw == '{"campaign": '
    assert "is not JSON" in problems[0].reason
    assert "is not UTF-8" in problems[1].reason
    assert "kind: Field required" in problems[2].reason
    assert "half of a surrogate pair" in problems[3].reason


def test_bad_csv_rows_are_reported_in_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    header, good = write_csv([record(text="two\nlines")])
    path.write_text(
        header + good + "1,2\r\n" + good.replace("1,c", "7,c", 1).replace(",human,,,complete", ",cat,,,complete"),
        newline="",
    )
    first, short, wrong = read_csv(path)
    assert isinstance(first, AnnotationRecord)
    assert isinstance(short, Problem)
    assert (short.line, short.reason) == (4, f"has 2 cells where the header has {len(CSV_COLUMNS)}")
    assert isinstance(wrong, Problem)
    assert wrong.line == 5
    assert "annotator_kind" in wrong.reason


def test_a_header_that_lacks_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("campaign,colour\nc,red\n")
    with pytest.raises(InvalidInput, match=r"lacks kind, dataset.* and has the unknown colour"):
        list(read_csv(path))
