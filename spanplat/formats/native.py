"""Reader and writer of native records as JSON lines and CSV. Both are streamed, and reading restores exactly what was written.

CSV has one row per span. An annotation without spans has one row with empty span columns. Columns of the annotation have the names of
the record's fields, with nested values as JSON. Columns of the span begin with ``span_``. The column ``annotation`` numbers the
annotations, so that two equal ones stay two. An empty cell is null. Three kinds of cells get an apostrophe in front, which the reader
removes: a cell that a spreadsheet would run as a formula, a cell that begins with an apostrophe, and an empty string in a column that
can be null.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spanplat.errors import InvalidInput
from spanplat.formats.json_lines import decode_json, read_json_lines
from spanplat.formats.problem import Problem
from spanplat.formats.rows import lift_cell_limit
from spanplat.formats.spreadsheets import needs_apostrophe
from spanplat.schemas.record import AnnotationRecord, SpanRecord

_FIELDS = tuple(name for name in AnnotationRecord.model_fields if name != "spans")
_SPAN_FIELDS = tuple(SpanRecord.model_fields)
_JSON_FIELDS = frozenset({"item", "answers", "check", "attributes", "origin", "dismissed"})
_NUMBER = "annotation"
CSV_COLUMNS: tuple[str, ...] = (_NUMBER, *_FIELDS, *(f"span_{name}" for name in _SPAN_FIELDS))


def write_jsonl(records: Iterable[AnnotationRecord]) -> Iterator[str]:
    """Yield one line of JSON per record, with its line end."""
    for record in records:
        yield record.model_dump_json() + "\n"


def read_jsonl(path: Path) -> Iterator[AnnotationRecord | Problem]:
    """Read records from JSON lines; a line that is not a record yields a problem."""
    for entry in read_json_lines(path):
        if isinstance(entry, Problem):
            yield entry
            continue
        try:
            yield AnnotationRecord.model_validate(entry.value)
        except ValidationError as error:
            yield Problem(path, entry.line, _explained(error), json.dumps(entry.value, ensure_ascii=False))


def read_records(path: Path) -> Iterator[AnnotationRecord | Problem]:
    """Read records from CSV if the file has the extension ``.csv``, from JSON lines otherwise."""
    return read_csv(path) if path.suffix.lower() == ".csv" else read_jsonl(path)


def write_csv(records: Iterable[AnnotationRecord]) -> Iterator[str]:
    """Yield the header and then the rows, each with its line end; open the file with ``newline=""``."""
    yield _csv_line(CSV_COLUMNS)
    for number, record in enumerate(records, start=1):
        values = record.model_dump(mode="json")
        spans = values.pop("spans")
        annotation = [str(number), *(_cell(name, values[name], AnnotationRecord) for name in _FIELDS)]
        for span in spans:
            yield _csv_line([*annotation, *(_cell(name, span[name], SpanRecord) for name in _SPAN_FIELDS)])
        if not spans:
            yield _csv_line([*annotation, *("" for _ in _SPAN_FIELDS)])


def read_csv(path: Path) -> Iterator[AnnotationRecord | Problem]:
    """Read records from CSV.

    Rows of one annotation are adjacent. They share the number in ``annotation`` or, in a file without that column, all cells of the
    annotation. Columns may have any order, and those with a default may be missing.

    Raises
    ------
    InvalidInput
        The file is not UTF-8, or its header has a missing, duplicate or unknown column.
    """
    lift_cell_limit()
    with path.open(encoding="utf-8-sig", newline="") as lines:
        # Without `strict`, a file that is cut off within a cell would look complete.
        rows = csv.reader(lines, strict=True)
        try:
            header = _checked_header(next(rows, []), path)
            yield from _records(rows, header, path)
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8 (after line {rows.line_num}). Save it as UTF-8.") from error
        except csv.Error as error:
            yield Problem(path, rows.line_num, f"is cut off or not CSV from here on: {error}")


def _records(rows: Any, header: list[str], path: Path) -> Iterator[AnnotationRecord | Problem]:
    own = [position for position, name in enumerate(header) if not name.startswith("span_")]
    identity = [header.index(_NUMBER)] if _NUMBER in header else own
    group: list[list[str]] = []
    first_line, start = 2, 2
    for row in rows:
        # The number separates annotations with equal cells; without that column, adjacent ones become a single annotation.
        continues = bool(group) and len(row) == len(header) and all(row[i] == group[0][i] for i in identity)
        if row and not continues:
            if group:
                yield _record(group, header, own, path, first_line)
            group, first_line = [], start
        if row and len(row) != len(header):
            yield Problem(path, start, f"has {len(row)} cells where the header has {len(header)}", _csv_line(row))
        elif row:
            group.append(row)
        # Lines are counted and not rows, because a cell may contain line breaks.
        start = rows.line_num + 1
    if group:
        yield _record(group, header, own, path, first_line)


def _record(
    group: list[list[str]], header: list[str], own: list[int], path: Path, line: int
) -> AnnotationRecord | Problem:
    try:
        return _parsed(group, header, own)
    except ValidationError as error:
        reason = _explained(error)
    except InvalidInput as error:
        reason = str(error)
    return Problem(path, line, reason, "".join(_csv_line(row) for row in group))


def _parsed(group: list[list[str]], header: list[str], own: list[int]) -> AnnotationRecord:
    if any(row[i] != group[0][i] for row in group for i in own):
        raise InvalidInput("the rows of this annotation differ in cells that belong to the annotation")
    values = _values({name: group[0][i] for i, name in enumerate(header) if name in _FIELDS}, AnnotationRecord)
    spans = [
        _values({name[5:]: row[i] for i, name in enumerate(header) if name.startswith("span_")}, SpanRecord)
        for row in group
    ]
    return AnnotationRecord.model_validate({**values, "spans": [span for span in spans if span]})


def _cell(name: str, value: Any, record: type[AnnotationRecord] | type[SpanRecord]) -> str:
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False) if name in _JSON_FIELDS else str(value)
    empty_but_not_null = not text and record.model_fields[name].default is None
    return f"'{text}" if empty_but_not_null or needs_apostrophe(text) else text


def _values(cells: dict[str, str], record: type[AnnotationRecord] | type[SpanRecord]) -> dict[str, Any]:
    """Return the values of the cells that are not empty; an empty dictionary if all cells are empty."""
    if not any(cells.values()):
        return {}
    values: dict[str, Any] = {}
    for name, cell in cells.items():
        if not cell:
            # An empty required field, such as a text, is an empty string: it cannot be null.
            if record.model_fields[name].is_required():
                values[name] = ""
        elif name in _JSON_FIELDS:
            try:
                values[name] = decode_json(cell.removeprefix("'").encode("utf-8"))
            except ValueError as error:
                raise InvalidInput(f"the cell {name} {error}") from error
        else:
            values[name] = cell.removeprefix("'")
    return values


def _checked_header(header: list[str], path: Path) -> list[str]:
    required = [name for name in _FIELDS if AnnotationRecord.model_fields[name].is_required()]
    required += [f"span_{name}" for name in _SPAN_FIELDS if SpanRecord.model_fields[name].is_required()]
    missing = [column for column in required if column not in header]
    unknown = [column for column in header if column not in CSV_COLUMNS]
    if missing or unknown or len(set(header)) < len(header):
        faults = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has the unknown {', '.join(unknown)}"] * bool(
            unknown
        )
        raise InvalidInput(f"{path}: the header {' and '.join(faults) or 'names a column twice'}.")
    return header


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue()


def _explained(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) or 'the record'}: {fault['msg']}" for fault in error.errors()[:5]
    )
