"""Import format of factgenie campaigns, from published folders and from installations."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spanplat.formats.factgenie import FactgenieAnnotation, read_factgenie_annotations
from spanplat.formats.factgenie_campaign import FactgenieCampaign, read_factgenie_campaign
from spanplat.formats.factgenie_instructions import instructions_as_markdown
from spanplat.formats.problem import Problem
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.schemas.slug import slugify
from spanplat.services.campaigns.import_formats.source import ImportSource, Incoming
from spanplat.services.campaigns.import_records import IncomingAnnotation

NAME = "factgenie"


def open_factgenie(path: Path, slug: str, _definition: CampaignDefinition | None) -> ImportSource:
    """Open a factgenie campaign folder of either layout; the definition comes from the campaign's own settings."""
    campaign = read_factgenie_campaign(path)
    definition = define(
        {
            "slug": slug,
            "title": campaign.id,
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

    def annotations(renames: Mapping[str, str]) -> Iterator[Incoming]:
        for record in read_factgenie_annotations(campaign):
            yield record if isinstance(record, Problem) else _from_factgenie(record, campaign, renames)

    return ImportSource(
        definition, tuple(campaign.record_files), {"format": NAME, "config": campaign.config}, annotations
    )


def _guidelines(campaign: FactgenieCampaign) -> str:
    """Return the instructions for people as Markdown, or the prompt of a model; the original settings are stored too."""
    # The settings of a campaign are not validated, so this may be of any type.
    told: Any = campaign.instructions
    if told:
        return instructions_as_markdown(told) if isinstance(told, str) else told
    return campaign.prompt_template or ""


def _from_factgenie(
    record: FactgenieAnnotation, campaign: FactgenieCampaign, renames: Mapping[str, str]
) -> IncomingAnnotation:
    system = slugify(record.setup)
    group = record.group or 0
    # `example_idx` may refer to a shuffled copy of the dataset.
    index = record.example_idx if record.orig_example_idx is None else record.orig_example_idx
    keys = [slugify(category.name) for category in campaign.categories]
    spans = []
    for span in record.spans:
        # Published files contain the type -1 and types beyond the end of the list.
        category = None if span.type is None or not 0 <= span.type < len(keys) else keys[span.type]
        spans.append((category, span))
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
