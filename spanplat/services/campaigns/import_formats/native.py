"""Import format of spanplat's own exports: native records in JSON lines or CSV."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from spanplat.formats.native import read_records
from spanplat.formats.problem import Problem
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.schemas.record import AnnotationRecord
from spanplat.schemas.slug import slugify
from spanplat.services.campaigns.import_formats.source import ImportSource, Incoming
from spanplat.services.campaigns.import_records import IncomingAnnotation

NAME = "native"


def open_native(path: Path, slug: str, definition: CampaignDefinition | None) -> ImportSource:
    """Open a native file, JSONL or CSV; without a definition, the categories are those of its spans, in order of appearance."""
    if definition is None:
        names: dict[str, None] = {}
        for record in read_records(path):
            if isinstance(record, AnnotationRecord):
                names.update(dict.fromkeys(span.category for span in record.spans))
        categories = [{"name": name} for name in names] or [{"name": "Span"}]
        definition = define({"slug": slug, "title": slug, "kind": "external", "categories": categories}, str(path))

    def annotations(renames: Mapping[str, str]) -> Iterator[Incoming]:
        orders: dict[str, int] = {}
        for line, entry in enumerate(read_records(path), start=1):
            if isinstance(entry, Problem):
                yield entry
            elif problem := _unreadable_time(entry):
                yield Problem(path, line, problem, entry.model_dump_json())
            else:
                order = orders.setdefault(entry.annotator, len(orders))
                yield _from_native(entry, definition, order, f"{path}, record {line}", renames)

    return ImportSource(definition, (path,), {"format": NAME}, annotations)


def _from_native(
    record: AnnotationRecord, definition: CampaignDefinition, order: int, place: str, renames: Mapping[str, str]
) -> IncomingAnnotation:
    system = slugify(record.system)
    spans = []
    for span in record.spans:
        category = definition.find_category(span.category)
        spans.append((category.key if category else None, span))
    return IncomingAnnotation(
        dataset=slugify(record.dataset),
        split=record.split,
        example=record.example,
        system=renames.get(system, system),
        annotator=record.annotator,
        annotator_kind=record.annotator_kind,
        order=order,
        spans=tuple(spans),
        raw=record.model_dump(mode="json"),
        place=place,
        text=record.text,
        group=record.group,
        status=record.status,
        check=record.check,
        left_out=record.left_out,
        amendment=record.amendment,
        dismissed=tuple(record.dismissed),
        answers=record.answers,
        started_at=_unix(record.started_at),
        completed_at=_unix(record.completed_at),
        seconds=record.seconds,
    )


def _unreadable_time(record: AnnotationRecord) -> str | None:
    """Return the problem with the times of a record, or None."""
    for name, moment in (("started_at", record.started_at), ("completed_at", record.completed_at)):
        try:
            _unix(moment)
        except ValueError:
            return f"{name}: {moment!r} is not a time (write it like 2026-01-31T12:00:00Z)"
    return None


def _unix(moment: str | None) -> float | None:
    if moment is None:
        return None
    parsed = datetime.fromisoformat(moment)
    # UTC for a time without a zone, because the result must not depend on the machine.
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
