"""Writer of a study in factgenie's file format, so that pages of both programs can be measured with the same data."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.models import (
    COUNTED,
    Annotation,
    Annotator,
    Assignment,
    Campaign,
    Category,
    Dataset,
    Example,
    ItemOutput,
    Output,
    Span,
    System,
)
from spanplat.services.campaigns.lifecycle import find_campaign

COLUMNS = (
    "dataset",
    "split",
    "example_idx",
    "setup_id",
    "batch_idx",
    "annotator_id",
    "annotator_group",
    "status",
    "start",
    "end",
)
"""Columns of factgenie's table of a campaign."""
BEGIN = 1_767_600_000.0
"""Start and end of all work, in Unix seconds; factgenie's pages show it."""


class Place(NamedTuple):
    """Identification of an output in factgenie."""

    dataset: str
    split: str
    example_idx: int
    """Number of the example in its split."""
    setup_id: str
    """The system."""


class _Known(NamedTuple):
    place: Place
    text: str


def write_study(session: Session, campaigns: Sequence[str], folder: Path) -> Place:
    """Write the datasets and finished work of some campaigns to ``data`` and ``campaigns`` in a folder; return one output's place.

    Parameters
    ----------
    session
        A reading session.
    campaigns
        Slugs. Campaigns with models as annotators become LLM evaluations in factgenie, the others become crowdsourcing campaigns.
    folder
        Folder that is created.
    """
    outputs = _write_data(session, folder / "data")
    for slug in campaigns:
        _write_campaign(session, find_campaign(session, slug), outputs, folder / "campaigns" / slug)
    return next(iter(outputs.values())).place


def _write_data(session: Session, folder: Path) -> Mapping[int, _Known]:
    """Write sources and outputs; return the outputs by id."""
    sources: dict[tuple[str, str], list[Any]] = defaultdict(list)
    numbers: dict[int, int] = {}
    examples = select(Example.id, Dataset.slug, Example.split, Example.source).join(Dataset).order_by(Example.id)
    for example, dataset, split, source in session.execute(examples):
        numbers[example] = len(sources[dataset, split])
        sources[dataset, split].append(source if isinstance(source, dict) else {"text": source})
    for (dataset, split), rows in sources.items():
        _write_lines(folder / "inputs" / dataset / f"{split}.jsonl", rows)
    known = {}
    by_file: dict[Path, list[Any]] = defaultdict(list)
    for output, text, example, dataset, split, system in session.execute(
        select(Output.id, Output.text, Example.id, Dataset.slug, Example.split, System.slug)
        .join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .join(System, System.id == Output.system_id)
        .order_by(Output.id)
    ):
        known[output] = _Known(Place(dataset, split, numbers[example], system), text)
        record = known[output].place._asdict() | {"output": text, "metadata": {}}
        by_file[folder / "outputs" / dataset / f"{split}-{system}.jsonl"].append(record)
    for path, rows in by_file.items():
        _write_lines(path, rows)
    splits: dict[str, list[str]] = defaultdict(list)
    for dataset, split in sources:
        splits[dataset].append(split)
    described = {
        dataset: {"class": "basic.JSONLDataset", "description": "", "enabled": True, "splits": names}
        for dataset, names in splits.items()
    }
    (folder / "datasets.yml").write_text(json.dumps(described))  # which is YAML too
    return known


def _write_campaign(session: Session, campaign: Campaign, outputs: Mapping[int, _Known], folder: Path) -> None:
    categories = session.scalars(select(Category).filter_by(campaign_id=campaign.id).order_by(Category.position)).all()
    config = {
        "annotation_span_categories": [{"name": one.name, "color": one.color, "description": ""} for one in categories],
        "annotation_granularity": "words",
        "annotation_overlap_allowed": True,
        "idle_time": 120,
        "service": "prolific",
        "flags": [],
        "options": [],
        "sliders": [],
        "text_fields": [],
    }
    rows: list[Sequence[Any]] = []
    is_of_models = False
    for number, (seat, records) in enumerate(_work(session, campaign.id, outputs, [one.id for one in categories])):
        is_of_models = is_of_models or seat.kind == "llm"
        who = {"annotator_id": seat.pseudonym, "annotator_group": seat.slot, "campaign_id": campaign.slug}
        _write_lines(
            folder / "files" / f"{number}-{seat.slot}-{seat.pseudonym}.jsonl",
            [record | {"metadata": config | who} for record in records],
        )
        for record in records:
            values = record | who | {"batch_idx": number, "status": "finished", "start": BEGIN, "end": BEGIN + 600}
            rows.append([values[column] for column in COLUMNS])
    with (folder / "db.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    metadata = {
        "id": campaign.slug,
        "mode": "llm_eval" if is_of_models else "crowdsourcing",
        "status": "finished",
        "created": "2026-01-05 09:00:00",
        "config": config,
    }
    (folder / "metadata.json").write_text(json.dumps(metadata))


def _work(
    session: Session, campaign_id: int, outputs: Mapping[int, _Known], categories: Sequence[int]
) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Yield the finished work seat by seat, as factgenie's records."""
    seats = session.execute(
        select(Assignment.id, Assignment.slot, Annotator.pseudonym, Annotator.kind)
        .join(Annotator, Annotator.id == Assignment.annotator_id)
        .where(Assignment.campaign_id == campaign_id, Assignment.status.in_(COUNTED))
        .order_by(Assignment.id)
    ).all()
    spans: dict[int, list[dict[str, Any]]] = defaultdict(list)
    own = Annotation.assignment_id == Assignment.id
    for span in session.execute(
        select(Span.annotation_id, Span.category_id, Span.start_offset, Span.text, Span.reason)
        .join(Annotation, Annotation.id == Span.annotation_id)
        .join(Assignment, own)
        .where(Assignment.campaign_id == campaign_id, Span.side == "output")
        .order_by(Span.annotation_id, Span.position)
    ):
        spans[span.annotation_id].append(
            {
                "type": categories.index(span.category_id),
                "text": span.text,
                "start": span.start_offset,
                "reason": span.reason or "",
            }
        )
    records: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for annotation, seat, output in session.execute(
        select(Annotation.id, Annotation.assignment_id, ItemOutput.output_id)
        .join(ItemOutput, ItemOutput.item_id == Annotation.item_id)
        .join(Assignment, own)
        .where(Assignment.campaign_id == campaign_id, Annotation.status == "complete")
        .order_by(Annotation.id)
    ):
        place, text = outputs[output]
        marks: dict[str, Any] = {"output": text, "annotations": spans[annotation]}
        records[seat].append(place._asdict() | marks | {"flags": [], "options": [], "sliders": [], "text_fields": []})
    for row in seats:
        if row.id in records:
            yield row, records[row.id]


def _write_lines(path: Path, records: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
