"""From each campaign format to incoming annotations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spanplat.formats.factgenie import FactgenieAnnotation, read_factgenie_annotations
from spanplat.formats.factgenie_campaign import FactgenieCampaign, read_factgenie_campaign
from spanplat.formats.factgenie_instructions import instructions_as_markdown
from spanplat.formats.native import read_records
from spanplat.formats.problem import Problem
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.schemas.record import AnnotationRecord
from spanplat.schemas.slug import slugify
from spanplat.services.importing.incoming import IncomingAnnotation, IncomingSpan

Incoming = IncomingAnnotation | Problem


@dataclass(frozen=True)
class Source:
    """A campaign to import: its definition, its files, and its annotations, which can be read more than once."""

    definition: CampaignDefinition
    files: tuple[Path, ...]
    kept: dict[str, Any]
    """Settings as received, kept with the campaign."""
    campaign: FactgenieCampaign | None = None

    def annotations(self, renames: Mapping[str, str]) -> Iterator[Incoming]:
        """Yield the annotations in file order; ``renames`` maps slugs of systems."""
        if self.campaign is not None:
            for record in read_factgenie_annotations(self.campaign):
                yield record if isinstance(record, Problem) else _from_factgenie(record, self.campaign, renames)
            return
        orders: dict[str, int] = {}
        for path in self.files:
            for line, entry in enumerate(read_records(path), start=1):
                if isinstance(entry, Problem):
                    yield entry
                elif problem := _unreadable_time(entry):
                    yield Problem(path, line, problem, entry.model_dump_json())
                else:
                    order = orders.setdefault(entry.annotator, len(orders))
                    yield _from_native(entry, self.definition, order, f"{path}, record {line}", renames)


def open_factgenie(path: Path, slug: str, title: str | None = None) -> Source:
    """Open a factgenie campaign folder of either layout."""
    campaign = read_factgenie_campaign(path)
    definition = define(
        {
            "slug": slug,
            "title": title or campaign.id,
            "kind": "external",
            "categories": [
                {"name": category.name, "description": category.description}
                | ({"color": category.color} if category.color else {})
                for category in campaign.categories
            ],
            "spans": {
                "granularity": campaign.granularity or "word",
                "overlap": "forbid" if campaign.overlap_allowed is False else "allow",
            },
            "guidelines": _guidelines(campaign),
        },
        str(path),
    )
    return Source(
        definition, tuple(campaign.record_files), {"format": "factgenie", "config": campaign.config}, campaign
    )


def _guidelines(campaign: FactgenieCampaign) -> str:
    """Return what people were told, as Markdown, or what a model was asked; as received both stand in the settings that are kept."""
    told: Any = campaign.instructions  # whatever the file has there
    if told:
        return instructions_as_markdown(told) if isinstance(told, str) else told
    return campaign.prompt_template or ""


def open_native(path: Path, slug: str, definition: CampaignDefinition | None) -> Source:
    """Open a native file, JSONL or CSV; without a definition, the categories are those its spans name, in the order they come."""
    if definition is None:
        names: dict[str, None] = {}
        for record in read_records(path):
            if isinstance(record, AnnotationRecord):
                names.update(dict.fromkeys(span.category for span in record.spans))
        categories = [{"name": name} for name in names] or [{"name": "Span"}]
        definition = define({"slug": slug, "title": slug, "kind": "external", "categories": categories}, str(path))
    return Source(definition, (path,), {"format": "native"})


def _from_factgenie(
    record: FactgenieAnnotation, campaign: FactgenieCampaign, renames: Mapping[str, str]
) -> IncomingAnnotation:
    system = slugify(record.setup)
    group = record.group or 0
    index = record.example_idx if record.orig_example_idx is None else record.orig_example_idx
    keys = [slugify(category.name) for category in campaign.categories]
    spans = []
    for span in record.spans:
        category = None if span.type is None or not 0 <= span.type < len(keys) else keys[span.type]
        spans.append(IncomingSpan(category, span.text, span.start, span.raw, reason=span.reason))
    answers = {slugify(answer.label): answer.value for answer in record.answers}
    times = (record.started_at, record.ended_at)
    return IncomingAnnotation(
        dataset=slugify(record.dataset),
        split=record.split,
        example=str(index),
        system=renames.get(system, system),
        annotator=record.annotator_id or f"group-{group}",
        annotator_kind=campaign.annotator_kind,
        order=group,
        spans=tuple(spans),
        raw=record.raw,
        place=f"{record.file}, line {record.line}",
        group=str(group),
        answers=answers,
        extra={"thinking_trace": record.thinking_trace} if record.thinking_trace else None,
        started_at=times[0],
        completed_at=times[1],
        seconds=times[1] - times[0] if times[0] is not None and times[1] is not None else None,
    )


def _from_native(
    record: AnnotationRecord, definition: CampaignDefinition, order: int, place: str, renames: Mapping[str, str]
) -> IncomingAnnotation:
    system = slugify(record.system)
    spans = []
    for span in record.spans:
        category = definition.find_category(span.category)
        spans.append(
            IncomingSpan(
                category.key if category else None,
                span.text,
                span.start,
                span.model_dump(mode="json"),
                end=span.end,
                side=span.side,
                output=span.output,
                subcategory=span.subcategory,
                severity=span.severity,
                reason=span.reason,
                attributes=span.attributes or None,
                origin=span.origin,
            )
        )
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
    """Return what is wrong with the times of a record, or None."""
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
    return (
        parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    ).timestamp()  # the result must not depend on the machine
