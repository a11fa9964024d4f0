"""Parquet files: their rows, and the messages about damaged and malicious files."""

import datetime
import decimal
import sys
import uuid
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spanplat.errors import InvalidInput
from spanplat.formats import parquet
from spanplat.formats.datasets import DatasetEntry, read_dataset
from spanplat.formats.problem import Problem
from spanplat.formats.rows import Row
from spanplat.formats.table_formats import detect_format, find_table_format, read_rows
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from tests.formats.parquet_by_hand import (
    DELTA_BYTE_ARRAY,
    REPEATED,
    RLE_DICTIONARY,
    data_page,
    dictionary_page,
    varint,
    write_column,
)

SMALL_MEMORY = 200 * 1024**2
"""Bytes: enough for the reading process itself and a few rows."""
TOO_MUCH = "holds more from here on than is accepted; write it as several smaller files"


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def rows(path: Path) -> list[Row | Problem]:
    return list(read_rows(path, find_table_format("parquet")))


def cells(path: Path) -> list[dict[str, Any]]:
    read = rows(path)
    assert not [row for row in read if isinstance(row, Problem)], read
    return [row.cells for row in read if isinstance(row, Row)]


def test_a_table_becomes_examples_and_outputs(tmp_path: Path) -> None:
    path = write(
        tmp_path / "weather-test.parquet",
        {"id": [1, 1], "model": ["a", "b"], "output": ["Sun.\r\n☀", "Rain."], "source": [{"temps": [1.5, None]}] * 2},
    )
    assert [entry.record for entry in read_dataset(path) if isinstance(entry, DatasetEntry)] == [
        ExampleRecord(split="test", key="1", source={"temps": [1.5, None]}),
        OutputRecord(split="test", key="1", system="a", text="Sun.\n☀"),
        OutputRecord(split="test", key="1", system="b", text="Rain."),
    ]


def test_nested_and_typed_values_become_json(tmp_path: Path) -> None:
    day = datetime.date(2026, 1, 5)
    columns = {
        "list": [[{"a": ["x", "x"]}, {"a": []}]],
        "map": pa.array([[("k", [1, 2])]], pa.map_(pa.string(), pa.list_(pa.int32()))),
        "category": pa.array(["c"]).dictionary_encode(),
        "long": pa.array(["large"], pa.large_string()),
        "day": [day],
        "moment": pa.array([datetime.datetime(2026, 1, 5, 9, tzinfo=datetime.UTC)], pa.timestamp("ms", "UTC")),
        "price": [decimal.Decimal("3.50")],
        "count": [decimal.Decimal(12)],
        "nan": [float("nan")],
        "bytes": [b"caf\xc3\xa9"],
        "span": [datetime.timedelta(minutes=3)],
        "uuid": pa.array([uuid.UUID(int=7).bytes], pa.uuid()),
        "no": pa.nulls(1),
    }
    [found] = cells(write(tmp_path / "a.parquet", columns))
    assert found == {
        "list": [{"a": ["x", "x"]}, {"a": []}],
        "map": {"k": [1, 2]},
        "category": "c",
        "long": "large",
        "day": "2026-01-05",
        "moment": "2026-01-05T09:00:00+00:00",
        "price": "3.50",
        "count": 12,
        "nan": None,
        "bytes": "café",
        "span": "0:03:00",
        "uuid": "00000000-0000-0000-0000-000000000007",
        "no": None,
    }


def test_rows_that_cannot_be_read_are_named_and_the_others_kept(tmp_path: Path) -> None:
    broken = pa.array([b"fine", b"\xff\xfe", b"good"]).cast(pa.binary()).view(pa.binary())
    text = pa.Array.from_buffers(pa.string(), 3, broken.buffers())
    picture = pa.array([b"\x89PNG\xff", b"x", b"\x89PNG\xff"])
    found = rows(write(tmp_path / "a.parquet", {"text": text, "picture": picture}))
    assert [(row.line, row.reason) for row in found if isinstance(row, Problem)] == [
        (1, "has bytes that are no text in 'picture'; there and below they are left out"),
        (2, "holds text that is not UTF-8"),
    ]
    assert [row for row in found if isinstance(row, Row)] == [
        Row(1, {"text": "fine", "picture": None}),
        Row(3, {"text": "good", "picture": None}),
    ]
    [problem] = rows(write(tmp_path / "b.parquet", {"text": ["a\0b"]}))
    assert isinstance(problem, Problem)
    assert problem.reason == "holds a NUL character, which cannot be stored"


def test_a_file_is_known_by_its_name_or_its_first_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "data.pq", {"text": ["a"]})
    assert detect_format(path).name == "parquet"
    assert detect_format(path.rename(tmp_path / "data")).name == "parquet"


@pytest.mark.slow
def test_memory_holds_a_few_rows_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reading process is given less memory than the texts take together."""
    monkeypatch.setattr(parquet, "MEMORY_LIMIT", SMALL_MEMORY)
    texts = (f"Text {number:05}. " * 40_000 for number in range(800))
    expected = [text[:11] for text in (f"Text {number:05}. " for number in range(800))]
    with pq.ParquetWriter(
        path := tmp_path / "a.parquet", pa.schema([("text", pa.string())]), use_dictionary=False
    ) as writer:
        for text in texts:
            writer.write_table(pa.table({"text": [text]}), row_group_size=1)
    begins = [row.cells["text"][:11] for row in read_rows(path, find_table_format("parquet")) if isinstance(row, Row)]
    assert begins == expected


def test_whoever_wants_no_more_rows_ends_the_reading_process(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"text": ["x" * 1000] * 100_000})
    # Other tests of this process may have left processes that end in their own time.
    children_before = set(psutil.Process().children())
    reading = parquet.read_parquet(path)
    assert next(reading) == (1, {"text": "x" * 1000})
    (reading_process,) = set(psutil.Process().children()) - children_before
    reading.close()
    assert not reading_process.is_running()


def test_a_row_group_that_memory_does_not_hold_says_how_to_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.parquet", {"text": ["x" * 100_000]}, use_dictionary=False)
    monkeypatch.setattr(parquet, "MOST_GROUP_BYTES", 10_000)
    with pytest.raises(InvalidInput, match=r"has a row group .* write it with smaller ones \(.*row_group_size=10000\)"):
        rows(path)


def without_end(content: bytes) -> bytes:
    return content[: len(content) // 2]


def with_broken_footer(content: bytes) -> bytes:
    return content[:-40] + b"\xff" * 32 + content[-8:]


def with_huge_footer(content: bytes) -> bytes:
    return content[:-8] + (2**31).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without_end, r"a\.parquet is cut off"),
        (lambda content: b"PK\3\4" + content[4:], r"a\.parquet is not a Parquet file, whatever its name says"),
        (lambda _content: b"PAR1", r"a\.parquet is cut off"),
        (lambda content: content[:-4] + b"PARE", "is encrypted; write it without a key"),
        (with_broken_footer, r"a\.parquet is no usable Parquet file \(.*write it again"),
        (with_huge_footer, "has a footer of more than 64 MB"),
    ],
)
def test_a_damaged_file_is_refused_with_what_is_wrong(tmp_path: Path, damage: Any, message: str) -> None:
    path = write(tmp_path / "a.parquet", {"text": [f"Text {number}." for number in range(100)]})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InvalidInput, match=message):
        parquet.require_parquet(path)
    with pytest.raises(InvalidInput, match=message):
        rows(path)


def test_a_file_damaged_in_the_middle_gives_the_rows_before(tmp_path: Path) -> None:
    texts = [f"Text {number}." for number in range(200)]
    path = write(tmp_path / "a.parquet", {"text": texts}, row_group_size=100, compression="zstd", use_dictionary=False)
    content = bytearray(path.read_bytes())
    chunk = pq.ParquetFile(path).metadata.row_group(1).column(0)
    end = chunk.data_page_offset + chunk.total_compressed_size
    content[end - 60 : end] = bytes(60)
    path.write_bytes(content)
    *kept, problem = rows(path)
    assert [row.cells["text"] for row in kept if isinstance(row, Row)] == texts[:100]
    assert isinstance(problem, Problem)
    assert (problem.line, problem.reason.partition(":")[0]) == (101, "is damaged from here on")


@pytest.mark.parametrize(("limit", "most"), [("MOST_BYTES", 1_000_000), ("MOST_ROWS", 10)])
def test_what_the_footer_states_is_looked_at_before_anything_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    texts = ["x" * 100_000 + str(number) for number in range(20)]
    path = write(tmp_path / "a.parquet", {"text": texts}, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 50_000
    monkeypatch.setattr(parquet, limit, most)
    with pytest.raises(InvalidInput, match=r"unpacks to 2 MB in 20 rows; .* write it as several files"):
        rows(path)


@pytest.mark.slow
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("store_schema", [False, True], ids=["text", "dictionary"])
def test_one_text_repeated_without_end_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool, store_schema: bool
) -> None:
    """A dictionary says once what a million values repeat: the file and its stated size stay small."""
    monkeypatch.setattr(parquet, "MOST_BYTES", 20_000_000)
    million = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_000, pa.int32()), ["x" * 500_000])
    column = pa.ListArray.from_arrays([0, 1_000_000], million) if nested else million
    path = write(tmp_path / "a.parquet", {"text": column}, compression="zstd", store_schema=store_schema)
    assert path.stat().st_size < 50_000
    *read, problem = rows(path)
    assert isinstance(problem, Problem)
    assert problem.reason == TOO_MUCH
    assert sum(len(row.cells["text"]) for row in read if isinstance(row, Row)) < 20_000_000


@pytest.mark.slow
def test_the_reading_process_gets_no_more_memory_than_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MEMORY_LIMIT", SMALL_MEMORY)
    path = write(
        tmp_path / "a.parquet", {"text": ["x" * (SMALL_MEMORY // 2)]}, compression="zstd", use_dictionary=False
    )
    [problem] = rows(path)
    assert isinstance(problem, Problem)
    assert problem.reason == TOO_MUCH


TEXTS = b"".join(len(text).to_bytes(4, "little") + text for text in (b"one", b"two"))
MOST = 2**31 - 1


def test_a_file_made_by_hand_is_read_where_its_headers_are_true(tmp_path: Path) -> None:
    path = write_column(tmp_path / "a.parquet", data_page(TEXTS, unpacked=len(TEXTS), values=2), values=2)
    assert cells(path) == [{"text": "one"}, {"text": "two"}]


@pytest.mark.parametrize(
    "pages",
    [
        data_page(TEXTS, unpacked=MOST, values=2),
        data_page(TEXTS, unpacked=len(TEXTS), values=MOST),
        data_page(TEXTS, unpacked=100 * 1024**2, values=1) * 7,
        data_page(TEXTS, unpacked=8 * 1024**2, values=1000, encoding=DELTA_BYTE_ARRAY),
        data_page(TEXTS, unpacked=len(TEXTS), values=2)[:-2],
        b"\x1c" * 100,
        b"\x15" + b"\xff" * 100,
    ],
    ids=["size", "values", "sum", "shared-starts", "cut-off", "deep", "endless"],
)
def test_page_headers_that_are_not_true_end_the_reading_process_and_nothing_else(tmp_path: Path, pages: bytes) -> None:
    """A reader makes room for what the header of a page says, whatever the footer said."""
    path = write_column(tmp_path / "a.parquet", pages, values=7)
    parquet.require_parquet(path)
    before = pa.total_allocated_bytes()
    *_rows, problem = rows(path)
    assert isinstance(problem, Problem)
    assert problem.reason.startswith(("holds more from here on than is accepted", "is damaged from here on"))
    assert pa.total_allocated_bytes() == before


def test_a_dictionary_that_states_more_entries_than_fit_ends_the_reading_process(tmp_path: Path) -> None:
    entries = dictionary_page(TEXTS, values=MOST)
    pages = entries + data_page(b"\1\4\0", unpacked=3, values=2, encoding=RLE_DICTIONARY)
    path = write_column(tmp_path / "a.parquet", pages, values=2, dictionary=len(entries))
    [problem] = rows(path)
    assert isinstance(problem, Problem)
    assert problem.reason == TOO_MUCH


def test_one_row_with_more_texts_than_fit_is_not_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million texts in one list are a few bytes, since each is the same as the one before."""
    monkeypatch.setattr(parquet, "MEMORY_LIMIT", SMALL_MEMORY)
    count = 10_000_000
    entries = dictionary_page(b"\1\0\0\0x", values=1)
    repeats, defined, index = (
        varint(run << 1) + bytes([value]) for run, value in ((count - 1, 1), (count, 1), (count, 0))
    )
    repeats = b"\2\0" + repeats
    levels = b"".join(len(level).to_bytes(4, "little") + level for level in (repeats, defined))
    content = levels + b"\1" + index
    pages = entries + data_page(content, unpacked=len(content), values=count, encoding=RLE_DICTIONARY)
    path = write_column(tmp_path / "a.parquet", pages, values=1, dictionary=len(entries), repetition=REPEATED)
    [problem] = rows(path)
    assert isinstance(problem, Problem)
    assert problem.reason == TOO_MUCH


def test_truth_values_count_as_what_they_take_once_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MEMORY_LIMIT", SMALL_MEMORY)
    flags = pa.array([[{"is": True}] * 3_000_000], pa.list_(pa.struct([("is", pa.bool_())])))
    path = write(tmp_path / "a.parquet", {"flags": flags})
    [problem] = rows(path)
    assert isinstance(problem, Problem)
    assert problem.reason == TOO_MUCH


def test_a_schema_with_a_column_twice_or_too_deep_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "twice.parquet")
    with pytest.raises(InvalidInput, match="names a column twice"):
        rows(tmp_path / "twice.parquet")
    kind = pa.int32()
    for _ in range(200):
        kind = pa.struct([("a", kind)])
    write(tmp_path / "deep.parquet", {"a": pa.nulls(1, kind)})
    with pytest.raises(InvalidInput, match="too deeply nested"):
        rows(tmp_path / "deep.parquet")


def test_without_pyarrow_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", {"text": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InvalidInput, match=r"pip install 'spanplat\[parquet\]'"):
        rows(path)
