"""Reader of the annotations and assignments of a factgenie campaign, as a stream.

Nothing is joined or repaired here. Offsets stay as received; :func:`~spanplat.formats.placement.resolve_span` finds their place. The
type of a span stays the received position, even if the campaign has no such category.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spanplat.errors import InvalidInput
from spanplat.formats.factgenie_campaign import FactgenieCampaign
from spanplat.formats.json_lines import JsonLine, read_json_lines
from spanplat.formats.problem import Problem
from spanplat.schemas.slug import slugify

AnswerKind = Literal["flag", "option", "slider", "text_field"]
_ANSWER_LISTS: tuple[tuple[str, AnswerKind], ...] = (
    ("flags", "flag"), ("options", "option"), ("sliders", "slider"), ("text_fields", "text_field"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FactgenieSpan:
    """A span as received. It has no end. Its start counts code points or UTF-16 units, depending on the annotator."""

    type: int | None
    """Position in the campaign's list of categories, or outside it; None if it is no whole number."""
    text: str
    start: int | None
    reason: str | None
    occurrence: int | None
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FactgenieAnswer:
    """An answer to a question about the whole text."""

    kind: AnswerKind
    label: str
    value: bool | float | str | None


@dataclass(frozen=True, slots=True)
class FactgenieAnnotation:
    """One record; dataset, split and setup are slugs, so that different spellings match."""

    dataset: str
    split: str
    example_idx: int
    orig_example_idx: int | None
    setup: str
    group: int | None
    annotator_id: str | None
    spans: tuple[FactgenieSpan, ...]
    answers: tuple[FactgenieAnswer, ...]
    thinking_trace: str | None
    started_at: float | None
    """Unix seconds, as ``ended_at``."""
    ended_at: float | None
    received_output: str | None
    """The annotated text, if the record repeats it."""
    raw: dict[str, Any]
    file: Path
    line: int

    @property
    def example_key(self) -> str:
        """Key of the example: ``orig_example_idx`` if present, because ``example_idx`` may refer to a shuffled copy."""
        return str(self.example_idx if self.orig_example_idx is None else self.orig_example_idx)


@dataclass(frozen=True, slots=True)
class FactgenieAssignment:
    """A row of ``db.csv``: one seat on one output."""

    dataset: str
    split: str
    example_idx: int
    setup: str
    batch: int | None
    group: int | None
    annotator_id: str | None
    status: str
    start: float | None
    end: float | None
    raw: dict[str, str]
    line: int


def read_factgenie_annotations(campaign: FactgenieCampaign) -> Iterator[FactgenieAnnotation | Problem]:
    """Read the records of a campaign, file by file and line by line.

    Yields
    ------
    FactgenieAnnotation or Problem
        One for each line that is not blank; a problem for a line that is no usable record.
    """
    for path in campaign.record_files:
        for entry in read_json_lines(path):
            yield entry if isinstance(entry, Problem) else _annotation(entry, path, campaign)


def read_factgenie_assignments(campaign: FactgenieCampaign) -> Iterator[FactgenieAssignment | Problem]:
    """Read the ``db.csv`` of an installed campaign; a campaign without one yields nothing."""
    path = campaign.folder / "db.csv"
    if not path.is_file():
        return
    # A byte that is not UTF-8 stays visible as \xNN and does not stop the import.
    with path.open(encoding="utf-8-sig", errors="backslashreplace", newline="") as lines:
        # Without `strict`, a file that is cut off within a cell would look complete.
        rows = csv.DictReader(lines, strict=True)
        try:
            for row in rows:
                yield _assignment(row, path, rows.line_num)
        except csv.Error as error:
            yield Problem(path, rows.line_num, f"is cut off or not CSV: {error}")


def _annotation(entry: JsonLine, path: Path, campaign: FactgenieCampaign) -> FactgenieAnnotation | Problem:
    try:
        return _parsed(entry.value, path, entry.line, campaign)
    except InvalidInput as error:
        return Problem(path, entry.line, str(error), json.dumps(entry.value, ensure_ascii=False))


def _parsed(record: Any, path: Path, line: int, campaign: FactgenieCampaign) -> FactgenieAnnotation:
    if not isinstance(record, dict):
        raise InvalidInput(f"the record is a JSON {type(record).__name__}, not an object")
    spans = record.get("annotations")
    if not isinstance(spans, list):
        raise InvalidInput("the record has no list of annotations")
    # The installed layout has annotator and times in the record's metadata, the published one at the top level.
    metadata = record["metadata"] if isinstance(record.get("metadata"), dict) else {}
    both = {**metadata, **{key: value for key, value in record.items() if value is not None}}
    return FactgenieAnnotation(
        dataset=slugify(_name(record, "dataset")),
        split=slugify(_name(record, "split")),
        example_idx=_required_number(record, "example_idx"),
        orig_example_idx=_number(both.get("orig_example_idx")),
        setup=slugify(_name(record, "setup_id")),
        group=_number(both.get("annotator_group")),
        annotator_id=_text(both.get("annotator_id")),
        spans=tuple(_span(span, position, campaign) for position, span in enumerate(spans)),
        answers=tuple(_answers(record)),
        thinking_trace=_text(both.get("thinking_trace")),
        started_at=_seconds(both.get("start_timestamp")),
        ended_at=_seconds(both.get("end_timestamp")),
        received_output=record["output"] if isinstance(record.get("output"), str) else None,
        raw=record,
        file=path,
        line=line,
    )


def _span(span: Any, position: int, campaign: FactgenieCampaign) -> FactgenieSpan:
    if not isinstance(span, dict):
        raise InvalidInput(f"annotation {position} is a JSON {type(span).__name__}, not an object")
    if not isinstance(span.get("text"), str):
        raise InvalidInput(f"annotation {position} has no text")
    return FactgenieSpan(
        type=_category_position(span.get("type"), campaign),
        text=span["text"],
        start=_number(span.get("start")),
        reason=_text(span.get("reason")),
        # factgenie writes this name with one "r".
        occurrence=_number(span.get("occurence_index", span.get("occurrence_index"))),
        raw=span,
    )


def _category_position(received: Any, campaign: FactgenieCampaign) -> int | None:
    position = _number(received)  # some records state the name of a category instead
    if position is None and isinstance(received, str):
        names = [category.name.casefold() for category in campaign.categories]
        return names.index(received.strip().casefold()) if received.strip().casefold() in names else None
    return position


def _answers(record: dict[str, Any]) -> Iterator[FactgenieAnswer]:
    for field, kind in _ANSWER_LISTS:
        listed = record.get(field) or []
        if not isinstance(listed, list):
            raise InvalidInput(f"{field} is a JSON {type(listed).__name__}, not a list")
        for position, answer in enumerate(listed):
            if not isinstance(answer, dict):
                raise InvalidInput(f"{field} {position} is a JSON {type(answer).__name__}, not an object")
            yield FactgenieAnswer(kind, str(answer.get("label") or ""), _answer_value(kind, answer))


def _answer_value(kind: AnswerKind, answer: dict[str, Any]) -> bool | float | str | None:
    value = answer.get("value")
    if kind == "option":
        options, position = answer.get("optionList"), _number(answer.get("index"))
        if value is None and isinstance(options, list) and position is not None and 0 <= position < len(options):
            value = options[position]
    if kind == "slider":
        number = _seconds(value)
        return number if number is not None else _text(value)
    return value if value is None or isinstance(value, bool | str) else str(value)


def _assignment(row: dict[str, Any], path: Path, line: int) -> FactgenieAssignment | Problem:
    try:
        return FactgenieAssignment(
            dataset=slugify(_name(row, "dataset")),
            split=slugify(_name(row, "split")),
            example_idx=_required_number(row, "example_idx"),
            setup=slugify(_name(row, "setup_id")),
            batch=_number(row.get("batch_idx")),
            group=_number(row.get("annotator_group")),
            annotator_id=_text(row.get("annotator_id")),
            status=_name(row, "status"),
            start=_seconds(row.get("start")),
            end=_seconds(row.get("end")),
            raw=row,
            line=line,
        )
    except InvalidInput as error:
        return Problem(path, line, str(error), json.dumps(row, ensure_ascii=False))


def _name(record: dict[str, Any], field: str) -> str:
    value = record.get(field)
    if not isinstance(value, str | int) or not str(value).strip():
        raise InvalidInput(f"{field} is missing")
    return str(value)


def _required_number(record: dict[str, Any], field: str) -> int:
    number = _number(record.get(field))
    if number is None:
        raise InvalidInput(
            f"{field} is {record.get(field)!r}, not a whole number" if field in record else f"{field} is missing"
        )
    return number


def _number(value: Any) -> int | None:
    """Return a whole number that is given as an integer, a float or a string; None for everything else."""
    number = _seconds(value)
    return int(number) if number is not None and number == int(number) else None


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 2**53 else None  # neither NaN, infinity nor a number that a float rounds


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)
