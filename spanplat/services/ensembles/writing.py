"""Storing what an ensemble says: items, annotations, and spans that know who found them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from spanplat.models import Annotation, BatchItem, Item, ItemOutput, Span
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.ensembles.combining import Combined
from spanplat.services.ensembles.members import Members


@dataclass(frozen=True)
class Ensemble:
    """All that is stored of an ensemble."""

    definition: CampaignDefinition
    members: Members
    combined: list[Combined]
    texts: Mapping[int, str]
    source_texts: Mapping[tuple[int, str], str]
    """By output and field."""


@dataclass(frozen=True)
class EnsembleWriter:
    """Stores an ensemble chunk by chunk, as the work of one annotator in one batch."""

    ensemble: Ensemble
    campaign_id: int
    batch_id: int
    assignment_id: int
    categories: Mapping[str, int]

    def write(self, session: Session, chunk: Sequence[Combined], done: int) -> None:
        """Store a chunk; ``done`` counts the items stored before."""
        kind = self.ensemble.definition.item.kind
        items = session.scalars(
            insert(Item).returning(Item.id, sort_by_parameter_order=True),
            [{"campaign_id": self.campaign_id, "kind": kind, "aspect": entry.key.aspect} for entry in chunk],
        ).all()
        session.execute(
            insert(ItemOutput),
            [
                {"item_id": item, "position": position, "output_id": output}
                for item, entry in zip(items, chunk, strict=True)
                for position, output in enumerate(entry.outputs)
            ],
        )
        session.execute(
            insert(BatchItem),
            [
                {"batch_id": self.batch_id, "position": done + place, "item_id": item}
                for place, item in enumerate(items, 1)
            ],
        )
        annotations = session.scalars(
            insert(Annotation).returning(Annotation.id, sort_by_parameter_order=True),
            [self._annotation(item, entry) for item, entry in zip(items, chunk, strict=True)],
        ).all()
        spans = [
            self._span(annotation, position, entry)
            for annotation, entry in zip(annotations, chunk, strict=True)
            for position in range(len(entry.errors))
        ]
        if spans:
            session.execute(insert(Span), spans)

    def _annotation(self, item: int, entry: Combined) -> dict[str, Any]:
        names = self.ensemble.members.names
        return {
            "assignment_id": self.assignment_id,
            "item_id": item,
            "status": "complete",
            "revision": 1,
            "answers": entry.answers,
            "extra": {
                "annotators": [names[annotator] for annotator in entry.annotators],
                "scores": {names[annotator]: score for annotator, score in entry.scores.items()},
                "errors_withheld": [names[annotator] for annotator in entry.withheld],
                "outlier_rule": "two standard deviations and one point from the mean of all",
                **({"undecided": dict(entry.undecided)} if entry.undecided else {}),
            },
            "completed_at": datetime.now(UTC),
        }

    def _span(self, annotation: int, position: int, entry: Combined) -> dict[str, Any]:
        error = entry.errors[position]
        if error.side == "source":
            text = self.ensemble.source_texts[error.output, error.source_field or ""]
        else:
            text = self.ensemble.texts[error.output]
        found_by = [self.ensemble.members.names[annotator] for annotator in error.annotators]
        return {
            "annotation_id": annotation,
            "position": position,
            "category_id": self.categories[error.category],
            "start_offset": error.start,
            "end_offset": error.end,
            "text": text[error.start : error.end],
            "side": error.side,
            "source_field": error.source_field,
            "output_position": entry.outputs.index(error.output),
            "subcategory": error.subcategory,
            "severity": error.severity,
            "reason": error.reason,
            "origin": {"rule": "ensemble", "found_by": found_by},
        }
